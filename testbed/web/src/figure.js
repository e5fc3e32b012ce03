// SPDX-License-Identifier: Apache-2.0

// Common parts of figures: the frame with its buttons, sizes, saving as SVG.

import {colours, onTheme} from './theme.js';
import {SVGContext} from './svg.js';

/** Returns a new element: el('p', {class: 'x', onclick: f}, 'text', child). */
export function el(tag, attrs = {}, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attrs)) {
		if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
		else if (v !== false && v !== undefined) e.setAttribute(k, v === true ? '' : v);
	}
	e.append(...children);
	return e;
}

/** A number with three digits and a prefix: 12.3k. */
export function si(v, unit = '') {
	const gap = unit ? ' ' : '';
	if (v === 0) return '0' + gap + unit;
	const a = Math.abs(v);
	for (const [scale, prefix] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
		if (a >= 0.9995 * scale) return digits(v / scale) + gap + prefix + unit;
	}
	return digits(v) + gap + unit;
}

/** A number with three digits, without trailing zeros. */
export const digits = v => String(Number(v.toPrecision(3)));

/** A time with its unit; us is in microseconds. */
export function time(us) {
	const a = Math.abs(us);
	if (a >= 1e6) return Number((us / 1e6).toPrecision(6)) + ' s';
	if (a >= 1e3) return Number((us / 1e3).toPrecision(6)) + ' ms';
	return Number(us.toPrecision(6)) + ' µs';
}

/** Offers a text as a download. */
export function save(name, text, type = 'image/svg+xml') {
	const url = URL.createObjectURL(new Blob([text], {type}));
	el('a', {href: url, download: name}).click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const fileName = text => text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') + '.svg';

// figures are all figures of the page; each has redraw() and svg().
const figures = [];

/** Adds a figure to the page's: it is redrawn when the theme changes, and printed as SVG. */
export function register(f) {
	figures.push(f);
	return f;
}
onTheme(() => figures.forEach(f => f.redraw()));

// Figures are printed as SVG in light colours.
addEventListener('beforeprint', () => {
	for (const f of figures) {
		if (!f.root.isConnected) continue;
		const img = el('div', {class: 'paper'});
		const svg = new DOMParser().parseFromString(f.svg(), 'image/svg+xml').documentElement;
		// The ids of clip paths are unique per figure; make them unique on the page.
		const own = 'p' + figures.indexOf(f);
		for (const c of svg.querySelectorAll('clipPath')) c.id = own + c.id;
		for (const c of svg.querySelectorAll('[clip-path]')) c.setAttribute('clip-path', c.getAttribute('clip-path').replace('#', '#' + own));
		svg.removeAttribute('height');
		img.append(document.importNode(svg, true));
		f.root.append(img);
	}
});
addEventListener('afterprint', () => document.querySelectorAll('.paper').forEach(e => e.remove()));

/**
 * A canvas as wide as its parent, painted by draw(ctx, width, height, colours) on the screen
 * and into SVG files.
 */
export function canvasFigure(parent, {title, height, draw, label}) {
	const canvas = el('canvas', {role: 'img', 'aria-label': label || title, tabindex: '0'});
	const root = el('div', {class: 'chart'}, canvas);
	parent.append(root);
	const tall = w => typeof height === 'function' ? height(w) : height;
	const f = register({
		root, canvas,
		width: 0,
		redraw() {
			const w = root.clientWidth;
			if (!w) return;
			const h = tall(w), ratio = devicePixelRatio || 1;
			if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
				canvas.width = Math.round(w * ratio);
				canvas.height = Math.round(h * ratio);
				canvas.style.width = w + 'px';
				canvas.style.height = h + 'px';
			}
			const ctx = canvas.getContext('2d', {alpha: false});
			ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
			ctx.fillStyle = colours().page;
			ctx.fillRect(0, 0, w, h);
			f.width = w;
			f.height = h;
			draw(ctx, w, h, colours());
		},
		svg() {
			const w = 760, h = tall(w), ctx = new SVGContext(w, h);
			draw(ctx, w, h, colours('light'));
			return ctx.toString();
		},
	});
	onResize(root, () => f.redraw());
	return f;
}

/** Calls redraw when the size of an element changes; in the next frame, since it may change
 * sizes itself, which browsers report as an error of the page. */
export function onResize(root, redraw) {
	new ResizeObserver(() => requestAnimationFrame(redraw)).observe(root);
}

/** The row of buttons of a figure. */
export function toolbar(title, figure, ...more) {
	return el('div', {class: 'tools'}, ...more,
		el('button', {type: 'button', onclick: async () => save(fileName(title), await figure.svg())}, 'Save SVG'));
}
