// SPDX-License-Identifier: MIT
// speedscope's importer, without its page:
//
//	const profiles = await open("profile.json")
//
// The script of speedscope's page is one bundle. It runs here with two changes: the importer, which it
// loads behind a promise, is made visible, and it ends where it would begin to draw.
"use strict";

const fs = require("fs"), path = require("path"), vm = require("vm");

const folder = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release");
const IMPORT = /async function \w+\(\w+,\w+\)\{return\(await (\w+)\)\.importProfileGroupFromBase64\(/;

function startBundle() {
	const file = fs.readdirSync(folder).find(name => /^speedscope-\w+\.js$/.test(name));
	const script = fs.readFileSync(path.join(folder, file), "utf8"), found = IMPORT.exec(script);
	if (!found)
		throw new Error("the bundle has no importer where it is looked for");
	const sandbox = {console: {log() {}, warn() {}, error() {}}, TextDecoder, TextEncoder, URL, setTimeout, atob,
		navigator: {userAgent: "node", platform: "node"}, performance, Uint8Array, ArrayBuffer, DataView, BigInt};
	sandbox.window = sandbox.self = sandbox.globalThis = sandbox;
	sandbox.window.location = {hash: "", protocol: "file:", href: "file:///"};
	const at = found.index + found[0].indexOf("async");
	const changed = script.slice(0, at) + "globalThis.importer=" + found[1] + ";" + script.slice(at);
	vm.createContext(sandbox);
	try {
		vm.runInContext(changed, sandbox, {filename: file});
	} catch (error) {
		if (!sandbox.importer)
			throw error;
	}
	return sandbox;
}

// What it made of a file: name, total weight, frames by name with their self and total weight, and what it
// complained about.
async function open(file) {
	const sandbox = startBundle(), complaints = [];
	sandbox.console.warn = sandbox.console.error = (...words) => complaints.push(words.join(" "));
	const importer = await sandbox.importer;
	const group = await importer.importProfileGroupFromBase64(path.basename(file), fs.readFileSync(file).toString("base64"));
	return {complaints, profiles: group ? group.profiles.map(describe) : []};
}

function describe(profile) {
	const frames = {};
	profile.forEachFrame(frame => {
		const known = frames[frame.name] || {self: 0, total: 0};
		frames[frame.name] = {self: known.self + frame.getSelfWeight(), total: known.total + frame.getTotalWeight()};
	});
	return {name: profile.getName(), weight: profile.getTotalNonIdleWeight(), unit: profile.getWeightUnit(), frames};
}

module.exports = {open};
