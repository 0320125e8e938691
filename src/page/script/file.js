// SPDX-License-Identifier: MIT
// A page without a server has its data with it (src/page/file.h): what is asked for is made of them. The time axis is as
// fine as the file's columns, and ranges of flame graphs are made up of its slices.

const data = takeData();

function takeData() {
	const element = byId("data");
	if (!element)
		return null;
	const taken = JSON.parse(element.textContent);
	element.remove();
	return taken;
}

const ANSWERS = {
	"about.json": () => data.about,
	"timeline.json": fileAxis,
	"sums.json": fileSums,
	"report.txt": () => data.report,
	"repeats.json": fileRepeats,
	"links.json": fileLinks,
	"find.json": fileFind,
	"heat.json": fileHeat,
};

// How many steps stand together from the n-th on: of what is older more do (src/page/ages.h).
function together(ages, n) {
	for (let i = 0; i < ages.length; i += 2)
		if (n < ages[i])
			return Math.min(ages[i + 1], ages[i] - n);
	return 1;
}

// Calls with each of the cells of a row that has some of the time: where it begins, how long it is, and what it has.
function eachCell(cells, from, to, onCell) {
	const {ages} = data.axis, column = data.about.column_ns;
	let low = 0, high = cells.length / 3;
	while (low < high) {
		const middle = (low + high) >> 1, n = cells[3 * middle];
		if ((n + together(ages, n)) * column <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (let i = 3 * low; i < cells.length && cells[i] * column < to; i += 3)
		onCell(cells[i] * column, together(ages, cells[i]) * column, cells[i + 1], cells[i + 2]);
}

let boxesOf = null; // by row: where its boxes begin in data.axis.boxes

function eachBox(row, from, to, onBox) {
	const boxes = data.axis.boxes;
	if (!boxesOf) {
		boxesOf = new Map();
		for (let i = 0; i < boxes.length; i += 4)
			(boxesOf.get(boxes[i]) || boxesOf.set(boxes[i], []).get(boxes[i])).push(i);
	}
	for (const i of boxesOf.get(row) || [])
		if (boxes[i + 1] < to && boxes[i + 1] + boxes[i + 2] > from)
			onBox(boxes[i + 1], boxes[i + 2], i);
}

// Sums of time and of what begins, in columns of a step from a time on.
class Columns {
	constructor(from, step, count) {
		this.from = from;
		this.step = step;
		this.time = new Float64Array(count);
		this.begun = new Float64Array(count);
		this.parts = new Float64Array(count);
	}

	add(at, time, begun) {
		const n = Math.floor((at - this.from) / this.step);
		if (n < 0 || n >= this.time.length)
			return;
		this.time[n] += time;
		this.begun[n] += begun;
	}

	// A cell of the file, which may be longer than one of these: evenly, as where in it something was is not known. Of a counter
	// the value is a mean, and weighed by its time.
	addCell(begin, length, value, begun, counts) {
		this.add(begin, 0, begun);
		for (let at = begin; at < begin + length;) {
			const n = Math.floor((at - this.from) / this.step), next = Math.min(this.from + (n + 1) * this.step, begin + length);
			if (n >= 0 && n < this.time.length) {
				this.time[n] += value * (next - at) / (counts ? 1 : length);
				this.parts[n] += next - at;
			}
			at = next;
		}
	}

	// What lasts has its part in each.
	spread(begin, length) {
		this.add(begin, 0, 1);
		const end = Math.min(begin + length, this.from + this.time.length * this.step);
		for (let at = Math.max(begin, this.from); at < end;) {
			const next = Math.min(this.from + (Math.floor((at - this.from) / this.step) + 1) * this.step, end);
			this.add(at, next - at, 0);
			at = next;
		}
	}

	// As a server has them; of a counter the mean.
	cells(counts) {
		const out = [];
		for (let n = 0; n < this.time.length; n++)
			if (this.time[n] || this.begun[n])
				out.push(n, counts ? this.time[n] / this.parts[n] : this.time[n], this.begun[n]);
		return out;
	}
}

function fileAxis(words) {
	const column = data.about.column_ns, step = Math.max(1, Math.round((words.to - words.from) / words.columns / column)) * column;
	const from = Math.floor(words.from / step) * step, columns = Math.ceil((words.to - from) / step), to = from + columns * step;
	const answer = {from, to, columns, boxes: [], names: data.axis.names, cells: {}, alike: {}}, {boxes} = data.axis;
	for (const row of words.rows.split(",").map(Number)) {
		const sums = new Columns(from, step, columns), alike = new Alike(from, step, columns), names = namesOfCells(row);
		const {kind} = data.about.rows[row], counts = kind === "counter";
		eachCell(data.axis.cells[row] || [], from, to, (at, length, value, begun) => {
			sums.addCell(at, length, value, begun, counts);
			if (kind === "marker" && begun)
				alike.add(at, names.get(Math.round(at / column)) ?? -1);
		});
		eachBox(row, from, to, (begin, length, i) => {
			if (length >= 2 * step)
				answer.boxes.push(row, begin, length, boxes[i + 3]);
			else {
				sums.spread(begin, length);
				alike.add(begin, boxes[i + 3]);
			}
		});
		answer.cells[row] = sums.cells(counts);
		if (kind === "marker")
			answer.alike[row] = alike.list();
	}
	return answer;
}

// Of all rows of a kind: what is in the file of each, or of all together where not all rows are.
function fileSums({from, to, columns}) {
	const of = {}, answer = {columns, cells: {}}, {cells, kinds} = data.axis;
	const sumsOf = kind => of[kind] = of[kind] || new Columns(from, (to - from) / columns, columns);
	const addCells = (some, kind) => eachCell(some, from, to, (at, length, value, begun) => sumsOf(kind).addCell(at, length, value, begun, false));
	for (const kind in kinds)
		addCells(kinds[kind], kind);
	if (!kinds)
		data.about.rows.forEach((row, number) => {
			addCells(cells[number] || [], row.kind);
			eachBox(number, from, to, (begin, length) => sumsOf(row.kind).spread(begin, length));
		});
	for (const kind in of)
		answer.cells[kind] = of[kind].cells(false);
	return answer;
}

// Where slices begin, those that stand together as one; at the end where the last ends.
const edges = data ? makeEdges(data.sums) : [];

function makeEdges({count, ages, slice_ns}) {
	const all = [];
	for (let n = 0; n < count; n += together(ages, n))
		all.push(n * slice_ns);
	return [...all, count * slice_ns];
}

// The edge that is next to a time, as its number.
function edgeAt(time) {
	let low = 0, high = edges.length - 1;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (edges[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low && time - edges[low - 1] < edges[low] - time ? low - 1 : low;
}

// Ranges are whole slices, one at least.
function snapRange() {
	if (data && !isAllSelected())
		[state.since, state.until] = snapped(state.since, state.until);
	if (data && state.baseUntil > state.baseSince)
		[state.baseSince, state.baseUntil] = snapped(state.baseSince, state.baseUntil);
}

function snapped(since, until) {
	const first = Math.min(edgeAt(since), edges.length - 2), end = until >= about.elapsed_ns ? edges.length - 1 : Math.max(edgeAt(until), first + 1);
	return [edges[first], Math.min(edges[end], about.elapsed_ns)];
}

// "before 12 s of 40 ms, ..."
function agesText({ages}, step) {
	const texts = [];
	for (let i = 0; i < ages.length; i += 2)
		texts.push(`before ${timeText(ages[i] * step)} of ${timeText(ages[i + 1] * step)}`);
	return texts.length ? " (" + texts.join(", ") + ")" : "";
}

// How fine all of it is.
function fineText() {
	const {sums, axis: columns} = data, older = sums.ages.length || columns.ages.length ? "; what is older is coarser, to keep the file small" : "";
	return `A file: ranges are in steps of ${timeText(sums.slice_ns)}${agesText(sums, sums.slice_ns)}, the time axis in columns of ` +
		timeText(about.column_ns) + agesText(columns, about.column_ns) + older + ". Not in it: reports and other views of a range, flame graphs of " +
		"iterations, instructions of kernels, what library a function is of, which 'xpuprof view' has.";
}

// Views whose ranges it can show; the others are pictures of the whole.
const SUMMED = ["merge", "cpu", "gpu"];

function isFixed(view) {
	return data && !SUMMED.includes(view);
}
