// SPDX-License-Identifier: MIT
// The heatmap: time goes up in each column, and from column to column. What repeats each second shows as rows, what happens
// once as a dot.

const HEAT_ROWS = 50, HEAT_COLUMNS_MAX = 400, HEAT_HEIGHT = 150, HEAT_CELL_PX = 3;
const heat = {canvas: byId("heat"), column: 1e9, columns: 1, values: new Float64Array(HEAT_ROWS), most: 0, shades: []};

// A second, unless that were too few columns, or too many.
function arrangeHeat() {
	const width = Math.max(heat.canvas.parentElement.clientWidth, 100);
	const most = Math.min(HEAT_COLUMNS_MAX, Math.floor(width / HEAT_CELL_PX));
	const seconds = about.elapsed_ns / 1e9;
	heat.column = seconds >= 20 && seconds <= most ? 1e9 : niceAbove(about.elapsed_ns / Math.min(most, 100));
	if (seconds > most)
		heat.column = niceAbove(about.elapsed_ns / most);
	while (heat.column / HEAT_ROWS < about.column_ns) // what is finer is not in memory
		heat.column = niceAbove(heat.column * 1.5);
	heat.columns = Math.max(1, Math.ceil(about.elapsed_ns / heat.column));
}

async function fetchHeat() {
	byId("heat-function").hidden = state.what !== "function";
	byId("tip").hidden = true;
	if (isHeatByRow())
		return fetchHeatRows();
	arrangeHeat();
	const bins = heat.columns * HEAT_ROWS, of = state.what, counts = ["calls", "driver", "marker"].includes(of);
	const answer = await ask("sums.json", partly({from: 0, to: heat.columns * heat.column, columns: bins}));
	if (!answer || state.what !== of)
		return;
	heat.values = new Float64Array(bins);
	const cells = answer.cells[of] || [];
	for (let i = 0; i < cells.length; i += 3)
		heat.values[cells[i]] = cells[i + (counts ? 2 : 1)];
	heat.most = heat.values.reduce((a, b) => Math.max(a, b), 0);
	heat.counts = counts;
	showHeatNote();
	drawHeat();
}

function showHeatNote() {
	const cell = heat.column / HEAT_ROWS;
	byId("heat-note").textContent = heat.most ? "a column is " + timeText(heat.column, heat.column) + ", a cell " + timeText(cell, cell) +
		"; the darkest: " + (heat.counts ? grouped(heat.most) : timeText(heat.most)) : "there are none in this recording";
}

// A hundred shades between the colours of the style.
function makeShades() {
	colours.clear();
	const canvas = document.createElement("canvas"), context = canvas.getContext("2d", {willReadFrequently: true});
	canvas.width = 100;
	canvas.height = 1;
	const gradient = context.createLinearGradient(0, 0, 100, 0);
	for (let n = 0; n < 4; n++)
		gradient.addColorStop(n / 3, colour("heat-" + n));
	context.fillStyle = gradient;
	context.fillRect(0, 0, 100, 1);
	const data = context.getImageData(0, 0, 100, 1).data;
	heat.shades = Array.from({length: 100}, (_, n) => `rgb(${data[4 * n]},${data[4 * n + 1]},${data[4 * n + 2]})`);
}

function heatWidth() {
	return heat.canvas.parentElement.clientWidth;
}

// The least that there is can be seen: it has a shade of its own.
function drawHeat() {
	if (isHeatByRow())
		drawHeatRows();
	else
		drawHeatOffsets();
	keepImage(heat.canvas);
	drawHeatOver();
}

function drawHeatOffsets() {
	const width = heatWidth(), context = prepare(heat.canvas, width, HEAT_HEIGHT);
	const w = width / heat.columns, h = HEAT_HEIGHT / HEAT_ROWS;
	for (let i = 0; i < heat.values.length; i++) {
		if (!heat.values[i])
			continue;
		context.fillStyle = heat.shades[12 + Math.round(87 * Math.sqrt(heat.values[i] / heat.most))];
		context.fillRect(Math.floor(i / HEAT_ROWS) * w, HEAT_HEIGHT - (i % HEAT_ROWS + 1) * h, Math.max(w - (w > 4 ? 1 : 0), 1), h);
	}
}

function drawHeatOver() {
	const context = drawKept(heat.canvas), draw = isHeatByRow() ? drawHeatRowsRange : drawHeatRange;
	if (isHeatByRow() && !heatRows?.rows.length)
		return;
	if (baseIsHere())
		draw(context, state.baseSince, state.baseUntil, "base");
	if (!isAllSelected())
		draw(context, state.since, state.until, "chosen");
	drawHeatCursor(context);
}

// From a cell to a cell: the rest of the first column, whole columns, the begin of the last.
function drawHeatRange(context, since, until, shade) {
	const w = heatWidth() / heat.columns, yOf = ns => HEAT_HEIGHT * (1 - ns / heat.column);
	context.fillStyle = colour(shade);
	context.strokeStyle = colour(shade + "-edge");
	for (let c = Math.floor(since / heat.column); c * heat.column < until; c++) {
		const low = Math.max(since - c * heat.column, 0), high = Math.min(until - c * heat.column, heat.column);
		context.fillRect(c * w, yOf(high), w, yOf(low) - yOf(high));
		context.strokeRect(c * w + 0.5, yOf(high), Math.max(w - 1, 1), yOf(low) - yOf(high));
	}
}

// The begin of the cell under the pointer, or its end.
function heatTime(event, end) {
	if (isHeatByRow())
		return heatRowTime(event, end);
	const box = heat.canvas.getBoundingClientRect();
	const c = Math.min(Math.max(Math.floor((event.clientX - box.left) / (heatWidth() / heat.columns)), 0), heat.columns - 1);
	const r = Math.min(Math.max(Math.floor((box.bottom - event.clientY) / (HEAT_HEIGHT / HEAT_ROWS)), 0), HEAT_ROWS - 1);
	return Math.round(c * heat.column + (r + (end ? 1 : 0)) * heat.column / HEAT_ROWS);
}
