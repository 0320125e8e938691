// SPDX-License-Identifier: MIT
// The heatmap whose rows are threads, streams, reasons to wait, reasons of stalls, or what one function takes: columns of time, from the left to
// the right. It has the place of the other one, and a range is selected in it in the same way.

const HEAT_NAMES_MAX_PX = 190, HEAT_REASONS_MAX_PX = 330, HEAT_ROW_PX = 14, HEAT_ROW_PARTS = ["threads-cpu", "threads-waits", "threads-gpu", "streams", "reasons", "stalls", "function"];
/** @type {any} */
let heatRows = null; // {from, step_ns, columns, rows, others, functions, counts}: what came

function isHeatByRow() {
	return HEAT_ROW_PARTS.includes(state.what);
}

function heatNames() {
	return Math.min(state.what === "stalls" ? HEAT_REASONS_MAX_PX : HEAT_NAMES_MAX_PX, Math.floor(heatWidth() / 3));
}

// Samples, or a time.
function heatRowsText(value) {
	return heatRows.counts ? grouped(value) + (value === 1 ? " sample" : " samples") : timeText(value);
}

function heatRowPx() {
	return heatRows && heatRows.rows.length ? Math.max(Math.min(HEAT_HEIGHT / heatRows.rows.length, HEAT_ROW_PX * 2), HEAT_ROW_PX) : HEAT_ROW_PX;
}

// In pixels from the left.
function heatRowX(ns) {
	return heatNames() + (ns - heatRows.from) / (heatRows.columns * heatRows.step_ns) * (heatWidth() - heatNames());
}

// Where none was named yet: the one whose flame graph is shown alone.
function chooseHeatFunction() {
	if (!state.function && state.focus)
		byId("heat-function").value = state.function = state.focus.slice(1);
}

async function fetchHeatRows() {
	const of = state.what, columns = Math.max(Math.floor((heatWidth() - heatNames()) / HEAT_CELL_PX), 1);
	if (of === "function")
		chooseHeatFunction();
	if (of === "function" && !state.function) {
		heatRows = null;
		byId("heat-note").textContent = "choose a function: by name, or in the table of functions";
		drawHeat();
		return;
	}
	const answer = about.whole ? await ask("heat.json", {of, columns, ...(of === "function" ? {function: state.function} : {})}) : null;
	if (!answer || state.what !== of)
		return;
	heatRows = answer;
	heatRows.most = [0, 0];
	for (const row of answer.rows)
		for (let i = 0; i < row.cells.length; i += 2)
			heatRows.most[Number(row.gpu)] = Math.max(heatRows.most[Number(row.gpu)], row.cells[i + 1]);
	showHeatRowsNote();
	drawHeat();
}

function showHeatRowsNote() {
	const {step_ns: step, rows, others, functions, most} = heatRows, darkest = most.filter(time => time).map(heatRowsText).join(", GPU ");
	const several = state.what === "function" && functions !== 1 ? (functions ? grouped(functions) + " functions have this in their name; " : "no function has this in its name") : "";
	byId("heat-note").textContent = !rows.length ? several || "there are none in this recording" : several + "a column is " + timeText(step, step) +
		", the darkest: " + darkest + (others ? `; ${grouped(others)} more are together in the last row` : "");
}

function heatRowName(row, n) {
	return heatRows.others && n === heatRows.rows.length - 1 ? grouped(heatRows.others) + " others" : row.name;
}

function drawHeatRows() {
	const width = heatWidth(), tall = heatRowPx(), rows = heatRows?.rows || [], context = prepare(heat.canvas, width, Math.max(rows.length * tall, HEAT_HEIGHT));
	const left = heatNames(), w = rows.length ? (width - left) / heatRows.columns : 0;
	rows.forEach((row, n) => {
		context.fillStyle = colour("faint");
		context.fillText(fitText(context, heatRowName(row, n), left - 16), 8, (n + 0.5) * tall);
		for (let i = 0; i < row.cells.length; i += 2) {
			context.fillStyle = heat.shades[12 + Math.round(87 * Math.sqrt(row.cells[i + 1] / heatRows.most[Number(row.gpu)]))];
			context.fillRect(left + row.cells[i] * w, n * tall, Math.max(w - (w > 4 ? 1 : 0), 1), tall - 1);
		}
	});
	if (heatWidth() < width) // as a scroll bar came
		drawHeatRows();
}

function drawHeatRowsRange(context, since, until, shade) {
	const left = Math.max(heatRowX(since), heatNames()), right = Math.min(heatRowX(until), heatWidth()), height = heat.canvas.clientHeight;
	context.fillStyle = colour(shade);
	context.strokeStyle = colour(shade + "-edge");
	context.fillRect(left, 0, right - left, height);
	context.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 1), height - 1);
}

// The column under the pointer, and the row.
function heatRowPlace(event) {
	const box = heat.canvas.getBoundingClientRect(), x = event.clientX - box.left - heatNames();
	return {column: Math.min(Math.max(Math.floor(x / (heatWidth() - heatNames()) * heatRows.columns), 0), heatRows.columns - 1),
		row: Math.floor((event.clientY - box.top) / heatRowPx()), isName: x < 0};
}

function heatRowTime(event, end) {
	const at = heatRows.from + (heatRowPlace(event).column + (end ? 1 : 0)) * heatRows.step_ns;
	return Math.min(Math.max(at, 0), about.elapsed_ns);
}

function heatCellOf(n, column) {
	const {cells} = heatRows.rows[n];
	for (let i = 0; i < cells.length; i += 2)
		if (cells[i] === column)
			return cells[i + 1];
	return 0;
}

function heatCellText(n, column) {
	const {from, step_ns: step} = heatRows, row = heatRows.rows[n];
	return `${heatRowName(row, n).slice(0, TIP_MAX)}\n${row.gpu ? "GPU " : ""}${heatRowsText(heatCellOf(n, column))} in ${rangeText(from + column * step, from + (column + 1) * step)}`;
}

function heatRowTip(event) {
	const {row, column, isName} = heatRowPlace(event);
	if (!heatRows.rows[row])
		return "";
	return isName ? `${heatRowName(heatRows.rows[row], row).slice(0, TIP_MAX)}\n${heatRowsText(heatRows.rows[row].time_ns)} in all` : heatCellText(row, column);
}

// A thread's name chooses the thread.
function chooseHeatRow(event) {
	const {row, isName} = heatRowPlace(event), tid = heatRows.rows[row]?.tid;
	if (!isName)
		return false;
	if (tid) {
		state.thread = state.thread === String(tid) ? "" : String(tid);
		selected();
	}
	return true;
}

// What a function takes, over time.
function showFunctionHeat(name) {
	Object.assign(state, {what: "function", function: name});
	showState();
	fetchHeat();
	noteAddress(true);
}
