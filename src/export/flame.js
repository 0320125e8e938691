// SPDX-License-Identifier: MIT
// The interactive half of a flame graph. It lives inside the SVG file, behind the static picture, which it
// replaces when it runs. Nothing is fetched; names are only ever set as text.
//
//	info    JSON: units, totals, kinds
//	names   one line for each frame: a letter for its kind, then its label
//	nodes   the tree in depth-first order, numbers in base 32 (see decode)
//
// What is shown is a range of the root's width, [from, to). Zooming is changing that range, so that also
// runs of frames too narrow to draw can be zoomed into.
(function () {
"use strict";

const SVG = document.documentElement;
const XHTML = "http://www.w3.org/1999/xhtml";
const ROW = 19, MIN_PX = 0.8, TEXT_PX = 24, PAD = 4;
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
const isGpu = info.kinds.map(kind => kind.gpu);
const onGpu = new Uint8Array(count); // by node: its time is GPU time
const kindOf = new Uint8Array(lines.length);
const labels = lines;

for (let i = 0; i < lines.length; i++) {
	kindOf[i] = lines[i].charCodeAt(0) - 97;
	labels[i] = lines[i].slice(1);
}

// Each node: name * 4 + 2 (levels to go up follow) + 1 (time of its own follows). Numbers have 5 bits a
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

function times(c, g, whole_cpu, whole_gpu) {
	const parts = [];
	if (c || !g)
		parts.push((info.time ? "" : gpu[0] || info.unit !== "count" ? "CPU " : "") + exact(c) + " (" +
			share(c, whole_cpu) + ")");
	if (g)
		parts.push("GPU " + exact(g) + " (" + share(g, whole_gpu) + ")");
	return parts.join(" \u00b7 ");
}

// --- elements -----------------------------------------------------------------------------------------

function make(tag, attributes, ...children) {
	const e = document.createElementNS(XHTML, tag);
	for (const key in attributes)
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), attributes[key]);
		else
			e.setAttribute(key, attributes[key]);
	for (const child of children)
		e.append(child);
	return e;
}

const canvas = make("canvas", {});
const context = canvas.getContext("2d");
const spacer = make("div", {});
const scroll = make("div", {"class": "scroll", tabindex: "0", role: "application",
	"aria-label": "Flame graph. Arrow keys move, Enter zooms, Escape goes back, question mark shows help."},
	spacer);
const graph = make("div", {"class": "graph"}, canvas, scroll);
const query = make("input", {type: "search", placeholder: "Search (or /regex/)", spellcheck: "false",
	"aria-label": "Search frames", autocomplete: "off"});
const found = make("div", {"class": "found", "aria-live": "polite"});
const backButton = make("button", {type: "button", title: "Backspace"}, "Reset zoom");
const flipButton = make("button", {type: "button", title: "i"}, "Flip");
const helpButton = make("button", {type: "button", title: "?", "aria-label": "Help"}, "?");
const legend = make("div", {"class": "legend"});
const frameText = make("div", {"class": "frame", "aria-live": "polite"});
const leftText = make("div", {"class": "left"});
const tip = make("div", {"class": "tip", hidden: ""});
const help = make("div", {"class": "help", hidden: ""});
const remarks = make("div", {"class": "remarks"});
const app = make("div", {"class": "app"},
	make("div", {"class": "top"},
		make("div", {"class": "what"}, heading(), facts(), remarks),
		make("div", {"class": "tools"},
			make("div", {"class": "bar"}, query, backButton, flipButton, helpButton), found)),
	legend, graph,
	make("div", {"class": "status"}, frameText, leftText), tip, help);

function heading() {
	const h = make("h1", {title: info.title}, make("span", {}, info.title));
	if (info.simulated)
		h.append(make("span", {"class": "simulated"}, "simulated GPU"));
	return h;
}

function facts() {
	const line = make("div", {"class": "facts"});
	for (const fact of info.facts) {
		if (line.childNodes.length)
			line.append(" \u00b7 ");
		line.append(fact[0], " ", make("b", {}, fact[1]));
	}
	return line;
}

function showRemarks() {
	const open = remarks.classList.contains("open");
	remarks.textContent = info.remarks.join(open ? "\n" : " \u00b7 ");
	remarks.title = open ? "" : info.remarks.join("\n");
}
showRemarks();
remarks.hidden = !info.remarks.length;
if (info.remarks.length) {
	remarks.setAttribute("role", "button");
	remarks.addEventListener("click", () => {
		remarks.classList.toggle("open");
		showRemarks();
		resize();
	});
}

// --- colours: those of the static picture, read back so that there is one place for them ---------------

let fills = [], hazeFill, matchFill, ink, faint;

function readColours() {
	const probe = document.createElementNS(SVG.namespaceURI, "rect");
	SVG.append(probe);
	function fillOf(name) {
		probe.setAttribute("class", name);
		return getComputedStyle(probe).fill;
	}
	fills = info.kinds.map(kind => fillOf(kind["class"]));
	hazeFill = fillOf("haze");
	matchFill = fillOf("match");
	probe.remove();
	const style = getComputedStyle(app);
	ink = style.color;
	faint = style.backgroundColor;
	const present = new Set();
	for (let i = 0; i < count; i++)
		present.add(kindOf[nameOf[i]]);
	const shown = new Map();
	for (let k = 0; k < fills.length; k++)
		if (present.has(k) && info.kinds[k].legend)
			shown.set(info.kinds[k].legend, fills[k]);
	legend.replaceChildren(...Array.from(shown, ([name, fill]) => {
		const swatch = make("i", {});
		swatch.style.background = fill;
		return make("span", {}, swatch, name);
	}));
}

// Neighbours differ a little, always in the same way for the same name.
const SHADES = [1, 0.88, 0.76];
const shadeOf = new Uint8Array(labels.length);
for (let i = 0; i < labels.length; i++) {
	let h = 0;
	for (let k = 0; k < labels[i].length; k++)
		h = Math.imul(h, 31) + labels[i].charCodeAt(k) | 0;
	shadeOf[i] = (h >>> 4) % 3;
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

function rowTop(d) {
	const height = Math.max(rows.length * ROW, viewHeight);
	return flipped ? d * ROW : height - (d + 1) * ROW;
}

// --- drawing ------------------------------------------------------------------------------------------

const charWidth = new Map();

function widthOf(c) {
	let w = charWidth.get(c);
	if (w === undefined)
		charWidth.set(c, w = context.measureText(c).width);
	return w;
}

// As much of the label as fits, with an ellipsis where it was cut.
function fit(label, room) {
	let used = 0, cut = 0;
	const dots = widthOf("\u2026");
	for (const c of label) {
		used += widthOf(c);
		if (used > room)
			return cut >= 2 ? label.slice(0, cut) + "\u2026" : "";
		if (used + dots <= room)
			cut += c.length;
	}
	return label;
}

// Without what stands in < > and ( ), and without the type that stands before the name, as label.c does it.
const WHOLE = /^operator(?:\(\)| .*|[<>=!+\-*\/%&|^~,[\]]+)/s;

function bare(label) {
	let out = "", nested = 0, args = false;
	for (let at = 0; at < label.length;) {
		const c = label[at], rest = nested || c !== "o" ? null : WHOLE.exec(label.slice(at, at + 1000));
		if (rest) {
			out += rest[0];
			at += rest[0].length;
			continue;
		}
		if (!nested && label.startsWith("(anonymous namespace)::", at)) {
			at += 23;
			continue;
		}
		if (!nested && c === " " && (args || label[at + 1] === "("))
			break;
		if (!nested && c === " ")
			out = label[at - 1] === "<" ? out : ""; // "operator< <int>"
		else if (c === "<" || c === "(")
			nested++;
		else if (nested && ((c === ">" && label[at - 1] !== "-") || c === ")"))
			args = !--nested && c === ")";
		else if (!nested)
			out += c;
		at++;
	}
	return out;
}

const LONG_NAMES = new Set(["cxx", "gpu", "source", "wait"]);
const briefs = new Array(labels.length); // by name: what fits where the label does not

function briefOf(name) {
	if (!briefs[name]) {
		const label = labels[name], slash = label.lastIndexOf("/");
		const first = /^\[waiting(:| for the) /.test(label) ? label.replace(/^\[waiting(:| for the) /, "").slice(0, -1) :
			label.startsWith("<") ? label : // "<T as Trait>::f" of Rust
			slash >= 0 && !label.includes("(") ? "..." + label.slice(slash) : bare(label);
		const second = first.slice(first.lastIndexOf("::") + 1).replace(/^:/, "");
		briefs[name] = [first, second].filter(text => text && text.length < label.length);
	}
	return briefs[name];
}

// The whole label, or a briefer one, or the beginning of that.
function fitting(name, room) {
	let text = fit(labels[name], room);
	if (text === labels[name] || !LONG_NAMES.has(info.kinds[kindOf[name]]["class"]))
		return text;
	for (const brief of briefOf(name)) {
		text = fit(brief, room);
		if (text === brief)
			break;
	}
	return text;
}

let hovered = null, selected = 0;
let matches = null; // by name: 1 when the search finds it
let drawn = 0;

function drawBox(box, y) {
	const name = box.node < 0 ? 0 : nameOf[box.node];
	const covers = box.node >= 0 && start[box.node] <= from && start[box.node] + width(box.node) >= to;
	const faded = covers && width(box.node) > to - from;
	const hit = matches && box.node >= 0 && matches[name];
	const gap = box.w > 4 ? 1 : 0;

	context.globalAlpha = box.node < 0 ? 1 : SHADES[shadeOf[name]] * (faded ? 0.5 : 1) *
		(matches && !hit ? 0.45 : 1);
	context.fillStyle = box.node < 0 ? hazeFill : hit ? matchFill : fills[kindOf[name]];
	context.fillRect(box.x, y, Math.max(box.w - gap, 0.6), ROW - 1);
	if (box.node >= 0 && box.w >= TEXT_PX) {
		const label = fitting(name, box.w - 2 * PAD - gap);
		if (label) {
			context.globalAlpha = faded ? 0.7 : 1;
			context.fillStyle = hit ? "#fff" : ink;
			context.fillText(label, box.x + PAD, y + ROW / 2);
		}
	}
	drawn++;
}

function outline(box, line) {
	if (!box || !rows[box.depth])
		return;
	const y = rowTop(box.depth) - scroll.scrollTop;
	context.globalAlpha = 1;
	context.strokeStyle = ink;
	context.lineWidth = line;
	context.strokeRect(box.x + line / 2, y + line / 2, Math.max(box.w - 1 - line, 1), ROW - 1 - line);
}

function boxOf(node) {
	return (rows[depth[node]] || []).find(box => box.node === node);
}

function draw() {
	const ratio = window.devicePixelRatio || 1, top = scroll.scrollTop;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, viewWidth, viewHeight);
	drawn = 0;
	for (let d = 0; d < rows.length; d++) {
		const y = rowTop(d) - top;
		if (y > -ROW && y < viewHeight && rows[d])
			for (const box of rows[d])
				drawBox(box, y);
	}
	if (hovered)
		outline(hovered, 1);
	if (selected)
		outline(boxOf(selected), 2);
	context.globalAlpha = 1;
}

let pending = 0;

function redraw() {
	if (!pending)
		pending = requestAnimationFrame(() => {
			pending = 0;
			draw();
		});
}

function arrange() {
	layout(from, to);
	spacer.style.height = rows.length * ROW + "px";
	hovered = null;
	backButton.disabled = from === 0 && to === total;
	showLeft();
	redraw();
}

function resize() {
	const ratio = window.devicePixelRatio || 1;
	viewWidth = Math.max(scroll.clientWidth, 50);
	viewHeight = Math.max(graph.clientHeight, ROW);
	canvas.width = Math.round(viewWidth * ratio);
	canvas.height = Math.round(viewHeight * ratio);
	canvas.style.width = viewWidth + "px";
	canvas.style.height = viewHeight + "px";
	context.font = "12px " + getComputedStyle(app).fontFamily;
	context.textBaseline = "middle";
	arrange();
}

function showLeft() {
	let narrow = 0;
	for (const row of rows)
		for (const box of row || [])
			if (box.node < 0)
				narrow += box.frames;
	const parts = [];
	if (narrow)
		parts.push("zoom in for " + grouped(narrow) + " narrow frames and what they carry");
	if (info.dropped)
		parts.push(grouped(info.dropped) + " frames left out of this picture");
	leftText.textContent = parts.join(" \u00b7 ");
}

// --- what is under the pointer ------------------------------------------------------------------------

function depthAt(y) {
	const height = Math.max(rows.length * ROW, viewHeight), at = y + scroll.scrollTop;
	return flipped ? Math.floor(at / ROW) : Math.floor((height - at) / ROW);
}

function boxAt(x, y) {
	const row = rows[depthAt(y)] || [];
	let low = 0, high = row.length - 1;
	while (low <= high) {
		const middle = (low + high) >> 1, box = row[middle];
		if (x < box.x)
			high = middle - 1;
		else if (x >= box.x + Math.max(box.w, MIN_PX))
			low = middle + 1;
		else
			return box;
	}
	return null;
}

function describe(node) {
	return labels[nameOf[node]] + wordsOf(node) + " \u2014 " + times(cpu[node], gpu[node], cpu[0], gpu[0]);
}

function timeRow(what, part, whole, base) {
	const cells = [what, exact(part), share(part, whole), share(part, base)];
	return make("tr", {}, ...cells.map(cell => make("td", {}, cell)));
}

// Why warps wait, in words.
function wordsOf(i) {
	const name = labels[nameOf[i]];
	const known = info.kinds[kindOf[nameOf[i]]]["class"] === "code" && Object.hasOwn(info.words, name);
	return known ? ": " + info.words[name] : "";
}

function fillTip(box) {
	const i = box.node;
	if (i < 0) {
		tip.replaceChildren(make("div", {"class": "name"}, grouped(box.frames) + " frames too narrow to draw"),
			make("div", {"class": "kind"}, "click to zoom in on them"));
		return;
	}
	const kind = info.kinds[kindOf[nameOf[i]]], swatch = make("i", {}), p = parent[i];
	const table = make("table", {}, make("tr", {}, ...["", info.unit === "count" || info.unit === "samples" ? "" : "time", "of all",
		"of parent"].map(cell => make("th", {}, cell))));
	if (cpu[i])
		table.append(timeRow(info.time || (gpu[0] || info.unit !== "count" ? "CPU" : "count"), cpu[i], cpu[0], cpu[p]));
	if (gpu[i])
		table.append(timeRow("GPU", gpu[i], gpu[0], gpu[p]));
	swatch.style.background = fills[kindOf[nameOf[i]]];
	tip.replaceChildren(make("div", {"class": "name"}, labels[nameOf[i]]),
		make("div", {"class": "kind"}, swatch, kind.name + wordsOf(i)), table);
	const own = i + 1 < end[i] ? ownTime(i) : 0;
	if (own)
		table.append(timeRow("self", own, onGpu[i] ? gpu[0] : cpu[0], onGpu[i] ? gpu[p] : cpu[p]));
}

// Time of a frame that is in none of the frames on it.
function ownTime(i) {
	let own = width(i);
	for (let child = i + 1; child < end[i]; child = end[child])
		own -= width(child);
	return own;
}

// Above or below the row pointed at, never on it.
function placeTip(x, box) {
	const place = graph.getBoundingClientRect(), outer = app.getBoundingClientRect();
	const top = place.top - outer.top + rowTop(box.depth) - scroll.scrollTop;
	tip.hidden = false;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	let left = place.left - outer.left + x + 14;
	if (left + w > outer.width - 8)
		left = Math.max(8, place.left - outer.left + x - 14 - w);
	let y = top - h - 8;
	if (y < 4)
		y = top + ROW + 8;
	tip.style.left = left + "px";
	tip.style.top = y + "px";
}

function hover(event) {
	const place = scroll.getBoundingClientRect();
	const x = event.clientX - place.left, box = boxAt(x, event.clientY - place.top);
	if (box !== hovered) {
		hovered = box;
		redraw();
	}
	scroll.style.cursor = box ? "pointer" : "default";
	if (!box) {
		tip.hidden = true;
		return;
	}
	fillTip(box);
	placeTip(x, box);
}

function leave() {
	hovered = null;
	tip.hidden = true;
	redraw();
}

// --- zoom, selection and the address ------------------------------------------------------------------

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function animate(a, b) {
	const from0 = from, to0 = to, begin = performance.now();
	from = a;
	to = b;
	layout(a, b);
	const goal = rows.length;
	if (still.matches || count > 300000) {
		arrange();
		return;
	}
	function step(now) {
		const t = Math.min((now - begin) / 180, 1), ease = 1 - Math.pow(1 - t, 3);
		if (from !== a || to !== b)
			return; /* another zoom has begun */
		if (t === 1) {
			arrange();
			return;
		}
		layout(from0 + (a - from0) * ease, to0 + (b - to0) * ease);
		while (rows.length < goal)
			rows.push(undefined);
		draw();
		requestAnimationFrame(step);
	}
	requestAnimationFrame(step);
}

function zoom(a, b) {
	if (!(b > a) || (a === from && b === to))
		return;
	tip.hidden = true;
	animate(a, b);
	address(true);
}

function zoomTo(node) {
	select(node);
	zoom(start[node], start[node] + width(node));
	reveal(node);
}

function select(node) {
	selected = node;
	frameText.textContent = node ? describe(node) : "";
	frameText.title = node ? labels[nameOf[node]] : "";
	redraw();
}

// Scrolls so that the row of a frame can be seen.
function reveal(node) {
	const top = rowTop(depth[node]);
	if (top < scroll.scrollTop + ROW)
		scroll.scrollTop = top - 3 * ROW;
	else if (top > scroll.scrollTop + viewHeight - 2 * ROW)
		scroll.scrollTop = top - viewHeight + 4 * ROW;
}

// To the smallest frame that holds more than what is on show.
function zoomOut() {
	let i = frameAround(from, to);
	while (i && width(i) <= to - from)
		i = parent[i];
	zoom(start[i], start[i] + width(i));
}

// The deepest frame that covers the whole range.
function frameAround(a, b) {
	let i = 0;
	for (let child = 1; child < end[i];) {
		if (start[child] + width(child) <= a)
			child = end[child];
		else if (start[child] <= a && start[child] + width(child) >= b) {
			i = child;
			child = i + 1;
		} else
			break;
	}
	return i;
}

let written = "";

// The address keeps the range and the search; each zoom is a step back in the history.
function address(step) {
	const parts = [];
	if (from !== 0 || to !== total)
		parts.push("z=" + from + "-" + to);
	if (query.value)
		parts.push("q=" + encodeURIComponent(query.value));
	if (flipped !== info.inverted)
		parts.push("flip");
	written = parts.length ? "#" + parts.join("&") : "";
	if (location.hash === written)
		return;
	if (step)
		location.hash = written;
	else
		location.replace(location.href.replace(/#.*/, "") + (written || "#"));
}

function readAddress() {
	let a = 0, b = total, q = "", flip = info.inverted;
	for (const part of location.hash.slice(1).split("&")) {
		const range = /^z=([0-9.e+]+)-([0-9.e+]+)$/.exec(part);
		if (range && Number(range[1]) < Number(range[2]) && Number(range[2]) <= total) {
			a = Number(range[1]);
			b = Number(range[2]);
		}
		if (part.startsWith("q="))
			try {
				q = decodeURIComponent(part.slice(2));
			} catch (e) {
				q = part.slice(2);
			}
		if (part === "flip")
			flip = !info.inverted;
	}
	from = a;
	to = b;
	flipped = flip;
	query.value = q;
	search();
	arrange();
}

// --- search -------------------------------------------------------------------------------------------

// Text that must be part of the label; upper case only matters when there is some. /text/ is a regular
// expression.
function matcher(wanted) {
	const regex = /^\/(.+)\/(i?)$/.exec(wanted);
	if (regex) {
		const expression = new RegExp(regex[1], regex[2]);
		return label => expression.test(label);
	}
	if (wanted !== wanted.toLowerCase())
		return label => label.includes(wanted);
	return label => label.toLowerCase().includes(wanted);
}

// Time in frames that match, each part counted once however many frames above each other match.
function search() {
	const wanted = query.value;
	query.classList.remove("wrong");
	found.textContent = "";
	matches = null;
	if (wanted) {
		try {
			const fits = matcher(wanted);
			matches = new Uint8Array(labels.length);
			for (let i = 0; i < labels.length; i++)
				matches[i] = fits(labels[i]) ? 1 : 0;
			countMatches();
		} catch (e) {
			query.classList.add("wrong");
			found.textContent = "not a regular expression";
			matches = null;
		}
	}
	redraw();
}

function countMatches() {
	let c = 0, g = 0, frames = 0;
	for (let i = 1, covered = 0; i < count; i++) {
		if (!matches[nameOf[i]])
			continue;
		frames++;
		if (i >= covered) {
			c += cpu[i];
			g += gpu[i];
			covered = end[i];
		}
	}
	found.textContent = frames ? grouped(frames) + (frames === 1 ? " frame" : " frames") + ": " +
		times(c, g, cpu[0], gpu[0]) : "no match";
}

function nextMatch(step) {
	if (!matches)
		return;
	for (let n = 1, i = selected; n < count; n++) {
		i = (i + step + count) % count;
		if (i && matches[nameOf[i]]) {
			if (start[i] < from || start[i] + width(i) > to || !boxOf(i))
				zoomTo(i);
			else
				select(i);
			reveal(i);
			return;
		}
	}
}

// --- keyboard -----------------------------------------------------------------------------------------

function firstChild(i) {
	let best = 0;
	for (let child = i + 1; child < end[i]; child = end[child])
		if (boxOf(child) && (!best || width(child) > width(best)))
			best = child;
	return best;
}

function beside(step) {
	const row = rows[depth[selected]] || [], at = row.findIndex(box => box.node === selected);
	for (let i = at + step; at >= 0 && i >= 0 && i < row.length; i += step)
		if (row[i].node >= 0)
			return row[i].node;
	return selected;
}

function move(key) {
	const up = key === "ArrowUp";
	let node = selected;
	if (key === "ArrowLeft" || key === "ArrowRight")
		node = beside(key === "ArrowLeft" ? -1 : 1);
	else if (up !== flipped)
		node = firstChild(selected) || selected;
	else
		node = parent[selected];
	select(node);
	reveal(node);
}

function flip() {
	flipped = !flipped;
	arrange();
	scroll.scrollTop = flipped ? 0 : spacer.offsetHeight;
	address(false);
}

function escape() {
	if (!help.hidden)
		help.hidden = true;
	else if (query.value) {
		query.value = "";
		search();
		address(false);
	} else if (from !== 0 || to !== total)
		zoom(0, total);
	else
		select(0);
	scroll.focus({preventScroll: true});
}

const keys = {
	"ArrowUp": () => move("ArrowUp"),
	"ArrowDown": () => move("ArrowDown"),
	"ArrowLeft": () => move("ArrowLeft"),
	"ArrowRight": () => move("ArrowRight"),
	"Enter": () => zoomTo(selected),
	"Backspace": zoomOut,
	"Escape": escape,
	"Home": () => zoomTo(0),
	"0": () => zoomTo(0),
	"/": () => query.select(),
	"n": () => nextMatch(1),
	"N": () => nextMatch(-1),
	"i": flip,
	"?": () => { help.hidden = !help.hidden; },
};

document.addEventListener("keydown", event => {
	if (event.ctrlKey && event.key === "f" && document.activeElement !== query) {
		query.focus();
		query.select();
		event.preventDefault();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const typing = document.activeElement === query;
	if (typing && event.key !== "Escape" && event.key !== "Enter")
		return;
	if (typing && event.key === "Enter") {
		nextMatch(event.shiftKey ? -1 : 1);
		event.preventDefault();
		return;
	}
	if (document.activeElement && document.activeElement.localName === "button" &&
		(event.key === "Enter" || event.key === " "))
		return;
	const action = keys[event.key];
	if (!action)
		return;
	event.preventDefault();
	if (event.key === "/")
		query.focus();
	action();
});

function fillHelp() {
	const table = make("table", {});
	for (const [names, what] of [
		[["click", "Enter"], "zoom in on a frame, or on frames too narrow to draw"],
		[["Backspace"], "zoom out to the frame around"],
		[["Home", "0"], "show everything"],
		[["\u2190", "\u2192", "\u2191", "\u2193"], "go to the frame beside, above or below"],
		[["/", "Ctrl F"], "search: part of a name, or /regular expression/"],
		[["n", "N"], "next and previous match"],
		[["i"], "turn the graph upside down"],
		[["Escape"], "close this, end the search, or show everything"]]) {
		const cell = make("td", {});
		for (const name of names)
			cell.append(make("kbd", {}, name));
		table.append(make("tr", {}, cell, make("td", {}, what)));
	}
	help.append(make("div", {"class": "card"}, make("h2", {}, "Reading this graph"), table,
		make("p", {}, "Each box is a function; what stands on it was called by it. Width is time" + (info.time ?
			" that passed for threads: " + info.time + "." :
			". GPU work stands on the CUDA call that asked for it. CPU time and GPU time pass side by side: " +
			"only the width of a box adds them up, and never as elapsed time."))));
	help.addEventListener("click", () => { help.hidden = true; });
}

// --- begin --------------------------------------------------------------------------------------------

function begin() {
	const holder = document.createElementNS(SVG.namespaceURI, "foreignObject");
	for (const [key, value] of [["x", "0"], ["y", "0"], ["width", "100%"], ["height", "100%"]])
		holder.setAttribute(key, value);
	holder.append(app);
	document.getElementById("static").remove();
	SVG.removeAttribute("viewBox");
	SVG.setAttribute("width", "100%");
	SVG.setAttribute("height", "100%");
	SVG.append(holder);
	fillHelp();
	readColours();
	resize();
	readAddress();
	scroll.scrollTop = flipped ? 0 : spacer.offsetHeight;
}

scroll.addEventListener("mousemove", hover);
scroll.addEventListener("mouseleave", leave);
scroll.addEventListener("scroll", () => {
	tip.hidden = true;
	redraw();
});
scroll.addEventListener("click", event => {
	const place = scroll.getBoundingClientRect();
	const box = boxAt(event.clientX - place.left, event.clientY - place.top);
	if (!box)
		return;
	if (box.node < 0)
		zoom(box.from, box.to);
	else
		zoomTo(box.node);
});
query.addEventListener("input", () => {
	search();
	address(false);
});
backButton.addEventListener("click", () => zoomTo(0));
flipButton.addEventListener("click", flip);
helpButton.addEventListener("click", keys["?"]);
window.addEventListener("resize", resize);
window.addEventListener("hashchange", () => {
	if (location.hash !== written)
		readAddress();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	readColours();
	redraw();
});
begin();
})();
