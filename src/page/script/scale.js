// SPDX-License-Identifier: MIT
// Times as text, and where they are on an axis.

/** @type {[number, string][]} */
const UNITS = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];

// "1.25 ms", with as many digits as a step of the axis needs.
function timeText(ns, step) {
	const [unit, name] = UNITS.find(([u]) => Math.abs(ns) >= u && u <= 1e9) || UNITS[5];
	const digits = step ? Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9)) : unit === 1 ? 0 : 3;
	return (ns / unit).toFixed(Math.min(digits, 9)) + "\u202f" + name;
}

// When something of some length is: with as many digits as tell its begin from its end.
function momentText(ns, length) {
	return timeText(ns, Math.min(niceAbove(length / 10), ns >= 1e9 ? 1e6 : ns >= 1e6 ? 1e3 : 1));
}

// "20 ms" and the like in nanoseconds, milliseconds without a unit; 0 for what is none.
function timeOf(text) {
	const match = /^\s*(\d+(?:\.\d*)?)\s*([a-z\u00b5]*)\s*$/.exec(text), name = match && (match[2] || "ms").replace("us", "\u00b5s");
	const unit = match && UNITS.find(([, own]) => own === name);
	return unit ? Math.round(Number(match[1]) * unit[0]) : 0;
}

function grouped(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// 1, 2 or 5 times a power of ten, at least so much.
function niceAbove(value) {
	const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
	return [1, 2, 5, 10].map(n => n * power).find(n => n >= value * (1 - 1e-9));
}

// What stays is not set again: the page would be laid out anew.
function setStyle(element, name, value) {
	if (element.style[name] !== value)
		element.style[name] = value;
}

// A canvas that is sharp on any screen: its context, in CSS pixels, empty.
function prepare(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	setStyle(canvas, "width", width + "px");
	setStyle(canvas, "height", height + "px");
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = "12px system-ui, sans-serif";
	context.textBaseline = "middle";
	return context;
}

const colours = new Map(); // of the style; forgotten when it changes

function colour(name) {
	if (!colours.has(name))
		colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
	return colours.get(name);
}

// Keeps what is drawn, so that what lies over it can be drawn again and again.
function keepImage(canvas) {
	const kept = canvas.kept = canvas.kept || document.createElement("canvas");
	if (kept.width !== canvas.width || kept.height !== canvas.height)
		[kept.width, kept.height] = [canvas.width, canvas.height];
	const context = kept.getContext("2d");
	context.clearRect(0, 0, kept.width, kept.height);
	context.drawImage(canvas, 0, 0);
}

function drawKept(canvas) {
	const ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d");
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.clearRect(0, 0, canvas.width, canvas.height);
	if (canvas.kept?.width)
		context.drawImage(canvas.kept, 0, 0);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}

// Calls it once before the next picture on the screen, however often it is asked to.
function onFrame(call) {
	let asked = false;
	return () => {
		if (asked)
			return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			call();
		});
	};
}

const FITTED_MAX = 20000, NAME_MAX = 400; // characters that are looked at
const fitted = new Map(); // by text and whole pixels of room

// As much of a text as fits. What was asked before is known: while the axis moves most texts stay what they are.
function fitText(context, text, room) {
	const key = Math.floor(room) + text.slice(0, NAME_MAX);
	let known = fitted.get(key);
	if (known === undefined) {
		if (fitted.size >= FITTED_MAX)
			fitted.clear();
		known = findFit(context, text.slice(0, NAME_MAX), Math.floor(room));
		fitted.set(key, known);
	}
	return known;
}

// By halving.
function findFit(context, text, room) {
	if (room < 12 || context.measureText(text).width <= room)
		return room < 12 ? "" : text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (context.measureText(text.slice(0, middle) + "\u2026").width <= room)
			low = middle;
		else
			high = middle - 1;
	}
	return low > 1 ? text.slice(0, low) + "\u2026" : "";
}
