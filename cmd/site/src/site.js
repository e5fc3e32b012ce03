// SPDX-License-Identifier: Apache-2.0

// The search and the colours of the documents' site. The index is a script that
// is loaded when the reader first wants to search: pages opened from files may
// not fetch data.

import MiniSearch from '../../../testbed/web/vendor/minisearch/index.js';
import { themeButton } from '../../../testbed/web/src/theme.js';

const root = document.currentScript.dataset.root;
const query = document.getElementById('query'), found = document.getElementById('found');
const most = 12;

let loading;
/** The index, once it is there. */
function index() {
	loading ??= new Promise((done, fail) => {
		const script = document.createElement('script');
		script.src = root + 'search-index.js';
		script.onload = () => {
			// Names as rlb.warn or gen-list are found whole and by their parts.
			const words = text => text.split(/[^\p{L}\p{N}._-]+/u).flatMap(w => [w, ...w.split(/[._-]+/)]).filter(w => w);
			const search = new MiniSearch({ fields: ['heading', 'page', 'text'], storeFields: ['page', 'heading', 'url', 'text'], tokenize: words });
			search.addAll(globalThis.siteIndex);
			done(search);
		};
		script.onerror = () => fail(new Error('the index of the search was not loaded'));
		document.head.append(script);
	});
	return loading;
}

/** The text around the first word that was found. */
function around(text, terms) {
	const lower = text.toLowerCase();
	const at = Math.min(...terms.map(t => lower.indexOf(t)).filter(i => i >= 0));
	const from = Number.isFinite(at) ? Math.max(0, at - 40) : 0;
	return (from > 0 ? '…' : '') + text.slice(from, from + 160);
}

async function show() {
	const wanted = query.value.trim();
	if (!wanted) {
		found.hidden = true;
		return;
	}
	const search = await index();
	if (query.value.trim() !== wanted) return; // the query has changed
	const hits = search.search(wanted, { prefix: true, fuzzy: t => t.length > 5 ? 0.15 : 0, boost: { heading: 4, page: 2 }, combineWith: 'AND' }).slice(0, most);
	found.replaceChildren(...hits.map(hit => {
		const item = document.createElement('li'), link = document.createElement('a'), title = document.createElement('b'), part = document.createElement('span');
		link.href = root + hit.url;
		title.textContent = hit.heading ? `${hit.page}: ${hit.heading}` : hit.page;
		part.textContent = around(hit.text, hit.terms);
		link.append(title, part);
		item.append(link);
		return item;
	}));
	if (!hits.length) {
		const none = document.createElement('li');
		none.className = 'none';
		none.textContent = `Nothing found for “${wanted}”`;
		found.append(none);
	}
	found.dataset.query = wanted;
	found.hidden = false;
}

query.addEventListener('focus', () => { index().catch(err => console.error(err)); }, { once: true });
query.addEventListener('input', show);
query.addEventListener('keydown', e => { if (e.key === 'Enter') found.querySelector('a')?.click(); });
document.addEventListener('keydown', e => {
	const links = [...found.querySelectorAll('a')], at = links.indexOf(document.activeElement);
	if (e.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
		e.preventDefault();
		query.focus();
	} else if (e.key === 'Escape') {
		found.hidden = true;
	} else if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && (at >= 0 || document.activeElement === query) && links.length) {
		e.preventDefault();
		const to = at + (e.key === 'ArrowDown' ? 1 : -1);
		(to < 0 ? query : links[Math.min(to, links.length - 1)]).focus();
	}
});
document.addEventListener('click', e => { if (!e.target.closest('.search')) found.hidden = true; });
themeButton(document.getElementById('theme'));

// On phones the contents are behind a button.
const menu = document.getElementById('menu');
menu.addEventListener('click', () => {
	const open = document.getElementById('contents').classList.toggle('open');
	menu.setAttribute('aria-expanded', open);
});
document.documentElement.dataset.ready = '';
