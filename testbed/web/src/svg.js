// SPDX-License-Identifier: Apache-2.0

// A drawing context like CanvasRenderingContext2D that writes SVG, so that the
// same code draws figures on the screen and into files. It has only what our
// figures and uPlot use.

const num = v => String(Math.round(v * 100) / 100);
const escapes = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'};

/** Escapes text for XML, inside and outside of quotes. */
export const escapeXML = text => String(text).replace(/[&<>"]/g, c => escapes[c]);

/** A Path2D that records its steps as [name, ...coordinates]. */
export class RecordedPath extends Path2D {
	constructor(from) {
		super(from);
		this.steps = from ? from.steps.slice() : [];
	}
	moveTo(...a) { super.moveTo(...a); this.steps.push(['M', ...a]); }
	lineTo(...a) { super.lineTo(...a); this.steps.push(['L', ...a]); }
	bezierCurveTo(...a) { super.bezierCurveTo(...a); this.steps.push(['C', ...a]); }
	closePath() { super.closePath(); this.steps.push(['Z']); }
	rect(...a) { super.rect(...a); this.steps.push(['rect', ...a]); }
	arc(...a) { super.arc(...a); this.steps.push(['arc', ...a]); }
	addPath(path) { super.addPath(path); this.steps.push(...path.steps); }
}

// pathData turns steps into the d attribute of a path, moved by (dx, dy).
function pathData(steps, dx, dy) {
	const out = [];
	let at = '';
	for (const [op, ...a] of steps) {
		if (op === 'Z') {
			out.push('Z');
		} else if (op === 'rect') {
			const [x, y, w, h] = a;
			out.push(`M${num(x + dx)} ${num(y + dy)}h${num(w)}v${num(h)}h${num(-w)}Z`);
		} else if (op === 'arc') {
			const [x, y, r, from, to] = a;
			const px = x + dx + r * Math.cos(from), py = y + dy + r * Math.sin(from);
			const join = `${at ? 'L' : 'M'}${num(px)} ${num(py)}`;
			if (Math.abs(to - from) >= 2 * Math.PI - 1e-6) {
				out.push(`M${num(px)} ${num(py)}A${num(r)} ${num(r)} 0 1 1 ${num(2 * (x + dx) - px)} ${num(2 * (y + dy) - py)}A${num(r)} ${num(r)} 0 1 1 ${num(px)} ${num(py)}`);
			} else {
				const large = Math.abs(to - from) > Math.PI ? 1 : 0;
				out.push(`${join}A${num(r)} ${num(r)} 0 ${large} 1 ${num(x + dx + r * Math.cos(to))} ${num(y + dy + r * Math.sin(to))}`);
			}
		} else {
			// On a canvas a first lineTo is a moveTo.
			out.push((at === '' && op === 'L' ? 'M' : op) + a.map((v, i) => num(v + (i % 2 ? dy : dx))).join(' '));
		}
		at = op;
	}
	return out.join('');
}

export class SVGContext {
	constructor(width, height) {
		this.width = width;
		this.height = height;
		this.body = [];
		this.defs = [];
		this.stack = [];
		this.state = {
			dx: 0, dy: 0, angle: 0, clip: '', fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, lineJoin: 'miter', lineCap: 'butt',
			globalAlpha: 1, dash: [], font: '12px Arial', textAlign: 'start', textBaseline: 'alphabetic',
		};
		this.steps = [];
	}
	save() { this.stack.push({...this.state}); }
	restore() { if (this.stack.length) this.state = this.stack.pop(); }
	translate(x, y) { this.state.dx += x; this.state.dy += y; }
	rotate(angle) { this.state.angle += angle; }
	setTransform() { this.state.dx = this.state.dy = this.state.angle = 0; }
	setLineDash(dash) { this.state.dash = dash; }

	beginPath() { this.steps = []; }
	moveTo(...a) { this.steps.push(['M', ...a]); }
	lineTo(...a) { this.steps.push(['L', ...a]); }
	bezierCurveTo(...a) { this.steps.push(['C', ...a]); }
	closePath() { this.steps.push(['Z']); }
	rect(...a) { this.steps.push(['rect', ...a]); }
	arc(...a) { this.steps.push(['arc', ...a]); }

	d(path) { return pathData(path instanceof RecordedPath ? path.steps : this.steps, this.state.dx, this.state.dy); }
	common() {
		const s = this.state;
		return (s.globalAlpha < 1 ? ` opacity="${num(s.globalAlpha)}"` : '') + (s.clip ? ` clip-path="url(#${s.clip})"` : '');
	}
	stroke(path) {
		const s = this.state, d = this.d(path);
		if (!d || !s.lineWidth || s.strokeStyle === 'transparent') return;
		const dash = s.dash.length ? ` stroke-dasharray="${s.dash.map(num).join(' ')}"` : '';
		this.body.push(`<path d="${d}" fill="none" stroke="${escapeXML(s.strokeStyle)}" stroke-width="${num(s.lineWidth)}" stroke-linejoin="${s.lineJoin}" stroke-linecap="${s.lineCap}"${dash}${this.common()}/>`);
	}
	fill(path) {
		const d = this.d(path);
		if (d) this.body.push(`<path d="${d}" fill="${escapeXML(this.state.fillStyle)}"${this.common()}/>`);
	}
	clip(path) {
		const id = `c${this.defs.length}`;
		const within = this.state.clip ? ` clip-path="url(#${this.state.clip})"` : '';
		this.defs.push(`<clipPath id="${id}"${within}><path d="${this.d(path)}"/></clipPath>`);
		this.state.clip = id;
	}
	fillRect(x, y, w, h) { this.beginPath(); this.rect(x, y, w, h); this.fill(); }
	strokeRect(x, y, w, h) { this.beginPath(); this.rect(x, y, w, h); this.stroke(); }
	clearRect() {}
	measureText(text) { return {width: 0.55 * parseFloat(this.state.font) * text.length}; }
	fillText(text, x, y) {
		const s = this.state, [, size, family] = /([\d.]+)px\s+(.*)/.exec(s.font) || ['', '12', 'Arial'];
		const anchor = {center: 'middle', right: 'end', end: 'end'}[s.textAlign] || 'start';
		// Shift the baseline here: few programs support dominant-baseline.
		const shift = {top: 0.75, hanging: 0.75, middle: 0.35, bottom: -0.2}[s.textBaseline] || 0;
		const where = s.angle
			? `transform="translate(${num(s.dx)} ${num(s.dy)}) rotate(${num(s.angle * 180 / Math.PI)})" x="${num(x)}" y="${num(y + shift * size)}"`
			: `x="${num(x + s.dx)}" y="${num(y + s.dy + shift * size)}"`;
		this.body.push(`<text ${where} font-size="${size}" font-family="${escapeXML(family)}" text-anchor="${anchor}" fill="${escapeXML(s.fillStyle)}"${this.common()}>${escapeXML(text)}</text>`);
	}
	/** The finished file. */
	toString() {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">`
			+ (this.defs.length ? `<defs>${this.defs.join('')}</defs>` : '') + this.body.join('\n') + '</svg>\n';
	}
}
for (const name of ['fillStyle', 'strokeStyle', 'lineWidth', 'lineJoin', 'lineCap', 'globalAlpha', 'font', 'textAlign', 'textBaseline', 'lineDashOffset']) {
	Object.defineProperty(SVGContext.prototype, name, {
		get() { return this.state[name]; },
		set(v) { this.state[name] = v; },
	});
}
