// SPDX-License-Identifier: MIT
// Perfetto's trace processor finds the events of GPU drivers in the timeline of "driver_profile small".
//
//	node perfetto_drivers.js TIMELINE.json
"use strict";

const {open, rows} = require("./perfetto_engine.js");
const {is, ok, done} = require("./tap.js");

async function main() {
	console.warn = () => {};
	const engine = await open(process.argv[2]);
	is(await rows(engine, "select name, value from stats where severity = 'error' and value > 0"), "",
		"Perfetto finds no error in a timeline with drivers");
	is(await rows(engine, "select distinct p.name, t.name, s.name, count() from slice s " +
		"join thread_track k on s.track_id = k.id join thread t using (utid) join process p using (upid) " +
		"group by p.name, t.name, s.name order by t.name, s.name"),
		"GPU drivers | drm | BO_CREATE | 2\nGPU drivers | drm gfx queued | queued | 9\n" +
		"GPU drivers | drm gfx queued overlap 1 | queued | 1\nGPU drivers | drm gfx queued overlap 2 | queued | 1\n" +
		"GPU drivers | drm gfx run | run | 12\nGPU drivers | drm sdma0 run | run | 1\n" +
		"GPU drivers | drm sdma0 wait | wait for gfx | 1", "each ring has its rows");
	is(await rows(engine, "select max(depth), sum(dur) from slice where name = 'run'"), "0 | 25100000",
		"in which nothing stands on something else, and every nanosecond is there");
	is(await rows(engine, "select distinct a.string_value from args a join slice s using (arg_set_id) " +
		"where s.name = 'run' and a.key = 'args.comm' order by 1"), "browser\ngame", "and says whose it is");
	engine.close();
	done();
}

main().catch(error => {
	ok(false, "Perfetto reads the timeline with drivers", error.stack || error);
	done();
});
