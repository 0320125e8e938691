// SPDX-License-Identifier: MIT
// Drawing: boxes on a canvas, and as much of a label as fits on each.

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

// Functions that do what the class or namespace before them is called.
const FOR_ANY = new Set(["call", "operator()", "redispatch", "run", "apply", "invoke", "execute", "launch", "impl", "forward",
	"_M_invoke", "do_call", "call_once"]);
const LONG_NAMES = new Set(["cxx", "gpu", "source", "wait", "same", "more1", "more2", "more3", "more4", "less1", "less2", "less3", "less4"]);
const briefs = new Array(labels.length); // by name: what fits where the label does not

function briefOf(name) {
	if (!briefs[name]) {
		const label = labels[name], slash = label.lastIndexOf("/");
		const first = /^\[waiting(:| for the) /.test(label) ? label.replace(/^\[waiting(:| for the) /, "").slice(0, -1) :
			label.startsWith("<") ? label : // "<T as Trait>::f" of Rust
			slash >= 0 && !label.includes("(") ? "..." + label.slice(slash) : bare(label);
		const all = [first];
		const next = text => text.startsWith("<") ? text.lastIndexOf("::") : text.indexOf("::");
		for (let at, text = first; (at = next(text)) >= 0 && !FOR_ANY.has(text.slice(at + 2)); all.push(text))
			text = text.slice(at + 2);
		briefs[name] = all.filter(text => text && text.length < label.length);
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
	fitRows();
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
