// SPDX-License-Identifier: MIT
// The call tree of what is selected as a table: each row a call path, with the time of it and of what it called. What takes
// the most is open; what was opened stays so while the range changes.

const CHILDREN_SHOWN = 200, HOT_SHARE = 0.5, STEP_PX = 14;
const openPaths = new Map(); // path -> whether somebody opened or closed it
let callTree = null; // {tree, children, totals, unit}

async function showCallTree() {
	const found = await selectedTree();
	if (state.pane !== "calltree" || found === undefined)
		return;
	const tree = found && filtered(found.tree, false);
	callTree = tree && {tree, children: tree.children(), totals: tree.totals(), unit: found.info.unit};
	functionUnit = found ? found.info.unit : "";
	listCallTree();
}

function usedSides() {
	return callTree ? [0, 1].filter(side => callTree.totals[side][0]) : [];
}

const bothTotals = n => callTree.totals[0][n] + callTree.totals[1][n];

function listCallTree() {
	const head = document.createElement("tr"), sides = usedSides(), rows = document.createDocumentFragment();
	head.append(cell("th", "Call path"), ...sides.flatMap(side => [side ? "Total, GPU" : "Total, CPU", "", side ? "Self, GPU" : "Self, CPU"].map(title => cell("th", title))));
	byId("calltree-head").replaceChildren(head);
	if (callTree)
		addChildren(rows, 0, 0, "", sides);
	refill(byId("calltree-rows"), rows.childNodes.length ? rows : nothingRow());
}

function nothingRow() {
	const tr = document.createElement("tr");
	tr.append(cell("td", "There is nothing of this view here.", "note"));
	return tr;
}

// The largest first; those that are open with what they call.
function addChildren(rows, parent, level, path, sides) {
	const sorted = callTree.children[parent].filter(bothTotals).sort((a, b) => bothTotals(b) - bothTotals(a));
	for (const n of sorted.slice(0, CHILDREN_SHOWN)) {
		const own = path + "\n" + callTree.tree.names[callTree.tree.frame[n]];
		const inner = callTree.children[n].some(bothTotals), hot = bothTotals(n) >= HOT_SHARE * bothTotals(0);
		const open = inner && (openPaths.get(own) ?? hot);
		rows.append(pathRow(n, level, own, inner, open, sides));
		if (open)
			addChildren(rows, n, level + 1, own, sides);
	}
	if (sorted.length > CHILDREN_SHOWN)
		rows.append(restRow(sorted.slice(CHILDREN_SHOWN), level, sides));
}

function indented(content, level) {
	const td = document.createElement("td");
	td.style.paddingLeft = 10 + Math.min(level, 60) * STEP_PX + "px";
	td.append(content);
	return td;
}

function amountCells(values, sides) {
	return sides.flatMap(side => {
		const all = callTree.totals[side][0], share = 100 * values.total[side] / all, bar = cell("td", values.total[side] ? share.toFixed(1) + "\u202f%" : "", "number share");
		bar.style.setProperty("--share", (values.total[side] ? share : 0) + "%");
		return [cell("td", values.total[side] ? amount(values.total[side]) : "", "number"), bar, cell("td", values.self[side] ? amount(values.self[side]) : "", "number")];
	});
}

function pathRow(n, level, path, inner, open, sides) {
	const {tree, totals} = callTree, tr = document.createElement("tr"), gpu = totals[1][n] && !totals[0][n] ? 1 : 0;
	const name = tree.names[tree.frame[n]].slice(1), self = [0, 0];
	self[gpu] = tree.time[n];
	tr.setAttribute("aria-level", String(level + 1));
	const button = actionButton((inner ? open ? "\u25be " : "\u25b8 " : "\u2003") + name, () => openPath(path, !open));
	button.className = "name";
	button.dataset.key = path;
	button.disabled = !inner;
	if (inner)
		tr.setAttribute("aria-expanded", String(open));
	tr.append(indented(button, level), ...amountCells({total: [totals[0][n], totals[1][n]], self}, sides));
	return tr;
}

function restRow(rest, level, sides) {
	const tr = document.createElement("tr"), sum = side => rest.reduce((all, n) => all + callTree.totals[side][n], 0);
	tr.append(indented(cell("span", `${grouped(rest.length)} more`, "note"), level), ...amountCells({total: [sum(0), sum(1)], self: [0, 0]}, sides));
	return tr;
}

function openPath(path, open) {
	openPaths.set(path, open);
	listCallTree();
	[...byId("calltree-rows").querySelectorAll("button")].find(button => button.dataset.key === path)?.focus();
}

// As in any tree: right opens, left closes, up and down go on.
byId("calltree").addEventListener("keydown", event => {
	const button = event.target instanceof HTMLElement && event.target.closest("button.name"), tr = button && button.closest("tr");
	if (!tr)
		return;
	if (event.key === "ArrowRight" || event.key === "ArrowLeft")
		tr.getAttribute("aria-expanded") === String(event.key === "ArrowLeft") && button.click();
	else if (event.key === "ArrowDown" || event.key === "ArrowUp")
		nextButton(tr, event.key === "ArrowDown")?.focus();
	else
		return;
	event.preventDefault();
});

function nextButton(tr, down) {
	for (let at = down ? tr.nextElementSibling : tr.previousElementSibling; at; at = down ? at.nextElementSibling : at.previousElementSibling) {
		const button = at.querySelector("button:enabled");
		if (button)
			return button;
	}
	return null;
}
