// SPDX-License-Identifier: MIT
// Trees of frames with times: what flame graphs and tables are made of, and what filters change. A name is a letter for the
// kind of a frame and its label, as in the data of a picture (src/export/svg_data.c), which is also how trees come from there
// and go back.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const ELEMENT_CHARACTERS = 1 << 20;

function digits(value) {
	let text = "";
	for (; value >= 32; value = Math.floor(value / 32))
		text += DIGITS[32 + value % 32];
	return text + DIGITS[value];
}

// Reads numbers from text.
class Numbers {
	constructor(text) {
		this.text = text;
		this.at = 0;
		this.digit = new Uint8Array(128);
		for (let i = 0; i < 64; i++)
			this.digit[DIGITS.charCodeAt(i)] = i;
	}

	more() {
		return this.at < this.text.length;
	}

	next() {
		for (let value = 0, scale = 1; ; scale *= 32) {
			const d = this.digit[this.text.charCodeAt(this.at++)];
			if (!(d >= 32))
				return value + d * scale;
			value += (d - 32) * scale;
		}
	}
}

class Tree {
	// `kinds` as in the info of a picture. Node 0 is the root, whose name is the one with number `root`.
	constructor(names, kinds, root = 0) {
		this.names = names;
		this.kinds = kinds;
		this.parent = [0];
		this.frame = [root];
		this.time = [0];
		this.samples = [0];
		this.known = new Map();
		this.frames = names.length + 1;
		this.gpuFrame = -1;
	}

	like() {
		return new Tree(this.names, this.kinds, this.frame[0]);
	}

	get count() {
		return this.parent.length;
	}

	child(parent, frame) {
		const key = parent * this.frames + frame;
		let node = this.known.get(key);
		if (node === undefined) {
			node = this.count;
			this.known.set(key, node);
			this.parent.push(parent);
			this.frame.push(frame);
			this.time.push(0);
			this.samples.push(0);
		}
		return node;
	}

	add(node, time, samples) {
		this.time[node] += time;
		this.samples[node] += samples;
	}

	kindOf(frame) {
		return this.kinds[this.names[frame].charCodeAt(0) - 97];
	}

	// By node: whether its time is GPU time.
	gpu() {
		const gpu = new Uint8Array(this.count), of = this.names.map((_, frame) => this.kindOf(frame)?.gpu ? 1 : 0);
		for (let n = 1; n < this.count; n++)
			gpu[n] = gpu[this.parent[n]] | of[this.frame[n]];
		return gpu;
	}

	children() {
		const children = this.parent.map(() => []);
		for (let n = 1; n < this.count; n++)
			children[this.parent[n]].push(n);
		return children;
	}

	// [CPU, GPU] of all.
	sums() {
		const gpu = this.gpu(), sums = [0, 0];
		for (let n = 0; n < this.count; n++)
			sums[gpu[n]] += this.time[n];
		return sums;
	}

	static decode(texts, names, kinds, sampled) {
		const tree = new Tree(names, kinds), numbers = new Numbers(texts.join(""));
		for (let node = 0, first = true; numbers.more(); first = false) {
			const head = numbers.next();
			for (let up = head & 2 ? numbers.next() + 1 : 0; up; up--)
				node = tree.parent[node];
			const frame = (head - (head & 3)) / 4, time = head & 1 ? numbers.next() : 0, samples = time && sampled ? numbers.next() : 0;
			if (first)
				tree.frame[0] = frame;
			else
				node = tree.child(node, frame);
			tree.add(node, time, samples);
		}
		return tree;
	}

	// In depth-first order, siblings by name, in elements of about a mebibyte.
	encode(sampled) {
		const children = this.children(), texts = [""], stack = [[0, 0]], nameOf = n => this.names[this.frame[n]].slice(1);
		for (let depth = 0; stack.length;) {
			const [n, at] = stack.pop(), up = n ? depth + 1 - at : 0;
			const text = digits(this.frame[n] * 4 + (up ? 2 : 0) + (this.time[n] ? 1 : 0)) + (up ? digits(up - 1) : "") +
				(this.time[n] ? digits(this.time[n]) + (sampled ? digits(this.samples[n]) : "") : "");
			if (texts[texts.length - 1].length + text.length > ELEMENT_CHARACTERS)
				texts.push("");
			texts[texts.length - 1] += text;
			depth = at;
			children[n].sort((a, b) => nameOf(a) < nameOf(b) ? 1 : nameOf(a) > nameOf(b) ? -1 : this.frame[b] - this.frame[a]);
			for (const child of children[n])
				stack.push([child, at + 1]);
		}
		return texts;
	}

	// --- filters: each makes another tree, with the same times but for focus ---------------------------------

	// What was a leaf stands on the root.
	reversed() {
		const tree = this.like();
		for (let n = 1; n < this.count; n++) {
			let at = 0;
			for (let up = this.time[n] ? n : 0; up; up = this.parent[up])
				at = tree.child(at, this.frame[up]);
			tree.add(at, this.time[n], this.samples[n]);
		}
		return tree;
	}

	// Each node goes where `place` puts it, by the place of its parent and its frame.
	placed(place) {
		const tree = this.like(), places = new Uint32Array(this.count);
		tree.add(0, this.time[0], this.samples[0]);
		for (let n = 1; n < this.count; n++) {
			places[n] = place(tree, places[this.parent[n]], this.frame[n]);
			tree.add(places[n], this.time[n], this.samples[n]);
		}
		return tree;
	}

	// Frames that are left out have their time in what called them. What was GPU time stays so: kernels are not left out.
	without(isLeftOut) {
		const leftOut = this.names.map((name, frame) => isLeftOut(name) && !this.kindOf(frame)?.gpu);
		return this.placed((tree, parent, frame) => leftOut[frame] ? parent : tree.child(parent, frame));
	}

	// A function that calls itself stands once.
	once() {
		return this.placed((tree, parent, frame) => parent && tree.frame[parent] === frame ? parent : tree.child(parent, frame));
	}

	// What stands on a frame, wherever that is.
	focus(name) {
		const tree = this.like(), places = new Uint32Array(this.count), gpu = this.gpu();
		for (let n = 1; n < this.count; n++) {
			const parent = places[this.parent[n]];
			if (!parent && this.names[this.frame[n]] !== name)
				continue;
			places[n] = tree.child(parent || tree.side(gpu[this.parent[n]]), this.frame[n]);
			tree.add(places[n], this.time[n], this.samples[n]);
		}
		return tree;
	}

	// The root, or a frame in which all is GPU time, as in what was cut off above a kernel.
	side(gpu) {
		if (!gpu)
			return 0;
		const name = String.fromCharCode(96 + this.kinds.length) + "GPU time";
		if (this.gpuFrame < 0)
			this.gpuFrame = this.names.indexOf(name);
		if (this.gpuFrame < 0)
			this.gpuFrame = this.names.push(name) - 1;
		return this.child(0, this.gpuFrame);
	}

	// What called a frame, from it to the root, with all the time that stands on it.
	callers(name) {
		const tree = this.like(), inside = new Uint32Array(this.count), gpu = this.gpu();
		for (let n = 1; n < this.count; n++) {
			inside[n] = inside[this.parent[n]] || (this.names[this.frame[n]] === name ? n : 0);
			if (!inside[n] || !this.time[n])
				continue;
			let at = tree.side(gpu[n] && !this.kindOf(this.frame[inside[n]])?.gpu);
			for (let up = inside[n]; up; up = this.parent[up])
				at = tree.child(at, this.frame[up]);
			tree.add(at, this.time[n], this.samples[n]);
		}
		return tree;
	}

	// --- tables -------------------------------------------------------------------------------------------

	// By node: [CPU, GPU] of it and what stands on it.
	totals() {
		const gpu = this.gpu(), totals = [new Float64Array(this.count), new Float64Array(this.count)];
		for (let n = this.count - 1; n >= 0; n--) {
			totals[gpu[n]][n] += this.time[n];
			if (n)
				totals.forEach(of => { of[this.parent[n]] += of[n]; });
		}
		return totals;
	}

	// By frame: its own time, and that with what it called, in which each part counts once.
	functions() {
		const rows = this.names.map((name, frame) => ({name, frame, self: [0, 0], total: [0, 0]})), gpu = this.gpu(), totals = this.totals();
		const children = this.children(), on = new Uint32Array(this.names.length), stack = [0];
		while (stack.length) {
			const n = stack.pop();
			if (n < 0) {
				on[this.frame[-n]]--;
				continue;
			}
			const row = rows[this.frame[n]];
			row.self[gpu[n]] += this.time[n];
			if (!on[this.frame[n]]++)
				totals.forEach((of, side) => { row.total[side] += of[n]; });
			if (n)
				stack.push(-n);
			for (const child of children[n])
				stack.push(child);
		}
		return rows.filter(row => row.frame !== this.frame[0] && (row.total[0] || row.total[1]));
	}

	// Who calls a frame, and whom it calls, with the time of these calls: maps from names to [CPU, GPU].
	neighbours(name) {
		const totals = this.totals(), callers = new Map(), callees = new Map();
		const put = (map, key, n) => {
			const sums = map.get(key) || map.set(key, [0, 0]).get(key);
			totals.forEach((of, side) => { sums[side] += of[n]; });
		};
		for (let n = 1; n < this.count; n++) {
			const own = this.names[this.frame[n]], above = this.names[this.frame[this.parent[n]]];
			if (own === name && above !== name)
				put(callers, this.parent[n] ? above : "", n);
			if (above === name && own !== name)
				put(callees, own, n);
		}
		return {callers, callees};
	}
}
