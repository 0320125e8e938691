// SPDX-License-Identifier: MIT
// TAP for the browser tests, and the browser.
"use strict";

let count = 0, failed = 0;

function ok(condition, name, ...notes) {
	count++;
	if (!condition) {
		failed++;
		for (const note of notes)
			console.log("# " + String(note).replace(/\n/g, "\n# "));
	}
	console.log((condition ? "ok " : "not ok ") + count + " - " + name);
}

function is(got, expected, name) {
	ok(got === expected, name, "got:      " + got, "expected: " + expected);
}

function done() {
	console.log("1.." + count);
	process.exitCode = failed ? 1 : 0;
}

// A browser that asks nobody for anything.
function launch() {
	return require("playwright-core").chromium.launch({
		timeout: 120000,
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync"],
	});
}

module.exports = {ok, is, done, launch};
