// SPDX-License-Identifier: MIT
// Perfetto's trace processor finds the hardware counters in the timeline of "counter_profile small".
//
//	node perfetto_counters.js TIMELINE.json
"use strict";

const {open, rows} = require("./perfetto_engine.js");
const {is, ok, done} = require("./tap.js");

async function main() {
	console.warn = () => {};
	const engine = await open(process.argv[2]);
	is(await rows(engine, "select name, value from stats where severity = 'error' and value > 0"), "",
		"Perfetto finds no error in a timeline with counters");
	is(await rows(engine, "select distinct t.name, p.name from process_counter_track t join process p using (upid) " +
		"order by p.name, t.name"),
		"DRAM read (byte/s) value | GPU 0 Example GPU\n" +
		"L2 hit rate (%) value | GPU 0 Example GPU\nSM active (%) value | GPU 0 Example GPU\n" +
		"SM active (%) value | GPU 1 Example GPU", "each counter of each GPU has a track, with its unit");
	is(await rows(engine, "select c.ts, c.value from counter c join process_counter_track t on c.track_id = t.id " +
		"join process p using (upid) where t.name glob 'SM active*' and p.name glob 'GPU 0*' order by c.ts"),
		"10000000 | 100\n15000000 | 0\n17000000 | 80\n18000000 | 90\n19000000 | 70\n20000000 | 50\n22000000 | 40",
		"with its values at their times");
	engine.close();
	done();
}

main().catch(error => {
	ok(false, "Perfetto reads the timeline with counters", error.stack || error);
	done();
});
