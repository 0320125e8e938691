// SPDX-License-Identifier: MIT
// What is under the pointer, and its tooltip.

function depthAt(y) {
	const height = Math.max(rows.length * ROW, viewHeight), at = y + scroll.scrollTop;
	return flipped ? Math.floor(at / ROW) : Math.floor((height - at) / ROW);
}

function boxAt(x, y) {
	const row = rows[depthAt(y)] || [];
	let low = 0, high = row.length - 1;
	while (low <= high) {
		const middle = (low + high) >> 1, box = row[middle];
		if (x < box.x)
			high = middle - 1;
		else if (x >= box.x + Math.max(box.w, MIN_PX))
			low = middle + 1;
		else
			return box;
	}
	return null;
}

function describe(node) {
	return labels[nameOf[node]] + wordsOf(node) + " \u2014 " + times(cpu[node], gpu[node], cpu[0], gpu[0], samples[node]);
}

function timeRow(what, part, whole, base, n) {
	const cells = [what, sampled(part, n), share(part, whole), share(part, base)];
	return make("tr", {}, ...cells.map(cell => make("td", {}, cell)));
}

// Why warps wait, in words.
function wordsOf(i) {
	const name = labels[nameOf[i]];
	const known = info.kinds[kindOf[nameOf[i]]]["class"] === "code" && Object.hasOwn(info.words, name);
	return known ? ": " + info.words[name] : "";
}

function fillTip(box) {
	const i = box.node;
	if (i < 0) {
		tip.replaceChildren(make("div", {"class": "name"}, grouped(box.frames) + " frames too narrow to draw"),
			make("div", {"class": "kind"}, "click to zoom in on them"));
		return;
	}
	const kind = info.kinds[kindOf[nameOf[i]]], swatch = make("i", {}), p = parent[i];
	const table = make("table", {}, make("tr", {}, ...["", info.unit === "count" || info.unit === "samples" ? "" : "time", "of all",
		"of parent"].map(cell => make("th", {}, cell))));
	if (info.compared)
		table.append(timeRow("first", cpu[i] - samples[i], cpu[0] - samples[0], cpu[p] - samples[p]),
			timeRow("second", samples[i], samples[0], samples[p]));
	else if (cpu[i])
		table.append(timeRow(info.time || (gpu[0] || info.unit !== "count" ? "CPU" : "count"), cpu[i], cpu[0], cpu[p], samples[i]));
	if (gpu[i])
		table.append(timeRow("GPU", gpu[i], gpu[0], gpu[p]));
	swatch.style.background = fills[kindOf[nameOf[i]]];
	tip.replaceChildren(make("div", {"class": "name"}, labels[nameOf[i]]),
		make("div", {"class": "kind"}, swatch, kind.name + wordsOf(i)), table);
	const own = !info.compared && i + 1 < end[i] ? ownPart(i, width) : 0;
	if (own)
		table.append(timeRow("self", own, onGpu[i] ? gpu[0] : cpu[0], onGpu[i] ? gpu[p] : cpu[p],
			ownPart(i, node => samples[node])));
}

// What a frame has that is in none of the frames on it.
function ownPart(i, of) {
	let own = of(i);
	for (let child = i + 1; child < end[i]; child = end[child])
		own -= of(child);
	return own;
}

// Above or below the row pointed at, never on it.
function placeTip(x, box) {
	const bounds = graph.getBoundingClientRect(), outer = app.getBoundingClientRect();
	const top = bounds.top - outer.top + rowTop(box.depth) - scroll.scrollTop;
	tip.hidden = false;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	let left = bounds.left - outer.left + x + 14;
	if (left + w > outer.width - 8)
		left = Math.max(8, bounds.left - outer.left + x - 14 - w);
	let y = top - h - 8;
	if (y < 4)
		y = top + ROW + 8;
	tip.style.left = left + "px";
	tip.style.top = y + "px";
}

function hover(event) {
	const bounds = scroll.getBoundingClientRect();
	const x = event.clientX - bounds.left, box = boxAt(x, event.clientY - bounds.top);
	if (box !== hovered) {
		hovered = box;
		redraw();
	}
	scroll.style.cursor = box ? "pointer" : "default";
	if (!box) {
		tip.hidden = true;
		return;
	}
	fillTip(box);
	placeTip(x, box);
}

function leave() {
	hovered = null;
	tip.hidden = true;
	redraw();
}
