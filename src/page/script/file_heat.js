// SPDX-License-Identifier: MIT
// Heatmaps by row of a page that has its data with it: they came with it (src/page/file_heats.h), but for those of a function,
// which are made of the sums by slice.

const FILE_HEAT_ROWS = 40, THREAD_KIND = "c"; // 'a' + enum tree_kind
const PLACE_KINDS = "bde"; // processes, devices, streams: together they have a name (src/page/file_sums.h)

// The sums are always there.
function fileHasHeat(of) {
	return of === "function" ? Boolean(data.pictures.merge) : Boolean(data.heats[of]);
}

function fileHeat({of, columns, function: name}) {
	return of === "function" ? functionHeat(name, columns) : data.heats[of];
}

// By frame: those that are called so; where none is, those that have it in their name.
function framesCalled(name) {
	const {frames} = data.sums, part = name.toLowerCase(), exact = frames.map(text => text.slice(1) === name);
	return exact.includes(true) ? exact : frames.map(text => text.slice(1).toLowerCase().includes(part));
}

// By node: 0 where it is under none of the frames, else the number of its row, from 1 on. Rows are threads, and streams of GPUs.
function rowsUnder(chosen, rows) {
	const {nodes, frames} = data.sums, {kinds} = fileInfo(), of = new Map(), count = nodes.length / 2 + 1;
	const under = new Uint8Array(count), gpu = new Uint8Array(count), row = new Uint32Array(count), streams = streamNames();
	const threads = Array(count).fill(""), places = Array(count).fill([-1, -1, -1]);
	for (let n = 1; n < count; n++) {
		const [parent, frame] = [nodes[2 * n - 2], nodes[2 * n - 1]], kind = frames[frame][0], text = frames[frame].slice(1);
		under[n] = under[parent] || Number(chosen[frame]);
		gpu[n] = gpu[parent] || Number(kinds[kind.charCodeAt(0) - 97].gpu || 0);
		threads[n] = kind === THREAD_KIND ? text : threads[parent];
		places[n] = PLACE_KINDS.includes(kind) ? places[parent].map((known, i) => PLACE_KINDS[i] === kind ? frame : known) : places[parent];
		const key = gpu[n] ? "g" + (streams.get(places[n].join()) || "") : "c" + threads[n];
		if (under[n])
			row[n] = of.get(key) || of.set(key, rows.push({name: key.slice(1), gpu: gpu[n] === 1, tid: gpu[n] ? 0 : tidOf(key)})).get(key);
	}
	return row;
}

function streamNames() {
	const {streams} = data.sums, of = new Map();
	for (let i = 0; i < streams.length; i += 4)
		of.set(streams.slice(i, i + 3).join(), streams[i + 3]);
	return of;
}

function tidOf(name) {
	return Number(/ \((\d+)\)$/.exec(name)?.[1] || 0);
}

function functionHeat(name, wanted) {
	if (mouldText !== data.pictures.merge)
		takeMould(data.pictures.merge); // it says what kinds of frames are
	const {count, slice_ns, slices, spreads} = data.sums, step = Math.ceil(count / Math.min(wanted, 400)) * slice_ns, columns = Math.ceil(count * slice_ns / step);
	const chosen = framesCalled(name), rows = [], of = rowsUnder(chosen, rows), sums = rows.map(() => new Columns(0, step, columns));
	const add = (node, at, length, time) => of[node] && sums[of[node] - 1].addCell(at, length, time, 0, false);
	slices.forEach((slice, n) => {
		for (let i = 0; i < slice.length; i += 3)
			add(slice[i], edges[n], edges[n + 1] - edges[n], slice[i + 1]);
	});
	for (let i = 0; i < spreads.length; i += 3)
		add(spreads[i], 0, spreads[i + 1], spreads[i + 2]);
	const all = rows.map((row, n) => ({...row, ...heatCells(sums[n])})).filter(row => row.time_ns).sort((a, b) => b.time_ns - a.time_ns);
	return {from: 0, step_ns: step, columns, counts: false, others: Math.max(all.length - FILE_HEAT_ROWS, 0), functions: chosen.filter(one => one).length,
		rows: all.length > FILE_HEAT_ROWS ? [...all.slice(0, FILE_HEAT_ROWS), togetherInOne(all.slice(FILE_HEAT_ROWS), columns)] : all};
}

function heatCells({time}) {
	const cells = [];
	time.forEach((value, n) => value && cells.push(n, Math.round(value)));
	return {cells, time_ns: time.reduce((a, b) => a + b, 0)};
}

function togetherInOne(rows, columns) {
	const time = new Float64Array(columns);
	for (const {cells} of rows)
		for (let i = 0; i < cells.length; i += 2)
			time[cells[i]] += cells[i + 1];
	return {name: "", gpu: false, tid: 0, ...heatCells({time})};
}
