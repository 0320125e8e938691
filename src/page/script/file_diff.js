// SPDX-License-Identifier: MIT
// Two ranges of a page that has its data with it, compared as src/view/diff does: which differences are more than chance is found
// by drawing stretches of time of each range at random (noise.h says how). Stretches are made up of the slices that are there: where
// a range has fewer than 24 of them, fewer.

const STRETCHES = 24, DRAWS = 300, DRAW_QUANTILE = 0.99, LOOKED_AT = 0.001, DIFF_LEAST = 0.005, DIFF_LEAST_PART = 0.03, SEED = 0x9e3779b97f4a7c15n;
const SAME = 18, LITTLE_MORE = 19, LITTLE_LESS = 23; // enum tree_kind: TREE_DIFF_SAME and so on

// Edges of the stretches of a range of edges.
function stretchesOf(first, end) {
	const since = edges[first], length = Math.floor((edges[end] - since) / STRETCHES);
	return Array.from({length: STRETCHES + 1}, (_, n) => n === STRETCHES ? end : Math.min(Math.max(edgeAt(since + length * n), first), end));
}

// What is spread evenly counts as if it had been in one stretch, as in add_tree of diff.c.
function gatherSpreads(placed, slices) {
	const nodes = new Set(data.sums.spreads.filter((_, i) => i % 3 === 0).map(node => placed[node]));
	for (const node of nodes)
		for (let n = 1; n < slices.length; n++) {
			slices[0][node] += slices[n][node];
			slices[n][node] = 0;
		}
}

// Of one side by node: all, and by stretch, each with what stands on it.
function sideOf(since, until, placed, count, isShown) {
	const [first, end] = edgesOf(since, until), stretches = stretchesOf(first, end), tree = place => {
		const times = new Float64Array(count);
		for (let n = 1; n < placed.length; n++)
			if (isShown[n])
				times[placed[n]] += place[n];
		return times;
	};
	const slices = [], elapsed = [];
	for (let n = 0; n < STRETCHES; n++) {
		slices.push(tree(sumsBetween(stretches[n], stretches[n + 1])[0]));
		elapsed.push(Math.min(edges[stretches[n + 1]], about.elapsed_ns) - Math.min(edges[stretches[n]], about.elapsed_ns));
	}
	gatherSpreads(placed, slices);
	return {self: tree(sumsBetween(first, end)[0]), slices, slice_ns: elapsed, elapsed_ns: elapsed.reduce((a, b) => a + b, 0)};
}

function addUp(tree, self) {
	const totals = Float64Array.from(self);
	for (let n = tree.count - 1; n > 0; n--)
		totals[tree.parent[n]] += totals[n];
	return totals;
}

const shareOf = (amount, whole) => whole > 0 ? amount / whole : 0;

// As diff_judge, with the same numbers at random. By node: {before, after, real}.
function judge(sides, count) {
	const shares = sides.map(side => side.totals.map(time => shareOf(time, side.elapsed_ns))), size = Math.max(shares[0][0], shares[1][0]);
	const items = [...Array(count).keys()].filter(n => shares[0][n] > size * LOOKED_AT || shares[1][n] > size * LOOKED_AT);
	let random = SEED;
	const draw = () => {
		random ^= random << 13n & 0xffffffffffffffffn;
		random ^= random >> 7n;
		random ^= random << 17n & 0xffffffffffffffffn;
		return Number((random >> 32n) * BigInt(STRETCHES) >> 32n);
	};
	const draws = Array.from({length: DRAWS}, () => {
		const differences = new Float64Array(items.length);
		sides.forEach((side, number) => {
			const drawn = Array.from({length: STRETCHES}, draw), whole = drawn.reduce((sum, n) => sum + side.slice_ns[n], 0);
			items.forEach((item, i) => {
				let sum = 0;
				for (const n of drawn)
					sum += side.sliceTotals[n][item];
				differences[i] += (number ? 1 : -1) * shareOf(sum, whole);
			});
		});
		return differences;
	});
	const spreads = items.map((_, i) => {
		const mean = draws.reduce((sum, of) => sum + of[i], 0) / DRAWS;
		return Math.sqrt(draws.reduce((sum, of) => sum + (of[i] - mean) ** 2, 0) / (DRAWS - 1));
	});
	const off = (of, i) => Math.abs(of[i] - (shares[1][items[i]] - shares[0][items[i]]));
	const largest = Float64Array.from(draws, of => Math.max(0, ...spreads.map((spread, i) => spread > 0 ? off(of, i) / spread : 0))).sort();
	const limit = largest[Math.floor(DRAW_QUANTILE * (DRAWS - 1))], real = new Uint8Array(count);
	items.forEach((item, i) => {
		const [before, after] = [shares[0][item], shares[1][item]], by = Math.abs(after - before);
		real[item] = by > limit * spreads[i] && by > size * DIFF_LEAST && by > DIFF_LEAST_PART * Math.max(before, after) ? 1 : 0;
	});
	return {real, shares};
}

// A kind for each difference, as the colours are.
function kindOfDifference(real, before, after) {
	const more = Math.max(before, after), less = Math.min(before, after), first = after > before ? LITTLE_MORE : LITTLE_LESS;
	if (!real)
		return SAME;
	return first + (less <= 0 ? 3 : more > 2 * less ? 2 : more > 1.2 * less ? 1 : 0);
}

// {tree, info} of what is selected and what it is compared with.
function fileComparison() {
	const whole = fileNodes();
	if (!whole)
		return null;
	const {tree, placed, isShown, info} = whole, ranges = [[state.baseSince, state.baseUntil], [state.since, state.until]];
	const sides = ranges.map(([since, until]) => sideOf(since, until, placed, tree.count, isShown)).map(side => ({...side,
		totals: addUp(tree, side.self), sliceTotals: side.slices.map(slice => Float32Array.from(addUp(tree, slice)))}));
	const {real, shares} = judge(sides, tree.count), factor = sides[0].elapsed_ns ? sides[1].elapsed_ns / sides[0].elapsed_ns : 1;
	const names = [tree.names[tree.frame[0]]], numbers = new Map(), places = new Uint32Array(tree.count);
	const numberOf = name => numbers.get(name) ?? (numbers.set(name, names.length), names.push(name) - 1);
	const kinds = tree.frame.map((frame, n) => numberOf(String.fromCharCode(97 + kindOfDifference(real[n], shares[0][n], shares[1][n])) + tree.names[frame].slice(1)));
	const made = new Tree(names, info.kinds);
	for (let n = 1; n < tree.count; n++) {
		if (!sides[0].totals[n] && !sides[1].totals[n])
			continue;
		const before = Math.floor(sides[0].self[n] * factor + 0.5), after = sides[1].self[n];
		places[n] = made.child(places[tree.parent[n]], kinds[n]);
		made.add(places[n], before + after, after);
	}
	return {tree: made, info: comparisonInfo(info, sides, ranges, factor, real.some(one => one))};
}

function comparisonInfo(info, sides, ranges, factor, any) {
	const facts = sides.map((side, n) => [n ? "second" : "first", timeText(side.totals[0]) + " in " + timeText(side.elapsed_ns)]);
	const remarks = ranges.map(([since, until], n) => `${n ? "second" : "first"}: ${timeText(since)} to ${timeText(until)} of ${timeText(about.elapsed_ns)}`);
	if (factor > 1.005 || factor < 0.995)
		remarks.unshift(`times of the first are shown ${Number(factor.toPrecision(3))} times as long, for the same elapsed time`);
	return {...info, compared: true, time: "both", sampled: true, facts: [...facts, ["compared by", "elapsed time"]],
		remarks: [...remarks, ...(any ? [] : ["no difference is more than the noise"])]};
}
