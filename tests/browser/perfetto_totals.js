// SPDX-License-Identifier: MIT
// What Perfetto finds in a trace of its own format is what the report says, and the stacks are those of the samples.
//
//	node perfetto_totals.js BASE     (BASE.perfetto-trace, BASE.events, and as truth.js)
"use strict";

const fs = require("fs");
const {is, ok, done} = require("./tap.js");
const {read} = require("./truth.js");
const {open, rows} = require("./perfetto_engine.js");

const GPU = "category in ('GPU_Kernel', 'MemCopy', 'MemSet')";

// How often each stack was sampled, of extended folded text: time, name, pid, tid, CPU (-1: no sample), stack.
function countStacks(file) {
	const counts = new Map();
	for (const line of fs.readFileSync(file, "utf8").split("\n").filter(text => text)) {
		const [, , , , cpu, ...rest] = line.split(" "), stack = rest.join(" ").replace(/_\[k\]/g, "").replace(/^\[simulated GPU\];/, "");
		if (cpu !== "-1")
			counts.set(stack, (counts.get(stack) || 0) + 1);
	}
	return [...counts].map(([stack, count]) => stack + " " + count).sort().join("\n");
}

// The same by SQL: each sample's stack from the leaf to the root.
const STACKS = `
	with recursive path(sample, callsite, text) as (
		select s.id, c.parent_id, replace(f.name, ';', ':') from perf_sample s
			join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id
		union all
		select sample, c.parent_id, replace(f.name, ';', ':') || ';' || text from path
			join stack_profile_callsite c on c.id = path.callsite join stack_profile_frame f on f.id = c.frame_id)
	select text || ' ' || count(*) from path where callsite is null group by text`;

async function main() {
	console.warn = () => {};
	const base = process.argv[2], truth = read(base), engine = await open(base + ".perfetto-trace");
	const ask = sql => rows(engine, sql);
	is(await ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0"), "",
		"Perfetto finds no error");
	is(await ask("select count(*), ifnull(sum(dur), 0) from slice where " + GPU),
		[truth.report.works, truth.gpu].join(" | "), "it sees all GPU work and its time");
	is(await ask("select ifnull(sum(dur), 0) from slice where category = 'GPU_Call'"), String(truth.calls), "the time of calls");
	is(await ask("select name, sum(dur) from slice where category = 'GPU_Kernel' group by name order by name"),
		[...truth.kernels].sort(([a], [b]) => a < b ? -1 : 1).map(row => row.join(" | ")).join("\n"), "and of each kernel");
	is(await ask("select count(*) from perf_sample"), String(truth.samples), "each sample");
	is(await ask("select cast(sum(most) as int) from (select max(value) as most from counter join track on track_id = track.id " +
		"where track.name = 'CPU time' group by track_id)"), String(truth.cpu), "and the CPU time they stand for");
	is((await ask(STACKS)).split("\n").sort().join("\n"), countStacks(base + ".events"), "samples have the right stacks");
	is(await ask("select count(*) from slice where depth > 0"), "0", "no event lies on another");
	is(await ask("select count(*) from (select distinct slice_in from flow join slice on slice.id = slice_in where " + GPU + ")"),
		String(truth.report.works - truth.report.works_without_stack.no_launch), "arrows lead to all work whose call was seen");
	is(await ask("select count(*) from slice s where category = 'GPU_Kernel' and not exists (" +
		"select 1 from __intrinsic_track_event_callstacks k join stack_profile_callsite c on c.id = k.callsite_id " +
		"join stack_profile_callsite l on l.id = c.parent_id join stack_profile_frame f on f.id = l.frame_id " +
		"where k.slice_id = s.id and f.name glob 'cu*Launch*')"), "0", "each kernel has the stack of the call that launched it");
	engine.close();
	done();
}

main().catch(error => {
	ok(false, "Perfetto reads the trace", error.stack || error);
	done();
});
