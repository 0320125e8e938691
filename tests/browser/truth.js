// SPDX-License-Identifier: MIT
// What a recording adds up to by our own outputs, for comparison with what readers of others find in its exports:
//
//	const truth = read("demo")     (demo.report of `report --json`, demo.folded and demo.waits of
//	                               `export --to folded --unit ns` and `--view off-cpu`)
"use strict";

const fs = require("fs");

function sum(items, of) {
	return items.reduce((total, item) => total + of(item), 0);
}

// Time of threads without a sample has no stack and no place; the formats that have places do without.
function addFolded(file) {
	const found = {cpu: 0, gpu: 0, placeless: 0};
	for (const line of fs.readFileSync(file, "utf8").split("\n")) {
		const at = line.lastIndexOf(" "), stack = line.slice(0, at), time = Number(line.slice(at + 1));
		const what = stack.includes("[GPU") ? "gpu" : /\[(no sample|kernel, not sampled)\]/.test(stack) ? "placeless" : "cpu";
		found[what] += time;
	}
	return found;
}

function read(base) {
	const report = JSON.parse(fs.readFileSync(base + ".report", "utf8"));
	const folded = addFolded(base + ".folded");
	if (folded.cpu + folded.placeless !== report.cpu_ns || folded.gpu !== report.gpu_ns)
		throw new Error("the report and the folded stacks differ");
	const waits = fs.readFileSync(base + ".waits", "utf8").split("\n").filter(line => line);
	return {...folded, report, waited: sum(waits, line => Number(line.slice(line.lastIndexOf(" ") + 1))), calls: sum(report.calls, call => call.total_ns), samples: report.samples,
		kernels: new Map(report.kernels.map(kernel => [kernel.name, kernel.total_ns]))};
}

module.exports = {read, sum};
