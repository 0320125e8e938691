// SPDX-License-Identifier: MIT
// The flame graph of what is selected: a tree, by the filters that are on, put back into a picture, whose own script draws it.

// A picture as a document, of which the data are replaced: what the server sent, or of a file the one of the whole recording.
let mould = null, mouldText = "", wholeInfo = "";
let shownTreeOf = null; // {key, tree, info}: what was made last, before filters

function filtersOn() {
	return state.focus || state.hide.length || state.once;
}

function textsOf(name) {
	return [...mould.querySelectorAll("metadata." + name)].map(element => element.textContent);
}

function takeMould(text) {
	const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
	if (!parsed.getElementById("static"))
		return false; // a page that says that there is nothing
	mould = parsed;
	mouldText = text;
	wholeInfo = textsOf("info").join("");
	return true;
}

function replaceData(name, texts) {
	const old = [...mould.querySelectorAll("metadata." + name)];
	for (const text of texts) {
		const element = mould.createElementNS(mould.documentElement.namespaceURI, "metadata");
		element.setAttribute("class", name);
		element.textContent = text;
		old[0].before(element);
	}
	old.forEach(element => element.remove());
}

// Of the server's picture, which is of the range already; of a file's of the whole recording.
async function askTree() {
	const text = data ? data.pictures[state.view] || "" : await ask("flame.svg", flameWords(false), "text");
	if (text === null)
		return undefined;
	if (!takeMould(text))
		return null;
	const info = JSON.parse(wholeInfo);
	return {tree: Tree.decode(textsOf("nodes"), textsOf("names").join("").split("\n"), info.kinds, info.sampled), info};
}

// {tree, info} of what is selected, without filters; null where there is nothing, undefined where none was got.
async function selectedTree() {
	const key = JSON.stringify([flameWords(false), about.elapsed_ns]);
	if (shownTreeOf?.key !== key) {
		const made = data && !isFixed(state.view) ? fileTree() : await askTree();
		if (!made)
			return made;
		shownTreeOf = {key, ...made};
	}
	return await findLibraries() ? shownTreeOf : undefined;
}

// `upright`: whoever asks who calls whom wants it so.
function filtered(tree, upright) {
	let made = tree;
	if (state.hide.length)
		made = made.without(isLeftOut);
	if (state.once)
		made = made.once();
	if (state.focus)
		made = state.callers && !upright ? made.callers(state.focus) : made.focus(state.focus);
	return state.reverse && !upright && !(state.focus && state.callers) ? made.reversed() : made;
}

// The facts of a picture whose sums are others.
function factsOf(info, tree) {
	const [cpu, gpu] = tree.sums(), written = (name, time) => time ? [[name, info.unit === "count" ? grouped(time) : timeText(time)]] : [];
	const names = info.time ? [info.time] : info.unit === "count" ? ["total", "GPU"] : ["CPU time", "GPU time"];
	return [...written(names[0], cpu), ...written(names[1] || names[0], gpu), ...info.facts.filter(fact => !names.includes(fact[0]))];
}

// "" where nothing is left, undefined where no tree was got.
async function makePicture() {
	const found = await selectedTree();
	if (!found)
		return found === undefined ? undefined : "";
	const tree = filtered(found.tree), info = {...found.info, nodes: tree.count, inverted: state.inverted, dropped: 0};
	if (!tree.sums().some(time => time))
		return "";
	info.facts = factsOf(info, tree);
	if (filtersOn())
		info.remarks = ["filtered: " + filterTexts().join(", "), ...info.remarks];
	return pictureOf(tree, info);
}

function pictureOf(tree, info) {
	replaceData("info", [JSON.stringify(info)]);
	replaceData("names", [tree.names.join("\n")]);
	replaceData("nodes", tree.encode(info.sampled));
	mould.getElementById("static").replaceChildren();
	return new XMLSerializer().serializeToString(mould);
}

// Of two ranges of a file.
function comparedPicture() {
	const found = fileComparison();
	if (!found || !found.tree.sums().some(time => time))
		return "";
	const tree = state.reverse ? found.tree.reversed() : found.tree;
	return pictureOf(tree, {...found.info, nodes: tree.count, inverted: state.inverted, dropped: 0});
}

const NOTHING = "<!DOCTYPE html><meta charset=utf-8><style>body{font:14px system-ui,sans-serif;color-scheme:light dark;padding:1em}</style>" +
	"<p>There is nothing of this view here.";
let pictureAddress = "";

// The address of a picture that was made here; "" where no tree was got.
async function madeFlame() {
	const text = data && comparesNow() ? comparedPicture() : isMade() ? await makePicture() : data.pictures[state.view] || "";
	if (text === undefined)
		return "";
	URL.revokeObjectURL(pictureAddress);
	pictureAddress = URL.createObjectURL(new Blob([text || NOTHING], {type: text ? "image/svg+xml" : "text/html"}));
	return pictureAddress;
}
