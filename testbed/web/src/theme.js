// SPDX-License-Identifier: Apache-2.0

// Colours, light and dark. Arms have Okabe and Ito's colours, which people with
// colour vision deficiency can distinguish, made lighter or darker where the
// contrast to the page requires it.

const palettes = {
	light: {
		page: '#ffffff', text: '#1b1f24', faint: '#57606a', grid: '#e4e7eb', axis: '#8a929b',
		arms: ['#0072b2', '#c04e00', '#007d5a', '#a8488a', '#9a6a00', '#2f7fb5', '#1b1f24', '#7a7a00'],
		pause: '#c04e00', warn: '#a8488a', use: ['#d5dae0', '#9cc4dd', '#4f98c4', '#0072b2', '#00456d'], heat: ['#d5dae0', '#f2c9a1', '#e8954a', '#c04e00', '#7a2300'],
	},
	dark: {
		page: '#14181d', text: '#e6e9ed', faint: '#9aa4ae', grid: '#2b323a', axis: '#6b7580',
		arms: ['#56b4e9', '#ff8c42', '#2fc79b', '#e79ac8', '#f0c419', '#8fb8ff', '#e6e9ed', '#c9c95a'],
		pause: '#ff8c42', warn: '#e79ac8', use: ['#3a424b', '#3c6580', '#3f8fbd', '#56b4e9', '#b5e0fa'], heat: ['#3a424b', '#6e4a2c', '#b5652f', '#ff8c42', '#ffd2ae'],
	},
};

const key = 'pauseless-theme';
let forced = '';
try { forced = localStorage.getItem(key) || ''; } catch { /* a page from a file may have no storage */ }
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];

export const font = 'Arial, Helvetica, sans-serif';

/** 'light' or 'dark'. */
export const mode = () => forced || (dark.matches ? 'dark' : 'light');
/** The colours of a mode, by default the current one. */
export const colours = (m = mode()) => palettes[m];
export const armColour = (i, m) => { const a = colours(m).arms; return a[i % a.length]; };
/** The dash of an arm's line. Arms beyond the palette differ in it. */
export const armDash = i => [[], [6, 4], [2, 3], [10, 3, 2, 3]][Math.floor(i / palettes.light.arms.length) % 4];
/** Calls f whenever the colours change. */
export const onTheme = f => listeners.push(f);

const apply = () => {
	document.documentElement.dataset.theme = mode();
	for (const f of listeners) f();
};
dark.addEventListener('change', apply);
document.documentElement.dataset.theme = mode();

/** Makes a button switch between light and dark. */
export function themeButton(button) {
	button.addEventListener('click', () => {
		forced = mode() === 'dark' ? 'light' : 'dark';
		try { localStorage.setItem(key, forced); } catch { /* as above */ }
		apply();
	});
}

/** Interpolates in a list of colours; share is between 0 and 1. */
export function shade(scale, share) {
	const at = Math.min(Math.max(share, 0), 1) * (scale.length - 1), i = Math.min(Math.floor(at), scale.length - 2);
	const rgb = c => [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16));
	const a = rgb(scale[i]), b = rgb(scale[i + 1]);
	return '#' + a.map((v, k) => Math.round(v + (b[k] - v) * (at - i)).toString(16).padStart(2, '0')).join('');
}
