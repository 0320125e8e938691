// SPDX-License-Identifier: MIT
// Two recordings of one page: which one it shows. Each is shown again as it was left.

const leftAt = new Map(); // by file: {from, to, since, until}

function isPair() {
	return about.recordings.length > 1;
}

function elapsedOf(file) {
	return isPair() ? about.recordings[file - 1].elapsed_ns : about.elapsed_ns;
}

// What tells one from the other: paths may end alike.
function fileName(file) {
	const paths = about.recordings.map(recording => recording.file), last = path => path.slice(path.lastIndexOf("/") + 1);
	return last(paths[0]) === last(paths[1]) ? paths[file - 1] : last(paths[file - 1]);
}

// For questions that are about the one that is shown.
function ofFile(words) {
	return state.file > 1 ? {...words, file: String(state.file)} : words;
}

// Of an address that says nothing of it the second, compared with the first.
function fileOfAddress() {
	const file = new URLSearchParams(location.hash.slice(1)).get("file");
	return isPair() && file !== "1" ? 2 : 1;
}

function compareFiles() {
	if (!isPair() || location.hash)
		return;
	compareWith(1, 0, elapsedOf(1));
	noteAddress(false); // Back comes here
}

// False: there is no answer, and nothing has changed.
async function loadFile(file) {
	const before = state.file;
	state.file = file;
	clearTimeout(nextLook); // its question would take the place of this one
	const newer = await askAbout();
	if (!newer) {
		if (state.file === file) {
			state.file = before;
			lookAgainSoon(true);
		}
		return false;
	}
	stopAsking("about.json");
	about = newer;
	axis.data = links = heatRows = heatCursor = sought = null;
	heat.values.fill(0);
	state.thread = ""; // a number of the other recording's
	forgetPanes(true);
	clearPanes();
	return true;
}

async function switchFile(file) {
	const before = state.file, left = {from: state.from, to: state.to, since: state.since, until: state.until};
	if (await loadFile(file)) {
		leftAt.set(before, left);
		Object.assign(state, leftAt.get(file) || {from: 0, to: about.elapsed_ns, since: 0, until: about.elapsed_ns});
		noteAddress(true);
		showFile();
	}
	fillFiles();
}

function showFile() {
	arrangeRows();
	showAbout();
	fetchHeat();
	showAll();
	lookAgainSoon();
}

function fillFiles() {
	byId("files").hidden = !isPair();
	if (!isPair())
		return;
	byId("file").replaceChildren(...about.recordings.map((recording, n) => {
		const option = document.createElement("option");
		option.value = String(n + 1);
		option.textContent = fileName(n + 1);
		option.title = recording.file;
		return option;
	}));
	byId("file").value = String(state.file);
	const other = about.recordings[2 - state.file];
	noteError("the other recording", other.error ? fileName(3 - state.file) + ": " + other.error : "");
}

byId("file").addEventListener("change", () => switchFile(Number(byId("file").value)));
