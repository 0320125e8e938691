// SPDX-License-Identifier: MIT
// Marks what belongs together: a source line and its instructions, also those of what it calls. A click or Enter keeps the marks and brings the
// other side to them; the pointer only shows them. Up and Down go from row to row, n and p to the next less and more
// hot one, Escape removes the marks.
"use strict";
(function () {
	const rows = Array.from(document.querySelectorAll("tr[id]"));
	const groups = new Map(); // index of a line -> its rows on both sides
	let at = null;

	// The line itself, and those with calls that it was inlined at.
	function linesOf(row) {
		return row.id[0] === "L" ? [row.id.slice(1)] : row.dataset.l.split(" ");
	}

	for (const row of rows)
		for (const line of linesOf(row)) {
			if (!groups.has(line))
				groups.set(line, []);
			groups.get(line).push(row);
		}

	// What belongs to a row: of an instruction its lines, and what else there is of the first.
	function related(row) {
		const [first, ...calls] = linesOf(row);
		return groups.get(first).concat(calls.map(line => document.getElementById("L" + line)).filter(Boolean));
	}

	function unmark(name) {
		for (const row of document.querySelectorAll("tr." + name))
			row.classList.remove(name);
	}

	function mark(row, name) {
		unmark(name);
		for (const other of related(row))
			other.classList.add(name);
	}

	function heat(row) {
		return parseFloat(row.cells[0].style.getPropertyValue("--h")) || 0;
	}

	// The hottest row of the other side; of an instruction its own line.
	function partner(row) {
		const others = groups.get(linesOf(row)[0]).filter(other => other.id[0] !== row.id[0]);
		return others.reduce((best, other) => best && heat(best) >= heat(other) ? best : other, null);
	}

	function go(row) {
		unmark("at");
		at = row;
		row.classList.add("at");
		row.scrollIntoView({block: "nearest"});
	}

	function select(row) {
		go(row);
		mark(row, "on");
		const other = partner(row);
		if (other)
			other.scrollIntoView({block: "center"});
		row.scrollIntoView({block: "nearest"});
		history.replaceState(null, "", "#" + row.id);
	}

	function clear() {
		unmark("on");
		unmark("at");
		at = null;
		// A fragment that is removed by the history alone would stay the target.
		location.hash = "#";
		history.replaceState(null, "", location.pathname + location.search);
	}

	function side(row) {
		return rows.filter(other => other.id[0] === row.id[0]);
	}

	function step(list, by) {
		const now = list.indexOf(at);
		const next = list[now < 0 ? 0 : Math.min(Math.max(now + by, 0), list.length - 1)];
		if (next)
			go(next);
		return next;
	}

	function byHeat(first) {
		return side(first).sort((a, b) => heat(b) - heat(a) || rows.indexOf(a) - rows.indexOf(b));
	}

	const keys = {
		ArrowDown: first => step(side(first), 1),
		ArrowUp: first => step(side(first), -1),
		Home: first => go(side(first)[0]),
		End: first => go(side(first).pop()),
		Enter: () => at && select(at),
		" ": () => at && select(at),
		n: first => select(step(byHeat(first), 1)),
		p: first => select(step(byHeat(first), -1)),
		Escape: clear,
	};

	document.addEventListener("keydown", event => {
		const table = document.activeElement && document.activeElement.closest("table");
		const first = table ? table.querySelector("tr[id]") : at || rows[0];
		if (!first || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey ||
			(document.activeElement && document.activeElement.closest("a") && event.key === "Enter"))
			return;
		if (at && table && !table.contains(at))
			at = null;
		event.preventDefault();
		keys[event.key](first);
	});
	document.addEventListener("click", event => {
		const link = event.target.closest("a[href^='#']");
		const row = link ? document.getElementById(link.hash.slice(1)) : event.target.closest("tr[id]");
		if (!row || event.target.closest("summary") || (!link && String(getSelection())))
			return;
		event.preventDefault();
		select(row);
	});
	document.addEventListener("mouseover", event => {
		const row = event.target.closest("tr[id]");
		if (row)
			mark(row, "near");
		else
			unmark("near");
	});
	document.body.classList.add("live");
	const wanted = document.getElementById(location.hash.slice(1));
	if (wanted && wanted.matches("tr[id]"))
		select(wanted);
})();
