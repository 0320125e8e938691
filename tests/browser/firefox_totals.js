// SPDX-License-Identifier: MIT
// Firefox Profiler's own code (@firefox-devtools/profiler-cli, which has its upgrades and its call trees) reads what
// `export --to firefox` wrote: threads, what they took, and how many markers they have.
//
//	node firefox_totals.js WORK FILE.firefox.json CPU_NS GPU_NS     (sums of the report; processes end with this one)
"use strict";

const path = require("path"), {readFileSync} = require("fs"), {spawnSync} = require("child_process");
const {is, ok, done} = require("./tap.js");

const [work, file, cpuNs, gpuNs] = process.argv.slice(2);
const program = path.join(path.dirname(require.resolve("@firefox-devtools/profiler-cli/package.json")), "dist/profiler-cli.js");
const WAIT_S = 60;

// What it answers, or null.
function ask(...words) {
	const answer = spawnSync(process.execPath, [program, ...words], {encoding: "utf8", timeout: 60000,
		env: {...process.env, HOME: work, PROFILER_CLI_SESSION_DIR: path.join(work, "sessions")}});
	return answer.status === 0 ? answer.stdout : null;
}

// It reads in a process of its own, for which it does not wait long.
function load() {
	let threads = ask("load", file) === null ? null : ask("thread", "list", "--json");
	for (let n = 0; threads === null && n < WAIT_S; n++) {
		spawnSync("sleep", ["1"]);
		threads = ask("thread", "list", "--json");
	}
	return threads && JSON.parse(threads).threads;
}

const nanoseconds = milliseconds => Math.round(milliseconds * 1e6);

function totalOf(thread) {
	const tree = JSON.parse(ask("thread", "samples-top-down", "--thread", thread.threadHandle, "--include-idle", "--json"));
	return nanoseconds(tree.regularCallTree.totalSamples);
}

function check(threads) {
	const written = JSON.parse(readFileSync(file, "utf8")).threads, wrong = [];
	let cpu = 0, gpu = 0;
	for (const thread of threads) {
		const own = written[thread.threadIndex], total = totalOf(thread), weights = own.samples.weight.reduce((sum, weight) => sum + nanoseconds(weight), 0);
		if (thread.name !== own.name || thread.pid !== String(own.pid) || thread.markerCount !== own.markers.length || total !== weights)
			wrong.push(`${thread.name}: ${total} of ${weights} ns, ${thread.markerCount} of ${own.markers.length} markers`);
		if (own.name.startsWith("GPU "))
			gpu += total;
		else
			cpu += total;
	}
	is(threads.length, written.length, "it has all threads");
	ok(!wrong.length, "with their names, times and markers", ...wrong);
	is(cpu, Number(cpuNs), "CPU time is the report's, to the nanosecond");
	is(gpu, Number(gpuNs), "GPU time is the report's, to the nanosecond");
	const tree = ask("thread", "functions", "--thread", threads.find(thread => thread.name.startsWith("GPU ")).threadHandle, "--json");
	ok(JSON.parse(tree).functions.some(one => one.name === "kernel0" && one.selfSamples > 0), "functions have their names");
}

const threads = load();
ok(threads, "it reads the file");
try {
	if (threads)
		check(threads);
} finally {
	ask("stop", "--all"); // of this folder's sessions
}
done();
