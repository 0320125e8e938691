// SPDX-License-Identifier: MIT
// Zoom, selection and the address, which keeps both for links and for going back.

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function animate(a, b) {
	const from0 = from, to0 = to, begin = performance.now();
	from = a;
	to = b;
	layout(a, b);
	const goal = rows.length;
	if (still.matches || count > 300000) {
		arrange();
		return;
	}
	function step(now) {
		const t = Math.min((now - begin) / 180, 1), ease = 1 - Math.pow(1 - t, 3);
		if (from !== a || to !== b)
			return; /* another zoom has begun */
		if (t === 1) {
			arrange();
			return;
		}
		layout(from0 + (a - from0) * ease, to0 + (b - to0) * ease);
		while (rows.length < goal)
			rows.push(undefined);
		draw();
		requestAnimationFrame(step);
	}
	requestAnimationFrame(step);
}

function zoom(a, b) {
	if (!(b > a) || (a === from && b === to))
		return;
	tip.hidden = true;
	animate(a, b);
	address(true);
}

function zoomTo(node) {
	select(node);
	zoom(start[node], start[node] + width(node));
	reveal(node);
}

function select(node) {
	selected = node;
	frameText.textContent = node ? describe(node) : "";
	frameText.title = node ? labels[nameOf[node]] : "";
	redraw();
}

// Scrolls so that the row of a frame can be seen.
function reveal(node) {
	const top = rowTop(depth[node]);
	if (top < scroll.scrollTop + ROW)
		scroll.scrollTop = top - 3 * ROW;
	else if (top > scroll.scrollTop + viewHeight - 2 * ROW)
		scroll.scrollTop = top - viewHeight + 4 * ROW;
}

// To the smallest frame that holds more than what is on show.
function zoomOut() {
	let i = frameAround(from, to);
	while (i && width(i) <= to - from)
		i = parent[i];
	zoom(start[i], start[i] + width(i));
}

// The deepest frame that covers the whole range.
function frameAround(a, b) {
	let i = 0;
	for (let child = 1; child < end[i];) {
		if (start[child] + width(child) <= a)
			child = end[child];
		else if (start[child] <= a && start[child] + width(child) >= b) {
			i = child;
			child = i + 1;
		} else
			break;
	}
	return i;
}

let written = "";

// The address keeps the range and the search; each zoom is a step back in the history.
function address(step) {
	const parts = [];
	if (from !== 0 || to !== total)
		parts.push("z=" + from + "-" + to);
	if (query.value)
		parts.push("q=" + encodeURIComponent(query.value));
	if (flipped !== info.inverted)
		parts.push("flip");
	written = parts.length ? "#" + parts.join("&") : "";
	if (location.hash === written)
		return;
	if (step)
		location.hash = written;
	else
		location.replace(location.href.replace(/#.*/, "") + (written || "#"));
}

function readAddress() {
	let a = 0, b = total, q = "", flip = info.inverted;
	for (const part of location.hash.slice(1).split("&")) {
		const range = /^z=([0-9.e+]+)-([0-9.e+]+)$/.exec(part);
		if (range && Number(range[1]) < Number(range[2]) && Number(range[2]) <= total) {
			a = Number(range[1]);
			b = Number(range[2]);
		}
		if (part.startsWith("q="))
			try {
				q = decodeURIComponent(part.slice(2));
			} catch (e) {
				q = part.slice(2);
			}
		if (part === "flip")
			flip = !info.inverted;
	}
	from = a;
	to = b;
	flipped = flip;
	query.value = q;
	search();
	arrange();
}
