// SPDX-License-Identifier: MIT
// The heatmap by the keyboard: arrows move from cell to cell, with Shift they select from the one where that began; what a cell
// has is said to who does not see it.

/** @type {any} */
let heatCursor = null; // {column, row, since}: where the keyboard is, and where its selection began

const HEAT_MOVES = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};

// [columns, rows], the first row at the bottom where time goes up.
function heatSize() {
	return isHeatByRow() ? [heatRows?.columns || 0, heatRows?.rows.length || 0] : [heat.columns, HEAT_ROWS];
}

function heatCellTime(column, row) {
	const cell = heat.column / HEAT_ROWS;
	return isHeatByRow() ? [heatRows.from + column * heatRows.step_ns, heatRows.from + (column + 1) * heatRows.step_ns] :
		[column * heat.column + row * cell, column * heat.column + (row + 1) * cell];
}

function heatCursorText({column, row}) {
	const [from, to] = heatCellTime(column, row), value = heat.values[column * HEAT_ROWS + row] || 0;
	return isHeatByRow() ? heatCellText(row, column) : `${heat.counts ? grouped(value) : timeText(value)} in ${rangeText(from, to)}`;
}

function moveHeatCursor(event, [right, up]) {
	const [columns, rows] = heatSize(), at = heatCursor || {column: 0, row: 0, since: null};
	if (!columns || !rows)
		return;
	const keep = (value, count) => Math.min(Math.max(value, 0), count - 1);
	const next = {column: keep(at.column + right, columns), row: keep(at.row + (isHeatByRow() ? -up : up), rows), since: event.shiftKey ? at.since ?? at : null};
	heatCursor = next;
	if (next.since) {
		const [a, b] = [heatCellTime(next.since.column, next.since.row), heatCellTime(next.column, next.row)];
		select(Math.round(Math.min(a[0], b[0])), Math.round(Math.max(a[1], b[1])));
		selectedByKeys();
	}
	byId("heat-cell").textContent = heatCursorText(next);
	if (isHeatByRow()) {
		const place = heat.canvas.parentElement, top = next.row * heatRowPx();
		place.scrollTop = Math.min(top, Math.max(place.scrollTop, top + heatRowPx() - place.clientHeight));
	}
	drawSelectionSoon();
}

const selectedByKeys = settled(() => {
	moveAxisTo();
	selected();
}, 300);

function drawHeatCursor(context) {
	const [columns, rows] = heatSize();
	if (!heatCursor || heatCursor.column >= columns || heatCursor.row >= rows || document.activeElement !== heat.canvas)
		return;
	const byRow = isHeatByRow(), left = byRow ? heatNames() : 0, w = (heatWidth() - left) / columns, h = byRow ? heatRowPx() : HEAT_HEIGHT / HEAT_ROWS;
	context.strokeStyle = colour("ink");
	context.lineWidth = 2;
	context.strokeRect(left + heatCursor.column * w, byRow ? heatCursor.row * h : HEAT_HEIGHT - (heatCursor.row + 1) * h, Math.max(w, 3), Math.max(h, 3));
	context.lineWidth = 1;
}

heat.canvas.addEventListener("keydown", event => {
	const move = HEAT_MOVES[event.key];
	if (move) {
		event.preventDefault();
		moveHeatCursor(event, move);
	} else if (event.key === "Enter" && heatCursor && heatCursor.row < heatSize()[1]) {
		const [from, to] = heatCellTime(heatCursor.column, heatCursor.row);
		select(Math.round(from), Math.round(to));
		moveAxisTo();
		selected();
	}
});
for (const name of ["focus", "blur"])
	heat.canvas.addEventListener(name, () => drawSelectionSoon());
byId("heat-function").addEventListener("change", () => showFunctionHeat(byId("heat-function").value.trim()));
