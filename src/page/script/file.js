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
};

// Calls with each cell of a row and each of its boxes that has some of the time; cells lie in [begin, begin + column).
function eachCell(row, from, to, onCell) {
	const cells = data.axis.cells[row] || [], column = data.about.column_ns;
	let low = 0, high = cells.length / 3;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((cells[3 * middle] + 1) * column <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (let i = 3 * low; i < cells.length && cells[i] * column < to; i += 3)
		onCell(cells[i] * column, cells[i + 1], cells[i + 2]);
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
		this.parts[n]++;
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
	const answer = {from, to, columns, boxes: [], names: data.axis.names, cells: {}}, {boxes} = data.axis;
	for (const row of words.rows.split(",").map(Number)) {
		const sums = new Columns(from, step, columns);
		eachCell(row, from, to, (at, time, begun) => sums.add(at, time, begun));
		eachBox(row, from, to, (begin, length, i) => {
			if (length >= 2 * step)
				answer.boxes.push(row, begin, length, boxes[i + 3]);
			else
				sums.spread(begin, length);
		});
		answer.cells[row] = sums.cells(data.about.rows[row].kind === "counter");
	}
	return answer;
}

function fileSums({from, to, columns}) {
	const of = {}, answer = {columns, cells: {}};
	data.about.rows.forEach((row, number) => {
		const sums = of[row.kind] = of[row.kind] || new Columns(from, (to - from) / columns, columns);
		eachCell(number, from, to, (at, time, begun) => sums.add(at, time, begun));
		eachBox(number, from, to, (begin, length) => sums.spread(begin, length));
	});
	for (const kind in of)
		answer.cells[kind] = of[kind].cells(false);
	return answer;
}

// Ranges are whole slices, one at least.
function snapRange() {
	const step = data?.sums.slice_ns;
	if (!step || isAllSelected())
		return;
	state.since = Math.min(Math.round(state.since / step), Math.ceil(about.elapsed_ns / step) - 1) * step;
	state.until = Math.min(Math.max(Math.round(state.until / step) * step, state.since + step), about.elapsed_ns);
}

// Views whose ranges it can show; the others are pictures of the whole.
const SUMMED = ["merge", "cpu", "gpu"];

function isFixed(view) {
	return data && !SUMMED.includes(view);
}
