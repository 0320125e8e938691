// SPDX-License-Identifier: MIT
// Markers: what a program named, of a thread. Ranges that lie in one another stand one below the other, and so do those that
// only overlap. A moment is as tall as a range, and two pixels wide.

const MARKER_PX = 18, MARKER_LEVELS = 16, MARKER_LEAST_PX = 4; // what is deeper shares the last level

// Each gets the first level that is free where it begins. What a box lies in is at least as long, and so a box, too, however
// far the axis is zoomed: so levels stay what they are. What is too short for a box is below all boxes that it may lie in.
function placeMarkers(row) {
	const ends = new Float64Array(MARKER_LEVELS), freeAt = time => {
		const level = ends.findIndex(end => end <= time);
		return level < 0 ? MARKER_LEVELS - 1 : level;
	};
	const pixel = (axis.to - axis.from) / axis.columns, {boxes, cells} = row;
	boxes.sort((a, b) => a.from - b.from || b.length - a.length);
	row.levels = new Uint8Array(cells.length / 3);
	row.deepest = 0;
	ends.fill(-Infinity);
	const place = box => {
		box.level = freeAt(box.from);
		ends[box.level] = Math.max(ends[box.level], box.from + box.length);
		row.deepest = Math.max(row.deepest, box.level + 1);
	};
	let next = 0;
	for (let i = 0; i < row.levels.length; i++) {
		const from = axis.from + cells[3 * i] * pixel;
		while (next < boxes.length && boxes[next].from < from + pixel)
			place(boxes[next++]);
		row.levels[i] = freeAt(from + pixel / 2);
		row.deepest = Math.max(row.deepest, row.levels[i] + 1);
	}
	boxes.slice(next).forEach(place);
}

// Lanes are as deep as their markers are; one that was deeper stays so, as nothing should jump while the axis moves.
function fitMarkerLanes() {
	for (const group of groups)
		for (const lane of group.lanes) {
			const row = lane.kind === "marker" ? axis.data?.get(lane.rows[0]) : null;
			if (row)
				setDepth(lane, Math.max(lane.depth, row.deepest));
		}
}

function setDepth(lane, depth) {
	lane.depth = Math.min(Math.max(depth, 1), MARKER_LEVELS);
	lane.tall = lane.depth * MARKER_PX;
}

function drawMarkerCells(context, row, y) {
	const pixel = (axis.to - axis.from) / axis.columns, begin = namesWidth(), end = begin + axisWidth(), {cells, levels} = row;
	const w = Math.max(xOf(axis.from + pixel) - xOf(axis.from), 2);
	context.fillStyle = colour("marker");
	for (let i = 0; i < levels.length; i++) {
		const x = xOf(axis.from + cells[3 * i] * pixel), room = MARKER_PX - 4;
		const h = cells[3 * i + 1] ? Math.max(room * Math.min(cells[3 * i + 1] / pixel, 1), MARKER_LEAST_PX) : room;
		if (x + w > begin && x < end)
			context.fillRect(Math.max(x, begin), y + levels[i] * MARKER_PX + 2 + room - h, w, h);
	}
}

// What is under a place in a lane of markers: a box, or the pixel with the name of what begins in it, if that is one.
function markerAt(row, number, time, level) {
	const pixel = (axis.to - axis.from) / axis.columns, slack = 2 * (state.to - state.from) / axisWidth();
	const box = row.boxes.find(b => b.level === level && time >= b.from && time < b.from + Math.max(b.length, slack));
	if (box)
		return {box, kind: "marker", row: number};
	for (let i = row.levels.length - 1; i >= 0; i--) {
		const from = axis.from + row.cells[3 * i] * pixel;
		if (row.levels[i] === level && time >= from && time < from + Math.max(pixel, slack))
			return {cell: row.cells.slice(3 * i, 3 * i + 3), kind: "marker", row: number, from, length: pixel, name: row.alike.get(row.cells[3 * i])};
	}
	return {};
}

// The range of a marker is selected, of its thread alone.
function chooseMarker(row, from, length) {
	state.thread = about.rows[row].tid ? String(about.rows[row].tid) : "";
	select(Math.floor(from), Math.ceil(from + Math.max(length, 1)));
}

// "loader (4711)"; an address may name a thread that is not there.
function threadText() {
	return about.rows.find(row => row?.tid === Number(state.thread))?.thread || state.thread;
}
