// SPDX-License-Identifier: MIT
// The keyboard, and the help that lists it.

function firstChild(i) {
	let best = 0;
	for (let child = i + 1; child < end[i]; child = end[child])
		if (boxOf(child) && (!best || width(child) > width(best)))
			best = child;
	return best;
}

function beside(step) {
	const row = rows[depth[selected]] || [], at = row.findIndex(box => box.node === selected);
	for (let i = at + step; at >= 0 && i >= 0 && i < row.length; i += step)
		if (row[i].node >= 0)
			return row[i].node;
	return selected;
}

function move(key) {
	const up = key === "ArrowUp";
	let node = selected;
	if (key === "ArrowLeft" || key === "ArrowRight")
		node = beside(key === "ArrowLeft" ? -1 : 1);
	else if (up !== flipped)
		node = firstChild(selected) || selected;
	else
		node = parent[selected];
	select(node);
	reveal(node);
}

function flip() {
	flipped = !flipped;
	arrange();
	scroll.scrollTop = flipped ? 0 : spacer.offsetHeight;
	address(false);
}

function escape() {
	if (!help.hidden)
		help.hidden = true;
	else if (query.value) {
		query.value = "";
		search();
		address(false);
	} else if (from !== 0 || to !== total)
		zoom(0, total);
	else
		select(0);
	scroll.focus({preventScroll: true});
}

const keys = {
	"ArrowUp": () => move("ArrowUp"),
	"ArrowDown": () => move("ArrowDown"),
	"ArrowLeft": () => move("ArrowLeft"),
	"ArrowRight": () => move("ArrowRight"),
	"Enter": () => zoomTo(selected),
	"Backspace": zoomOut,
	"Escape": escape,
	"Home": () => zoomTo(0),
	"0": () => zoomTo(0),
	"/": () => query.select(),
	"n": () => nextMatch(1),
	"N": () => nextMatch(-1),
	"i": flip,
	"?": () => { help.hidden = !help.hidden; },
};

document.addEventListener("keydown", event => {
	if (event.ctrlKey && event.key === "f" && document.activeElement !== query) {
		query.focus();
		query.select();
		event.preventDefault();
		return;
	}
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const typing = document.activeElement === query;
	if (typing && event.key !== "Escape" && event.key !== "Enter")
		return;
	if (typing && event.key === "Enter") {
		nextMatch(event.shiftKey ? -1 : 1);
		event.preventDefault();
		return;
	}
	if (document.activeElement && document.activeElement.localName === "button" &&
		(event.key === "Enter" || event.key === " "))
		return;
	const action = keys[event.key];
	if (!action)
		return;
	event.preventDefault();
	if (event.key === "/")
		query.focus();
	action();
});

function fillHelp() {
	const table = make("table", {});
	for (const [names, what] of [
		[["click", "Enter"], "zoom in on a frame, or on frames too narrow to draw"],
		[["Backspace"], "zoom out to the frame around"],
		[["Home", "0"], "show everything"],
		[["\u2190", "\u2192", "\u2191", "\u2193"], "go to the frame beside, above or below"],
		[["/", "Ctrl F"], "search: part of a name, or /regular expression/"],
		[["n", "N"], "next and previous match"],
		[["i"], "turn the graph upside down"],
		[["Escape"], "close this, end the search, or show everything"]]) {
		const cell = make("td", {});
		for (const name of names)
			cell.append(make("kbd", {}, name));
		table.append(make("tr", {}, cell, make("td", {}, what)));
	}
	help.append(make("div", {"class": "card"}, make("h2", {}, "Reading this graph"), table,
		make("p", {}, "Each box is a function; what stands on it was called by it. Width is time" + (info.time ?
			" that passed for threads: " + info.time + "." :
			". GPU work stands on the API call that asked for it. CPU time and GPU time pass side by side: " +
			"only the width of a box adds them up, and never as elapsed time."))));
	help.addEventListener("click", () => { help.hidden = true; });
}
