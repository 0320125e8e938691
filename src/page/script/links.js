// SPDX-License-Identifier: MIT
// Arrows from a call to the GPU work that it asked for, of the box that is selected: a call, or a piece of work.

const ARROW_PX = 6;
/** @type {any} */
let links = null; // {since, until, begin, call, works, count}: those of the box with these times

async function fetchLinks(row, box) {
	const kind = about.rows[row].kind, since = state.since, until = state.until;
	links = null;
	if (!about.whole || (kind !== "calls" && kind !== "work"))
		return;
	const answer = await ask("links.json", {row, begin: box.from, length: box.length});
	if (!answer)
		return;
	links = {since, until, begin: box.from, call: answer.call, works: answer.works, count: answer.work_count, isCall: kind === "calls", leftOut: answer.left_out};
	await knowRows([answer.call[0], ...answer.works.filter((_, n) => n % 3 === 0)].filter(number => number !== undefined));
	showLinks();
	drawSelectionSoon();
}

function linksAreShown() {
	return links && links.since === state.since && links.until === state.until;
}

// What arrows may not show: that there are more, or where they go to.
function showLinks() {
	const text = linksAreShown() ? linksText() : "";
	byId("links").textContent = text;
}

function linksText() {
	const {begin, call, works, count, isCall, leftOut} = links, first = Math.min(...works.filter((_, n) => n % 3 === 1));
	if (leftOut)
		return "what it belongs to may not be in this file, for lack of room";
	if (isCall)
		return count ? `asked for ${count === 1 ? "a piece" : grouped(count) + " pieces"} of GPU work, ${first >= call[1] ? timeText(first - call[1]) + " later" : "at once"}` :
			"asked for no GPU work that was recorded";
	return call.length ? `was asked for ${timeText(begin - call[1])} before` + (count > 1 ? `, with ${grouped(count - 1)} more` : "") : "its call was not recorded";
}

// By row: where its lane is, from the top of the lanes.
function placesOfRows() {
	const places = new Map();
	eachLane((group, y) => group.lanes.forEach(lane => lane.rows.forEach(row => places.set(row, {y, tall: GROUP_PX}))), (lane, y) => lane.rows.forEach(row => places.set(row, {y, tall: lane.tall})));
	return places;
}

function drawLinks(context) {
	if (!linksAreShown() || !links.call.length)
		return;
	const places = placesOfRows(), top = axis.lanes.scrollTop, [row, begin, length] = links.call, from = places.get(row);
	context.save();
	context.beginPath();
	context.rect(namesWidth(), 0, axisWidth(), axis.lanes.clientHeight);
	context.clip();
	context.strokeStyle = context.fillStyle = colour("ink");
	if (from)
		outline(context, xOf(begin), xOf(begin + length), from.y - top, from.tall);
	for (let n = 0; from && n < links.works.length; n += 3) {
		const to = places.get(links.works[n]), x = xOf(links.works[n + 1]);
		if (!to)
			continue;
		outline(context, x, xOf(links.works[n + 1] + links.works[n + 2]), to.y - top, to.tall);
		arrow(context, xOf(begin), from.y - top + (to.y < from.y ? 2 : from.tall - 2), x, to.y - top + (to.y < from.y ? to.tall - 2 : 2));
	}
	context.restore();
}

function outline(context, left, right, y, tall) {
	context.strokeRect(left - 0.5, y + 1.5, Math.max(right - left, 2) + 1, tall - 3);
}

// A curve that leaves and comes upright, so that many of them can be told apart.
function arrow(context, x, y, toX, toY) {
	const middle = (y + toY) / 2, down = toY > y ? 1 : -1;
	context.lineWidth = 1.2;
	context.beginPath();
	context.moveTo(x, y);
	context.bezierCurveTo(x, middle, toX, middle, toX, toY - down * ARROW_PX);
	context.stroke();
	context.beginPath();
	context.moveTo(toX, toY);
	context.lineTo(toX - ARROW_PX / 2, toY - down * ARROW_PX);
	context.lineTo(toX + ARROW_PX / 2, toY - down * ARROW_PX);
	context.fill();
	context.lineWidth = 1;
}
