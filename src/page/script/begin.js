// SPDX-License-Identifier: MIT
// Puts all of it together.

const fetchAxisSoon = settled(fetchAxis, 60), noteAddressSoon = settled(() => noteAddress(false), 300);
const AGAIN_MS = 3000; // a recording that goes on is looked at again
const READING_MS = 150; // one that is being read

function showAbout() {
	document.title = about.title + " \u2013 xpuprof";
	byId("title").textContent = about.title;
	byId("title").title = about.command || "";
	const began = about.realtime_ms ? " \u00b7 " + new Date(about.realtime_ms).toLocaleString() : "";
	byId("facts").textContent = timeText(about.elapsed_ns) + began + (about.host ? " \u00b7 " + about.host : "") +
		(about.simulated ? " \u00b7 simulated GPU" : "") + (about.incomplete ? " \u00b7 not whole: " + about.incomplete : "");
	showReading(about);
	showUnlisted();
	fillFiles();
}

function fillViews() {
	for (const option of byId("heat-by-row").children)
		option.disabled = data !== null && !fileHasHeat(option.value);
	for (const view of about.views) {
		const option = document.createElement("option");
		option.value = option.textContent = view.name;
		option.title = view.summary;
		option.disabled = data !== null && !data.pictures[view.name];
		byId("view").append(option);
	}
}

// Of what the heatmap is where the address does not say it: of the first that there is.
function firstHeat() {
	const kinds = [...byId("what").querySelector("optgroup").children].map(option => option.value);
	return kinds.find(kind => about.all[kind].rows) || kinds[0];
}

// What the elements say follows the state, and the other way round.
function showState() {
	for (const key of ["view", "by", "what"])
		byId(key).value = state[key];
	for (const key of FLAGS)
		byId(key).checked = state[key];
	byId("heat-function").value = state.function;
}

function watchElements() {
	for (const key of ["view", "by", "what"])
		byId(key).addEventListener("change", () => {
			state[key] = byId(key).value;
			if (key === "what")
				fetchHeat();
			selected();
		});
	for (const key of FLAGS)
		byId(key).addEventListener("change", () => {
			state[key] = byId(key).checked;
			selected();
		});
	for (const name of PANES)
		byId("tab-" + name).addEventListener("click", () => {
			state.pane = name;
			forgetErrors();
			noteAddress(false);
			showPanes();
		});
	byId("back").addEventListener("click", () => history.back());
	byId("whole").addEventListener("click", () => {
		moveAxis(0, about.elapsed_ns);
		KEYS.Escape();
	});
	byId("help").addEventListener("click", () => {
		byId("keys").hidden = !byId("keys").hidden;
		byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
		showAll();
	});
}

function showAll() {
	showState();
	drawHeat();
	drawAxis();
	fetchAxisSoon();
	showPanes();
}

// What is newly known of a recording; what is shown of it stays, unless that was all.
function takeAbout(newer) {
	const allShown = isAllShown(), allSelected = isAllSelected(), allCompared = hasBase() && baseIsWhole();
	about = newer;
	if (allCompared)
		state.baseUntil = elapsedOf(state.baseFile);
	if (allShown)
		[state.from, state.to] = [0, about.elapsed_ns];
	if (allSelected)
		selectAll();
	forgetPanes(allSelected || allCompared);
	arrangeRows();
	showAbout();
	fetchHeat();
	showAll();
}

const filesText = newer => JSON.stringify(newer.recordings);

// Until it is read: what there is of it by then was shown first.
async function lookAgain() {
	const file = state.file, newer = await askAbout();
	if (newer && file === state.file && (newer.whole !== about.whole || newer.elapsed_ns !== about.elapsed_ns || filesText(newer) !== filesText(about)))
		takeAbout(newer);
	else if (newer && file === state.file)
		showReading(newer);
	lookAgainSoon(!newer);
}

let nextLook = 0;

// As long as there is more to come, of one of the recordings.
function lookAgainSoon(failed = false) {
	clearTimeout(nextLook);
	if (!data && (!about.whole || about.incomplete || about.recordings.some(recording => recording.incomplete)))
		nextLook = setTimeout(lookAgain, about.whole || failed ? AGAIN_MS : READING_MS);
}

function showReading(newer) {
	if (data) {
		byId("reading").hidden = false;
		byId("reading").textContent = fineText();
		byId("hide").setAttribute("placeholder", "name");
		byId("hide").title = "Functions that have it in their names";
		return;
	}
	about.percent_read = newer.percent_read;
	byId("reading").hidden = about.whole;
	byId("reading").textContent = about.whole ? "" : `From a part of the events: ${about.percent_read} % are read.`;
}

async function begin() {
	about = await askAbout();
	if (!about)
		return;
	state.file = fileOfAddress();
	if (state.file > 1)
		about = await askAbout();
	if (!about)
		return;
	fillViews();
	state.what = firstHeat();
	takeAddress();
	compareFiles();
	makeShades();
	arrangeRows();
	showAbout();
	watchElements();
	fetchHeat();
	showAll();
	addEventListener("popstate", async () => {
		const {what, file, function: of} = state, wanted = fileOfAddress();
		if (wanted !== file && !await loadFile(wanted))
			return;
		takeAddress();
		if (wanted !== file)
			return showFile();
		if (state.what !== what || state.function !== of)
			fetchHeat();
		showAll();
	});
	addEventListener("resize", () => {
		fetchHeat();
		showAll();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		makeShades();
		showAll();
	});
	lookAgainSoon();
}
begin();
