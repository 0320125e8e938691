// SPDX-License-Identifier: MIT
// How long the frames of the page of `xpuprof view` are while somebody drags in it: from one requestAnimationFrame to the next,
// and of that the time in our own script. See view_frames.sh.
//
//	node view_frames.js XPUPROF RECORDING.xpu [FRAMES]
"use strict";

const {launch} = require("../tests/browser/tap.js"), {Viewer, NAMES_PX} = require("../tests/browser/viewer.js");

const [xpuprof, recording, frames = "120"] = process.argv.slice(2);

// Notes each frame while `window.frames_` is an array: when it began, and how long callbacks took in it.
function watchFrames() {
	const ask = window.requestAnimationFrame.bind(window);
	window.requestAnimationFrame = call => ask(time => {
		const begin = performance.now();
		call(time);
		if (window.work_)
			window.work_.set(time, (window.work_.get(time) || 0) + performance.now() - begin);
	});
	const note = time => {
		window.frames_?.push(time);
		ask(note);
	};
	ask(note);
}

const quantile = (sorted, part) => sorted.length ? sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] : 0;

function describe(name, {times, work}) {
	const lengths = times.slice(1).map((time, n) => time - times[n]).sort((a, b) => a - b), own = work.sort((a, b) => a - b);
	const text = (list, part) => quantile(list, part).toFixed(1).padStart(8);
	console.log(name.padEnd(36) + text(lengths, 0.5) + text(lengths, 0.95) + text(lengths, 1) + "   " + text(own, 0.5) + text(own, 0.95) + text(own, 1) +
		String(Math.round(100 * lengths.filter(ms => ms > 17.5).length / lengths.length)).padStart(8) + " %");
}

// Moves the pointer once a frame, there and back.
async function drag(v, name, selector, [x0, x1], y, modifier) {
	const box = await v.page.locator(selector).boundingBox(), at = part => box.x + (x0 + (x1 - x0) * part) * box.width, top = box.y + y * box.height;
	if (modifier)
		await v.page.keyboard.down(modifier);
	await v.page.mouse.move(at(0), top);
	await v.page.mouse.down();
	await v.page.evaluate(() => Object.assign(window, {frames_: [], work_: new Map()}));
	for (let n = 0; n < Number(frames); n++)
		await v.page.mouse.move(at(Math.abs(1 - 2 * n / Number(frames))), top);
	const seen = await v.page.evaluate(() => {
		const seen = {times: window.frames_, work: [...window.work_.values()]};
		Object.assign(window, {frames_: null, work_: null});
		return seen;
	});
	await v.page.mouse.up();
	if (modifier)
		await v.page.keyboard.up(modifier);
	await v.settle();
	describe(name, seen);
}

async function main() {
	const browser = await launch(), v = new Viewer(xpuprof, ".");
	await v.serve(recording);
	const page = browser.newPage.bind(browser);
	browser.newPage = async options => {
		const made = await page(options);
		await made.addInitScript(watchFrames);
		return made;
	};
	await v.open(browser);
	await v.page.waitForFunction(() => document.getElementById("reading").hidden, null, {timeout: 120000});
	await v.settle();
	console.log("ms, median, 95 % and greatest".padEnd(36) + "   frames" + " ".repeat(18) + "   script" + " ".repeat(18) + "late");
	const left = NAMES_PX / 1300 + 0.02;
	await v.page.selectOption("#what", "run");
	await v.settle();
	await drag(v, "selecting in the heatmap", "#heat", [0.1, 0.9], 0.5);
	for (const what of ["streams", "threads-gpu"]) {
		await v.page.selectOption("#what", what);
		await v.settle();
		await drag(v, `selecting in the heatmap, ${what}`, "#heat", [left, 0.9], 0.1);
	}
	await v.page.locator("#heat").press("Escape");
	await v.settle();
	await v.page.locator("#lanes").press("0");
	await v.settle();
	await drag(v, "selecting on the axis", "#lanes", [left, 0.9], 0.3);
	await v.page.locator("#heat").press("Escape");
	for (let n = 0; n < 6; n++)
		await v.page.locator("#lanes").press("w");
	await v.settle();
	await drag(v, "moving the axis", "#lanes", [left, 0.9], 0.3, "Shift");
	await v.page.close();
	await v.end();
	await browser.close();
}

main().catch(error => {
	console.error(error.stack);
	process.exit(1);
});
