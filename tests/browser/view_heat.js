// SPDX-License-Identifier: MIT
// The heatmap by row in the page of `xpuprof view`: threads, streams, reasons, stalls and one function, by the pointer and the keyboard.
//
//	node view_heat.js XPUPROF FOLDER BURST.xpu RANDOM.xpu STALLS.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const {is, ok, done, launch} = require("./tap.js"), {Viewer, NAMES_PX} = require("./viewer.js");

const [xpuprof, folder, burst, random, stalls] = process.argv.slice(2);
const SECONDS = 70, ROW_PX = 28;

async function choose(v, what) {
	await v.page.selectOption("#what", what);
	await v.settle();
}

// A time and a row as a place in the canvas, in shares of its size.
async function placeOf(v, second, row) {
	const box = await v.page.locator("#heat").boundingBox();
	return [(NAMES_PX + second / SECONDS * (box.width - NAMES_PX)) / box.width, ((row + 0.5) * ROW_PX) / box.height];
}

async function shade(v, second, row) {
	return (await v.pixel("heat", ...await placeOf(v, second, row)))[3];
}

async function tip(v, second, row) {
	const box = await v.page.locator("#heat").boundingBox(), [x, y] = await placeOf(v, second, row);
	await v.page.mouse.move(box.x + x * box.width, box.y + y * box.height);
	await v.page.waitForTimeout(100);
	return v.page.locator("#tip").textContent();
}

// Ten kernels of 10 ms in every seventh second, and one of a microsecond at 33.5 s.
async function seeStreams(v) {
	await choose(v, "streams");
	const wrong = [];
	for (let second = 0; second < SECONDS; second++) {
		const there = second % 7 === 0;
		if (await shade(v, second + 0.35, 0) > 0 !== there)
			wrong.push(`${second} s: ${there ? "nothing" : "something"} is there`);
	}
	ok(!wrong.length && await shade(v, 33.52, 0) > 0, "the stream's row has its bursts, and the kernel of a microsecond", ...wrong);
	const text = await tip(v, 14.35, 0);
	ok(text.startsWith("GPU 0, stream 7 of app (100)\nGPU "), "under the pointer is whose time it is", text);
	await v.picture("heat-streams");
}

async function dragRange(v) {
	await v.drag("#heat", await placeOf(v, 14.05, 0), await placeOf(v, 14.95, 0));
	const range = await v.text("#range"), facts = await v.flame(".facts");
	ok(/^14\.\d+.s to 1[45]\.\d+.s/.test(range) && facts.includes("GPU time 100"), "dragging in a row selects a range, whose flame graph has its burst", range, facts);
	await v.page.click("#compare");
	await v.drag("#heat", await placeOf(v, 21.05, 0), await placeOf(v, 21.95, 0));
	const info = await v.page.frameLocator("#flame").locator("metadata.info").first().textContent();
	ok(info.includes("no difference is more than the noise"), "a second range is compared with it", info);
	await v.picture("heat-compared");
	await v.page.click("#compare");
	await v.page.locator("#heat").press("Escape");
	await v.settle();
}

async function useKeys(v) {
	await v.page.locator("#heat").focus();
	for (const key of ["ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"])
		await v.page.locator("#heat").press(key);
	await v.settle();
	const said = await v.page.locator("#heat-cell").textContent(), range = await v.text("#range");
	ok(said.includes("stream 7") && / in .* to /.test(said) && range !== "the whole recording", "arrows move and say what is there, with Shift they select", said, range);
	await v.picture("heat-keys");
	await v.page.locator("#heat").press("Escape");
	await choose(v, "run");
	for (const key of ["ArrowUp", "Enter"])
		await v.page.locator("#heat").press(key);
	await v.settle();
	ok(/: 20\.000\u202fms$/.test(await v.text("#range")), "so too in the other heatmap", await v.text("#range"));
	await v.page.locator("#heat").press("Escape");
	await v.settle();
}

async function seeFunction(v) {
	await v.page.click("#tab-functions");
	await v.settle();
	await v.page.locator("#function-rows button", {hasText: "steady"}).first().click();
	await v.page.getByRole("button", {name: "Its time in the heatmap"}).click();
	await v.settle();
	is(await v.page.inputValue("#heat-function"), "steady (app.py)", "a function of the table is shown over time");
	ok((await tip(v, 20, 0)).startsWith("app (100)\n") && /what=function/.test(v.page.url()) && /function=steady/.test(v.page.url()), "by the threads in which it runs", v.page.url());
	await v.page.fill("#heat-function", "rare");
	await v.page.locator("#heat-function").press("Enter");
	await v.settle();
	const there = [];
	for (let second = 0.5; second < SECONDS; second++)
		if (await shade(v, second + 0.02, 0) > 0)
			there.push(Math.floor(second));
	is(there.join(), "33", "another by its name, where it is", await v.text("#heat-note"));
	await v.picture("heat-function");
	await v.page.fill("#heat-function", "nowhere");
	await v.page.locator("#heat-function").press("Enter");
	await v.settle();
	is(await v.text("#heat-note"), "no function has this in its name", "what is not there is said");
	await v.page.click("#tab-flame");
	await v.page.goto(v.address + "#focus=" + await frameOf(v, "burst") + "&what=run");
	await v.page.reload();
	await v.settle();
	await choose(v, "function");
	is(await v.page.inputValue("#heat-function"), "burst (app.py)", "the function whose flame graph is shown alone is the first choice");
	await v.page.goto(v.address + "#");
	await v.page.reload();
	await v.settle();
}

// What a frame is called in the data: a letter for its kind, and its name.
async function frameOf(v, name) {
	const names = await v.page.frameLocator("#flame").locator("metadata.names").first().textContent();
	return encodeURIComponent(names.split("\n").find(text => text.slice(1).startsWith(name)));
}

async function seeThreads(v) {
	await choose(v, "threads-cpu");
	const box = await v.page.locator("#heat").boundingBox();
	await v.page.mouse.click(box.x + 60, box.y + 10);
	await v.settle();
	const chosen = await v.text("#filters");
	ok(/thread thread\d/.test(chosen) && /thread=10\d/.test(v.page.url()), "a click on a thread's name chooses the thread", chosen);
	await v.picture("heat-threads");
	await v.page.locator("#heat").press("Escape");
	await choose(v, "reasons");
	ok(/the darkest/.test(await v.text("#heat-note")), "reasons have rows", await v.text("#heat-note"));
	await v.picture("heat-reasons");
}

// Samples of instructions of one window, from a tenth of the recording to nine tenths.
async function seeStalls(v) {
	await choose(v, "stalls");
	const box = await v.page.locator("#heat").boundingBox(), shadeAt = async x => (await v.pixel("heat", x, 5 / box.height))[3];
	await v.page.mouse.move(box.x + box.width / 2, box.y + 5);
	await v.page.waitForTimeout(100);
	const text = await v.page.locator("#tip").textContent();
	ok(/^waiting for a global or local memory load\n\d+ samples? in /.test(text), "reasons of stalls have rows, of samples", text);
	ok(await shadeAt(0.6) > 0 && await shadeAt(0.3) === 0 && await shadeAt(0.99) === 0, "they are where their window is");
	await v.picture("heat-stalls");
}

async function main() {
	const browser = await launch(), v = new Viewer(xpuprof, folder);
	await v.serve(burst);
	await v.open(browser);
	await seeStreams(v);
	await dragRange(v);
	await useKeys(v);
	await seeFunction(v);
	ok(!v.errors.length && !v.foreign.length, "nothing goes wrong, and nothing else is asked", ...v.errors, ...v.foreign);
	await v.page.close();
	await v.open(browser, "dark", "#what=streams");
	ok(await shade(v, 14.35, 0) > 0, "an address shows what it says");
	await v.picture("heat-dark");
	await v.page.close();
	await v.end();
	await v.serve(random);
	await v.open(browser);
	await seeThreads(v);
	await v.end();
	await v.serve(stalls);
	await v.open(browser);
	await seeStalls(v);
	ok(!v.errors.length, "nothing goes wrong", ...v.errors);
	await v.end();
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
