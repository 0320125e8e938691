// SPDX-License-Identifier: MIT
// The tree of a range of a page that has its data with it: sums by node of the slices in it (src/page/file_sums.h).

// The kinds of frames that group others (enum tree_kind), by what groups are called, and what stands for one not known.
const GROUPS = {process: 1, thread: 2, device: 3, stream: 4};
const NOT_KNOWN = /^.\[(process|thread|device) not known\]$/;

// The edges that a range is between, as their numbers.
function edgesOf(since, until) {
	return [edgeAt(since), until >= about.elapsed_ns ? edges.length - 1 : edgeAt(until)];
}

function selectedSums() {
	return isAllSelected() ? sumsBetween(0, edges.length - 1, true) : sumsBetween(...edgesOf(state.since, state.until));
}

// [time, samples] by node of the slices between two edges; or of all that there is.
function sumsBetween(first, end, all = false) {
	const {nodes, slices, spreads, before, behind} = data.sums;
	const time = new Float64Array(nodes.length / 2 + 1), samples = new Float64Array(time.length);
	const add = slice => {
		for (let i = 0; i < slice.length; i += 3) {
			time[slice[i]] += slice[i + 1];
			samples[slice[i]] += slice[i + 2];
		}
	};
	slices.slice(first, end).forEach(add);
	if (all)
		[before, behind].forEach(add);
	for (let i = 0; i < spreads.length; i += 3) {
		const [node, until, whole] = spreads.slice(i, i + 3);
		// exactly: the product may need more than a double has
		const part = at => at >= until ? whole : Number(BigInt(whole) * BigInt(at) / BigInt(until));
		time[node] += all ? whole : part(edges[end]) - part(edges[first]);
	}
	return [time, samples];
}

// Which frames stand for groups that are not asked for.
function droppedFrames() {
	const kinds = new Set(Object.keys(GROUPS).filter(name => !state.by.split(",").includes(name)).map(name => GROUPS[name]));
	return data.sums.frames.map(text => {
		const group = NOT_KNOWN.exec(text);
		return kinds.has(group ? GROUPS[group[1]] : text.charCodeAt(0) - 97);
	});
}

// Nodes that stand on the thread that is asked for, by its id; all, where none is.
function nodesOfThread(parents, frames) {
	const kind = String.fromCharCode(97 + GROUPS.thread), end = ` (${state.thread})`, inside = new Uint8Array(parents.length);
	const chosen = data.sums.frames.map(text => text[0] === kind && text.endsWith(end));
	for (let n = 0; n < inside.length; n++)
		inside[n] = !state.thread || (n && (inside[parents[n]] || chosen[frames[n]])) ? 1 : 0;
	return inside;
}

// Nodes with time of the view's kind, or below such.
function wantedNodes(time, parents, frames, kinds) {
	const gpu = new Uint8Array(time.length), some = new Uint8Array(time.length), inside = nodesOfThread(parents, frames);
	for (let n = 1; n < time.length; n++)
		gpu[n] = gpu[parents[n]] || kinds[data.sums.frames[frames[n]].charCodeAt(0) - 97].gpu ? 1 : 0;
	for (let n = time.length - 1; n > 0; n--) {
		if (!inside[n] || (state.view !== "merge" && (state.view === "gpu") !== (gpu[n] === 1)))
			time[n] = 0;
		some[n] |= time[n] ? 1 : 0;
		some[parents[n]] |= some[n];
	}
	return some;
}

// The tree of nodes with time of the view, which have none yet: by node where it stands, and whether its time is shown.
function nodesOf(time) {
	const {merge} = data.pictures;
	if (!merge || (mouldText !== merge && !takeMould(merge)))
		return null;
	const {nodes} = data.sums, dropped = droppedFrames(), info = fileInfo();
	const parents = new Uint32Array(time.length), frames = new Uint32Array(time.length), placed = new Uint32Array(time.length);
	for (let n = 1; n < time.length; n++)
		[parents[n], frames[n]] = [nodes[2 * n - 2], nodes[2 * n - 1]];
	const some = wantedNodes(time, parents, frames, info.kinds), tree = new Tree(data.sums.frames, info.kinds);
	for (let n = 1; n < time.length; n++)
		if (some[n])
			placed[n] = dropped[frames[n]] ? placed[parents[n]] : tree.child(placed[parents[n]], frames[n]);
	return {tree, placed, info, isShown: time.map(one => one ? 1 : 0)};
}

// Of the whole recording.
function fileNodes() {
	return nodesOf(sumsBetween(0, edges.length - 1, true)[0]);
}

function fileTree() {
	const [time, samples] = selectedSums(), made = nodesOf(time);
	for (let n = 1; made && n < time.length; n++)
		if (time[n])
			made.tree.add(made.placed[n], time[n], samples[n]);
	return made;
}

// What the picture of the whole recording says of itself, for a range.
function fileInfo() {
	const info = JSON.parse(wholeInfo);
	if (isAllSelected())
		return info;
	info.remarks = info.remarks.map(text => "in the whole recording: " + text);
	info.facts = [["elapsed", timeText(state.until - state.since)], ["range", timeText(state.since) + " to " + timeText(state.until)],
		...info.facts.filter(fact => fact[0] !== "elapsed")];
	return info;
}
