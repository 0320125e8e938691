// SPDX-License-Identifier: MIT
// What is selected, compared with another range: the flame graph of `xpuprof flame --diff`, whose colours, noise and scale are
// made in C. The range that it is compared with, the base, is the one that was selected when somebody asked for it.

function isComparing() {
	return !data && state.baseUntil > state.baseSince;
}

function baseWords() {
	return comparesNow() ? {"base-from": String(state.baseSince), "base-to": String(state.baseUntil), title: about.title} : {};
}

// Whether there are two ranges by now.
function comparesNow() {
	return isComparing() && !(state.since === state.baseSince && state.until === state.baseUntil);
}

function rangeText(since, until) {
	return momentText(since, until - since) + " to " + momentText(until, until - since) + ": " + timeText(until - since);
}

function stopComparing() {
	state.baseSince = state.baseUntil = 0;
}

// What has to be done next, or what the colours mean.
function compareText() {
	if (!isComparing())
		return "";
	if (!comparesNow())
		return " \u2013 now select the range to compare with it";
	return ", compared with " + rangeText(state.baseSince, state.baseUntil) + " \u2013 red: more of the time, blue: less" +
		(filtersOn() ? "; not filtered" : "");
}

function showCompare() {
	byId("compare").hidden = Boolean(data);
	byId("compare").textContent = isComparing() ? "End comparison" : "Compare with this";
	byId("compare").setAttribute("aria-pressed", String(isComparing()));
}

byId("compare").addEventListener("click", () => {
	if (isComparing())
		stopComparing();
	else
		Object.assign(state, {baseSince: Math.round(state.since), baseUntil: Math.round(state.until), pane: state.pane === "report" ? "report" : "flame"});
	drawSelectionSoon();
	selected();
});

// Functions whose share is another one, as a table.
async function differencesText() {
	return ask("differences.txt", {...flameWords(false), ...baseWords()}, "text");
}
