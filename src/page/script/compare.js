// SPDX-License-Identifier: MIT
// What is selected, compared with something else, the base: the flame graph of `xpuprof flame --diff`, whose colours, noise and
// scale are made in C. The base is
//
//	a range		the one that was selected when somebody asked for it, of this recording or of the other one
//	a recording	all of the other one
//	iterations	those that are not so long (repeats.js), while the flame graph is of those that are

// A file has what it takes of some views only.
function hasBase() {
	return !isFixed(state.view) && state.baseUntil > state.baseSince;
}

// Whether it has a place in what is shown.
function baseIsHere() {
	return hasBase() && state.baseFile === state.file;
}

function baseIsWhole() {
	return state.baseSince <= 0 && state.baseUntil >= elapsedOf(state.baseFile);
}

// Whether there are two sides by now.
function comparesNow() {
	return state.these === "compared" ||
		(hasBase() && !(baseIsHere() && Math.round(state.since) === state.baseSince && Math.round(state.until) === state.baseUntil));
}

/** @returns {Record<string, string>} */
function baseWords() {
	if (!comparesNow())
		return {};
	if (state.these === "compared")
		return {others: "1", title: about.title};
	const range = {"base-from": String(state.baseSince), "base-to": String(state.baseUntil)};
	if (baseIsHere())
		return {...range, title: about.title};
	return {"base-file": String(state.baseFile), ...(baseIsWhole() ? {} : range)};
}

function rangeText(since, until) {
	return momentText(since, until - since) + " to " + momentText(until, until - since) + ": " + timeText(until - since);
}

function compareWith(file, since, until) {
	Object.assign(state, {baseFile: file, baseSince: Math.round(since), baseUntil: Math.round(until), these: ""});
}

function stopComparing() {
	state.baseSince = state.baseUntil = 0;
	state.these = state.these && "only";
}

function baseText() {
	if (state.these === "compared")
		return "the others, each side by its own time";
	const range = baseIsWhole() && !baseIsHere() ? "" : rangeText(state.baseSince, state.baseUntil);
	return baseIsHere() ? range : fileName(state.baseFile) + (range && ", " + range);
}

// What has to be done next, or what the colours mean.
function compareText() {
	if (!hasBase() && state.these !== "compared")
		return "";
	if (!comparesNow())
		return " \u2013 now select the range to compare with it" + (isPair() ? ", or the other recording" : "");
	return ", compared with " + baseText() + " \u2013 red: more of the time, blue: less" + (filtersOn() ? "; not filtered" : "");
}

function showCompare() {
	const on = hasBase() || state.these === "compared";
	byId("compare").hidden = isFixed(state.view);
	byId("compare").textContent = on ? "End comparison" : "Compare with this";
	byId("compare").setAttribute("aria-pressed", String(on));
}

byId("compare").addEventListener("click", () => {
	if (hasBase() || state.these === "compared") {
		stopComparing();
	} else {
		compareWith(state.file, state.since, state.until);
		state.pane = state.pane === "report" && !data ? "report" : "flame";
	}
	drawSelectionSoon();
	selected();
});

// Functions whose share is another one, as a table.
async function differencesText() {
	return ask("differences.txt", {...flameWords(false), ...baseWords()}, "text");
}

// --- in the address ---------------------------------------------------------------------------------------------

function setBaseWord(words) {
	const range = isPair() && baseIsWhole() ? "whole" : state.baseSince + "-" + state.baseUntil;
	if (hasBase())
		words.set("base", (isPair() ? state.baseFile + ":" : "") + range);
}

function takeBaseWord(words) {
	const match = /^(?:([12]):)?(.*)$/.exec(words.get("base") || "");
	state.baseSince = state.baseUntil = 0;
	if (!words.has("base") || !match)
		return;
	state.baseFile = match[1] && isPair() ? Number(match[1]) : state.file;
	takeRange(match[2], "baseSince", "baseUntil", elapsedOf(state.baseFile));
}
