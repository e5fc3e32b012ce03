// SPDX-License-Identifier: Apache-2.0

// The figures of a report. Their data is in the element "data" (type Page of
// package report); sentences and tables are part of the page's HTML.

import {chart} from './chart.js';
import {canvasFigure, el, time, toolbar} from './figure.js';
import {drawMap, layout, linkName, mapHeight, under} from './map.js';
import {armColour, shade, themeButton} from './theme.js';

const page = JSON.parse(document.getElementById('data').textContent);
themeButton(document.getElementById('theme'));

// Arms are shown or hidden in all figures at once.
const byArm = [];
const spread = (name, on) => byArm.forEach(f => f.toggle(name, on));
const armSeries = (arm, rest) => ({name: page.arms[arm], index: arm, colour: m => armColour(arm, m), ...rest});

/** Adds a chart whose series are arms to its figure. */
function armChart(host, spec) {
	const f = chart(host, {...spec, onToggle: spread});
	host.prepend(toolbar(spec.title, f, el('strong', {}, spec.title)));
	byArm.push(f);
	return f;
}

function curves(host, fig) {
	return armChart(host, {
		title: fig.title, x: fig.x, y: fig.y, data: [fig.at],
		series: fig.arms.map(a => armSeries(a.arm, {v: a.v, band: a.lo && [a.lo, a.hi], points: fig.points})), intervals: fig.intervals,
	});
}

// Time lines: the queues of a run, and below them the pauses of its ports.
function timeline(host, run, group, place) {
	const title = `${page.arms[run.arm]}, seed ${run.seed}`;
	const end = Math.max(run.t.at(-1) || 0, ...run.pauses.map(p => p[3]), 1);
	const x = {label: 'time', unit: 'us', min: 0, max: end};
	const queues = run.lines.length > 0 && chart(host, {
		title: `Queues of ${title}`, x, y: {label: 'bytes waiting', unit: 'bytes', min: 0}, data: [run.t], sync: group, left: 92, height: 230,
		series: run.lines.map(l => ({name: l.name, index: place(l.name), colour: m => armColour(place(l.name), m), v: l.v, step: false})),
	});
	if (queues) queues.root.before(toolbar(`Queues of ${title}`, queues));
	for (const reg of run.registers || []) {
		const name = `Register ${reg.name} of ${title}`;
		const f = chart(host, {
			title: name, x, y: {label: `${reg.name}, ${reg.unit || 'value'}`, min: 0}, data: [reg.t], sync: group, left: 92, height: 170,
			series: reg.lines.map((l, i) => ({name: l.name, index: i, colour: m => armColour(i, m), v: l.v, step: true})),
		});
		f.root.before(toolbar(name, f));
	}
	if (run.rows.length === 0) return;
	// The series is empty and only gives the pointer its range; overlay draws the bars.
	const bars = chart(host, {
		title: `Pauses of ${title}`, x, y: {min: -run.rows.length + 0.5, max: 0.5}, rows: run.rows, sync: group, left: 112, height: 62 + 17 * run.rows.length,
		data: [[0, end]], series: [{name: 'paused by PFC', colour: m => pauseColour(m), v: [null, null]}], hint: 'a bar is a pause',
		overlay(u, c) {
			const {ctx} = u, row = Math.abs(u.valToPos(1, 'y', true) - u.valToPos(0, 'y', true));
			ctx.save();
			ctx.beginPath();
			ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
			ctx.clip();
			ctx.fillStyle = c.pause;
			for (const [r, , from, to] of run.pauses) {
				const x0 = u.valToPos(from, 'x', true), x1 = u.valToPos(to, 'x', true);
				if (x1 < u.bbox.left || x0 > u.bbox.left + u.bbox.width) continue;
				ctx.fillRect(x0, u.valToPos(-r, 'y', true) - row * 0.35, Math.max(x1 - x0, 1), row * 0.7);
			}
			ctx.restore();
		},
		under(us, y, u) {
			const r = Math.round(-y), slack = 3 / u.bbox.width * (u.scales.x.max - u.scales.x.min);
			const hit = run.pauses.find(p => p[0] === r && p[2] - slack <= us && us <= p[3] + slack);
			return time(us) + (hit ? `: ${run.rows[r]}, class ${hit[1]}, paused for ${time(hit[3] - hit[2])} from ${time(hit[2])}` : '');
		},
	});
	bars.root.before(toolbar(`Pauses of ${title}`, bars));
}
const pauseColour = m => armColour(1, m);

function pausedMap(host, network, run) {
	const title = `Paused time of ${page.arms[run.arm]}, seed ${run.seed}`;
	const paused = new Map(run.paused.map(([l, dir, us]) => [2 * l + dir, us]));
	const most = Math.max(...paused.values(), 1e-9);
	let map = null;
	const f = canvasFigure(host, {
		title, height: mapHeight(network), label: `${title}: a map of the network; the table of links below has the same numbers`,
		draw(ctx, w, h, c) {
			map = layout(network, w, h);
			drawMap(ctx, map, c, (l, dir) => {
				const us = paused.get(2 * l + dir) || 0;
				return {colour: us ? shade(c.heat.slice(1), us / most) : c.heat[0], width: us ? 3 : 1.2, above: us > 0};
			});
		},
	});
	const hint = `strongest colour: ${time(most)}`;
	const where = el('span', {class: 'where'}, paused.size ? hint : 'no port was paused');
	f.root.append(el('div', {class: 'values'}, where));
	host.insertBefore(toolbar(title, f, el('strong', {}, `${page.arms[run.arm]}`)), f.root);
	f.canvas.addEventListener('pointermove', e => {
		const at = under(map, e.offsetX, e.offsetY);
		where.textContent = !at ? hint : 'node' in at ? network.nodes[at.node].name
			: `${linkName(network, at.link, at.dir)}: paused for ${time(paused.get(2 * at.link + at.dir) || 0)}`;
	});
	f.canvas.addEventListener('pointerleave', () => { where.textContent = hint; });
}

for (const host of document.querySelectorAll('[data-figure]')) {
	const x = page.experiments[Number(host.dataset.experiment)];
	const body = el('div', {class: 'body'});
	host.prepend(body);
	switch (host.dataset.figure) {
	case 'curves':
		curves(body, x.figures[Number(host.dataset.number)]);
		break;
	case 'runs': {
		// One seed at a time, the arms below one another. A queue has the same
		// colour in all of them.
		const point = x.points[Number(host.dataset.point)];
		const seeds = [...new Set(point.runs.map(r => r.seed))], queues = [];
		const place = name => { if (!queues.includes(name)) queues.push(name); return queues.indexOf(name); };
		const show = seed => {
			parts.replaceChildren();
			const runs = point.runs.filter(r => r.seed === seed);
			if (point.network) for (const r of runs) pausedMap(parts.appendChild(el('div', {class: 'half'})), point.network, r);
			for (const r of runs) {
				parts.append(el('h4', {}, page.arms[r.arm]));
				timeline(parts, r, `${host.dataset.experiment} ${host.dataset.point}`, place);
			}
		};
		const parts = el('div', {class: 'parts'});
		if (seeds.length > 1) {
			const select = el('select', {onchange: e => show(Number(e.target.value))}, ...seeds.map(s => el('option', {value: s}, String(s))));
			body.append(el('label', {class: 'seed'}, 'seed ', select));
		}
		body.append(parts);
		show(seeds[0]);
		break;
	}
	}
}
// A menu shows one of several parts.
for (const host of document.querySelectorAll('[data-choose]')) {
	host.querySelector('.choice select')?.addEventListener('change', e => {
		for (const part of host.querySelectorAll(':scope > [data-part]')) part.hidden = part.dataset.part !== e.target.value;
	});
}
document.documentElement.dataset.ready = 'yes';
