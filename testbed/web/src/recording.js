// SPDX-License-Identifier: Apache-2.0

// Recordings as package record writes them, and the state of the network at a time.

/** The kinds of event. */
export const PAUSE = 0, WARNING = 1, KICK = 2, MESSAGE = 3;

const bytes = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0));

/** Reads a file: gzip of lines of JSON, the first of which has format and version. */
export async function readFile(buffer) {
	const text = await new Response(new Blob([buffer]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
	const lines = text.split('\n').filter(l => l);
	const head = JSON.parse(lines[0]);
	if (head.format !== 'pauseless recording' || head.version !== 1) throw new Error('this is no recording of version 1');
	return lines.slice(1).map(l => new Recording(JSON.parse(l)));
}

/** The recordings embedded in the page, or null. */
export function embedded() {
	const e = document.getElementById('recording');
	return e && e.textContent.trim() ? readFile(bytes(e.textContent.trim())) : null;
}

/** The index of the first element of a sorted list whose key, at(element), is not below v. */
export function first(sorted, v, at = x => x) {
	let lo = 0, hi = sorted.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (at(sorted[mid]) < v) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

export class Recording {
	constructor(run) {
		Object.assign(this, {arm: run.arm, seed: run.seed, scenario: run.scenario, network: run.network, registers: run.registers, note: run.note || ''});
		this.version = run.version || 0;
		this.channels = 2 * run.network.links.length;
		this.t = [];
		this.use = [];
		this.queues = [];
		this.values = [];
		this.paths = [];
		this.events = [];
		this.spans = Array.from({length: this.channels}, () => []); // pauses by channel: {class, start, end}
		this.open = new Map();
		this.busiest = 1; // bytes of the longest queue
		Object.assign(this, {packet: run.packet || '', packetLeft: run.packet_left || '', visits: this.visitsOf(run.steps || [])});
		this.add(run);
	}

	/** Appends samples and events. */
	add(run) {
		this.left = run.left || 0;
		this.live = Boolean(run.live);
		this.every = run.every_ns;
		if (run.flows) this.flows = run.flows;
		if (run.causes) this.explain(run.causes);
		run.t_ns.forEach((t, i) => {
			this.t.push(t);
			this.use.push(bytes(run.use[i]));
			this.queues.push(run.queues[i]);
			for (let k = 1; k < run.queues[i].length; k += 2) this.busiest = Math.max(this.busiest, run.queues[i][k]);
			this.values.push(run.values[i]);
			this.paths.push(run.paths[i]);
		});
		for (const e of run.events) {
			this.events.push(e);
			if (e[1] === PAUSE) this.pause(e);
		}
		this.end = Math.max(this.t.at(-1) || 0, this.events.at(-1)?.[0] || 0, this.visits.at(-1)?.at || 0, 1);
		this.kept = null;
	}

	// explain finds the channels of the paused links of storms.
	explain(causes) {
		this.causes = causes;
		const of = new Map();
		for (let ch = 0; ch < this.channels; ch++) {
			const {from} = this.ends(ch);
			of.set(`${this.network.nodes[from.node].name} ${from.port}`, ch);
		}
		this.waits = Array.from({length: this.channels}, () => []); // by channel: {storm, link}
		causes.storms.forEach((s, storm) => {
			s.root.channel = of.get(`${s.root.node} ${s.root.port}`);
			s.links.forEach((l, link) => {
				l.channel = of.get(`${l.from} ${l.port}`);
				this.waits[l.channel]?.push({storm, link});
			});
		});
	}

	/** Why a channel is paused at a time: {storm, chain}, the channels from it to the root; null if that is not recorded. */
	why(channel, ns) {
		for (const {storm, link} of this.waits?.[channel] || []) {
			const s = this.causes.storms[storm];
			if (!s.links[link].spans_ns.some(([a, b]) => a <= ns && ns < b)) continue;
			const chain = [];
			for (let i = link; i >= 0; i = s.links[i].parent) chain.push(s.links[i].channel);
			if (s.root.channel !== undefined && !chain.includes(s.root.channel)) chain.push(s.root.channel);
			return {storm: s, chain};
		}
		return null;
	}

	// visitsOf returns the visits of a traced packet and its copies to nodes: {at, node, channel, branch, steps}.
	visitsOf(steps) {
		const at = new Map(), visits = [], latest = new Map();
		for (let ch = 0; ch < this.channels; ch++) {
			const {to} = this.ends(ch);
			at.set(`${to.node} ${to.port}`, ch);
		}
		for (const s of steps) {
			if (s.port || !latest.has(s.node)) {
				const v = {at: s.at_ns, node: s.node, channel: at.get(`${s.node} ${s.port}`), branch: s.branch || '', steps: []};
				visits.push(v);
				latest.set(s.node, v);
			}
			latest.get(s.node).steps.push(s);
		}
		return visits;
	}

	// pause joins PAUSE and RESUME to spans. A PAUSE ends with its time, unless
	// another PAUSE or a RESUME follows before.
	pause([at, , channel, cls, until]) {
		const key = channel * 8 + cls;
		let span = this.open.get(key);
		if (span && span.end < at) span = null;
		if (span) span.end = until || at;
		else if (until) {
			span = {class: cls, start: at, end: until};
			this.spans[channel].push(span);
		}
		this.open.set(key, until ? span : null);
	}

	/** The index of the sample that covers a time. */
	sample(ns) { return Math.min(first(this.t, ns), this.t.length - 1); }

	/** The classes of a channel that are paused. */
	paused(channel, ns) {
		const spans = this.spans[channel], out = [];
		// Spans are in order of their start; eight classes overlap at most.
		for (let i = first(spans, ns + 1, s => s.start) - 1, n = 0; i >= 0 && n < 16; i--, n++) {
			if (spans[i].end > ns && !out.includes(spans[i].class)) out.push(spans[i].class);
		}
		return out.sort();
	}

	/** Bytes by channel in a sample. */
	queueMap(i) {
		const m = new Map(), q = this.queues[i] || [];
		for (let k = 0; k < q.length; k += 2) m.set(q[k], q[k + 1]);
		return m;
	}

	/** The registers in a sample: values and changes, by node * registers + register. */
	registersAt(i) {
		// Time mostly goes forward: continue from the last sample.
		let k = this.kept;
		if (!k || k.i > i) k = this.kept = {i: -1, values: new Map(), changes: new Map()};
		while (k.i < i) {
			k.i++;
			k.changes = new Map();
			const v = this.values[k.i];
			for (let j = 0; j < v.length; j += 3) {
				const key = v[j] * this.registers.length + v[j + 1];
				k.changes.set(key, v[j + 2] - (k.values.get(key) || 0));
				k.values.set(key, v[j + 2]);
			}
		}
		return k;
	}

	/** The channels that a flow used in the five samples up to i (now), and in all up to i (ever). */
	path(flow, i) {
		const key = `${flow} ${i} ${this.t.length}`;
		if (this.pathOf?.key === key) return this.pathOf;
		const now = new Set(), ever = new Set();
		for (let k = 0; k <= i && k < this.paths.length; k++) {
			const p = this.paths[k];
			for (let j = 0; j < p.length; j += 2) {
				if (p[j] !== flow) continue;
				ever.add(p[j + 1]);
				if (k > i - 5) now.add(p[j + 1]);
			}
		}
		this.pathOf = {key, now, ever};
		return this.pathOf;
	}

	/** The ends of a channel: {from, to} with node and port. */
	ends(channel) {
		const l = this.network.links[channel >> 1], a = {node: l.a, port: l.ap}, b = {node: l.b, port: l.bp};
		return channel & 1 ? {from: b, to: a} : {from: a, to: b};
	}


	/** An event in words. */
	words([, kind, channel, a, b]) {
		const {from, to} = this.ends(channel), name = e => `${this.network.nodes[e.node].name} port ${e.port}`;
		switch (kind) {
		case PAUSE: return b ? `${name(to)} pauses ${name(from)}, class ${a}` : `${name(to)} resumes ${name(from)}, class ${a}`;
		case WARNING: return a ? `warning from ${name(from)} to ${name(to)}, class ${b}` : `end of a warning from ${name(from)} to ${name(to)}, class ${b}`;
		case KICK: return `${name(from)} asks ${name(to)} to leave path ${a}`;
		}
		return `message of kind ${a} from ${name(from)} to ${name(to)}`;
	}
}
