// SPDX-License-Identifier: Apache-2.0

// The live map: plays a recording, or follows a run or real switches.

import {chart} from './chart.js';
import {canvasFigure, digits, el, si, time, toolbar} from './figure.js';
import {drawMap, layout, line, linkName, under} from './map.js';
import {KICK, PAUSE, WARNING, embedded, first, Recording} from './recording.js';
import {armColour, font, shade, themeButton} from './theme.js';

const $ = id => document.getElementById(id);
themeButton($('theme'));

let runs = [], run = null;
let now = 0;         // the time that is shown, in ns of the run
let playing = false, follow = false;
let speed = 1e6;     // ns of the run per second of real time
let selected = null; // {channel}, {node} or {flow}
let map = null;

const shades = 12; // few, so that drawMap draws many lines of a colour at once
const quantised = v => Math.ceil(v * shades) / shades;

// The map.

const height = w => {
	const tiers = run ? Math.max(...run.network.nodes.map(n => n.tier), 1) : 2;
	return Math.round(Math.max(Math.min(w * 0.5, innerHeight * 0.6, 150 + 150 * tiers), 240));
};
const view = canvasFigure($('map'), {
	title: 'Map of the network', height, label: 'Map of the network at the time shown. Click a port or link for its history. The tables below list the same.',
	draw: (ctx, w, h, c) => {
		if (!run) return;
		map = layout(run.network, w, h);
		const i = run.sample(now), use = run.use[i] || [], path = selected?.flow !== undefined ? run.path(selected.flow, i) : null;
		const chain = selected?.channel !== undefined && run.why(selected.channel, now)?.chain;
		const held = new Map(), taken = new Set(), there = new Map(); // of the packet: channels, and each branch's node
		for (const v of run.visits) {
			if (v.at > now) continue;
			taken.add(v.channel);
			there.set(v.branch, v.node);
		}
		const here = new Set(there.values());
		for (let ch = 0; ch < run.channels; ch++) {
			const classes = run.paused(ch, now);
			if (classes.length) held.set(ch, classes);
		}
		drawMap(ctx, map, c, (l, dir) => {
			const ch = 2 * l + dir;
			if (chain && chain.includes(ch)) return {colour: ch === chain.at(-1) ? c.warn : armColour(3), width: 6, dash: held.has(ch) ? [7, 4] : undefined, above: 4};
			if (taken.has(ch)) return {colour: armColour(3), width: 5, dash: held.has(ch) ? [7, 4] : undefined, above: 3};
			if (path?.now.has(ch)) return {colour: armColour(3), width: 5, above: 2};
			if (path?.ever.has(ch)) return {colour: armColour(3), width: 2.5, dash: [2, 3], above: 1};
			if (held.has(ch)) return {colour: c.pause, width: 4, dash: [7, 4], above: 3};
			if (selected?.channel === ch) return {colour: c.text, width: 4, above: 2};
			const share = (use[ch] || 0) / 255;
			return {colour: shade(c.use, quantised(share)), width: share > 0 ? 1.2 + 2 * quantised(share) : 1};
		}, n => ({stroke: selected?.node === n ? c.text : here.has(n) ? armColour(3) : undefined, width: selected?.node === n || here.has(n) ? 3 : undefined}));
		queueBars(ctx, c, i);
		pauseSigns(ctx, c, held);
		messages(ctx, c);
		badges(ctx, c, i);
	},
});

// along returns a point on a channel's line: share 0 is the sender's edge, 1 the receiver's.
function along(ch, share, gap = 0) {
	const p = line(map, ch >> 1, ch & 1), {from, to} = run.ends(ch);
	const dx = p.x1 - p.x0, dy = p.y1 - p.y0, len = Math.hypot(dx, dy) || 1;
	const r0 = Math.min(map.nodes[from.node].r + gap, len / 3), r1 = Math.min(map.nodes[to.node].r, len / 3), at = r0 + (len - r0 - r1) * share;
	return {x: p.x0 + dx / len * at, y: p.y0 + dy / len * at, ux: dx / len, uy: dy / len, len: len - r0 - r1};
}

// A queue is a bar that grows from its port along the link.
function queueBars(ctx, c, i) {
	for (const [ch, n] of run.queueMap(i)) {
		const p = along(ch, 0, 2), long = Math.min(p.len / 2, 46) * Math.sqrt(n / run.busiest);
		ctx.strokeStyle = c.text;
		ctx.lineWidth = Math.max(2, Math.min(6, map.nodes[run.ends(ch).from.node].step / 8));
		ctx.beginPath();
		ctx.moveTo(p.x, p.y);
		ctx.lineTo(p.x + p.ux * long, p.y + p.uy * long);
		ctx.stroke();
	}
}

// A paused channel has a disc with its classes at the sender.
function pauseSigns(ctx, c, held) {
	ctx.font = `bold 10px ${font}`;
	ctx.textAlign = 'center';
	ctx.textBaseline = 'middle';
	for (const [ch, classes] of held) {
		if (map.nodes[run.ends(ch).from.node].step < 12) continue;
		const p = along(ch, 0, 10);
		ctx.fillStyle = c.pause;
		ctx.beginPath();
		ctx.arc(p.x, p.y, 7, 0, 2 * Math.PI);
		ctx.fill();
		ctx.fillStyle = c.page;
		ctx.fillText(classes.join(), p.x, p.y);
	}
}

// A message moves along its link for 2 µs of the run, but for at least a
// quarter of a second of real time.
function messages(ctx, c) {
	const long = Math.max(2000, speed / 4), drawnAt = new Set();
	for (let i = first(run.events, now, e => e[0]); i < run.events.length && run.events[i][0] < now + long; i++) {
		const [at, kind, ch, a] = run.events[i];
		if (kind === PAUSE) continue;
		// Messages that would overlap are drawn once.
		const key = `${ch} ${kind} ${Math.floor((at - now) / long * 24)}`;
		if (drawnAt.has(key)) continue;
		drawnAt.add(key);
		const p = along(ch, 1 - (at - now) / long);
		ctx.fillStyle = kind === WARNING && !a ? c.faint : kind === KICK ? armColour(4) : kind === WARNING ? c.warn : armColour(2);
		ctx.beginPath();
		if (kind === KICK) ctx.rect(p.x - 4, p.y - 4, 8, 8);
		else ctx.arc(p.x, p.y, kind === WARNING ? 5 : 3, 0, 2 * Math.PI);
		ctx.fill();
	}
}

// The changes of a switch's counters are shown beside the switch.
const badgeText = {reroutes: '⇄', recirculations: '↻', warned: '⚠', warned_all: '⚠'};
function badges(ctx, c, i) {
	const {values, changes} = run.registersAt(i), n = run.registers.length;
	ctx.font = `11px ${font}`;
	ctx.textAlign = 'left';
	ctx.textBaseline = 'middle';
	run.network.nodes.forEach((node, k) => {
		if (node.tier === 0 || map.nodes[k].step < 40) return;
		const words = run.registers.flatMap((r, j) => {
			const v = r.unit === 'paths' ? values.get(k * n + j) : changes.get(k * n + j);
			return v > 0 && badgeText[r.name] ? [badgeText[r.name] + si(v)] : [];
		});
		if (!words.length) return;
		const text = words.join(' '), x = map.nodes[k].x + map.nodes[k].r + 5, y = map.nodes[k].y - map.nodes[k].r * 0.75 - 9;
		ctx.lineWidth = 4; // a border in the page's colour, so that links do not cross the letters
		ctx.strokeStyle = c.page;
		ctx.strokeText(text, x, y);
		ctx.fillStyle = c.warn;
		ctx.fillText(text, x, y);
	});
}

// outline adds up pauses and queues by pixel. It keeps the result until the
// recording or the width changes.
let outlined = {};
function outline(w, x) {
	const key = `${runs.indexOf(run)} ${run.t.length} ${run.events.length} ${run.end} ${w}`;
	if (outlined.key === key) return outlined;
	const total = new Float64Array(w + 1), waits = new Float64Array(w + 1);
	for (const spans of run.spans) for (const s of spans) for (let i = x(s.start); i <= x(Math.min(s.end, run.end)); i++) total[i]++;
	run.queues.forEach((q, i) => {
		let sum = 0;
		for (let k = 1; k < q.length; k += 2) sum += q[k];
		for (let k = x(i ? run.t[i - 1] : 0); k <= x(run.t[i]); k++) waits[k] = Math.max(waits[k], sum);
	});
	outlined = {key, total, waits, most: Math.max(...total, 1), longest: Math.max(...waits, 1)};
	return outlined;
}

// The time line: how many directions of links are paused, and the bytes in queues.

const strip = canvasFigure($('strip'), {
	title: 'Time line', height: 64, label: 'Over the whole run: how many links are paused, and the bytes in queues',
	draw(ctx, w, h, c) {
		if (!run || !run.t.length) return;
		const x = ns => Math.min(Math.max(Math.round(ns / run.end * w), 0), w), {total, waits, most, longest} = outline(w, x);
		// One polygon each: a rectangle for every pixel takes ten times as long.
		const area = (colour, bottom, values, scale) => {
			ctx.fillStyle = colour;
			ctx.beginPath();
			ctx.moveTo(0, bottom);
			for (let i = 0; i <= w; i++) {
				if (i > 0 && values[i] === values[i - 1]) continue;
				if (i > 0) ctx.lineTo(i, bottom - values[i - 1] * scale);
				ctx.lineTo(i, bottom - values[i] * scale);
			}
			ctx.lineTo(w + 1, bottom - values[w] * scale);
			ctx.lineTo(w + 1, bottom);
			ctx.fill();
		};
		area(c.use[2], h, waits, 30 / longest);
		area(c.pause, 30, total, 28 / most);
		ctx.fillStyle = c.text;
		ctx.fillRect(x(now) - 1, 0, 2, h);
	},
});
strip.canvas.addEventListener('pointerdown', e => {
	const seek = e => go(e.offsetX / strip.width * run.end);
	strip.canvas.setPointerCapture(e.pointerId);
	strip.canvas.onpointermove = seek;
	strip.canvas.onpointerup = () => { strip.canvas.onpointermove = null; };
	seek(e);
});

// The controls of the time that is shown.

function go(ns, keep = false) {
	if (!keep) follow = false;
	now = Math.min(Math.max(ns, 0), run.end);
	$('scrub').value = String(Math.round(now / run.end * 100000));
	$('scrub').setAttribute('aria-valuetext', time(now / 1000));
	dirty = true;
}
function step(direction) {
	play(false);
	const i = direction > 0 ? first(run.events, Math.floor(now) + 1, e => e[0]) : first(run.events, Math.floor(now), e => e[0]) - 1;
	if (run.events[i]) go(run.events[i][0]);
}
function play(on) {
	playing = on;
	if (on && now >= run.end && !run.live) go(0);
	$('play').textContent = on ? 'Pause' : 'Play';
	$('play').setAttribute('aria-pressed', String(on));
}
$('play').addEventListener('click', () => play(!playing));
$('back').addEventListener('click', () => step(-1));
$('forth').addEventListener('click', () => step(1));
$('scrub').addEventListener('input', e => go(Number(e.target.value) / 100000 * run.end));
$('follow').addEventListener('click', () => { follow = true; });
for (const [text, ns] of [['1 µs', 1e3], ['10 µs', 1e4], ['100 µs', 1e5], ['1 ms', 1e6], ['10 ms', 1e7], ['100 ms', 1e8], ['1 s', 1e9]]) {
	$('speed').append(el('option', {value: ns, selected: ns === speed}, text + ' a second'));
}
$('speed').addEventListener('change', e => { speed = Number(e.target.value); });
addEventListener('keydown', e => {
	if (!run || /INPUT|SELECT|TEXTAREA|BUTTON/.test(e.target.tagName) || e.target.closest('.plot')) return;
	if (e.key === ' ') play(!playing);
	else if (e.key === 'ArrowRight') step(1);
	else if (e.key === 'ArrowLeft') step(-1);
	else if (e.key === 'Escape') select(null);
	else return;
	e.preventDefault();
});

let dirty = true, frame = 0, described = 0;
function tick(at) {
	const since = Math.min(at - frame, 100);
	frame = at;
	if (run) {
		if (follow && run.live) go(run.end, true);
		else if (playing) {
			go(now + since / 1000 * speed, true);
			if (now >= run.end && !run.live) play(false);
		}
		if (dirty) {
			dirty = false;
			drawn++;
			view.redraw();
			$('now').textContent = time(Math.round(now) / 1000);
			if (at - described > 250 || !playing) {
				described = at;
				strip.redraw();
				describe();
			}
		}
	}
	requestAnimationFrame(tick);
}
let drawn = 0;

// The same in words: the latest events, and the active flows.

function describe() {
	const i = run.sample(now), at = first(run.events, Math.floor(now) + 1, e => e[0]);
	const paused = [];
	for (let ch = 0; ch < run.channels; ch++) if (run.paused(ch, now).length) paused.push(linkName(run.network, ch >> 1, ch & 1));
	let waiting = 0;
	for (const n of run.queueMap(i).values()) waiting += n;
	$('state').textContent = `${paused.length} of ${run.channels} directions paused${paused.length ? `: ${paused.slice(0, 4).join(', ')}${paused.length > 4 ? ' …' : ''}` : ''}; ${si(waiting, 'B')} in queues`;
	$('events').replaceChildren(...run.events.slice(Math.max(at - 10, 0), at).reverse().map(e =>
		el('tr', {}, el('td', {}, time(e[0] / 1000)), el('td', {}, run.words(e)))));
	flowTable();
	if (selected) $('about').firstChild && ($('about').firstChild.textContent = about());
}

let flowRows = '';
function flowTable() {
	const active = [];
	for (let k = 0; k < run.flows.length && active.length < 60; k++) {
		const f = run.flows[k];
		if (f.start_ns <= now && (!f.fct_ns || f.start_ns + f.fct_ns >= now)) active.push(k);
	}
	const key = `${run.arm} ${run.seed} ${active.join()} ${selected?.flow}`;
	if (key === flowRows) return;
	flowRows = key;
	$('flows').replaceChildren(...active.map(k => {
		const f = run.flows[k], nodes = run.network.nodes;
		return el('tr', {}, el('td', {}, el('button', {type: 'button', 'aria-pressed': String(selected?.flow === k), onclick: () => select({flow: k})}, `${nodes[f.src].name} to ${nodes[f.dst].name}`)),
			el('td', {}, si(f.bytes, 'B')), el('td', {}, time(f.start_ns / 1000)), el('td', {}, f.fct_ns ? time(f.fct_ns / 1000) : '–'));
	}));
}

// A port, a switch or a flow in detail.

function about() {
	const nodes = run.network.nodes, i = run.sample(now);
	if (selected.channel !== undefined) {
		const ch = selected.channel, paused = run.paused(ch, now);
		return `${linkName(run.network, ch >> 1, ch & 1)}: ${digits((run.use[i]?.[ch] || 0) / 2.55)} % used, ${si(run.queueMap(i).get(ch) || 0, 'B')} waiting${paused.length ? `, class ${paused.join(', ')} paused` : ''}${because(ch)}`;
	}
	if (selected.node !== undefined) {
		const {values} = run.registersAt(i), n = run.registers.length;
		const list = run.registers.map((r, j) => [r, values.get(selected.node * n + j) || 0]).filter(([, v]) => v).map(([r, v]) => `${r.name.replaceAll('_', ' ')} ${v} ${r.unit}`);
		return `${nodes[selected.node].name}${list.length ? ': ' + list.join(', ') : ''}`;
	}
	const f = run.flows[selected.flow], names = ch => { const e = run.ends(ch); return `${nodes[e.from.node].name}–${nodes[e.to.node].name}`; };
	const path = run.path(selected.flow, i);
	return `${nodes[f.src].name} to ${nodes[f.dst].name}, ${si(f.bytes, 'B')}: now on ${[...path.now].map(names).join(', ') || 'no link'}; seen so far on ${path.ever.size} links`;
}

// because says why a channel is paused: the root, the way to it, the flows there and the victims.
function because(ch) {
	const w = run.why(ch, now);
	if (!w) return '';
	const s = w.storm, r = s.root, list = (flows, word) => flows.slice(0, 5).map(f => `${f.src} to ${f.dst} ${word(f)}`).join(', ');
	const way = w.chain.map(k => linkName(run.network, k >> 1, k & 1)).join(' ← ');
	return `. It waits for ${way}. Root: ${r.cause}: ${r.why}. In the root: ${list(s.root_flows, f => digits(100 * f.share) + ' %') || 'no flow that is known'}.` +
		(s.victim_count ? ` Victims of the storm: ${list(s.victims, f => digits(f.waited_us) + ' µs')}${s.victim_count > 5 ? ` and ${s.victim_count - 5} more` : ''}.` : s.waiting < 0 ? ' Which flows waited is not known.' : ' It has no victims.');
}

// steps lists what happened to the packet during a visit to a node.
function steps(v) {
	return el('div', {class: 'steps'}, el('h4', {}, visit(v)), el('ol', {}, ...v.steps.map(s => el('li', {class: /^(note|dropped)/.test(s.text) ? 'mark' : false},
		s.at_ns > v.at ? el('span', {class: 'note'}, time(s.at_ns / 1000) + ' ') : '', s.text))));
}
const visit = v => `${v.branch || 'packet'} at ${run.network.nodes[v.node].name}, ${time(v.at / 1000)}`;

// packetList lists the visits of the packet, each with its last step.
function packetList() {
	$('packet').hidden = !run.packet;
	$('packet').replaceChildren(el('h3', {}, run.packet), el('ol', {}, ...run.visits.map(v =>
		el('li', {}, el('button', {type: 'button', onclick: () => { go(v.at); select({node: v.node}); }}, visit(v)), ' ' + v.steps.at(-1).text))), el('p', {class: 'note'}, run.packetLeft));
}

function select(what) {
	selected = what;
	dirty = true;
	flowRows = '';
	const box = $('about');
	box.replaceChildren();
	if (!what) return;
	box.append(el('p', {}, about()));
	if (what.node !== undefined) for (const v of run.visits) if (v.node === what.node) box.append(steps(v));
	if (what.node !== undefined) {
		for (let ch = 0; ch < run.channels; ch++) {
			if (run.ends(ch).from.node === what.node) box.append(el('button', {type: 'button', onclick: () => select({channel: ch})}, linkName(run.network, ch >> 1, ch & 1)));
		}
	}
	if (what.channel === undefined || !run.t.length) return;
	const ch = what.channel, title = linkName(run.network, ch >> 1, ch & 1), t = run.t.map(v => v / 1000);
	const shadePauses = (u, c) => {
		u.ctx.save();
		u.ctx.fillStyle = c.pause + '55';
		for (const s of run.spans[ch]) {
			const x0 = Math.max(u.valToPos(s.start / 1000, 'x', true), u.bbox.left), x1 = Math.min(u.valToPos(s.end / 1000, 'x', true), u.bbox.left + u.bbox.width);
			if (x1 > x0 - 1) u.ctx.fillRect(x0, u.bbox.top, Math.max(x1 - x0, 1), u.bbox.height);
		}
		u.ctx.restore();
	};
	const x = {label: 'time', unit: 'us', min: 0, max: run.end / 1000}, common = {x, sync: 'port', height: 190, overlay: shadePauses};
	const parts = [
		chart(box, {...common, title: `Queue of ${title}`, y: {label: 'bytes waiting', unit: 'bytes', min: 0}, data: [t],
			series: [{name: 'queue', index: 0, colour: m => armColour(0, m), v: run.t.map((_, i) => run.queueMap(i).get(ch) || 0)}], hint: 'shaded: paused; click to go there'}),
		chart(box, {...common, title: `Use of ${title}`, y: {label: 'share of the rate', unit: 'share', min: 0, max: 1}, data: [t],
			series: [{name: 'use', index: 1, colour: m => armColour(2, m), v: run.use.map(u => u[ch] / 255)}], hint: 'shaded: paused; click to go there'}),
	];
	for (const f of parts) {
		f.root.before(toolbar(f.spec.title, f, el('strong', {}, f.spec.title)));
		f.root.addEventListener('click', () => {
			const at = f.plot?.cursor.left;
			if (at > 0) go(f.plot.posToVal(at, 'x') * 1000);
		});
	}
}
view.canvas.addEventListener('click', e => {
	const at = map && under(map, e.offsetX, e.offsetY);
	select(!at ? null : 'node' in at ? {node: at.node} : {channel: 2 * at.link + at.dir});
});
view.canvas.addEventListener('pointermove', e => {
	const at = map && under(map, e.offsetX, e.offsetY);
	view.canvas.style.cursor = at ? 'pointer' : '';
	view.canvas.title = !at ? '' : 'node' in at ? run.network.nodes[at.node].name : linkName(run.network, at.link, at.dir);
});

// Sources of recordings.

function show(r) {
	run = r;
	selected = null;
	$('about').replaceChildren();
	packetList();
	$('title').textContent = r.scenario;
	$('note').textContent = [r.note, r.left ? `${si(r.left)} events are missing: the recording was full.` : ''].filter(t => t).join(' ');
	$('follow').hidden = !r.live;
	follow = r.live;
	go(0, true);
	view.redraw();
}
function choices() {
	const list = runs.map((r, i) => el('option', {value: i, selected: r === run}, `${r.arm}, seed ${r.seed}`));
	$('run').replaceChildren(...list);
	$('run').parentElement.hidden = runs.length < 2;
}
$('run').addEventListener('change', e => show(runs[Number(e.target.value)]));

// poll asks the server for new samples and events.
async function poll() {
	for (;;) {
		let live = true;
		try {
			const {runs: list, more} = await (await ask('api/runs')).json();
			for (let i = 0; i < list.length; i++) {
				const have = runs[i];
				if (have && !have.live && have.version === list[i].version) continue;
				const fresh = !have || have.version !== list[i].version;
				const data = await (await ask(`api/run?i=${i}` + (fresh ? '' : `&version=${have.version}&samples=${have.t.length}&events=${have.events.length}&storms=${have.causes?.storms.length || 0}`))).json();
				if (fresh || data.version !== have.version) {
					const r = new Recording(data);
					const shown = runs[i] === run;
					runs[i] = r;
					if (!run) show(r);
					else if (shown) {
						const at = now, keep = follow, what = selected;
						show(r);
						follow = keep;
						select(what);
						go(at, true);
					}
				} else have.add(data);
				dirty = true;
			}
			live = more || list.some(r => r.live);
			const next = runs.find(r => r.live);
			if (follow && !run?.live && next) show(next); // the next run of an experiment
			choices();
			$('status').textContent = runs.some(r => r.live) ? 'live' : '';
		} catch (e) {
			$('status').textContent = `no answer from the server (${e.message}); asking again`;
		}
		await new Promise(done => setTimeout(done, live ? 250 : 2000));
	}
}
async function ask(path) {
	const r = await fetch(path);
	if (!r.ok) throw new Error(`${r.status} ${await r.text()}`);
	return r;
}

/** Shows a list of Recording. */
export function showRecordings(list) {
	runs = list;
	show(runs[0]);
	choices();
}

requestAnimationFrame(tick);
document.documentElement.dataset.ready = 'yes';
// For tests.
window.pauseless = {frames: () => drawn, state: () => ({now, playing, selected, runs: runs.length, samples: run?.t.length, events: run?.events.length}), go, place: (ch, share = 0.5) => along(ch, share), node: i => map.nodes[i]};

const file = embedded();
if (file) {
	file.then(showRecordings, e => { $('status').textContent = e.message; });
} else if (document.documentElement.dataset.source === 'server') {
	poll();
}
