// SPDX-License-Identifier: MIT
// What is in text like perf script's is what the report says, and speedscope reads it.
//
//	node perf_script_totals.js BASE     (BASE.linux-perf.txt, BASE.events, and as truth.js)
"use strict";

const fs = require("fs");
const {is, ok, done} = require("./tap.js");
const {read} = require("./truth.js");
const speedscope = require("./speedscope_engine.js");

// Weights and threads by kind, by the form that perf's manual describes.
function parse(file) {
	const events = {};
	for (const block of fs.readFileSync(file, "utf8").replace(/^#.*\n/gm, "").split("\n\n").filter(text => text.trim())) {
		const [head, ...frames] = block.trim().split("\n");
		const found = /^(\S+) (\d+)\/(\d+) \[\d{3,}\] (\d+)\.(\d{9}): +(\d+) (\S+):$/.exec(head);
		if (!found || frames.some(frame => !/^\t *[0-9a-f]+ .+ \(\S+\)$/.test("\t" + frame.trim())))
			throw new Error("no event: " + block);
		const kind = events[found[7]] = events[found[7]] || {count: 0, weight: 0, times: {}};
		kind.count++;
		kind.weight += Number(found[6]);
		const task = `${found[1]} pid: ${found[2]} tid: ${found[3]}`, times = kind.times[task] = kind.times[task] || [];
		times.push(Number(found[4] + found[5]));
	}
	return events;
}

async function main() {
	const base = process.argv[2], file = base + ".linux-perf.txt", truth = read(base), events = parse(file);
	const kind = name => events[name] || {count: 0, weight: 0, times: {}};
	is([kind("cpu-clock").count, kind("cpu-clock").weight].join(), [truth.samples, truth.cpu].join(),
		"it has all samples and their CPU time");
	is([kind("gpu").count, kind("gpu").weight].join(), [truth.report.works, truth.gpu].join(), "all GPU work and its time");
	ok(kind("off-cpu").weight <= truth.waited && kind("off-cpu").weight >= truth.waited / 2, "and waits",
		kind("off-cpu").weight, truth.waited);

	// speedscope takes events of the first kind, and the time from one to the next as their weight.
	const {complaints, profiles} = await speedscope.open(file), first = events[Object.keys(events)[0]];
	is(complaints.join("\n"), "", "speedscope reads it");
	is(profiles.map(profile => profile.name).sort().join("\n"), Object.keys(first.times).sort().join("\n"), "with all threads");
	// It cannot know that of a single event, and then says a second.
	const spans = Object.values(first.times).map(times => times.length === 1 ? 1e9 : times[times.length - 1] - times[0]);
	ok(Math.abs(profiles.reduce((sum, p) => sum + p.weight, 0) * 1e9 - spans.reduce((a, b) => a + b, 0)) < 1e4 * spans.length,
		"over the time from the first to the last event of each", profiles.map(p => p.name + " " + p.weight).join("\n"), spans.join());
	done();
}

main().catch(error => {
	ok(false, "text like perf script's", error.stack || error);
	done();
});
