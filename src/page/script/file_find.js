// SPDX-License-Identifier: MIT
// Names of a page that has its data with it: of markers that are too short for boxes, and search in all of them.

// Of what begins in columns of a step: the name that all have, as a number, or -1 where they have several.
class Alike {
	constructor(from, step, count) {
		this.from = from;
		this.step = step;
		this.count = count;
		this.names = new Map();
	}

	add(at, name) {
		const n = Math.floor((at - this.from) / this.step);
		if (n >= 0 && n < this.count)
			this.names.set(n, this.names.has(n) && this.names.get(n) !== name ? -1 : name);
	}

	list() {
		return [...this.names].filter(([, name]) => name >= 0).flat();
	}
}

// By column of the file; of a row.
function namesOfCells(row) {
	const list = data.axis.alike?.[row] || [], names = new Map();
	for (let i = 0; i < list.length; i += 2)
		names.set(list[i], list[i + 1]);
	return names;
}

// As the server has it: what the file names, boxes and short markers.
function fileFind({text, from, back}) {
	const wanted = text.toLowerCase(), {boxes, names} = data.axis, matching = names.map(name => name.toLowerCase().includes(wanted)), all = [];
	for (let i = 0; i < boxes.length; i += 4)
		if (matching[boxes[i + 3]] && about.rows[boxes[i]].kind !== "waits")
			all.push(boxes.slice(i, i + 4));
	for (const row in data.axis.alike)
		for (const [column, name] of namesOfCells(row))
			if (matching[name])
				all.push([+row, column * data.about.column_ns, data.about.column_ns, name]);
	all.sort((a, b) => a[1] - b[1] || b[2] - a[2]);
	const before = all.filter(one => one[1] < from).length, found = back ? all.slice(0, before).reverse() : all.slice(before);
	return {found: found.flat(), names, count: all.length, before};
}
