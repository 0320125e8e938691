// SPDX-License-Identifier: MIT
// The page of a recording. The files of this folder become one script, in the order of assets.c, with one scope.
//
//	state.js     this file: what is shown, and the address that says so
//	files.js     which of two recordings is shown
//	refill.js    lists that are replaced
//	fetch.js     questions to the recorder's end
//	file.js      their answers in a page that has its data with it
//	file_find.js names and search there
//	tree.js      trees of frames, and what filters make of them
//	file_tree.js those of such a page
//	file_diff.js two ranges of it compared
//	file_heat.js heatmaps by row of it
//	file_events.js what happens again in it, and what belongs together
//	graph.js     flame graphs that are made here
//	filters.js   what is left out
//	functions.js the table of functions
//	calltree.js  the table of call paths
//	scale.js     times as text, and where they are on an axis
//	heat.js      the heatmap, by the offset in each column
//	heat_rows.js by row: threads, streams, reasons, a function
//	listed.js    the rows that are known, and what the others are in all
//	rows.js      which rows the time axis has, in groups
//	markers.js   lanes of markers
//	timeline.js  the time axis
//	seek.js      search on it
//	links.js     arrows from calls to their GPU work
//	pointer.js   dragging, the wheel, the keyboard
//	heat_keys.js the heatmap by the keyboard
//	repeats.js   how long launches, iterations and markers took
//	compare.js   what is selected compared with another range, recording, or iterations
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
	focus: "", callers: false, hide: [], once: false, kernel: "", file: 1, baseFile: 1, baseSince: 0, baseUntil: 0,
	these: "", of: "launches", name: "", least: 0, below: 0, thread: "", function: ""};
const CHOICES = ["view", "by", "what", "pane"], FLAGS = ["reverse", "inverted"], FILTER_FLAGS = ["once", "callers"];
const PANES = ["flame", "calltree", "functions", "repeats", "report", "kernel"];
const REPEATS = ["launches", "periods", "markers"], THESE = ["only", "compared"];
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
	if (isPair())
		words.set("file", String(state.file));
	if (state.pane === "repeats" || state.these)
		setRepeatWords(words);
	if (!isAllShown())
		words.set("axis", Math.round(state.from) + "-" + Math.round(state.to));
	if (!isAllSelected())
		words.set("range", Math.round(state.since) + "-" + Math.round(state.until));
	if (state.what === "function" && state.function.length < ADDRESS_MAX)
		words.set("function", state.function);
	if (state.thread)
		words.set("thread", state.thread);
	setBaseWord(words);
	return "#" + words;
}

function setRepeatWords(words) {
	words.set("of", state.of);
	if (state.name && state.name.length < ADDRESS_MAX)
		words.set("name", state.name);
	for (const key of ["least", "below", "these"])
		if (state[key])
			words.set(key, String(state[key]));
}

function takeRepeatWords(words) {
	state.of = REPEATS.includes(words.get("of") || "") ? String(words.get("of")) : "launches";
	state.name = words.get("name") || "";
	for (const key of ["least", "below"])
		state[key] = /^\d{1,15}$/.test(words.get(key) || "") ? Number(words.get(key)) : 0;
	state.these = !data && state.name && THESE.includes(words.get("these") || "") ? String(words.get("these")) : "";
}

function takeRange(text, first, last, elapsed) {
	const match = /^(\d+)-(\d+)$/.exec(text || "");
	const good = match && +match[1] < +match[2] && +match[1] < elapsed;
	state[first] = good ? +match[1] : 0;
	state[last] = good ? Math.min(+match[2], elapsed) : elapsed;
}

// Whatever somebody wrote there: what is no choice of the page is left as it is.
function takeAddress() {
	const words = new URLSearchParams(location.hash.slice(1));
	for (const key of CHOICES) {
		const select = byId(key), value = words.get(key);
		const known = select && select.options ? [...select.options].some(o => o.value === value && !o.disabled && !o.closest("optgroup:disabled")) : PANES.includes(value);
		if (value !== null && known)
			state[key] = value;
	}
	for (const key of [...FLAGS, ...FILTER_FLAGS])
		state[key] = words.get(key) === "1";
	state.focus = words.get("focus") || "";
	state.kernel = words.get("kernel") || "";
	state.function = words.get("function") || "";
	state.thread = /^\d{1,10}$/.test(words.get("thread") || "") ? String(words.get("thread")) : "";
	takeRepeatWords(words);
	if (state.pane === "kernel" && (!state.kernel || data))
		state.pane = "flame";
	state.hide = words.getAll("hide").filter(text => text);
	takeRange(words.get("axis"), "from", "to", about.elapsed_ns);
	takeRange(words.get("range"), "since", "until", about.elapsed_ns);
	takeBaseWord(words);
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
