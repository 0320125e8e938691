// SPDX-License-Identifier: MIT
// What speedscope and Perfetto find in a timeline is what the report says.
//
//	node chrome_totals.js BASE     (BASE.json, BASE.report, BASE.folded)
"use strict";

const fs = require("fs");
const {is, ok, done} = require("./tap.js");
const {read, sum} = require("./truth.js");
const speedscope = require("./speedscope_engine.js"), perfetto = require("./perfetto_engine.js");

// Events that touch are 0.4 ns apart.
const NS_EACH = 0.5;

function isOrdered(events) {
	const inOrder = events.filter(event => "XCi".includes(event.ph) && event.name !== "waiting: run queue");
	return inOrder.every((event, i) => i === 0 || inOrder[i - 1].ts <= event.ts);
}

function stackOf(trace, id) {
	const frames = [];
	for (let frame = trace.stackFrames[id]; frame; frame = trace.stackFrames[frame.parent])
		frames.unshift(frame.name);
	return frames.join(";");
}

async function readSpeedscope(base, truth, events) {
	const found = await speedscope.open(base + ".json");
	const weight = pattern => 1000 * sum(found.profiles.filter(p => pattern.test(p.name)), p => p.weight);
	const near = (got, expected, what) => ok(Math.abs(got - expected) <= NS_EACH * events.length,
		"speedscope finds " + what, "got " + got + ", expected " + expected);
	is(found.complaints.slice(0, 5).join("\n"), "", "speedscope has nothing to complain of");
	near(weight(/ on CPU /), truth.cpu, "the CPU time of the samples");
	near(weight(/^GPU \d/), truth.gpu, "the GPU time");
	near(weight(/^(?!GPU)[^,]*, (?!.*( on CPU | not running | waiting for the GPU )).*$/), truth.calls, "the time of calls");
}

async function readPerfetto(base, truth) {
	const engine = await perfetto.open(base + ".json");
	const ask = sql => perfetto.rows(engine, sql);
	is(await ask("select name, value from stats where severity = 'error' and value > 0"), "", "Perfetto finds no error");
	is(await ask("select count(*), ifnull(sum(dur), 0) from slice where category = 'CPU'"),
		[truth.samples, truth.cpu].join(" | "), "Perfetto finds each sample, and their CPU time to the nanosecond");
	is(await ask("select ifnull(sum(dur), 0) from slice where category in ('GPU_Kernel', 'MemCopy', 'MemSet')"),
		String(truth.gpu), "and the GPU time");
	is(await ask("select count(*) from slice where depth > 0"), "0", "no event lies on another");
	engine.close();
}

async function main() {
	console.warn = () => {};
	const base = process.argv[2], truth = read(base), trace = JSON.parse(fs.readFileSync(base + ".json", "utf8"));
	const events = trace.traceEvents, stacked = events.filter(event => "sf" in event);
	ok(isOrdered(events), "events come in the order in which they began");
	is(stacked.filter(event => event.cat === "CPU").length, truth.samples, "each sample has a stack");
	const wrong = stacked.filter(event => event.cat === "CPU" && !stackOf(trace, event.sf).endsWith(event.name));
	is(JSON.stringify(wrong.slice(0, 3)), "[]", "which ends in the function that it is called after");
	const launches = stacked.filter(event => event.cat === "GPU_Kernel").map(event => stackOf(trace, event.sf));
	is(launches.filter(stack => !/;cu[a-zA-Z]*Launch[a-zA-Z]*;[^;]*$/.test(stack)).slice(0, 3).join("\n"), "",
		"that of a kernel leads through the call that launched it");
	await readSpeedscope(base, truth, events);
	await readPerfetto(base, truth);
	done();
}

main().catch(error => {
	ok(false, "readers of others read the timeline", error.stack || error);
	done();
});
