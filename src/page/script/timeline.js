// SPDX-License-Identifier: MIT
// The time axis: a ruler, and below it the lanes. What is longer than two pixels came as a box, of the rest each pixel has
// how much there is: nothing is left out, and the rarest is drawn two pixels wide.

const NAMES_MAX_PX = 190, RULER_PX = 24;
const axis = {ruler: byId("ruler"), lanes: byId("lanes"), canvas: byId("boxes"), spacer: byId("spacer"),
	data: null, from: 0, to: 1, columns: 1, rows: "", names: 0, width: 1, isKept: false};

// How wide names and lanes are: names a third of a narrow screen. Once for all that is drawn, as asking the document is slow.
function measureAxis() {
	const width = axis.lanes.clientWidth;
	axis.names = Math.min(NAMES_MAX_PX, Math.floor(width / 3));
	axis.width = Math.max(width - axis.names, 50);
}

function namesWidth() {
	return axis.names;
}

function axisWidth() {
	return axis.width;
}

function xOf(ns) {
	return namesWidth() + (ns - state.from) / (state.to - state.from) * axisWidth();
}

function timeAt(x) {
	return state.from + (x - namesWidth()) / axisWidth() * (state.to - state.from);
}

// About as many columns as there are pixels; made up of those that the other end has in memory, unless these are wider.
function columnsOf(from, to, pixels) {
	const step = Math.floor((to - from) / pixels / about.column_ns) * about.column_ns;
	if (!step)
		return {from: Math.floor(from), to: Math.ceil(to), columns: pixels};
	const first = Math.floor(from / step), end = Math.ceil(to / step);
	return {from: first * step, to: end * step, columns: end - first};
}

// What came is drawn meanwhile, where it is.
async function fetchAxis() {
	measureAxis();
	const {from, to, columns} = columnsOf(state.from, state.to, axisWidth());
	const rows = wantedRows(axis.lanes.scrollTop, axis.lanes.clientHeight).join(",");
	const answer = rows ? await ask("timeline.json", partly({from, to, columns, rows})) : null;
	if (!answer)
		return;
	Object.assign(axis, {from, to, columns, rows}, data ? {from: answer.from, to: answer.to, columns: answer.columns} : {});
	axis.data = byRow(answer);
	fitMarkerLanes();
	drawAxis();
}

function byRow(answer) {
	const of = new Map(), {boxes, names, cells, alike} = answer;
	const get = row => of.get(row) || of.set(row, {boxes: [], cells: [], alike: new Map()}).get(row);
	for (let i = 0; i < boxes.length; i += 4)
		get(boxes[i]).boxes.push({from: boxes[i + 1], length: boxes[i + 2], name: names[boxes[i + 3]]});
	for (const row in cells)
		get(+row).cells = cells[row];
	for (const row in alike)
		for (let i = 0; i < alike[row].length; i += 2)
			get(+row).alike.set(alike[row][i], names[alike[row][i + 1]]);
	for (const [row, found] of of)
		if (about.rows[row]?.kind === "marker")
			placeMarkers(found);
	return of;
}

function drawRuler() {
	const width = axis.lanes.clientWidth, context = prepare(axis.ruler, width, RULER_PX);
	const step = niceAbove((state.to - state.from) / Math.max(axisWidth() / 110, 1));
	context.fillStyle = context.strokeStyle = colour("faint");
	for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step) {
		context.fillRect(Math.round(xOf(t)), 16, 1, 8);
		context.fillText(timeText(t, step), xOf(t) + 3, 9);
	}
	context.fillText(timeText(state.to - state.from) + " of " + timeText(about.elapsed_ns), 8, 9);
	shadeRanges(context, 0, RULER_PX);
}

// What is selected, and what that is compared with.
function shadeRanges(context, y, height) {
	if (baseIsHere())
		shadeRange(context, y, height, state.baseSince, state.baseUntil, "base");
	if (!isAllSelected())
		shadeRange(context, y, height, state.since, state.until, "chosen");
}

function shadeRange(context, y, height, since, until, shade) {
	const left = Math.max(xOf(since), namesWidth()), right = Math.min(xOf(until), namesWidth() + axisWidth());
	if (right < left)
		return;
	context.fillStyle = colour(shade);
	context.fillRect(left, y, Math.max(right - left, 1), height);
	context.fillStyle = colour(shade + "-edge");
	context.fillRect(left, y, 1, height);
	context.fillRect(Math.max(right - 1, left), y, 1, height);
}

function drawGroup(context, group, y, width) {
	const closed = closedGroups.has(group.name);
	context.fillStyle = colour("panel");
	context.fillRect(0, y, width, GROUP_PX - 1);
	context.fillStyle = colour("ink");
	const left = group.left ? ` (and ${grouped(group.left)} rows that are not drawn)` : "";
	const mark = group.rest ? "+ " : closed ? "\u25b8 " : "\u25be ";
	context.fillText(mark + fitText(context, group.name + left, width - 40), 6, y + GROUP_PX / 2);
}

// The colours of a lane's boxes: waits are pale, so that what ran stands out.
function fillOf(kind) {
	return colour(kind);
}

function drawBoxes(context, kind, boxes, y, tall) {
	const fill = fillOf(kind), begin = namesWidth(), end = begin + axisWidth(), ground = colour("ground");
	for (const box of boxes) {
		const x = Math.max(xOf(box.from), begin), right = Math.min(xOf(box.from + box.length), end);
		if (right <= begin || x >= end)
			continue;
		context.globalAlpha = kind === "waits" ? 0.3 : 1;
		context.fillStyle = fill;
		const top = y + (box.level || 0) * MARKER_PX;
		context.fillRect(x, top + 2, Math.max(right - x - (right - x > 4 ? 1 : 0), 2), tall - 4);
		context.globalAlpha = 1;
		context.fillStyle = kind === "waits" ? colour("faint") : ground;
		const text = right - x > 24 ? fitText(context, box.name, right - x - 8) : "";
		if (text)
			context.fillText(text, x + 4, top + tall / 2);
	}
}

// As high as much of the pixel is covered; counters by their greatest.
function drawCells(context, kind, cells, y, tall) {
	const pixel = (axis.to - axis.from) / axis.columns, room = tall - 4, begin = namesWidth(), end = begin + axisWidth();
	const w = Math.max(xOf(axis.from + pixel) - xOf(axis.from), 2);
	let most = kind === "counter" ? 0 : pixel;
	for (let i = 0; i < cells.length && kind === "counter"; i += 3)
		most = Math.max(most, cells[i + 1]);
	context.fillStyle = fillOf(kind);
	context.globalAlpha = kind === "waits" ? 0.3 : 1;
	for (let i = 0; i < cells.length; i += 3) {
		const x = xOf(axis.from + cells[i] * pixel);
		if (x + w <= begin || x >= end)
			continue;
		const h = Math.max(room * Math.min(cells[i + 1] / (most || 1), 1), 2);
		context.fillRect(Math.max(x, begin), y + 2 + room - h, w, h);
	}
	context.globalAlpha = 1;
}

function drawLane(context, lane, y, width) {
	context.fillStyle = colour("faint");
	context.fillText(fitText(context, lane.name, namesWidth() - 20), 16, y + lane.tall / 2);
	context.fillStyle = colour("line");
	context.fillRect(0, y + lane.tall - 1, width, 1);
	const inOrder = [...lane.rows].sort((a, b) => Number(about.rows[a].kind === "run") - Number(about.rows[b].kind === "run"));
	for (const row of inOrder) {
		const data = axis.data?.get(row), kind = about.rows[row].kind;
		if (!data)
			continue;
		if (kind === "marker")
			drawMarkerCells(context, data, y);
		else
			drawCells(context, kind, data.cells, y, lane.tall);
		drawBoxes(context, kind, data.boxes, y, kind === "marker" ? MARKER_PX : lane.tall);
	}
}

function drawAxis() {
	drawLanes();
	axis.isKept = false;
	drawAxisRanges(axis.canvas.getContext("2d"));
}

function drawLanes() {
	const all = eachLane(() => {}, () => {});
	setStyle(axis.lanes, "height", all + "px");
	measureAxis();
	const width = axis.lanes.clientWidth, height = axis.lanes.clientHeight, top = axis.lanes.scrollTop;
	const context = prepare(axis.canvas, width, height);
	const seen = (y, tall) => y + tall > top && y < top + height;
	eachLane((group, y) => seen(y, GROUP_PX) && drawGroup(context, group, y - top, width),
		(lane, y) => seen(y, lane.tall) && drawLane(context, lane, y - top, width));
	setStyle(axis.spacer, "height", Math.max(all - height, 0) + "px");
}

// The lanes are kept when only a range changes, and not while they move: to keep them takes as long as to draw them.
function drawAxisOver() {
	if (!axis.isKept) {
		drawLanes();
		keepImage(axis.canvas);
		axis.isKept = true;
	}
	drawAxisRanges(drawKept(axis.canvas));
}

function drawAxisRanges(context) {
	shadeRanges(context, 0, axis.lanes.clientHeight);
	drawLinks(context);
	drawRuler();
}

const drawAxisSoon = onFrame(drawAxis), drawSelectionSoon = onFrame(() => {
	drawHeatOver();
	drawAxisOver();
});

// What is under the pointer: a group, or a lane with the box or the pixel.
function thingAt(event) {
	const area = axis.lanes.getBoundingClientRect(), x = event.clientX - area.left;
	const y = event.clientY - area.top + axis.lanes.scrollTop, time = timeAt(x);
	let found = null;
	eachLane((group, top) => {
		if (y >= top && y < top + GROUP_PX)
			found = {group};
	}, (lane, top) => {
		if (y >= top && y < top + lane.tall)
			found = {lane, ...(x >= namesWidth() ? contentAt(lane, time, y - top) : {})};
	});
	return found;
}

function contentAt(lane, time, y) {
	const pixel = (axis.to - axis.from) / axis.columns, slack = 2 * (state.to - state.from) / axisWidth();
	let cell = null;
	for (const row of lane.rows) {
		const data = axis.data?.get(row), kind = about.rows[row].kind;
		if (kind === "marker")
			return data ? markerAt(data, row, time, Math.floor(y / MARKER_PX)) : {};
		const box = data?.boxes.find(b => time >= b.from && time < b.from + Math.max(b.length, slack));
		if (box && kind !== "waits")
			return {box, kind, row};
		if (box)
			cell = {box, kind, row};
		for (let i = 0; data && i < data.cells.length; i += 3)
			if (time >= axis.from + data.cells[i] * pixel && time < axis.from + (data.cells[i] + 1) * pixel + slack)
				cell = {cell: data.cells.slice(i, i + 3), kind};
	}
	return cell || {};
}
