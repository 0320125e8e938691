// SPDX-License-Identifier: MIT
// Which lanes the time axis has. A lane shows one row of the recording, or what a thread ran and when it did not; lanes
// stand in groups: a process with its threads, a GPU with its streams.

const LANES_MAX = 300; // of a group in a file; the rest is named, and not drawn
let groups = []; // {name, lanes, left, gpu, time}; of those that are not listed {name, rest: their class, lanes: []}

const closedGroups = new Set();

// Lanes of a thread below the one in which it runs, in this order.
const BESIDE = {marker: "markers", calls: "calls"}, PLACES = ["run", "waits", "marker", "calls"];

function laneOf(row, number) {
	const counts = row.kind === "counter", more = BESIDE[row.kind] ? " \u2013 " + BESIDE[row.kind] : "";
	const lane = {rows: [number], kind: row.kind, tall: counts || row.kind === "run" ? 22 : 16, time: row.time_ns,
		name: row.thread ? row.thread + more : row.name + (row.unit ? ", " + row.unit : ""), thread: row.thread, tid: row.tid, depth: 0};
	if (row.kind === "marker") {
		lane.time = 0; // a part of it counts as often as it is named
		setDepth(lane, row.depth);
	}
	return lane;
}

// A thread's samples and its waits share a lane.
function joinThreads(lanes) {
	const of = new Map(), kept = [];
	for (const lane of lanes) {
		const other = lane.kind === "run" || lane.kind === "waits" ? of.get(lane.thread) : null;
		if (other) {
			other.rows.push(...lane.rows);
			other.time += lane.time;
			continue;
		}
		if (lane.kind === "run" || lane.kind === "waits") {
			lane.tall = 22;
			of.set(lane.thread, lane);
		}
		kept.push(lane);
	}
	return kept;
}

// Markers and calls follow their thread; the rest by how much there is.
function sortLanes(lanes) {
	const timeOf = new Map();
	for (const lane of lanes)
		timeOf.set(lane.thread || lane, Math.max(timeOf.get(lane.thread || lane) || 0, lane.time));
	const place = lane => timeOf.get(lane.thread || lane);
	return lanes.sort((a, b) => place(b) - place(a) || (a.tid || 0) - (b.tid || 0) || PLACES.indexOf(a.kind) - PLACES.indexOf(b.kind));
}

function groupName(row) {
	if (row.kind === "work")
		return (row.device || "GPU") + (row.process ? " \u2013 " + row.process : "");
	return row.kind === "counter" ? (row.device ? row.device + " \u2013 counters" : "metrics") : row.kind === "driver" ? "GPU driver" :
		row.process || "process not known";
}

function arrangeRows() {
	const named = new Map();
	about.rows.forEach((row, number) => {
		if (row.profiler)
			return;
		const name = groupName(row);
		if (!named.has(name))
			named.set(name, {name, lanes: [], left: 0, gpu: row.kind === "work", time: 0});
		const group = named.get(name);
		group.lanes.push(laneOf(row, number));
		group.time += row.kind === "marker" ? 0 : row.time_ns;
	});
	groups = [...named.values()].sort((a, b) => b.gpu - a.gpu || b.time - a.time);
	for (const group of groups) {
		group.lanes = sortLanes(joinThreads(group.lanes));
		group.left = data ? Math.max(group.lanes.length - LANES_MAX, 0) : 0;
		group.lanes.length -= group.left;
	}
	placeUnlisted();
}

// Streams behind those of GPUs, the others at the end.
function placeUnlisted() {
	for (const one of unlistedClasses()) {
		const rest = {name: unlistedText(one) + (data ? "" : "; click for more"), rest: one.name, lanes: [], left: 0, gpu: one.name === "streams", time: 0};
		groups.splice(rest.gpu ? groups.filter(group => group.gpu).length : groups.length, 0, rest);
	}
}

const GROUP_PX = 20;

// Calls with each group and each lane that is open, and where it is; the height of all.
function eachLane(onGroup, onLane) {
	let y = 0;
	for (const group of groups) {
		onGroup(group, y);
		y += GROUP_PX;
		if (closedGroups.has(group.name))
			continue;
		for (const lane of group.lanes) {
			onLane(lane, y);
			y += lane.tall;
		}
	}
	return y;
}

// Those that are on the screen, and a screen more on either side.
function wantedRows(top, height) {
	const rows = [];
	eachLane(() => {}, (lane, y) => {
		if (y + lane.tall > top - height && y < top + 2 * height)
			rows.push(...lane.rows);
	});
	return rows;
}
