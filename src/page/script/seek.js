// SPDX-License-Identifier: MIT
// Search on the time axis by name: markers, calls, GPU work, drivers' jobs. Each step selects the next one, or the one before.

/** @type {any} */
let sought = null; // {text, found, names, first, count}: some of what matches, in order; `first` is the number of the first of these
let soughtAt = 0;

async function askSought(text, from, back) {
	const answer = await ask("find.json", {text, from: Math.max(Math.round(from), 0), ...(back ? {back: 1} : {})});
	if (!answer)
		return null;
	const found = [];
	for (let i = 0; i < answer.found.length; i += 4)
		found.push({row: answer.found[i], from: answer.found[i + 1], length: answer.found[i + 2], name: answer.names[answer.found[i + 3]]});
	if (back)
		found.reverse();
	return {text, found, first: back ? answer.before - found.length : answer.before, count: answer.count};
}

// From what is selected on; behind the last comes the first, and the other way round.
async function seek(step) {
	const text = byId("seek").value.trim(), same = sought && sought.text === text, at = soughtAt + step;
	if (!text || (same && !sought.count))
		return;
	if (same && sought.found[at])
		return showSought(sought, at);
	const number = same ? (sought.first + at + sought.count) % sought.count : 0, here = same ? sought.found[soughtAt] : null;
	const wraps = same && number === (step > 0 ? 0 : sought.count - 1);
	const from = wraps ? (step > 0 ? 0 : about.elapsed_ns * 2) : here ? here.from + (step > 0 ? 1 : 0) : isAllSelected() ? 0 : state.since;
	let next = await askSought(text, from, step < 0);
	if (next && next.count && !next.found.length) // there are none on this side
		next = await askSought(text, step > 0 ? 0 : about.elapsed_ns * 2, step < 0);
	if (next)
		await showSought(next, step > 0 ? 0 : next.found.length - 1);
	if (next && !same)
		await showNamed(text);
}

async function showSought(found, at) {
	if (found.found[at] && !await knowRows([found.found[at].row]))
		return;
	sought = found;
	soughtAt = Math.max(at, 0);
	const it = found.found[soughtAt];
	byId("seek-note").textContent = !it ? "nothing has such a name" : `${grouped(found.first + soughtAt + 1)} of ${grouped(found.count)}: ` +
		`${it.name.slice(0, 80)}, ${timeText(it.length)} from ${momentText(it.from, it.length)}` + (about.rows[it.row].thread ? ", " + about.rows[it.row].thread : "");
	if (!it)
		return;
	if (about.rows[it.row].kind === "marker")
		chooseMarker(it.row, it.from, it.length);
	else
		select(it.from, it.from + Math.max(it.length, 1));
	showPlace(it);
	selected();
}

// Of threads and streams that are not all listed: those with such a name are, too.
async function showNamed(text) {
	const {count, first} = await listNamed(text), note = byId("seek-note");
	if (!count)
		return;
	const said = (count === 1 ? "a row has such a name" : grouped(count) + " rows have such a name") + (count > LISTED_AT_ONCE ? "; not all of them are listed" : "");
	note.textContent = sought?.count ? note.textContent + "; " + said : said;
	if (!sought?.count)
		showRow(first);
}

// The axis moves as little as shows it, and its lane.
function showPlace({row, from, length}) {
	const shown = state.to - state.from, middle = from + length / 2, half = length * 1.2 > shown ? length : shown / 2;
	if (from < state.from || from + length > state.to || length > shown)
		moveAxis(middle - half, middle + half);
	showRow(row);
}

// Its group is opened, and its lane comes into sight.
function showRow(row) {
	const group = groups.find(one => one.lanes.some(lane => lane.rows.includes(row)));
	if (group)
		closedGroups.delete(group.name);
	eachLane(() => {}, (lane, y) => {
		const {scrollTop, clientHeight} = axis.lanes;
		if (lane.rows.includes(row) && (y < scrollTop || y + lane.tall > scrollTop + clientHeight))
			axis.lanes.scrollTop = Math.max(y - GROUP_PX, 0);
	});
	drawAxisSoon();
	fetchAxisSoon();
}

byId("seek").addEventListener("keydown", event => {
	if (event.key === "Enter")
		seek(event.shiftKey ? -1 : 1);
	else if (event.key === "Escape")
		axis.lanes.focus();
});
byId("seek-next").addEventListener("click", () => seek(1));
byId("seek-back").addEventListener("click", () => seek(-1));
