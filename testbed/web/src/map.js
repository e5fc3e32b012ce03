// SPDX-License-Identifier: Apache-2.0

// The network as a map: hosts below, tiers of switches above, each link as two
// lines, one per direction.

import {font} from './theme.js';

/**
 * Places the nodes of a network {nodes: [{name, tier}], links: [{a, ap, b, bp}]} in a
 * rectangle. Hosts are below their switch; the switches of a tier are spaced evenly.
 */
export function layout(network, width, height) {
	const {nodes, links} = network, margin = {x: 26, top: 26, bottom: 30};
	const tiers = Math.max(...nodes.map(n => n.tier), 1);
	const place = nodes.map(n => ({x: 0, y: margin.top + (height - margin.top - margin.bottom) * (1 - n.tier / tiers), r: 0}));
	const up = nodes.map(() => []);
	for (const l of links) {
		if (nodes[l.a].tier < nodes[l.b].tier) up[l.a].push(l.b);
		else if (nodes[l.a].tier > nodes[l.b].tier) up[l.b].push(l.a);
	}
	for (let t = 0; t <= tiers; t++) {
		const row = nodes.map((_, i) => i).filter(i => nodes[i].tier === t);
		// Hosts are sorted by their switch, so that links do not cross.
		if (t === 0) row.sort((a, b) => (up[a][0] ?? -1) - (up[b][0] ?? -1) || a - b);
		const gaps = row.map((i, k) => t === 0 && k > 0 && up[i][0] !== up[row[k - 1]][0] ? 0.7 : 0);
		const units = row.length + gaps.reduce((s, g) => s + g, 0), step = (width - 2 * margin.x) / units;
		let at = margin.x + step / 2;
		row.forEach((i, k) => {
			at += gaps[k] * step;
			place[i].x = at;
			place[i].r = Math.max(1.5, Math.min(t === 0 ? 8 : 15, step * 0.36));
			place[i].step = step;
			at += step;
		});
	}
	return {network, width, height, nodes: place, tiers};
}

/** The line of a link in one direction: 0 is from end a to end b. */
export function line(map, l, dir) {
	const link = map.network.links[l], a = map.nodes[dir ? link.b : link.a], b = map.nodes[dir ? link.a : link.b];
	const dx = b.x - a.x, dy = b.y - a.y, len = Math.hypot(dx, dy) || 1;
	const off = Math.min(2.2, Math.max(0.7, Math.min(a.step, b.step) / 14)) , ox = -dy / len * off, oy = dx / len * off;
	return {x0: a.x + ox, y0: a.y + oy, x1: b.x + ox, y1: b.y + oy};
}

/** Paints the map. style(link, direction) returns {colour, width, dash, above}; node(i) returns {stroke, width}. */
export function drawMap(ctx, map, c, style, node = () => ({})) {
	const {links, nodes} = map.network;
	// Lines are grouped by style; those with the greatest "above" are drawn last.
	// Each line is a separate path: browsers draw a convex shape several times
	// faster than one path of many lines.
	const groups = new Map();
	for (let l = 0; l < links.length; l++) {
		for (let dir = 0; dir < 2; dir++) {
			const s = style(l, dir), key = `${s.above ? 1 : 0} ${s.colour} ${s.width} ${s.dash || ''}`;
			if (!groups.has(key)) groups.set(key, {s, lines: []});
			groups.get(key).lines.push(line(map, l, dir));
		}
	}
	for (const {s, lines} of [...groups.values()].sort((a, b) => (a.s.above || 0) - (b.s.above || 0))) {
		ctx.strokeStyle = s.colour;
		ctx.lineWidth = s.width;
		ctx.setLineDash(s.dash || []);
		for (const p of lines) {
			ctx.beginPath();
			ctx.moveTo(p.x0, p.y0);
			ctx.lineTo(p.x1, p.y1);
			ctx.stroke();
		}
	}
	ctx.setLineDash([]);
	ctx.textAlign = 'center';
	const outline = i => {
		const p = map.nodes[i];
		if (nodes[i].tier > 0) {
			ctx.rect(p.x - p.r, p.y - p.r * 0.75, 2 * p.r, 1.5 * p.r);
			return;
		}
		ctx.moveTo(p.x + p.r, p.y);
		ctx.arc(p.x, p.y, p.r, 0, 2 * Math.PI);
	};
	const paint = (list, s) => {
		ctx.beginPath();
		list.forEach(outline);
		ctx.fillStyle = c.page;
		ctx.fill();
		ctx.strokeStyle = s.stroke || c.faint;
		ctx.lineWidth = s.width || 1.2;
		ctx.stroke();
	};
	const plain = [];
	for (let i = 0; i < nodes.length; i++) if (!node(i).stroke) plain.push(i);
	paint(plain, {});
	for (let i = 0; i < nodes.length; i++) {
		const p = map.nodes[i], s = node(i), host = nodes[i].tier === 0;
		if (s.stroke) paint([i], s);
		// A name that is too wide for its place is omitted.
		const size = 11;
		const wide = nodes[i].name.length * size * 0.58;
		if (wide > p.step - 2) continue;
		ctx.font = `${size}px ${font}`;
		ctx.fillStyle = c.text;
		ctx.textBaseline = 'middle';
		if (host) ctx.fillText(nodes[i].name, p.x, p.y + p.r + 10);
		else ctx.fillText(nodes[i].name, p.x, wide < 2 * p.r - 3 ? p.y : p.y - p.r * 0.75 - 9);
	}
}

/** The node or link at a point: {node} or {link, dir}, or null. */
export function under(map, x, y, reach = 8) {
	for (let i = 0; i < map.nodes.length; i++) {
		const p = map.nodes[i];
		if (Math.hypot(x - p.x, y - p.y) <= Math.max(p.r, 5) + 1) return {node: i};
	}
	let best = null, least = reach;
	for (let l = 0; l < map.network.links.length; l++) {
		for (let dir = 0; dir < 2; dir++) {
			const p = line(map, l, dir), dx = p.x1 - p.x0, dy = p.y1 - p.y0;
			const t = Math.min(Math.max(((x - p.x0) * dx + (y - p.y0) * dy) / (dx * dx + dy * dy || 1), 0), 1);
			const d = Math.hypot(x - p.x0 - t * dx, y - p.y0 - t * dy);
			if (d < least) {
				least = d;
				best = {link: l, dir};
			}
		}
	}
	return best;
}

/** The name of a direction of a link: "l1 port 5 to s1". */
export function linkName(network, l, dir) {
	const k = network.links[l];
	return dir ? `${network.nodes[k.b].name} port ${k.bp} to ${network.nodes[k.a].name}` : `${network.nodes[k.a].name} port ${k.ap} to ${network.nodes[k.b].name}`;
}

/** A function from a map's width to its height. */
export const mapHeight = network => w => Math.round(Math.min(Math.max(w * 0.4, 200), 130 + 90 * Math.max(...network.nodes.map(n => n.tier), 1)));
