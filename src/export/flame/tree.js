// SPDX-License-Identifier: MIT
// The interactive half of a flame graph. It lives inside the SVG file, behind the static picture, which it
// replaces when it runs. Nothing is fetched; names are only ever set as text. The files of this folder become one
// script, in the order of svg_assets.c, with one scope.
//
//	tree.js     this file: what the SVG file carries, numbers as text, and which boxes are on show
//	page.js     the elements around the picture
//	colours.js  what frames are filled with (colours.css has the colours)
//	draw.js     boxes and what is written on them
//	pointer.js  what is under the pointer
//	zoom.js     zoom, selection and the address
//	search.js   search
//	keys.js     keyboard and help
//	begin.js    replaces the static picture by all of it
//
// The data:
//
//	info    JSON: units, totals, kinds
//	names   one line for each frame: a letter for its kind, then its label
//	nodes   the tree in depth-first order, numbers in base 32 (see decode)
//
// What is shown is a range of the root's width, [from, to). Zooming is changing that range, so that also
// runs of frames too narrow to draw can be zoomed into.

const SVG = document.documentElement;
const XHTML = "http://www.w3.org/1999/xhtml";
const MIN_PX = 0.8, TEXT_PX = 24, PAD = 4, ROWS_PX = [19, 27];
let ROW = ROWS_PX[0];
const info = JSON.parse(text("info"));
const lines = text("names").split("\n");
const count = info.nodes;

function text(name) {
	let all = "";
	for (const part of document.querySelectorAll("metadata." + name))
		all += part.textContent;
	return all;
}

// --- the tree -----------------------------------------------------------------------------------------

// Node 0 is the root. A node covers [start, start + cpu + gpu); nodes i + 1 ... end[i] - 1 stand on it.
const nameOf = new Uint32Array(count), parent = new Uint32Array(count), end = new Uint32Array(count);
const depth = new Uint16Array(count);
const start = new Float64Array(count), cpu = new Float64Array(count), gpu = new Float64Array(count);
const samples = new Float64Array(count); // of the CPU time
const isGpu = info.kinds.map(kind => kind.gpu);
const onGpu = new Uint8Array(count); // by node: its time is GPU time
const kindOf = new Uint8Array(lines.length);
const labels = lines;

for (let i = 0; i < lines.length; i++) {
	kindOf[i] = lines[i].charCodeAt(0) - 97;
	labels[i] = lines[i].slice(1);
}

// Each node: name * 4 + 2 (levels to go up follow) + 1 (time of its own follows, and its samples if info.sampled). Numbers have 5 bits a
// character, the least first; all but the last character come from the upper half of the alphabet.
function decode() {
	const digit = new Uint8Array(128);
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	for (let i = 0; i < 64; i++)
		digit[alphabet.charCodeAt(i)] = i;

	let data = "", at = 0;
	function number() {
		let value = 0, scale = 1;
		for (;;) {
			const d = digit[data.charCodeAt(at++)];
			if (d < 32)
				return value + d * scale;
			value += (d - 32) * scale;
			scale *= 32;
		}
	}

	let node = 0, at_node = 0;
	for (const part of document.querySelectorAll("metadata.nodes")) {
		data = part.textContent;
		at = 0;
		while (at < data.length) {
			const head = number();
			let up = head & 2 ? number() + 1 : 0;
			const self = head & 1 ? number() : 0;
			samples[node] = self && info.sampled ? number() : 0;
			while (up--) {
				end[at_node] = node;
				at_node = parent[at_node];
			}
			nameOf[node] = (head - (head & 3)) / 4;
			depth[node] = node ? depth[at_node] + 1 : 0;
			parent[node] = at_node;
			onGpu[node] = (node && onGpu[at_node]) || isGpu[kindOf[nameOf[node]]] ? 1 : 0;
			if (onGpu[node])
				gpu[node] = self;
			else
				cpu[node] = self;
			at_node = node++;
		}
		part.remove();
	}
	for (; at_node; at_node = parent[at_node])
		end[at_node] = node;
	end[0] = node;
	for (let i = node - 1; i > 0; i--) {
		cpu[parent[i]] += cpu[i];
		gpu[parent[i]] += gpu[i];
		samples[parent[i]] += samples[i];
	}
	const next = new Float64Array(count);
	for (let i = 1; i < node; i++) {
		start[i] = next[parent[i]];
		next[i] = start[i];
		next[parent[i]] += cpu[i] + gpu[i];
	}
}
decode();
const total = cpu[0] + gpu[0] || 1;

function width(i) {
	return cpu[i] + gpu[i];
}

// --- numbers ------------------------------------------------------------------------------------------

const THIN = "\u202f";

function grouped(value) {
	return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

// To the last nanosecond: "1.234 567 891 s".
function exact(value) {
	if (info.unit === "count")
		return grouped(value);
	if (info.unit === "samples")
		return grouped(value) + (value === 1 ? " sample" : " samples");
	const ns = info.unit === "us" ? value * 1000 : value;
	for (const [unit, size, digits] of [["s", 1e9, 9], ["ms", 1e6, 6], ["\u00b5s", 1e3, 3]])
		if (ns >= size) {
			const whole = Math.floor(ns / size);
			const rest = String(ns - whole * size).padStart(digits, "0").replace(/0+$/, "");
			return grouped(whole) + (rest && "." + rest.replace(/\d{3}(?=\d)/g, "$&" + THIN)) +
				" " + unit;
		}
	return ns + " ns";
}

function share(part, whole) {
	if (!whole)
		return "";
	const percent = 100 * part / whole;
	if (!part || percent === 100)
		return percent + " %";
	return percent >= 99.995 ? "> 99.99 %" : percent >= 0.01 ? percent.toFixed(2) + " %" : "< 0.01 %";
}

// With as many digits as so many samples support, as reports have them. Without samples it is exact.
function sampled(value, n) {
	const digits = n < 10 ? 1 : n < 1000 ? 2 : 3;
	return n ? exact(Number(value.toPrecision(digits))) + ", " + grouped(n) + (n === 1 ? " sample" : " samples") : exact(value);
}

// Of a comparison: the time of both sides, of which n is the second's.
function sides(both, n) {
	const part = (name, value, whole) => name + " " + exact(value) + (whole ? " (" + share(value, whole) + ")" : "");
	return part("first", both - n, cpu[0] - samples[0]) + " \u00b7 " + part("second", n, samples[0]);
}

function times(c, g, whole_cpu, whole_gpu, n) {
	if (info.compared)
		return sides(c, n);
	const parts = [];
	if (c || !g)
		parts.push((info.time ? "" : gpu[0] || info.unit !== "count" ? "CPU " : "") + sampled(c, n) + " (" +
			share(c, whole_cpu) + ")");
	if (g)
		parts.push("GPU " + exact(g) + " (" + share(g, whole_gpu) + ")");
	return parts.join(" \u00b7 ");
}

// --- layout -------------------------------------------------------------------------------------------

let from = 0, to = total; // the range on show
let rows = [];            // by depth: boxes {node or -1, x, w, from, to, frames}
let flipped = info.inverted;
let viewWidth = 0, viewHeight = 0;

// Runs of neighbours too narrow to draw become one box without a node.
function layout(a, b) {
	const scale = viewWidth / (b - a);
	let haze = null;
	rows = [];
	function put(d, box) {
		(rows[d] = rows[d] || []).push(box);
	}
	function flush() {
		if (haze && (haze.to - haze.from) * scale >= MIN_PX)
			put(haze.depth, haze);
		haze = null;
	}
	for (let i = 0; i < count;) {
		const s = start[i], e = s + width(i);
		const left = s > a ? s : a, right = e < b ? e : b;
		if (right <= left) {
			i = s >= b && i ? end[parent[i]] : end[i]; /* siblings only lie further right */
			continue;
		}
		const d = depth[i];
		if ((right - left) * scale >= MIN_PX || !i) {
			flush();
			put(d, {node: i, depth: d, from: left, to: right, x: (left - a) * scale,
				w: (right - left) * scale, frames: 1});
			i++;
			continue;
		}
		if (haze && haze.depth === d) {
			haze.to = right;
			haze.frames++;
			haze.w = (right - haze.from) * scale;
		} else {
			flush();
			haze = {node: -1, parent: parent[i], depth: d, from: left, to: right,
				x: (left - a) * scale, w: (right - left) * scale, frames: 1};
		}
		i = end[i];
	}
	flush();
}

// Where a thin tower makes the graph taller than the page, which would be empty beside it, rows are higher, so that the
// rest fills the page.
function fitRows() {
	let low = 0;
	rows.forEach((row, d) => {
		if (row && row.reduce((sum, box) => sum + box.w, 0) > viewWidth / 50)
			low = d + 1;
	});
	ROW = rows.length * ROWS_PX[0] <= viewHeight || low * ROWS_PX[0] > viewHeight ? ROWS_PX[0] :
		Math.min(Math.floor(viewHeight / low), ROWS_PX[1]);
}

function rowTop(d) {
	const height = Math.max(rows.length * ROW, viewHeight);
	return flipped ? d * ROW : height - (d + 1) * ROW;
}
