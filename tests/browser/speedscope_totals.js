// SPDX-License-Identifier: MIT
// What speedscope finds in files of its own format, of pprof's, and in folded stacks, is what the report says.
//
//	node speedscope_totals.js BASE     (BASE.speedscope.json, BASE.pb.gz, and as truth.js)
"use strict";

const {is, ok, done} = require("./tap.js");
const {read, sum} = require("./truth.js");
const {open} = require("./speedscope_engine.js");

const GPU_ROW = /^GPU \d+ stream \d+ \(pid \d+, context \d+\)( overlap \d+)?$/;

const WAITS = / not running$/;

function addFrames(profiles) {
	const selves = new Map();
	for (const profile of profiles)
		for (const [name, {self}] of Object.entries(profile.frames))
			selves.set(name, (selves.get(name) || 0) + self);
	return selves;
}

async function readOwn(base, truth) {
	const {complaints, profiles} = await open(base + ".speedscope.json");
	const rows = pattern => profiles.filter(profile => pattern.test(profile.name));
	const weight = pattern => sum(rows(pattern), profile => profile.weight);
	is(complaints.join("\n"), "", "speedscope reads its own format without complaints");
	is(weight(/ on CPU$/), truth.cpu, "the rows of threads have the CPU time of the samples");
	is(weight(GPU_ROW), truth.gpu, "those of streams the GPU time");
	is(weight(/ GPU calls$/), truth.calls, "those of calls the time of calls");
	// Waits that were added to others have no place in time.
	ok(weight(WAITS) <= truth.waited && weight(WAITS) >= truth.waited / 2, "and those of waits what threads waited",
		weight(WAITS), truth.waited);
	const selves = addFrames(rows(GPU_ROW));
	is(JSON.stringify([...truth.kernels].map(([name]) => [name, selves.get(name)])), JSON.stringify([...truth.kernels]),
		"each kernel has its time");
	is(new Set(profiles.map(profile => profile.unit)).size <= 1 && (profiles[0] || {unit: "nanoseconds"}).unit, "nanoseconds",
		"in nanoseconds");
}

async function readPprof(base, truth) {
	const {complaints, profiles} = await open(base + ".pb.gz");
	is(complaints.join("\n"), "", "speedscope reads the profile for pprof");
	is(sum(profiles, profile => profile.weight), truth.report.cpu_ns, "with all CPU time");
}

async function readFolded(base, truth) {
	const {complaints, profiles} = await open(base + ".folded");
	is(complaints.join("\n"), "", "speedscope reads folded stacks");
	is(sum(profiles, profile => profile.weight), truth.report.cpu_ns + truth.report.gpu_ns, "with all time");
}

async function main() {
	const base = process.argv[2], truth = read(base);
	await readOwn(base, truth);
	await readPprof(base, truth);
	await readFolded(base, truth);
	done();
}

main().catch(error => {
	ok(false, "speedscope reads what is written for it", error.stack || error);
	done();
});
