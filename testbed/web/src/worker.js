// SPDX-License-Identifier: Apache-2.0

// The worker that runs the playground's WebAssembly. It answers a message
// {id, call, args} with {id, result} or {id, error}, and sends {progress} before.

importScripts('wasm_exec.js');

async function load() {
	const file = await fetch('playground.wasm.gz');
	if (!file.ok) throw new Error(`playground.wasm.gz: ${file.status}`);
	const total = Number(file.headers.get('Content-Length'));
	let got = 0;
	const count = new TransformStream({transform(chunk, out) {
		got += chunk.length;
		postMessage({loading: total ? got / total : 0});
		out.enqueue(chunk);
	}});
	// With Content-Encoding: gzip the browser has already unpacked the file.
	const packed = file.headers.get('Content-Encoding') !== 'gzip';
	const body = file.body.pipeThrough(count);
	const wasm = new Response(packed ? body.pipeThrough(new DecompressionStream('gzip')) : body, {headers: {'Content-Type': 'application/wasm'}});
	const go = new Go();
	const ready = new Promise(done => { globalThis.pauselessReady = done; });
	const {instance} = await WebAssembly.instantiateStreaming(wasm, go.importObject);
	go.run(instance).then(() => postMessage({failed: 'the program ended'}));
	await ready;
}

const loaded = load();
loaded.then(() => postMessage({ready: true}), e => postMessage({failed: e.message}));

onmessage = async e => {
	const {id, call, args} = e.data;
	try {
		await loaded;
		if (call === 'run') args.push((label, done, flows, ms) => postMessage({progress: {label, done, flows, ms}}));
		postMessage({id, result: JSON.parse(await pauseless[call](...args))});
	} catch (err) {
		postMessage({id, error: err.message});
	}
};
