// SPDX-License-Identifier: MIT
// Single events of a page that has its data with it (src/page/file_events.h): what happens again, counted by length as a server
// does (src/view/timeline/repeats.c), and what a box belongs to.

const REPEAT_BARS = 60, REPEATS_LISTED = 300, FAR_APART = 16;

// [group, begin, length] of those that begin in a range.
function itemsIn(items, from, to) {
	const found = [];
	for (let i = 0; items && i < items.length; i += 3)
		if (items[i + 1] >= from && items[i + 1] < to)
			found.push([items[i], items[i + 1], items[i + 2]]);
	return found;
}

// Each lasts until the next one of its group; the last ones have none.
function periodsOf(items) {
	const sorted = [...items].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	return sorted.slice(1).map((item, n) => [item[0] === sorted[n][0], sorted[n][1], item[1] - sorted[n][1]]).filter(period => period[0]);
}

// Equal steps; or quarters of powers of two where lengths are far apart.
function barsOf(lengths) {
	const [min, max] = [lengths[0], lengths[lengths.length - 1]], even = Math.floor(max / FAR_APART) <= min, bars = [];
	const step = length => even ? Math.floor((max - min) / REPEAT_BARS) + 1 : Math.max(length ? 2 ** Math.floor(Math.log2(length)) / 4 : 1, 1);
	for (let at = 0, from = even ? min : Math.floor(min / step(min)) * step(min); at < lengths.length;) {
		const next = from + step(from), to = next > from ? next : Infinity, first = at;
		while (at < lengths.length && lengths[at] < to)
			at++;
		bars.push(from, to, at - first);
		from = to;
	}
	return bars;
}

function fileRepeats(words) {
	const {repeats} = data.events, {from, to} = words, all = from <= 0 && to >= about.elapsed_ns, marker = words.of === "markers";
	const names = repeats.map(({text, marker: isMarker, count, time_ns, items}) => {
		const inside = itemsIn(items, from, to);
		return {text, marker: isMarker, left_out: !items, count: items ? inside.length : all ? count : 0,
			time_ns: items ? inside.reduce((sum, item) => sum + item[2], 0) : all ? time_ns : 0};
	}).filter(name => name.count).sort((a, b) => b.time_ns - a.time_ns);
	const wanted = repeats.find(name => name.marker === marker && name.text === words.which), found = itemsIn(wanted?.items, from, to);
	const sorted = (words.of === "periods" ? periodsOf(found) : found).sort((a, b) => a[2] - b[2]), lengths = sorted.map(item => item[2]);
	const least = Number(words["at-least"] || 0), below = Number(words.below || Infinity);
	const matching = sorted.filter(item => item[2] >= least && item[2] < below).sort((a, b) => b[2] - a[2]);
	return {names, count: lengths.length, total_ns: lengths.reduce((sum, length) => sum + length, 0), min_ns: lengths[0] || 0, max_ns: lengths[lengths.length - 1] || 0,
		median_ns: lengths[lengths.length >> 1] || 0, bars: lengths.length ? barsOf(lengths) : [], matching: matching.length,
		longest: matching.slice(0, REPEATS_LISTED).flatMap(item => item.slice(1))};
}

let linkOf = null; // by a box, its link

function fileLinks({row, begin, length}) {
	if (!linkOf) {
		linkOf = new Map();
		for (const link of data.events.links)
			for (let i = 1; i < link.length; i += 3)
				linkOf.set(link.slice(i, i + 3).join(), link);
	}
	const link = linkOf.get([row, begin, length].join());
	if (!link)
		return {call: [], works: [], work_count: 0, left_out: data.events.links_left_out > 0};
	return {call: link[1] < 0 ? [] : link.slice(1, 4), works: link.slice(4), work_count: link[0]};
}
