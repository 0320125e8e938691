// SPDX-License-Identifier: MIT
// What is selected, as a flame graph and as a report.

let shownFlame = "", shownReport = "", shownKernel = "";

/** @returns {Record<string, string>} */
function rangeWords() {
	const range = isAllSelected() ? {} : {from: String(Math.round(state.since)), to: String(Math.round(state.until))};
	const thread = state.thread ? {thread: state.thread} : {};
	return state.these ? {...range, ...thread, iterations: "1", ...repeatWords()} : {...range, ...thread};
}

// `turned`: as the picture is, and not only what it is of.
function flameWords(turned) {
	/** @type {Record<string, string>} */
	const words = {view: state.view, ...rangeWords()};
	if (state.by)
		words.by = state.by;
	for (const key of FLAGS)
		if (state[key] && turned)
			words[key] = "1";
	return words;
}

// Where nothing is filtered, the picture is the server's.
function isMade() {
	return !comparesNow() && (filtersOn() || (data && !isFixed(state.view) && !(isAllSelected() && !state.by && !state.thread && !FLAGS.some(key => state[key]))));
}

// Replaced, so that Back goes back in this page and not in the picture.
async function showFlame() {
	const words = {...flameWords(true), ...baseWords()}, key = JSON.stringify([words, filterTexts()]);
	if (key === shownFlame)
		return;
	shownFlame = key;
	const address = data || isMade() ? await madeFlame() : "flame.svg?" + new URLSearchParams(ofFile(words));
	if (shownFlame !== key)
		return;
	if (address)
		byId("flame").contentWindow.location.replace(address);
	else
		shownFlame = ""; // it is asked for again
}

// Its source and instructions, and what they waited for.
async function showKernel() {
	const words = {kernel: state.kernel, ...rangeWords()}, key = JSON.stringify(words);
	if (key === shownKernel)
		return;
	shownKernel = key;
	const text = await ask("kernel.html", words, "text");
	if (text !== null && shownKernel === key)
		byId("kernel").srcdoc = text;
	else if (shownKernel === key)
		shownKernel = "";
}

async function showReport() {
	const compared = comparesNow() && !data, words = {...rangeWords(), width: 160};
	const address = JSON.stringify(compared ? [words, flameWords(false), baseWords()] : words);
	if (address === shownReport)
		return;
	const text = compared ? await differencesText() : await ask("report.txt", words, "text");
	if (text === null)
		return;
	shownReport = address;
	byId("report").textContent = text;
}

// What the recording says anew, of all of it or of a range that stays.
function forgetPanes(all) {
	shownFlame = all ? "" : shownFlame;
	shownTreeOf = null;
	libraries.clear();
	shownReport = shownKernel = repeatsKey = "";
}

// What is shown is another recording's.
function clearPanes() {
	byId("flame").contentWindow.location.replace("about:blank");
	byId("kernel").srcdoc = byId("report").textContent = byId("heat-note").textContent = "";
	repeats = null;
	repeatChosen = "";
	for (const id of ["repeat-rows", "repeat-name", "function-rows", "calltree-rows"])
		byId(id)?.replaceChildren();
}

function showPanes() {
	byId("range").textContent = (state.these ? theseText() + " in " : "") + (isAllSelected() ? "the whole recording" :
		rangeText(state.since, state.until) +
		(data && (state.pane === "report" || isFixed(state.view)) ? " \u2013 in this file only the whole recording has this" : "")) + compareText();
	showLinks();
	showFilters();
	showCompare();
	byId("tab-kernel").hidden = !state.kernel;
	for (const name of PANES) {
		byId(name).hidden = state.pane !== name;
		byId("tab-" + name).setAttribute("aria-selected", String(state.pane === name));
	}
	if (!about.whole)
		return; // sums of a part would be wrong
	if (state.pane === "flame")
		showFlame();
	else if (state.pane === "calltree")
		showCallTree();
	else if (state.pane === "functions")
		showFunctions();
	else if (state.pane === "repeats")
		showRepeats();
	else if (state.pane === "kernel")
		showKernel();
	else
		showReport();
}
