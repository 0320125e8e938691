// SPDX-License-Identifier: MIT
// Perfetto finds the same events in a trace of its own format and in a timeline, of waits, drivers and counters.
//
//	node perfetto_same.js NAME...     (NAME.perfetto-trace, NAME.json)
"use strict";

const {is, ok, done} = require("./tap.js");
const {open, rows} = require("./perfetto_engine.js");
const {execFileSync} = require("child_process");

const QUERIES = [
	"select ts, dur, replace(replace(name, 'waiting: ', ''), 'waiting for the GPU: ', '') as name from slice " +
		"where category in ('Wait', 'GPU_Driver') order by ts, dur, name",
	"select ts, value from counter join track on track_id = track.id where track.name <> 'CPU time' order by ts, value",
	"select name, value from stats where severity in ('error', 'data_loss') and value > 0",
];

// The engine can be started once in a process: this one starts itself for each file.
async function ask(file) {
	const engine = await open(file), answers = [];
	for (const query of QUERIES)
		answers.push(await rows(engine, query));
	engine.close();
	console.log(JSON.stringify(answers));
}

function answersOf(file) {
	return JSON.parse(execFileSync(process.execPath, [__filename, "--ask", file], {maxBuffer: 1 << 28}));
}

function compare(name) {
	const [slices, counts, errors] = answersOf(name + ".perfetto-trace"), [json_slices, json_counts] = answersOf(name + ".json");
	is(slices, json_slices, name + ": waits and events of drivers are those of the timeline");
	is(counts, json_counts, name + ": and so are counters");
	ok(slices || counts, name + ": there are some");
	is(errors, "", name + ": Perfetto finds no error");
}

console.warn = () => {};
if (process.argv[2] === "--ask") {
	ask(process.argv[3]);
} else {
	process.argv.slice(2).forEach(compare);
	done();
}
