// SPDX-License-Identifier: MIT
// Filters of the flame graph and the functions: what is on is shown, can be undone, and is in the address.

function filterTexts() {
	return [...(state.focus ? [(state.callers ? "callers of " : "only ") + state.focus.slice(1)] : []), ...state.hide.map(text => "without " + text),
		...(state.once ? ["recursion once"] : [])];
}

const libraries = new Map(); // by what was asked: the frames of libraries that have a text in their names

// "[libc]" leaves out a library, as reports name it: what is asked of it. Of a file that has its data with it none is known.
function libraryWords(text) {
	const found = /^\[(.+)\]$/.exec(text);
	return found && !data ? ofFile({text: found[1]}) : null;
}

// False: it is not known which frames are left out.
async function findLibraries() {
	for (const words of state.hide.map(libraryWords)) {
		const key = JSON.stringify(words);
		if (!words || libraries.has(key))
			continue;
		const answer = await ask("library.json", words, "json");
		if (!answer)
			return false;
		libraries.set(key, new Set(answer.frames));
	}
	return true;
}

function isLeftOut(name) {
	return state.hide.some(text => name.slice(1).toLowerCase().includes(text.toLowerCase()) || libraries.get(JSON.stringify(libraryWords(text)))?.has(name));
}

function chip(text, undo) {
	const button = document.createElement("button");
	button.type = "button";
	button.className = "chip";
	button.textContent = text + " \u00d7";
	button.setAttribute("aria-label", "Undo: " + text);
	button.addEventListener("click", () => {
		undo();
		selected();
	});
	return button;
}

function showFilters() {
	const these = state.these ? [state.these === "compared" ? "compared with the others" : "only these"] : [];
	const texts = [...these, ...(state.thread ? ["thread " + threadText()] : []), ...filterTexts()];
	const undo = [...these.map(() => () => { state.these = ""; }), ...(state.thread ? [() => { state.thread = ""; }] : []),
		...(state.focus ? [() => { state.focus = ""; }] : []),
		...state.hide.map(text => () => { state.hide = state.hide.filter(other => other !== text); }), () => { state.once = false; }];
	refill(byId("filters"), ...texts.map((text, n) => chip(text.length > 80 ? text.slice(0, 80) + "\u2026" : text, undo[n])));
	byId("once").checked = state.once;
}

function focusOn(name, callers) {
	Object.assign(state, {focus: name, callers, pane: "flame"});
	selected();
}

function hide(text) {
	if (text && !state.hide.includes(text))
		state.hide = [...state.hide, text];
	selected();
}

byId("once").addEventListener("change", () => {
	state.once = byId("once").checked;
	selected();
});
byId("hide").addEventListener("keydown", event => {
	if (event.key !== "Enter")
		return;
	hide(byId("hide").value.trim());
	byId("hide").value = "";
});
