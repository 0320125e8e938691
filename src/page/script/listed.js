// SPDX-License-Identifier: MIT
// Rows of the recording, and those that are not listed: of very many threads or streams some come at once, those with most
// time (src/page/rows_json.h), and the others are counted; they come when they are asked for, or when something is found in them.

const LISTED_AT_ONCE = 500; // of each class
const CLASSES = {streams: ["stream", "streams"], threads: ["thread", "threads"], counters: ["counter", "counters"], drivers: ["ring of drivers", "rings of drivers"]};
const CLASS_OF = {work: "streams", counter: "counters", driver: "drivers"}; // of a kind; the others are of threads
const KIND_TEXTS = {run: "CPU samples", waits: "waits", calls: "calls", work: "GPU work", counter: "values", driver: "jobs", marker: "markers"};

const classOf = row => CLASS_OF[row.kind] || "threads";

// By number: with holes where a row is not listed.
function placeRows(rows, into = []) {
	rows.forEach(row => into[row.number] = row);
	return into;
}

async function askAbout() {
	const answer = await ask("about.json", {partial: 1});
	if (answer)
		answer.rows = placeRows(answer.rows);
	return answer;
}

// By class how many of its lanes are listed, and of each kind what is not.
function countListed() {
	const lanes = {}, left = {};
	for (const name in CLASSES)
		lanes[name] = new Set();
	for (const kind in about.all)
		left[kind] = {...about.all[kind]};
	about.rows.forEach((row, number) => {
		lanes[classOf(row)].add(classOf(row) === "threads" ? row.id ?? 0 : number);
		left[row.kind].rows--;
		left[row.kind].count -= row.count;
		left[row.kind].time_ns -= row.time_ns;
	});
	return Object.keys(CLASSES).map(name => ({name, listed: lanes[name].size, all: about.lanes[name],
		left: Object.entries(left).filter(([kind, sums]) => classOf({kind}) === name && sums.rows)}));
}

const unlistedClasses = () => countListed().filter(one => one.listed < one.all);

function laneCount(name, count, more = "") {
	return grouped(count) + more + " " + CLASSES[name][count === 1 ? 0 : 1];
}

// "99,500 more threads are not listed: CPU samples 99.5 s (99,500), waits 199 s (99,500)"
function unlistedText({name, listed, all, left}) {
	const sums = left.map(([kind, {count, time_ns: time}]) => KIND_TEXTS[kind] + (time && kind !== "counter" ? " " + timeText(time) : "") + " (" + grouped(count) + ")");
	return laneCount(name, all - listed, " more") + (all - listed === 1 ? " is" : " are") + (data ? " not in this file: " : " not listed: ") + sums.join(", ");
}

function showUnlisted() {
	const some = unlistedClasses(), button = byId("list-more");
	button.hidden = !some.length;
	button.textContent = some.map(({name, listed, all}) => grouped(listed) + " of " + laneCount(name, all)).join(", ") + " are " + (data ? "in this file" : "listed: list more");
	button.disabled = data !== null;
	button.title = some.map(unlistedText).join("\n");
}

// What came is listed with the rest.
function takeRows(answer) {
	placeRows(answer.rows, about.rows);
	arrangeRows();
	showUnlisted();
	drawAxisSoon();
	fetchAxisSoon();
}

async function askRows(words) {
	if (data)
		return null;
	const of = about, answer = await ask("rows.json", partly(words));
	if (!answer || of !== about)
		return null;
	takeRows(answer);
	return answer;
}

// The next ones of a class. Others may be among them that something was found in.
async function listMore(name) {
	const {skip = {}} = about;
	skip[name] = (skip[name] || 0) + LISTED_AT_ONCE;
	about.skip = skip;
	if (!await askRows({of: name, skip: skip[name]}))
		skip[name] -= LISTED_AT_ONCE;
}

async function listMoreOfAll() {
	for (const {name} of unlistedClasses())
		await listMore(name);
}

// False: they are not listed, as there was no answer.
async function knowRows(numbers) {
	const unknown = [...new Set(numbers)].filter(number => !about.rows[number]).slice(0, LISTED_AT_ONCE);
	return !unknown.length || await askRows({rows: unknown.join(",")}) !== null;
}

// Lanes whose names have a text in them are listed, where some were not listed before: how many have, and the first one's row.
async function listNamed(text) {
	const answer = unlistedClasses().length ? await askRows({text}) : null;
	return {count: answer ? Object.values(answer.lanes).reduce((sum, count) => sum + count, 0) : 0, first: answer?.rows[0]?.number};
}

byId("list-more").addEventListener("click", listMoreOfAll);
