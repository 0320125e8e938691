// SPDX-License-Identifier: MIT
// How long it took what happens again and again in the selected range: launches of a kernel, the time from one to the next
// (iterations, of a kernel that each has once), markers of a name. A histogram, and the longest as a table: a click on one
// selects its time, and the table stays.

const BARS_PX = 190, BARS_LEFT_PX = 64, BARS_FOOT_PX = 34;
/** @type {any} */
let repeats = null; // what came
let repeatsKey = "", repeatChosen = "", repeatRange = {since: 0, until: 0};

function repeatSpan() {
	return Math.round(state.since) + "-" + Math.round(state.until);
}

// Which they are.
function repeatWords() {
	/** @type {Record<string, string>} */
	const words = {of: state.of};
	if (state.name)
		words.which = state.name;
	if (state.least)
		words["at-least"] = String(state.least);
	if (state.below)
		words.below = String(state.below);
	return words;
}

function limitsText() {
	return (state.least ? " of at least " + timeText(state.least) : "") + (state.below ? " below " + timeText(state.below) : "");
}

// What the flame graph is of, while it is of some of them.
function theseText() {
	const name = state.name.length > 60 ? state.name.slice(0, 60) + "\u2026" : state.name;
	return {launches: "launches of ", periods: "times from launch to launch of ", markers: "markers "}[state.of] + name + limitsText();
}

// Those that are listed, as a flame graph: alone, or compared with the others. Of the range that the table is of.
function showThese(how) {
	if (repeatSpan() === repeatChosen)
		select(repeatRange.since, repeatRange.until);
	stopComparing();
	Object.assign(state, {these: how, pane: "flame"});
	selected();
}

// Of the range that was selected before one of the table was.
async function showRepeats() {
	if (repeatSpan() !== repeatChosen)
		repeatRange = {since: state.since, until: state.until};
	const words = {from: Math.round(repeatRange.since), to: Math.round(repeatRange.until), ...repeatWords()};
	const key = JSON.stringify([words, about.elapsed_ns]);
	if (key === repeatsKey) {
		drawRepeats();
		return;
	}
	const answer = await ask("repeats.json", words);
	if (!answer || state.pane !== "repeats")
		return;
	repeats = answer;
	repeatsKey = key;
	if (!state.name && chooseFirst())
		showRepeats();
	else
		drawRepeats();
}

function repeatNames() {
	return repeats.names.filter(name => name.marker === (state.of === "markers"));
}

// Where nothing is chosen: what takes the most time.
function chooseFirst() {
	state.name = repeatNames().find(name => !name.left_out)?.text || "";
	noteAddress(false);
	return state.name !== "";
}

function fillNames() {
	const names = repeatNames(), select = byId("repeat-name");
	if (state.name && !names.some(name => name.text === state.name))
		names.unshift({text: state.name, count: 0});
	select.replaceChildren(...names.map(name => {
		const option = document.createElement("option");
		option.value = name.text;
		option.textContent = (name.text.length > 60 ? name.text.slice(0, 60) + "\u2026" : name.text) + " (" + grouped(name.count) + (name.left_out ? ", not in this file" : "") + ")";
		option.title = name.text;
		option.disabled = Boolean(name.left_out);
		return option;
	}));
	select.value = state.name;
	select.disabled = !names.length;
	byId("repeat-of").value = state.of;
	byId("repeat-least").value = state.least ? timeText(state.least) : "";
}

function drawRepeats() {
	fillNames();
	drawBars();
	const {count} = repeats, of = repeatRange.since <= 0 && repeatRange.until >= about.elapsed_ns ? "" : " in " + rangeText(repeatRange.since, repeatRange.until);
	byId("repeat-note").textContent = count ? `${grouped(count)}${of} \u00b7 ${timeText(repeats.min_ns)} to ${timeText(repeats.max_ns)}, half of them up to ` +
		`${timeText(repeats.median_ns)} \u00b7 ${timeText(repeats.total_ns)} in all` : repeatNames().length ? "there are none" + of :
		"there are no " + (state.of === "markers" ? "markers: 'xpuprof record --nvtx' records them" : "kernels") + of;
	const listed = repeats.longest.length / 2, left = listed < repeats.matching ? `, the longest ${grouped(listed)}` : "";
	byId("repeat-found").textContent = count ? grouped(repeats.matching) + limitsText() + left : "";
	byId("repeat-only").hidden = byId("repeat-compared").hidden = Boolean(data);
	byId("repeat-only").disabled = !repeats.matching;
	byId("repeat-compared").disabled = !repeats.matching || repeats.matching === count;
	refill(byId("repeat-rows"), ...Array.from({length: listed}, (_, n) => repeatRow(repeats.longest[2 * n], repeats.longest[2 * n + 1])));
}

function repeatRow(since, length) {
	const tr = document.createElement("tr"), until = Math.min(since + Math.max(length, 1), about.elapsed_ns), times = document.createElement("td");
	const bar = cell("td", timeText(length), "number share");
	bar.style.setProperty("--share", 100 * length / repeats.max_ns + "%");
	times.append(actionButton(timeText(since, 1000) + " to " + timeText(until, 1000), () => {
		select(since, until);
		state.these = "";
		repeatChosen = repeatSpan();
		moveAxisTo();
		selected();
	}));
	tr.setAttribute("aria-selected", String(Math.round(state.since) === since && Math.round(state.until) === until));
	tr.append(bar, times);
	return tr;
}

// --- the histogram --------------------------------------------------------------------------------------------

function barCount() {
	return repeats ? repeats.bars.length / 3 : 0;
}

function barsWidth() {
	return Math.max(byId("repeat-bars").parentElement.clientWidth - BARS_LEFT_PX - 12, 50);
}

function barX(n) {
	return BARS_LEFT_PX + n * barsWidth() / barCount();
}

function drawBars() {
	const canvas = byId("repeat-bars"), context = prepare(canvas, barsWidth() + BARS_LEFT_PX + 12, BARS_PX + BARS_FOOT_PX);
	let most = 0;
	for (let n = 0; n < barCount(); n++)
		most = Math.max(most, repeats.bars[3 * n + 2]);
	canvas.setAttribute("aria-label", most ? "Histogram of lengths: the table has the longest" : "nothing");
	if (!most)
		return;
	for (let n = 0; n < barCount(); n++)
		drawBar(context, n, most);
	context.fillStyle = colour("line");
	context.fillRect(BARS_LEFT_PX, BARS_PX, barsWidth(), 1);
	context.fillStyle = colour("faint");
	context.textAlign = "right";
	context.fillText(grouped(most), BARS_LEFT_PX - 6, 8);
	context.fillText("0", BARS_LEFT_PX - 6, BARS_PX - 4);
	drawLengths(context);
}

// What is there can be seen: two pixels at least.
function drawBar(context, n, most) {
	const [from, to, count] = repeats.bars.slice(3 * n, 3 * n + 3), height = count ? Math.max(count / most * (BARS_PX - 8), 2) : 0;
	const width = barX(n + 1) - barX(n), chosen = (!state.least || from >= state.least) && (!state.below || to <= state.below);
	context.fillStyle = colour(state.of === "markers" ? "counter" : "work");
	context.globalAlpha = chosen ? 1 : 0.35;
	context.fillRect(barX(n), BARS_PX - height, Math.max(width - (width > 4 ? 1 : 0), 1), height);
	context.globalAlpha = 1;
}

// As many lengths below as there is room for.
function drawLengths(context) {
	const step = Math.max(1, Math.ceil(barCount() / Math.max(1, Math.floor(barsWidth() / 90))));
	context.textAlign = "center";
	for (let n = 0; n < barCount(); n += step) {
		context.fillRect(barX(n), BARS_PX, 1, 5);
		context.fillText(timeText(repeats.bars[3 * n]), barX(n), BARS_PX + 14);
	}
	context.textAlign = "left";
}

function barAt(event) {
	const x = event.clientX - byId("repeat-bars").getBoundingClientRect().left, n = Math.floor((x - BARS_LEFT_PX) / barsWidth() * barCount());
	return n >= 0 && n < barCount() ? {from: repeats.bars[3 * n], to: repeats.bars[3 * n + 1], count: repeats.bars[3 * n + 2]} : null;
}

function changeRepeats(changes) {
	Object.assign(state, changes);
	noteAddress(true);
	showRepeats();
}

// Lengths of a bar are listed, until it is clicked again.
byId("repeat-bars").addEventListener("click", event => {
	const bar = barAt(event), again = bar && state.least === bar.from && state.below === bar.to;
	if (bar)
		changeRepeats(again ? {least: 0, below: 0} : {least: bar.from, below: bar.to});
});
byId("repeat-bars").addEventListener("pointermove", event => {
	const bar = barAt(event);
	byId("repeat-bars").title = bar ? `${timeText(bar.from)} to ${timeText(bar.to)}: ${grouped(bar.count)}` : "";
});
byId("repeat-of").addEventListener("change", () => {
	const kept = (state.of === "markers") === (byId("repeat-of").value === "markers");
	changeRepeats({of: byId("repeat-of").value, name: kept ? state.name : "", least: 0, below: 0});
});
byId("repeat-name").addEventListener("change", () => changeRepeats({name: byId("repeat-name").value, least: 0, below: 0}));
byId("repeat-least").addEventListener("change", () => changeRepeats({least: timeOf(byId("repeat-least").value), below: 0}));
byId("repeat-only").addEventListener("click", () => showThese("only"));
byId("repeat-compared").addEventListener("click", () => showThese("compared"));
