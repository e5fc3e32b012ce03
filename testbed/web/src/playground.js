// SPDX-License-Identifier: Apache-2.0

// The playground's page: the editor of scenario, profile and P4, its errors, and a run.

import {el} from './figure.js';
import {themeButton} from './theme.js';
import {presets} from './presets.js';

const $ = id => document.getElementById(id);
themeButton($('theme'));

// The edited texts: the scenario, and by profile its text or its P4.
const state = {scenario: Object.values(presets)[0], edits: {}};
let tab = 'scenario', which = 'rlb-drill';
const builtin = {}; // by profile: its text and the P4 generated from it

// Calls of the worker.

let worker = null, pending = new Map(), next = 0;
function start() {
	pending = new Map();
	worker = new Worker('worker.js');
	worker.onmessage = ({data}) => {
		if (data.id !== undefined) {
			const {done, fail} = pending.get(data.id);
			pending.delete(data.id);
			if (data.error) fail(new Error(data.error));
			else done(data.result);
		} else if (data.ready) {
			$('status').textContent = '';
			$('run').disabled = false;
			window.readyToRun ??= performance.now(); // for tests
		} else if (data.loading !== undefined) {
			$('status').textContent = data.loading ? `loading, ${Math.round(100 * data.loading)} %` : 'loading …';
		} else if (data.progress) {
			const p = data.progress;
			$('progress').value = p.flows ? p.done / p.flows : 0;
			$('run-status').textContent = `${p.label}: ${p.done} of ${p.flows} flows, ${p.ms.toFixed(2)} ms`;
		} else if (data.failed) {
			$('status').textContent = `failed: ${data.failed}`;
		}
	};
	worker.onerror = e => { $('status').textContent = `failed: ${e.message}`; };
}
const ask = (call, ...args) => new Promise((done, fail) => {
	pending.set(next, {done, fail});
	worker.postMessage({id: next++, call, args});
});
start();

// The editor: a text, line numbers with marks, and a list of problems.

async function own(name) {
	if (!builtin[name]) {
		const profile = await ask('profile', name);
		builtin[name] = {profile, p4: (await ask('generate', profile)).p4};
	}
	return builtin[name];
}

async function open(name) {
	tab = name;
	for (const t of ['scenario', 'profile', 'p4']) $('tab-' + t).setAttribute('aria-selected', String(t === name));
	$('preset-box').hidden = name !== 'scenario';
	$('which-box').hidden = name === 'scenario';
	await load();
}

async function load() {
	const edit = state.edits[which] || {};
	let text = state.scenario;
	if (tab === 'profile') text = edit.profile || (await own(which)).profile;
	if (tab === 'p4') text = edit.p4 || (edit.profile ? (await ask('generate', edit.profile)).p4 : (await own(which)).p4);
	$('text').value = text;
	$('restore').hidden = tab === 'scenario' || !edit[tab];
	await check();
}

let checks = 0;
async function check() {
	const mine = ++checks, text = $('text').value;
	numbers([]);
	let found;
	if (tab === 'scenario') found = await ask('check', text);
	else if (tab === 'profile') found = (await ask('generate', text)).problems;
	else found = await ask('compile', text);
	if (mine !== checks) return; // a later check has started
	numbers(found);
	$('problems').replaceChildren(...found.slice(0, 50).map(p =>
		el('li', {class: p.severity}, el('button', {type: 'button', onclick: () => goto(p)}, p.line ? `${p.line}:${p.column}` : '–'), ' ', p.text)));
	document.documentElement.dataset.checked = String(mine);
}

function numbers(found) {
	const n = $('text').value.split('\n').length, marks = new Map();
	for (const p of found) if (marks.get(p.line) !== 'error') marks.set(p.line, p.severity);
	$('gutter').replaceChildren(...Array.from({length: n}, (_, i) => el('div', {class: marks.get(i + 1) || false, title: found.filter(p => p.line === i + 1).map(p => p.text).join('\n') || false}, String(i + 1))));
	$('gutter').scrollTop = $('text').scrollTop;
}

function goto(p) {
	const lines = $('text').value.split('\n'), at = lines.slice(0, p.line - 1).reduce((s, l) => s + l.length + 1, 0) + Math.max(p.column - 1, 0);
	$('text').focus();
	$('text').setSelectionRange(at, at + Math.max((lines[p.line - 1] || '').slice(p.column - 1).match(/^\w+/)?.[0].length || 1, 1));
	$('text').scrollTop = (p.line - 6) * parseFloat(getComputedStyle($('text')).lineHeight);
}

let later = 0;
$('text').addEventListener('input', () => {
	const text = $('text').value;
	if (tab === 'scenario') state.scenario = text;
	else {
		state.edits[which] = {...state.edits[which], [tab]: text};
		$('restore').hidden = false;
	}
	clearTimeout(later);
	later = setTimeout(check, 250);
});
$('text').addEventListener('scroll', () => { $('gutter').scrollTop = $('text').scrollTop; });
for (const t of ['scenario', 'profile', 'p4']) $('tab-' + t).addEventListener('click', () => open(t));
$('restore').addEventListener('click', () => {
	delete state.edits[which][tab];
	load();
});
$('preset').append(...Object.keys(presets).map(name => el('option', {}, name)));
$('preset').addEventListener('change', () => {
	state.scenario = presets[$('preset').value];
	load();
});
$('which').addEventListener('change', () => {
	which = $('which').value;
	load();
});

// A run.

let urls = [];
const file = (text, type) => {
	const url = URL.createObjectURL(new Blob([text], {type}));
	urls.push(url);
	return url;
};
function running(on) {
	$('run').hidden = on;
	$('stop').hidden = !on;
	$('progress').hidden = !on;
	$('progress').value = 0;
	$('run-status').textContent = '';
}
$('run').addEventListener('click', async () => {
	running(true);
	const began = performance.now();
	try {
		const out = await ask('run', state.scenario, JSON.stringify(state.edits));
		running(false);
		if (out.problems.length) {
			$('run-status').textContent = 'not run: see the problems';
			$('problems').replaceChildren(...out.problems.map(p => el('li', {class: p.severity}, p.line ? `${p.line}:${p.column} ` : '', p.text)));
			return;
		}
		window.outcome = out; // for tests
		$('run-status').textContent = `done in ${((performance.now() - began) / 1000).toFixed(1)} s`;
		for (const u of urls.splice(0)) URL.revokeObjectURL(u);
		$('save-results').href = file(out.results, 'application/json');
		$('save-report').href = file(out.report, 'text/html');
		$('save-replay').href = file(out.replay, 'text/html');
		$('outcome').hidden = false;
		show('report');
		document.documentElement.dataset.done = String(Number(document.documentElement.dataset.done || 0) + 1);
	} catch (e) {
		running(false);
		$('run-status').textContent = e.message;
	}
});
$('stop').addEventListener('click', () => {
	worker.terminate();
	running(false);
	$('run-status').textContent = 'stopped';
	start();
});
function show(what) {
	for (const w of ['report', 'replay']) $('show-' + w).setAttribute('aria-selected', String(w === what));
	$('frame').hidden = false;
	$('frame').src = $('save-' + what).href;
}
$('show-report').addEventListener('click', () => show('report'));
$('show-replay').addEventListener('click', () => show('replay'));

// Links carry the state behind #, which browsers do not send to a server.

const pack = async text => {
	const z = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer());
	let s = '';
	for (const b of z) s += String.fromCharCode(b);
	return btoa(s).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
};
const unpack = async text => {
	const z = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
	return new Response(new Blob([z]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
};
$('share').addEventListener('click', async () => {
	location.hash = await pack(JSON.stringify(state));
	try {
		await navigator.clipboard.writeText(location.href);
		$('run-status').textContent = 'the link is in the clipboard';
	} catch {
		$('run-status').textContent = 'the link is in the address bar';
	}
});

(async () => {
	if (location.hash.length > 1) {
		try {
			const s = JSON.parse(await unpack(location.hash.slice(1)));
			if (typeof s.scenario === 'string' && s.edits && typeof s.edits === 'object') Object.assign(state, {scenario: s.scenario, edits: s.edits});
		} catch {
			$('run-status').textContent = 'the link is damaged; the editor has the default scenario';
		}
	}
	$('text').value = state.scenario;
	numbers([]);
	document.documentElement.dataset.ready = 'yes';
	$('which').append(...(await ask('profiles')).map(p => el('option', {selected: p === which}, p)));
	await load();
})();
