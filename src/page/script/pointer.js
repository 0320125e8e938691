// SPDX-License-Identifier: MIT
// Dragging, the wheel and the keyboard.

const SHORT_PX = 4; // a drag that is shorter is a click

function select(since, until) {
	state.since = Math.max(Math.min(since, until), 0);
	state.until = Math.min(Math.max(since, until), about.elapsed_ns);
	if (state.until <= state.since)
		selectAll();
	snapRange();
	drawSelectionSoon();
}

function selectAll() {
	state.since = 0;
	state.until = about.elapsed_ns;
}

function selected() {
	noteAddress(true);
	showPanes();
}

// Shows another part of the axis; at least ten nanoseconds of it, and none outside of the recording.
function moveAxis(from, to) {
	const length = Math.min(Math.max(to - from, 10), about.elapsed_ns);
	state.from = Math.min(Math.max(from, 0), about.elapsed_ns - length);
	state.to = state.from + length;
	drawAxisSoon();
	fetchAxisSoon();
	noteAddressSoon();
}

function zoomAxis(factor, at) {
	moveAxis(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

// Follows the pointer from here until it is let go.
function follow(element, event, onMove, onEnd) {
	const startX = event.clientX, startY = event.clientY;
	let moved = false;
	element.setPointerCapture(event.pointerId);
	element.onpointermove = e => {
		moved ||= Math.abs(e.clientX - startX) + Math.abs(e.clientY - startY) >= SHORT_PX;
		if (moved)
			onMove(e);
	};
	element.onpointerup = element.onpointercancel = e => {
		element.onpointermove = element.onpointerup = element.onpointercancel = null;
		onEnd(e, moved);
	};
}

heat.canvas.addEventListener("pointerdown", event => {
	if (event.button !== 0 || (isHeatByRow() && (!heatRows || chooseHeatRow(event))))
		return;
	const first = heatTime(event, false);
	follow(heat.canvas, event, e => {
		const last = heatTime(e, true);
		select(first, last > first ? last : heatTime(e, false));
	}, (e, moved) => {
		if (!moved)
			select(first, heatTime(event, true));
		moveAxisTo();
		selected();
	});
});

// The axis shows what was selected in the heatmap, and some of what is around.
function moveAxisTo() {
	const margin = (state.until - state.since) / 4;
	if (!isAllSelected())
		moveAxis(state.since - margin, state.until + margin);
}

function dragAxis(element, event) {
	const area = axis.lanes.getBoundingClientRect(), x = event.clientX - area.left;
	if (event.button !== 0 || x < namesWidth())
		return;
	const first = timeAt(x), {from, to} = state;
	follow(element, event, e => {
		const moved = e.clientX - area.left;
		if (event.shiftKey)
			moveAxis(from - (moved - x) / axisWidth() * (to - from), to - (moved - x) / axisWidth() * (to - from));
		else
			select(Math.floor(first), Math.ceil(timeAt(moved)));
	}, (e, moved) => {
		if (!moved && element === axis.lanes)
			chooseBox(event);
		else if (!moved)
			selectAll(), select(0, about.elapsed_ns);
		if (!event.shiftKey)
			selected();
	});
}

// A click selects what the box lasted.
function chooseBox(event) {
	const thing = thingAt(event);
	if (thing?.kind === "marker" && (thing.box || thing.cell))
		chooseMarker(thing.row, thing.box ? thing.box.from : thing.from, thing.box ? thing.box.length : thing.length);
	if (!thing?.box || thing.kind === "marker")
		return;
	select(thing.box.from, thing.box.from + Math.max(thing.box.length, 1));
	fetchLinks(thing.row, thing.box);
}

axis.ruler.addEventListener("pointerdown", event => dragAxis(axis.ruler, event));
axis.lanes.addEventListener("pointerdown", event => {
	if (event.target === axis.canvas)
		dragAxis(axis.lanes, event);
});
axis.lanes.addEventListener("click", event => {
	const group = thingAt(event)?.group;
	if (!group)
		return;
	if (group.rest)
		return void listMore(group.rest);
	if (!closedGroups.delete(group.name))
		closedGroups.add(group.name);
	drawAxisSoon();
	fetchAxisSoon();
});
for (const element of [axis.ruler, axis.lanes])
	element.addEventListener("wheel", event => {
		if (!event.ctrlKey)
			return;
		event.preventDefault();
		zoomAxis(1.2 ** Math.sign(event.deltaY), timeAt(event.clientX - axis.lanes.getBoundingClientRect().left));
	}, {passive: false});
axis.lanes.addEventListener("scroll", () => {
	drawAxisSoon();
	fetchAxisSoon();
});

// --- what is under the pointer ----------------------------------------------------------------------------

const TIP_MAX = 1000; // of a name

function tipOf(thing) {
	if (thing?.box)
		return thing.box.name.slice(0, TIP_MAX) + "\n" + timeText(thing.box.length) + " from " + momentText(thing.box.from, thing.box.length);
	if (!thing?.cell)
		return thing?.lane?.name || (thing?.group?.rest ? thing.group.name : "");
	const [, amount, count] = thing.cell, name = thing.name ? thing.name.slice(0, TIP_MAX) + "\n" : "";
	if (thing.kind === "marker" && count === 1 && !amount)
		return name + "a moment, at " + momentText(thing.from, thing.length);
	return name + (thing.kind === "counter" ? String(amount) : grouped(count) + " begin in this pixel, " + timeText(amount));
}

function showTip(event, text) {
	const tip = byId("tip");
	tip.hidden = !text;
	if (!text)
		return;
	tip.textContent = text;
	tip.style.left = Math.min(event.clientX + 14, window.innerWidth - Math.min(tip.offsetWidth, 400) - 10) + "px";
	tip.style.top = event.clientY + 16 + "px";
}

// Not while something is dragged.
axis.lanes.addEventListener("pointermove", event => showTip(event, event.buttons ? "" : tipOf(thingAt(event))));
heat.canvas.addEventListener("pointermove", event => showTip(event, !event.buttons && isHeatByRow() && heatRows ? heatRowTip(event) : ""));
for (const element of [axis.lanes, heat.canvas])
	element.addEventListener("pointerleave", () => {
		byId("tip").hidden = true;
	});

// --- keyboard -----------------------------------------------------------------------------------------------

const KEYS = {
	w: () => zoomAxis(0.7, (state.from + state.to) / 2),
	s: () => zoomAxis(1.4, (state.from + state.to) / 2),
	a: () => moveAxis(state.from - (state.to - state.from) / 5, state.to - (state.to - state.from) / 5),
	d: () => moveAxis(state.from + (state.to - state.from) / 5, state.to + (state.to - state.from) / 5),
	f: () => moveAxis(state.since, state.until),
	"0": () => moveAxis(0, about.elapsed_ns),
	"/": () => byId("seek").focus(),
	Escape: () => {
		selectAll();
		state.thread = "";
		select(0, about.elapsed_ns);
		selected();
	},
	Backspace: () => history.back(),
	"?": () => byId("help").click(),
};

document.addEventListener("keydown", event => {
	const key = KEYS[event.key];
	if (!key || event.ctrlKey || event.altKey || event.metaKey || (event.target instanceof Element && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)))
		return;
	event.preventDefault();
	key();
});
