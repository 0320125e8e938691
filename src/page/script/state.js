// SPDX-License-Identifier: MIT
// The page of a recording. The files of this folder become one script, in the order of assets.c, with one scope.
//
//	state.js     this file: what is shown, and the address that says so
//	fetch.js     questions to the recorder's end
//	file.js      their answers in a page that has its data with it
//	tree.js      trees of frames, and what filters make of them
//	file_tree.js those of such a page
//	graph.js     flame graphs that are made here
//	filters.js   what is left out
//	functions.js the table of functions
//	calltree.js  the table of call paths
//	scale.js     times as text, and where they are on an axis
//	heat.js      the heatmap
//	rows.js      which rows the time axis has, in groups
//	timeline.js  the time axis
//	links.js     arrows from calls to their GPU work
//	pointer.js   dragging, the wheel, the keyboard
//	repeats.js   how long launches, iterations and markers took
//	compare.js   one range compared with another
//	panes.js     flame graph and report of what is selected
//	begin.js     puts all of it together
//
// Times are nanoseconds from the start of the recording, in doubles: exact for a hundred days. Sums of time are made in C,
// and only drawn here. Names are only ever set as text.

/** @type {(id: string) => any} an element of any kind */
const byId = id => document.getElementById(id);

/** @type {any} */
let about = null; // what the recording is: about.json

// What the address says: `from` to `to` is what the time axis shows, `since` to `until` what is selected.
const state = {from: 0, to: 1, since: 0, until: 1, view: "merge", by: "", reverse: false, inverted: false, what: "run", pane: "flame",
	focus: "", callers: false, hide: [], once: false, kernel: "", baseSince: 0, baseUntil: 0,
	of: "launches", name: "", least: 0, below: 0};
const CHOICES = ["view", "by", "what", "pane"], FLAGS = ["reverse", "inverted"], FILTER_FLAGS = ["once", "callers"];
const PANES = ["flame", "calltree", "functions", "repeats", "report", "kernel"];
const REPEATS = ["launches", "periods", "markers"];
const ADDRESS_MAX = 30000; // what would make it longer is left out

function isAllSelected() {
	return state.since <= 0 && state.until >= about.elapsed_ns;
}

function isAllShown() {
	return state.from <= 0 && state.to >= about.elapsed_ns;
}

function addressOf() {
	const words = new URLSearchParams();
	for (const key of CHOICES)
		words.set(key, state[key]);
	for (const key of [...FLAGS, ...FILTER_FLAGS])
		if (state[key])
			words.set(key, "1");
	if (state.focus.length < ADDRESS_MAX)
		words.set("focus", state.focus);
	for (const text of state.hide)
		if (text.length < ADDRESS_MAX)
			words.append("hide", text);
	if (!state.focus)
		words.delete("focus");
	if (state.kernel && state.kernel.length < ADDRESS_MAX)
		words.set("kernel", state.kernel);
	if (state.pane === "repeats")
		setRepeatWords(words);
	if (!isAllShown())
		words.set("axis", Math.round(state.from) + "-" + Math.round(state.to));
	if (!isAllSelected())
		words.set("range", Math.round(state.since) + "-" + Math.round(state.until));
	if (isComparing())
		words.set("base", state.baseSince + "-" + state.baseUntil);
	return "#" + words;
}

function setRepeatWords(words) {
	words.set("of", state.of);
	if (state.name && state.name.length < ADDRESS_MAX)
		words.set("name", state.name);
	for (const key of ["least", "below"])
		if (state[key])
			words.set(key, String(state[key]));
}

function takeRepeatWords(words) {
	state.of = REPEATS.includes(words.get("of") || "") ? String(words.get("of")) : "launches";
	state.name = words.get("name") || "";
	for (const key of ["least", "below"])
		state[key] = /^\d{1,15}$/.test(words.get(key) || "") ? Number(words.get(key)) : 0;
}

function takeRange(text, first, last) {
	const match = /^(\d+)-(\d+)$/.exec(text || "");
	const good = match && +match[1] < +match[2] && +match[1] < about.elapsed_ns;
	state[first] = good ? +match[1] : 0;
	state[last] = good ? Math.min(+match[2], about.elapsed_ns) : about.elapsed_ns;
}

// Whatever somebody wrote there: what is no choice of the page is left as it is.
function takeAddress() {
	const words = new URLSearchParams(location.hash.slice(1));
	for (const key of CHOICES) {
		const select = byId(key), value = words.get(key);
		const known = select && select.options ? [...select.options].some(o => o.value === value) : PANES.includes(value);
		if (value !== null && known)
			state[key] = value;
	}
	for (const key of [...FLAGS, ...FILTER_FLAGS])
		state[key] = words.get(key) === "1";
	state.focus = words.get("focus") || "";
	state.kernel = words.get("kernel") || "";
	takeRepeatWords(words);
	if ((state.pane === "kernel" && !state.kernel) || (state.pane === "repeats" && data))
		state.pane = "flame";
	state.hide = words.getAll("hide").filter(text => text);
	takeRange(words.get("axis"), "from", "to");
	takeRange(words.get("range"), "since", "until");
	if (words.has("base"))
		takeRange(words.get("base"), "baseSince", "baseUntil");
	else
		stopComparing();
	snapRange();
}

// `kept`: Back returns to what was shown before.
function noteAddress(kept) {
	const address = addressOf();
	if (address === location.hash)
		return;
	if (kept)
		history.pushState(null, "", address);
	else
		history.replaceState(null, "", address);
}
