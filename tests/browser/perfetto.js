// SPDX-License-Identifier: MIT
// Perfetto's trace processor reads a timeline of ours and answers SQL about it.
//
//	node perfetto.js TIMELINE.json
"use strict";

const {open, rows} = require("./perfetto_engine.js");
const {is, ok, done} = require("./tap.js");

async function main() {
	console.warn = () => {};
	const engine = await open(process.argv[2]);
	is(await rows(engine, "select name, value from stats where severity = 'error' and value > 0"), "",
		"Perfetto finds no error in the timeline");
	is(await rows(engine, "select sum(dur), count(*) from slice where category = 'GPU_Kernel'"),
		"1295467 | 4", "it sees every kernel and their exact time");
	is(await rows(engine, "select name, ts, dur from slice where category = 'MemCopy'"),
		"MemCopy: HtoD | 8310000 | 50000", "and the copy at its time");
	is(await rows(engine, "select name, dur from slice where category = 'CUDA_Runtime' order by ts"),
		"Runtime: cudaLaunchKernel | 2500\nRuntime: cudaMemcpy | 2500\nRuntime: cudaGraphLaunch | 2500",
		"calls have their durations");
	is(await rows(engine, "select thread.name, process.name from slice join thread_track t on " +
		"slice.track_id = t.id join thread using (utid) join process using (upid) " +
		"where slice.name glob 'Kernel: gemm*' order by ts"),
		"stream 7 (pid 100, context 1) | GPU 0 Example GPU\n" +
		"stream 8 (pid 100, context 1) | GPU 1 Example GPU", "devices and streams have rows with names");
	is(await rows(engine, "select thread.name, process.name, pid, tid from thread join process " +
		"using (upid) where tid < 1000 and tid > 0 order by tid"),
		"my app | my app | 100 | 100\npython3 | python3 | 200 | 200", "processes and threads have names");
	is(await rows(engine, "select count(*) from slice where depth > 0"), "0",
		"overlapping work of one stream lies side by side");
	is(await rows(engine, "select display_value from args join slice using (arg_set_id) " +
		"where slice.name = 'MemCopy: HtoD' and key = 'args.bytes'"), "4096", "arguments are there");
	engine.close();
	done();
}

main().catch(error => {
	ok(false, "Perfetto reads the timeline", error.stack || error);
	done();
});
