// SPDX-License-Identifier: MIT
// Perfetto's trace processor finds waits and arrows in the timeline of "wait_profile gpu".
//
//	node perfetto_waits.js TIMELINE.json
"use strict";

const {open, rows} = require("./perfetto_engine.js");
const {is, ok, done} = require("./tap.js");

async function main() {
	console.warn = () => {};
	const engine = await open(process.argv[2]);
	is(await rows(engine, "select name, value from stats where severity = 'error' and value > 0"), "",
		"Perfetto finds no error in a timeline with waits and arrows");
	is(await rows(engine, "select a.name, b.name from flow f join slice a on f.slice_out = a.id " +
		"join slice b on f.slice_in = b.id order by a.ts"),
		"Runtime: cudaMemcpy | MemCopy: DtoH\nRuntime: cudaMemcpyAsync | MemCopy: DtoH",
		"arrows lead from calls to their work");
	is(await rows(engine, "select t.name, s.name, s.dur, s.depth from slice s join thread_track k on s.track_id = k.id " +
		"join thread t using (utid) where s.category = 'Wait' order by s.ts"),
		"main 10 waiting for the GPU | waiting for the GPU: all of stream 7 | 40000000 | 0\n" +
		"main 10 not running | waiting: lock | 5000000 | 0\nmain 10 not running | waiting: sleep | 6000000 | 0",
		"waits have rows of their own");
	engine.close();
	done();
}

main().catch(error => {
	ok(false, "Perfetto reads the timeline with waits", error.stack || error);
	done();
});
