// SPDX-License-Identifier: Apache-2.0

// Line charts on uPlot: values at the pointer or by the arrow keys, zoom
// synchronised with other charts, series that can be hidden, bands, SVG.

import {armDash, colours, font} from './theme.js';
import {digits, el, onResize, register, si, time} from './figure.js';
import {RecordedPath, SVGContext} from './svg.js';

const {uPlot} = globalThis; // of vendor/uplot, in a script before this one

const formats = {us: time, share: v => digits(100 * v) + ' %', bytes: v => si(v, 'B'), '': v => si(v)};
/** A function that prints a quantity of a unit: us, share, bytes, or any other. */
export const format = unit => formats[unit] || (v => si(v, unit));

// axis returns the look of an axis. Logarithmic ones have ticks at powers of
// ten, and at 2 and 5 times those if there are few.
function axis(c, {label, unit, log, values, size}) {
	const print = values || format(unit);
	const look = {
		stroke: c.faint, font: `12px ${font}`, labelFont: `12px ${font}`, labelSize: 20, label, size,
		grid: {stroke: c.grid, width: 1}, ticks: {stroke: c.grid, width: 1, size: 5}, border: {show: true, stroke: c.axis, width: 1},
		values: (u, ticks) => ticks.map(v => v === null || v === undefined ? '' : print(v)),
	};
	if (log) {
		look.splits = (u, i, min, max) => {
			for (const steps of [[1, 2, 5], [1, 3], [1]]) {
				const ticks = [];
				for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++) {
					for (const k of steps) {
						const v = Number((k * 10 ** e).toPrecision(3));
						if (v >= min * 0.999 && v <= max * 1.001) ticks.push(v);
					}
				}
				if (ticks.length <= (i === 0 ? u.width / 80 : 9)) return ticks;
			}
			return [min, max];
		};
		look.filter = (u, ticks) => ticks;
	}
	return look;
}

/**
 * spec: {title, x: {label, unit, log, min, max}, y: {label, unit, log, min, max}, data: [x, …],
 *   series: [{name, colour(mode) => css, index, band: [lo, hi] (arrays), step}],
 *   height, sync (name of the group whose zoom and pointer are synchronised), overlay(u, colours) draws on top,
 *   intervals (bands are the intervals of single values, drawn as bars side by side),
 *   under(us, y, u) returns a text for the place under the pointer, rows (names of a list along y)}
 */
export function chart(parent, spec) {
	const {x, y, series} = spec;
	const data = [spec.data[0]], bands = [], columns = [];
	for (const s of series) {
		columns.push(data.length);
		data.push(s.v);
		if (s.band) {
			data.push(s.band[0], s.band[1]);
			bands.push({series: [data.length - 1, data.length - 2], of: s});
		}
	}
	const hidden = new Set();
	const home = {min: x.min ?? spec.data[0][0], max: x.max ?? spec.data[0].at(-1)};
	if (spec.intervals) { // room for the bars beside the first and the last value
		const room = x.names ? 0.5 : (home.max - home.min) * 0.06;
		home.min -= room;
		home.max += room;
	}
	// Many overlapping bands would hide the lines.
	const bandAlpha = series.length <= 2 ? '33' : series.length <= 4 ? '22' : '14';
	let range = {...home}, plot = null;

	const plotHost = el('div', {class: 'plot', tabindex: '0', role: 'img', 'aria-label': `${spec.title}. Arrow keys move along the chart, plus and minus zoom, 0 shows all.`});
	const legend = el('div', {class: 'values', 'aria-live': 'off'});
	const root = el('div', {class: 'chart'}, plotHost, legend);
	parent.append(root);

	function options(width, height, mode, paper) {
		const c = colours(mode);
		const line = s => ({
			label: s.name, scale: 'y', stroke: s.colour(mode), width: 2, dash: armDash(s.index ?? 0), show: !hidden.has(s.name),
			...(spec.intervals && {width: 0}),
			paths: spec.intervals ? () => null : s.step ? uPlot.paths.stepped({align: 1}) : undefined, points: {show: spec.intervals ? false : s.points ? true : undefined, size: 6, fill: s.colour(mode)},
			spanGaps: true,
		});
		const list = [{}];
		for (const s of series) {
			list.push(line(s));
			if (s.band) list.push(...[0, 1].map(() => ({scale: 'y', stroke: 'transparent', width: 0, points: {show: false}, ...(spec.intervals && {paths: () => null}), show: !hidden.has(s.name), spanGaps: true})));
		}
		const yAxis = spec.rows
			? {...axis(c, {label: y.label, values: v => spec.rows[Math.round(-v)] ?? '', size: spec.left || 92}), splits: () => spec.rows.map((_, i) => -i), grid: {show: false}, space: 10}
			: axis(c, {...y, size: spec.left || 62});
		return {
			width, height, pxAlign: paper ? 0 : 1, legend: {show: false},
			padding: [paper ? 14 + 18 * Math.ceil(series.length / 4) : 12, 14, 0, 0],
			cursor: {
				drag: {x: true, y: false, uni: 8}, points: {show: !spec.rows}, y: false,
				sync: spec.sync && !paper ? {key: spec.sync, setSeries: false, scales: ['x', null]} : undefined,
			},
			scales: {
				x: {time: false, distr: x.log ? 3 : 1, range: () => [range.min, range.max]},
				y: {
					distr: y.log ? 3 : 1, log: 10,
					range: y.log ? undefined : (u, lo, hi) => [y.min ?? Math.min(lo ?? 0, 0), y.max ?? ((hi ?? 1) > 0 ? hi * 1.05 : 1)],
				},
			},
			axes: [{...axis(c, x.names ? {label: x.label, values: v => x.names[v] ?? ''} : x), size: 40, ...(x.names && {splits: () => x.names.map((_, i) => i)})}, yAxis],
			series: list,
			bands: spec.intervals ? [] : bands.filter(b => !hidden.has(b.of.name)).map(b => ({series: b.series, fill: b.of.colour(mode) + bandAlpha})),
			hooks: {
				draw: [u => { if (spec.intervals) drawIntervals(u, mode); spec.overlay?.(u, c); if (paper) drawLegend(u, c); }],
				setCursor: paper ? [] : [u => values(u)],
				setSelect: paper ? [] : [u => {
					if (u.select.width < 3) return;
					zoom(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
					u.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
				}],
			},
		};
	}

	// Means with their intervals, side by side at each x. If x are numbers,
	// lines join them.
	function drawIntervals(u, mode) {
		const ratio = uPlot.pxRatio, ctx = u.ctx, shown = series.filter(s => !hidden.has(s.name)), gap = Math.min(7, (x.names ? 300 : 60) / spec.data[0].length / Math.max(shown.length, 1)) * ratio;
		ctx.save();
		shown.forEach((s, k) => {
			const at = i => u.valToPos(spec.data[0][i], 'x', true) + (k - (shown.length - 1) / 2) * gap, y = v => u.valToPos(v, 'y', true);
			ctx.strokeStyle = ctx.fillStyle = s.colour(mode);
			const places = spec.data[0].map((_, i) => i).filter(i => s.v[i] !== null && s.v[i] !== undefined && spec.data[0][i] >= range.min && spec.data[0][i] <= range.max);
			ctx.lineWidth = 1.3 * ratio;
			for (const i of places) {
				if (s.band && s.band[0][i] !== null) {
					ctx.beginPath();
					ctx.moveTo(at(i), y(s.band[0][i]));
					ctx.lineTo(at(i), y(s.band[1][i]));
					ctx.stroke();
				}
				ctx.beginPath();
				ctx.arc(at(i), y(s.v[i]), 3.5 * ratio, 0, 2 * Math.PI);
				ctx.fill();
			}
			if (x.names || places.length < 2) return;
			ctx.lineWidth = 2 * ratio;
			ctx.setLineDash(armDash(s.index ?? 0).map(v => v * ratio));
			ctx.beginPath();
			places.forEach((i, n) => n ? ctx.lineTo(at(i), y(s.v[i])) : ctx.moveTo(at(i), y(s.v[i])));
			ctx.stroke();
			ctx.setLineDash([]);
		});
		ctx.restore();
	}

	function drawLegend(u, c) {
		const ratio = uPlot.pxRatio, ctx = u.ctx, shown = series.filter(s => !hidden.has(s.name));
		const cell = u.bbox.width / Math.min(4, Math.max(shown.length, 1));
		ctx.save();
		ctx.font = `${12 * ratio}px ${font}`;
		ctx.textAlign = 'left';
		ctx.textBaseline = 'middle';
		shown.forEach((s, i) => {
			const left = u.bbox.left + cell * (i % 4), top = (12 + 18 * Math.floor(i / 4)) * ratio;
			ctx.strokeStyle = s.colour('light');
			ctx.lineWidth = 2 * ratio;
			ctx.setLineDash(armDash(s.index ?? 0).map(v => v * ratio));
			ctx.beginPath();
			ctx.moveTo(left, top);
			ctx.lineTo(left + 20 * ratio, top);
			ctx.stroke();
			ctx.setLineDash([]);
			ctx.fillStyle = c.text;
			ctx.fillText(s.name, left + 26 * ratio, top);
		});
		ctx.restore();
	}

	// values prints the values at the pointer.
	function values(u) {
		const {idx, left, top} = u.cursor;
		if (left < 0 || idx === null || idx === undefined) {
			for (const b of items) b.value.textContent = '';
			where.textContent = hint;
			return;
		}
		const print = format(y.unit);
		items.forEach(({value, s}, i) => {
			const v = data[columns[i]][idx];
			const band = s.band && s.band[0][idx] !== null ? ` (${print(s.band[0][idx])} to ${print(s.band[1][idx])})` : '';
			value.textContent = v === null || v === undefined ? ' –' : ' ' + print(v) + band;
		});
		where.textContent = (spec.under?.(u.posToVal(left, 'x'), u.posToVal(top, 'y'), u)) || (x.names?.[data[0][idx]] ?? format(x.unit)(data[0][idx]));
	}

	const hint = spec.hint ?? 'drag to zoom, double-click for all';
	const where = el('span', {class: 'where'}, hint);
	const items = series.map(s => {
		const value = el('span', {class: 'value'});
		const swatch = el('span', {class: 'swatch'});
		const button = el('button', {type: 'button', class: 'series', 'aria-pressed': 'true', onclick: () => toggle(s.name)}, swatch, s.name, value);
		return {s, value, swatch, button};
	});
	legend.append(where, ...items.map(i => i.button));

	function toggle(name, on = hidden.has(name)) {
		if (!series.some(s => s.name === name) || on === !hidden.has(name)) return;
		if (on) hidden.delete(name);
		else hidden.add(name);
		for (const i of items) i.button.setAttribute('aria-pressed', String(!hidden.has(i.s.name)));
		f.redraw();
		spec.onToggle?.(name, on);
	}

	// zoom shows a part of the x axis here and in the charts of the group.
	function zoom(min, max) {
		setRange(min, max);
		for (const other of groups.get(spec.sync) || []) if (other !== f) other.setRange(min, max);
	}
	function setRange(min, max) {
		if (min === undefined || !(max > min)) ({min, max} = home);
		range = {min: Math.max(min, home.min), max: Math.min(max, home.max)};
		if (!(range.max > range.min)) range = {...home};
		if (plot) plot.setScale('x', range);
	}

	plotHost.addEventListener('dblclick', () => zoom());
	plotHost.addEventListener('keydown', e => {
		if (!plot) return;
		const span = range.max - range.min, left = Math.max(plot.cursor.left ?? 0, 0), at = plot.posToVal(left, 'x');
		const step = plot.over.clientWidth / (e.shiftKey ? 20 : 200);
		switch (e.key) {
		case 'ArrowLeft': plot.setCursor({left: Math.max(left - step, 0), top: plot.over.clientHeight / 2}, true, true); break;
		case 'ArrowRight': plot.setCursor({left: Math.min(left + step, plot.over.clientWidth - 1), top: plot.over.clientHeight / 2}, true, true); break;
		case '+': case '=': zoom(at - span / 4, at + span / 4); break;
		case '-': zoom(range.min - span / 2, range.max + span / 2); break;
		case '0': case 'Escape': zoom(); break;
		default: return;
		}
		e.preventDefault();
	});

	const height = w => spec.height ?? Math.round(Math.min(Math.max(w * 0.42, 230), 380));
	const f = register({
		root, spec, toggle, setRange, zoom,
		get plot() { return plot; },
		redraw() {
			const w = root.clientWidth;
			if (!w) return;
			plot?.destroy();
			plot = new uPlot(options(w, height(w)), data, plotHost);
			for (const i of items) {
				i.swatch.style.background = i.s.colour();
				i.swatch.style.opacity = hidden.has(i.s.name) ? 0.2 : 1;
			}
		},
		// svg draws the chart on a context that writes SVG. uPlot's constructor
		// calls getContext, and uPlot draws at the end of batch.
		svg() {
			const w = 760, h = height(w) + 18 * Math.ceil(series.length / 4), ratio = devicePixelRatio || 1;
			const ctx = new SVGContext(w * ratio, h * ratio);
			const getContext = HTMLCanvasElement.prototype.getContext, path = window.Path2D;
			HTMLCanvasElement.prototype.getContext = () => ctx;
			window.Path2D = RecordedPath;
			try {
				const u = new uPlot(options(w, h, 'light', true), data, (self, init) => init());
				u.batch(() => u.redraw(true, true));
				u.destroy();
			} finally {
				HTMLCanvasElement.prototype.getContext = getContext;
				window.Path2D = path;
			}
			return ctx.toString().replace(/width="\d+(\.\d+)?" height="\d+(\.\d+)?"/, `width="${w}" height="${h}"`);
		},
	});
	if (spec.sync) {
		if (!groups.has(spec.sync)) groups.set(spec.sync, []);
		groups.get(spec.sync).push(f);
	}
	let width = 0;
	onResize(root, () => {
		if (root.clientWidth !== width) {
			width = root.clientWidth;
			f.redraw();
		}
	});
	return f;
}

// groups are the synchronised charts by the name of their group.
const groups = new Map();
