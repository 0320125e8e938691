// SPDX-License-Identifier: MIT
// The functions of what is selected as a table: their time, who calls them and whom they call; search, with the time of all
// that match.

const FUNCTIONS_SHOWN = 300;
/** @type {[string, (row: any) => number][]} */
const COLUMNS = [["Self, CPU", row => row.self[0]], ["Total, CPU", row => row.total[0]], ["Self, GPU", row => row.self[1]], ["Total, GPU", row => row.total[1]]];
let functionRows = [], functionTree = null, functionUnit = "", sortedBy = -1, chosenFunction = "";

function amount(value) {
	return functionUnit === "count" || functionUnit === "samples" ? grouped(value) : timeText(value);
}

function cell(tag, text, className) {
	const element = document.createElement(tag);
	element.textContent = text;
	if (className)
		element.className = className;
	return element;
}

function actionButton(text, action) {
	const button = cell("button", text);
	button.type = "button";
	button.addEventListener("click", action);
	return button;
}

async function showFunctions() {
	const found = await selectedTree();
	if (state.pane !== "functions" || found === undefined)
		return;
	functionUnit = found ? found.info.unit : "";
	functionTree = found && filtered(found.tree, true);
	functionRows = functionTree ? functionTree.functions() : [];
	listFunctions();
	describeFunction();
}

function usedColumns() {
	return COLUMNS.filter(([, of]) => functionRows.some(of));
}

function listFunctions() {
	const columns = usedColumns(), by = columns[sortedBy]?.[1] || (row => row.total[0] + row.total[1]);
	const wanted = byId("find").value.toLowerCase(), matching = functionRows.filter(row => row.name.slice(1).toLowerCase().includes(wanted));
	const shown = matching.sort((a, b) => by(b) - by(a) || (a.name < b.name ? -1 : 1)).slice(0, FUNCTIONS_SHOWN);
	const head = document.createElement("tr");
	head.append(cell("th", "Function"), ...columns.map(([title], n) => {
		const th = document.createElement("th");
		th.setAttribute("aria-sort", sortedBy === n ? "descending" : "none");
		th.append(actionButton(title, () => {
			sortedBy = sortedBy === n ? -1 : n;
			listFunctions();
		}));
		return th;
	}));
	refill(byId("function-head"), head);
	refill(byId("function-rows"), ...shown.map(row => functionRow(row, columns)));
	byId("found").textContent = foundText(wanted, matching);
}

// All that matches together: each part of the time once, however many of its frames match.
function foundText(wanted, matching) {
	const left = matching.length > FUNCTIONS_SHOWN ? `, of which ${FUNCTIONS_SHOWN} are listed` : "";
	const text = grouped(matching.length) + (matching.length === 1 ? " function" : " functions") + left;
	if (!functionTree)
		return text;
	const names = new Set(matching.map(row => row.name)), inside = new Uint8Array(functionTree.count), gpu = functionTree.gpu(), sums = [0, 0], all = [0, 0];
	for (let n = 0; n < functionTree.count; n++) {
		inside[n] = (n && inside[functionTree.parent[n]]) || (n && names.has(functionTree.names[functionTree.frame[n]])) ? 1 : 0;
		sums[gpu[n]] += inside[n] ? functionTree.time[n] : 0;
		all[gpu[n]] += functionTree.time[n];
	}
	const share = side => sums[side] ? (side ? ", GPU " : ", ") + amount(sums[side]) + " (" + (100 * sums[side] / all[side]).toFixed(2) + " %)" : "";
	return text + (wanted ? share(0) + share(1) : "");
}

function functionRow(row, columns) {
	const tr = document.createElement("tr"), name = document.createElement("td");
	const button = actionButton(row.name.slice(1), () => chooseFunction(row.name));
	button.className = "name";
	button.dataset.name = row.name;
	button.setAttribute("aria-current", String(row.name === chosenFunction));
	name.append(button);
	tr.append(name, ...columns.map(([, of]) => cell("td", of(row) ? amount(of(row)) : "", "number")));
	return tr;
}

function chooseFunction(name) {
	chosenFunction = name;
	for (const button of byId("function-rows").querySelectorAll("button.name"))
		button.setAttribute("aria-current", String(button.dataset.name === name));
	describeFunction();
}

function neighbourList(title, map) {
	const list = document.createElement("ul"), section = document.createElement("section");
	for (const [name, [cpu, gpu]] of [...map].sort((a, b) => b[1][0] + b[1][1] - a[1][0] - a[1][1]).slice(0, 100)) {
		const item = document.createElement("li"), times = [cpu ? amount(cpu) : "", gpu ? "GPU " + amount(gpu) : ""].filter(text => text).join(", ");
		item.append(cell("span", times, "number"), " ", name ? actionButton(name.slice(1), () => chooseFunction(name)) : "nothing: it is at the root");
		list.append(item);
	}
	section.append(cell("h3", title), map.size ? list : cell("p", "none", "note"));
	return section;
}

// Callers above, callees below.
function describeFunction() {
	const place = byId("function-about"), row = functionRows.find(other => other.name === chosenFunction);
	if (!row) {
		refill(place, cell("p", "Choose a function to see who calls it, and whom it calls.", "note"));
		return;
	}
	const {callers, callees} = functionTree.neighbours(row.name), bar = document.createElement("div");
	bar.className = "bar";
	if (functionTree.kindOf(row.frame)?.class === "gpu")
		bar.append(actionButton("Its launches", () => {
			Object.assign(state, {of: "launches", name: row.name.slice(1), least: 0, below: 0, these: "", pane: "repeats"});
			selected();
		}));
	if (!data && functionTree.kindOf(row.frame)?.class === "gpu")
		bar.append(actionButton("Its instructions", () => {
			Object.assign(state, {kernel: row.name.slice(1), pane: "kernel"});
			selected();
		}));
	bar.append(actionButton("Flame graph of it", () => focusOn(row.name, false)), actionButton("Its callers", () => focusOn(row.name, true)),
		...(data ? [] : [actionButton("Its time in the heatmap", () => showFunctionHeat(row.name.slice(1)))]), actionButton("Leave it out", () => hide(row.name.slice(1))), actionButton("Copy name", () => copyName(row.name.slice(1))));
	refill(place, neighbourList("Called by", callers), cell("h2", row.name.slice(1)),
		cell("p", (functionTree.kindOf(row.frame)?.name || "") + ": " + COLUMNS.filter(([, of]) => of(row)).map(([title, of]) => title + " " + amount(of(row))).join(" \u00b7 "), "note"),
		bar, neighbourList("Calls", callees));
}

// Where the browser lets no page copy, it is selected, for the keyboard.
async function copyName(text) {
	try {
		await navigator.clipboard.writeText(text);
		byId("found").textContent = "copied";
	} catch {
		getSelection().selectAllChildren(byId("function-about").querySelector("h2"));
		byId("found").textContent = "selected: Ctrl-C copies it";
	}
}

byId("find").addEventListener("input", () => listFunctions());
