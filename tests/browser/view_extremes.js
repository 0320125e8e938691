// SPDX-License-Identifier: MIT
// The page of `xpuprof view` on recordings that are extreme in one way (tests/helpers/extreme_profile.c): it draws, it answers, and what is
// on it stays within what a screen can show.
//
//	node view_extremes.js XPUPROF FOLDER NAMES.xpu THREADS.xpu PAUSE.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const fs = require("fs"), path = require("path"), {execFileSync} = require("child_process"), {pathToFileURL} = require("url");
const {is, ok, done, launch} = require("./tap.js"), {Viewer} = require("./viewer.js");

const [xpuprof, folder, names, threads, pause] = process.argv.slice(2);
const WIDTH = 1300;

class Extreme extends Viewer {
	constructor() {
		super(xpuprof, folder);
	}

	async show(browser, file) {
		await this.serve(file);
		await this.open(browser);
	}

	// How many dots of a canvas have a colour.
	dots(canvas) {
		return this.page.evaluate(id => {
			const c = document.getElementById(id), all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			return all.filter((value, at) => at % 4 === 3 && value).length;
		}, canvas);
	}

	// How far anything of the page reaches to the right.
	reach() {
		return this.page.evaluate(() => document.documentElement.scrollWidth);
	}

	// The height of the highest of these; 0: there are none.
	tallest(selector) {
		return this.page.evaluate(of => Math.max(0, ...[...document.querySelectorAll(of)].map(e => e.getBoundingClientRect().height)), selector);
	}

	elements() {
		return this.page.evaluate(() => document.getElementsByTagName("*").length);
	}

	async close() {
		await this.page.close();
		await this.end();
	}
}

async function checkDrawn(p, what) {
	ok(await p.dots("heat") > 0 && await p.dots("boxes") > 0, what + ": the heatmap and the rows are drawn");
	ok(await p.reach() <= WIDTH, what + ": nothing reaches beyond the window", await p.reach());
	await p.page.frameLocator("#flame").locator(".app").waitFor();
	ok(true, what + ": so is the flame graph");
}

async function seeNames(browser) {
	const p = new Extreme();
	await p.show(browser, names);
	await checkDrawn(p, "names of a megabyte");
	for (const tab of ["functions", "report", "calltree"]) {
		await p.page.click("#tab-" + tab);
		await p.settle();
		ok(await p.reach() <= WIDTH, `names of a megabyte: nor does the pane "${tab}"`, await p.reach());
		ok(await p.tallest("#" + tab + " tr") < 120, `names of a megabyte: and its rows are low, "${tab}"`, await p.tallest("#" + tab + " tr"));
	}
	await p.page.hover("#boxes", {position: {x: 192, y: 26}});
	await p.settle();
	ok(await p.tallest("#tip") < 500, "names of a megabyte: nor does a tip fill the window", await p.tallest("#tip"));
	await p.picture("view-long-names");
	is(p.errors.join("\n"), "", "names of a megabyte: nothing went wrong in the page");
	await p.close();
}

// What is not listed is counted, and comes when it is asked for or found.
async function checkListed(p) {
	const said = () => p.text("#list-more");
	is(await said(), "500 of 100,000 streams, 500 of 100,000 threads are listed: list more", "100,000 threads: how many are listed is said");
	const title = await p.page.locator("#list-more").getAttribute("title");
	is(title, "99,500 more streams are not listed: GPU work 99.500\u202fs (99,500)\n99,500 more threads are not listed: CPU samples 99.500\u202fs (99,500), " +
		"waits 199.000\u202fs (99,500), calls 497.500\u202fms (99,500)", "100,000 threads: and what the others are");
	await p.page.click("#list-more");
	await p.settle();
	is(await said(), "1,000 of 100,000 streams, 1,000 of 100,000 threads are listed: list more", "100,000 threads: more are listed when they are asked for");
	await p.page.fill("#seek", "worker 77777");
	await p.page.keyboard.press("Enter");
	await p.settle();
	is(await said(), "1,000 of 100,000 streams, 1,001 of 100,000 threads are listed: list more", "100,000 threads: one is listed when its name is sought");
	is(await p.text("#seek-note"), "a row has such a name", "100,000 threads: which is said");
	ok(await p.page.evaluate(() => document.getElementById("lanes").scrollTop) > 1000, "100,000 threads: and it comes into sight");
	await p.page.evaluate(() => document.getElementById("lanes").scrollTo(0, 1e9));
	await p.settle();
	await p.picture("view-many-threads-end");
	const lanes = await p.page.locator("#boxes").boundingBox();
	await p.page.mouse.click(lanes.x + 60, lanes.y + lanes.height - 10);
	await p.settle();
	is(await said(), "1,000 of 100,000 streams, 1,501 of 100,000 threads are listed: list more", "100,000 threads: and the last row lists more of them");
}

async function seeThreads(browser) {
	const p = new Extreme(), begin = Date.now();
	await p.show(browser, threads);
	console.log(`# 100,000 threads: drawn after ${Date.now() - begin} ms`);
	await checkDrawn(p, "100,000 threads");
	ok(await p.elements() < 20000, "100,000 threads: the page has no element for each", await p.elements());
	await p.page.locator("#boxes").hover({position: {x: 600, y: 60}});
	const before = p.page.url();
	await p.page.mouse.wheel(0, 400);
	await p.settle();
	await p.page.keyboard.press("w");
	await p.settle();
	ok(p.page.url() !== before, "100,000 threads: the wheel and keys still move what is shown", before, p.page.url());
	ok(await p.dots("boxes") > 0, "100,000 threads: and rows are drawn there");
	await checkListed(p);
	await p.picture("view-many-threads");
	is(p.errors.join("\n"), "", "100,000 threads: nothing went wrong in the page");
	await p.close();
}

// As a file: some of the threads, and the sums of all.
async function seeFile(browser) {
	const p = new Extreme(), html = path.resolve("threads.html"), what = "a file of 100,000 threads";
	execFileSync(xpuprof, ["export", "--to", "html", "-o", html, threads]);
	p.page = await browser.newPage({viewport: {width: WIDTH, height: 900}});
	p.errors = [];
	p.page.on("pageerror", error => p.errors.push(error.message));
	await p.page.goto(pathToFileURL(html).href);
	await checkDrawn(p, what);
	is(await p.text("#list-more"), "1,000 of 100,000 streams, 1,000 of 100,000 threads are in this file", what + ": how many are in it is said");
	ok(await p.elements() < 20000, what + ": the page has no element for each", await p.elements());
	await p.page.fill("#seek", "worker 99999");
	await p.page.press("#seek", "Enter");
	await p.page.waitForTimeout(500);
	is(await p.text("#seek-note"), "nothing has such a name", what + ": others are not found");
	await p.picture("view-many-threads-file");
	is(p.errors.join("\n"), "", what + ": nothing went wrong in the page");
	await p.page.close();
}

// A minute in which nothing was: the axis has it, empty; and selected, there is nothing, which is said.
async function seePause(browser) {
	const p = new Extreme();
	await p.show(browser, pause);
	await checkDrawn(p, "a minute of nothing");
	const colours = await p.page.evaluate(() => {
		const c = document.getElementById("heat"), all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const of = (from, to) => {
			let found = 0;
			for (let y = 0; y < c.height; y++)
				for (let x = Math.ceil(from * c.width); x < Math.floor(to * c.width); x++)
					found += all[4 * (y * c.width + x) + 3] > 0 ? 1 : 0;
			return found;
		};
		return [of(0, 4 / 70), of(7 / 70, 63 / 70), of(66 / 70, 1)];
	});
	ok(colours[0] > 0 && colours[1] === 0 && colours[2] > 0, "a minute of nothing: it is empty between what was", colours.join());
	const box = await p.page.locator("#heat").boundingBox();
	await p.page.mouse.move(box.x + 20 / 70 * box.width, box.y + 5);
	await p.page.mouse.down();
	await p.page.mouse.move(box.x + 40 / 70 * box.width, box.y + box.height - 5, {steps: 5});
	await p.page.mouse.up();
	await p.settle();
	ok(/^(19|20)\.\d+\u202fs to (39|40)\.\d+\u202fs/.test(await p.text("#range")), "a minute of nothing: a part of it can be selected", await p.text("#range"));
	const said = await p.page.frameLocator("#flame").locator("body").innerText();
	ok(/There is no time here/.test(said), "a minute of nothing: there the flame graph says so", said.slice(0, 300));
	await p.picture("view-pause");
	is(p.errors.join("\n"), "", "a minute of nothing: nothing went wrong in the page");
	await p.close();
}

// What the page takes: bytes of its script, elements.
async function sizeOf(p) {
	const session = await p.page.context().newCDPSession(p.page);
	await session.send("Performance.enable");
	await session.send("HeapProfiler.collectGarbage");
	const {metrics} = await session.send("Performance.getMetrics"), of = name => metrics.find(metric => metric.name === name).value;
	await session.detach();
	return [of("JSHeapUsedSize"), of("Nodes")];
}

const LOOKS = 200; // which a page takes at a recording that grows, three seconds apart

// A recording that goes on while a tab is open for a day.
async function seeDay(browser) {
	const p = new Extreme(), growing = path.resolve("growing.xpu"), whole = fs.readFileSync(pause), errors = [];
	fs.writeFileSync(growing, whole.subarray(0, whole.length / 2));
	await p.serve(growing);
	p.page = await browser.newPage();
	p.page.on("pageerror", error => errors.push(error.message));
	let asked = 0;
	p.page.on("request", () => { asked++; });
	await p.page.clock.install();
	await p.page.goto(p.address);
	await p.settle();
	const short = await p.text("#facts"), look = async () => {
		await p.page.clock.runFor(3100);
		await new Promise(go => setTimeout(go, 15));
	};
	await look();
	const before = await sizeOf(p);
	asked = 0;
	for (let n = 0; n < LOOKS; n++)
		await look();
	const after = await sizeOf(p);
	ok(asked > LOOKS / 4 && asked <= LOOKS + 1, "a day: a recording that grows is looked at again and again", asked);
	ok(after[0] - before[0] < 1e6 && after[1] - before[1] < 100, "a day: that takes no more and more memory", before, after);
	await p.page.clock.fastForward("24:00:00");
	fs.appendFileSync(growing, whole.subarray(whole.length / 2));
	for (let n = 0; n < 100 && await p.text("#facts") === short; n++)
		await look();
	const facts = await p.text("#facts");
	ok(short.includes("not whole") && /^70\.000.s/.test(facts) && !facts.includes("not whole") && !errors.length, "a day: then it shows what has come", short, facts, ...errors);
	await p.close();
}

async function main() {
	const browser = await launch();
	try {
		await seeNames(browser);
		await seeThreads(browser);
		await seeFile(browser);
		await seePause(browser);
		await seeDay(browser);
	} finally {
		await browser.close();
	}
	done();
}

main().catch(error => {
	ok(false, "the page shows what is extreme", error.stack || error);
	done();
});
