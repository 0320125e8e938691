// SPDX-License-Identifier: MIT
// Markers and metrics on the time axis, in the page of `xpuprof view` and in a page that has its data with it.
//
//	node view_markers.js XPUPROF FOLDER MARKERS.xpu HOSTILE.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const path = require("path"), {execFileSync} = require("child_process"), {pathToFileURL} = require("url");
const {is, ok, done, launch} = require("./tap.js"), {Viewer, NAMES_PX} = require("./viewer.js");

const [xpuprof, folder, recording, hostile] = process.argv.slice(2);
const SECONDS = 10, GROUP_PX = 20, LANE_PX = 22, MARKER_PX = 18;
// Lanes: the process, the trainer, its markers in three levels, the loader, its markers in two.
const TRAINER = GROUP_PX + LANE_PX, LOADER = TRAINER + 3 * MARKER_PX + LANE_PX;

// What of the lanes is at a time, so many pixels below their top.
async function placeOf(v, second, y) {
	const box = await v.page.locator("#lanes").boundingBox();
	return [box.x + NAMES_PX + second / SECONDS * (box.width - NAMES_PX), box.y + y];
}

async function drawn(v, second, y) {
	const box = await v.page.locator("#lanes").boundingBox(), [x, top] = await placeOf(v, second, y);
	const [r, g, b] = await v.pixel("boxes", (x - box.x) / box.width, (top - box.y) / box.height);
	return b > r + 60;
}

async function hover(v, second, y) {
	await v.page.mouse.move(...await placeOf(v, second, y));
	await v.page.waitForTimeout(100);
	return v.page.locator("#tip").textContent();
}

// [second, pixels below the top of the lanes, whether something is there]
async function wrongPlaces(v, places) {
	const wrong = [];
	for (const [second, y, there] of places)
		if (await drawn(v, second, y) !== there)
			wrong.push(`${second} s, ${y} px: ${there ? "nothing" : "something"} is there`);
	return wrong;
}

async function seeLanes(v) {
	const level = n => TRAINER + n * MARKER_PX + 3;
	const nested = await wrongPlaces(v, [[3.5, level(0), true], [3.9, level(0), false], [3.02, level(1), true], [3.32, level(1), false], [3.6, level(1), true],
		[3.05, level(2), false], [3.15, level(2), true]]);
	ok(!nested.length, "ranges that lie in one another stand one below the other", ...nested);
	const beside = await wrongPlaces(v, [[1.5, LOADER + 3, true], [2.5, LOADER + 3, true], [3.5, LOADER + MARKER_PX + 3, true], [4.5, LOADER + 3, false]]);
	ok(!beside.length, "so do those that overlap", ...beside);
	const rare = await wrongPlaces(v, [[4.501, level(2), true], [4.47, level(2), false], [4.53, level(2), false], [7.952, level(0) + 10, true], [7.985, level(0) + 10, false]]);
	ok(!rare.length, "a moment and a range of a microsecond can be seen", ...rare);
	await v.picture("markers" + (v.process ? "" : "-file"));
}

async function nameThem(v) {
	const tips = [await hover(v, 3.5, TRAINER + 8), await hover(v, 3.15, TRAINER + 2 * MARKER_PX + 8), await hover(v, 7.952, TRAINER + 8), await hover(v, 6, LOADER + 8)];
	ok(tips[0].startsWith("step\n800.000") && tips[1].startsWith("attention\n100.000") && tips[2].startsWith("tiny\n1 begin in this pixel") && tips[3].startsWith("epoch (data)\n5.000"),
		"under the pointer are their names and lengths", ...tips);
	const lane = await hover(v, 4.502, TRAINER + 2 * MARKER_PX + 8);
	ok(lane.startsWith("checkpoint\na moment, at 4.50"), "a moment has its name and time", lane);
}

async function chooseOne(v) {
	await v.page.mouse.click(...await placeOf(v, 2.5, LOADER + MARKER_PX + 8));
	await v.settle();
	is(await v.text("#range"), "2.000\u202fs to 4.000\u202fs: 2.000\u202fs", "a click on a marker selects its range");
	ok((await v.text("#filters")).startsWith("thread loader (201)"), "and its thread", await v.text("#filters"));
	const names = await v.page.frameLocator("#flame").locator("metadata.names").first().textContent();
	ok(names.includes("load") && !names.includes("train"), "the flame graph is of both", names);
	ok(/thread=201/.test(v.page.url()), "the address says so", v.page.url());
	await v.page.locator("#filters button").first().click();
	await v.settle();
	const both = await v.page.frameLocator("#flame").locator("metadata.names").first().textContent();
	ok(both.includes("load") && both.includes("train") && !/thread=/.test(v.page.url()), "the thread can be undone alone", both);
	await v.page.locator("#heat").press("Escape");
	await v.settle();
}

async function findThem(v) {
	await v.page.locator("#lanes").press("/");
	await v.page.keyboard.type("CHECKPOINT");
	await v.page.keyboard.press("Enter");
	await v.settle();
	ok((await v.text("#seek-note")).startsWith("1 of 1: checkpoint") && /^4\.500\d*\u202fs to 4\.50[05]/.test(await v.text("#range")), "search finds a moment", await v.text("#seek-note"), await v.text("#range"));
	await v.page.locator("#heat").press("Escape");
	await v.page.fill("#seek", "step");
	const seen = [];
	for (const key of ["Enter", "Enter", "Shift+Enter", "Shift+Enter"]) {
		await v.page.locator("#seek").press(key);
		await v.settle();
		seen.push((await v.text("#seek-note")).split(":")[0] + " " + (await v.text("#range")).split("\u202f")[0]);
	}
	is(seen.join(", "), "1 of 10 0, 2 of 10 1.000, 1 of 10 0, 10 of 10 9.000", "it steps from one to the next, back, and around");
	await v.page.fill("#seek", "no such thing");
	await v.page.locator("#seek").press("Enter");
	await v.settle();
	is(await v.text("#seek-note"), "nothing has such a name", "what is not there is said");
	await v.page.fill("#seek", "");
	await v.page.locator("#heat").press("Escape");
	await v.page.locator("#heat").press("0");
	await v.settle();
}

// Zoomed in, levels are what they were.
async function zoomIn(v) {
	const before = await hover(v, 5.15, TRAINER + 2 * MARKER_PX + 8);
	await v.page.goto(v.address + "#axis=5100000000-5140000000");
	await v.settle();
	const near = await hover(v, 5, TRAINER + 2 * MARKER_PX + 8);
	ok(before.startsWith("attention") && near === before, "levels stay what they are however far the axis is zoomed", before, near);
	await v.page.goto(v.address + "#");
	await v.settle();
}

async function useFile(browser) {
	const html = path.resolve("markers.html"), v = new Viewer(xpuprof, folder);
	execFileSync(xpuprof, ["export", "--to", "html", "-o", html, recording], {stdio: ["ignore", "ignore", "inherit"]});
	v.address = String(pathToFileURL(html));
	await v.open(browser);
	await seeLanes(v);
	await nameThem(v);
	await findThem(v);
	await v.page.mouse.click(...await placeOf(v, 2.5, LOADER + MARKER_PX + 8));
	await v.settle();
	const names = await v.page.frameLocator("#flame").locator("metadata.facts, .facts").first().innerText();
	ok(/CPU time 2(\.0+)?.s/.test(names), "a file has the flame graph of a marker's range and thread", names);
	await v.picture("markers-file-range");
	is(v.errors.join("\n"), "", "nothing goes wrong");
	await v.page.close();
}

async function main() {
	const browser = await launch(), v = new Viewer(xpuprof, folder);
	await v.serve(recording);
	await v.open(browser);
	await seeLanes(v);
	await nameThem(v);
	await zoomIn(v);
	await findThem(v);
	await chooseOne(v);
	is(v.errors.join("\n"), "", "nothing goes wrong");
	await v.page.close();
	await v.open(browser, "dark");
	await v.picture("markers-dark");
	await v.page.close();
	await v.end();
	await useFile(browser);
	await v.serve(hostile);
	await v.open(browser);
	await v.page.fill("#seek", "onerror");
	await v.page.locator("#seek").press("Enter");
	await v.settle();
	const alive = await v.page.evaluate(() => document.querySelectorAll("section img, header img").length);
	ok((await v.text("#seek-note")).includes("<img") && !alive && !v.errors.length, "names are text, whatever is in them", ...v.errors);
	await v.picture("markers-hostile");
	await v.end();
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
