// SPDX-License-Identifier: MIT
// The page of `xpuprof view` in a headless browser, used as a person would use it.
//
//	node view.js XPUPROF FOLDER BURST.xpu HOSTILE.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const {is, ok, done, launch} = require("./tap.js"), {Viewer, NAMES_PX} = require("./viewer.js");

const [xpuprof, folder, burst, hostile] = process.argv.slice(2);
const HEAT_ROWS = 50;

const COLUMNS = 70;
// A cell of the heatmap as a place in it.
const cell = (column, row) => [(column + 0.5) / COLUMNS, 1 - (row + 0.5) / HEAT_ROWS];

async function seeBursts(v) {
	await v.page.selectOption("#what", "work");
	await v.settle();
	ok((await v.text("#heat-note")).includes("1\u202fs, a cell 20\u202fms"), "a column of the heatmap is a second", await v.text("#heat-note"));
	const wrong = [];
	for (let column = 0; column < COLUMNS; column++)
		for (const row of [5, 14, 15, 17, 19, 20, 25, 40]) {
			const expected = (column % 7 === 0 && row >= 15 && row < 20) || (column === 33 && row === 25);
			if (await v.heatCell(COLUMNS, column, row) !== expected)
				wrong.push(`column ${column}, row ${row}: ${expected ? "nothing" : "something"} is there`);
		}
	ok(!wrong.length, "the heatmap shows each burst at its place, and the one short kernel", ...wrong.slice(0, 5));
	await v.picture("view-heat");
}

async function chooseBurst(v) {
	await v.drag("#heat", cell(14, 15), cell(14, 19));
	is(await v.text("#range"), "14.300\u202fs to 14.400\u202fs: 100.000\u202fms", "dragging over a burst selects its time");
	const facts = await v.flame(".facts");
	ok(facts.includes("GPU time 100") && facts.includes("range 14.3 s to 14.4 s of 70 s"), "the flame graph is of that range", facts);
	const names = await v.page.frameLocator("#flame").locator("metadata.names").first().textContent();
	ok(names.includes("burst") && names.includes("often") && !names.includes("seldom"), "it has the burst's function and kernel, and no other", names);
	await v.picture("view-burst");
	await v.page.click("#tab-report");
	await v.settle();
	const report = await v.text("#report");
	ok(/GPU time\s+100 ms in 10 pieces/.test(report), "so has the report", report.slice(0, 500));
	await v.page.click("#tab-flame");
}

// Bursts are alike, and the stretch around the one short kernel is not.
async function compareBursts(v) {
	await v.drag("#heat", cell(14, 15), cell(14, 19));
	await v.page.click("#compare");
	await v.settle();
	ok((await v.text("#range")).includes("now select the range to compare"), "one range is kept, and another one asked for", await v.text("#range"));
	await v.drag("#heat", cell(21, 15), cell(21, 19));
	const remarks = () => v.page.frameLocator("#flame").locator("metadata.info").first().textContent();
	const alike = await remarks();
	ok(alike.includes("no difference is more than the noise") && alike.includes("second: 21.3 s to 21.4 s"), "two bursts are alike", alike);
	await v.drag("#heat", cell(33, 0), cell(33, 49));
	const facts = await v.flame(".facts"), info = await remarks();
	ok(facts.includes("first 200 ms in 100 ms") && facts.includes("second 1.00 s in 1.00 s"), "the flame graph compares two ranges", facts);
	ok(info.includes("14.3 s to 14.4 s") && info.includes("33 s to 34 s") && info.includes("10 times as long"), "by the elapsed time", info);
	await v.picture("view-compare");
	await v.page.click("#tab-report");
	await v.settle();
	const report = await v.text("#report");
	ok(/burst/.test(report) && /std err/.test(report), "the report says which functions differ", report.slice(0, 500));
	ok(/base=14300000000-14400000000/.test(v.page.url()), "and the address says with what", v.page.url());
	await v.page.click("#compare");
	await v.settle();
	ok(!/base=/.test(v.page.url()) && /GPU time/.test(await v.text("#report")), "a click ends it", v.page.url());
	await v.page.click("#tab-flame");
	await v.page.locator("#heat").press("Escape");
	await v.settle();
}

// Ten kernels of 10 ms follow each other, ten times, 7 s apart.
async function seeDurations(v) {
	await v.page.click("#tab-repeats");
	await v.settle();
	const note = await v.text("#repeat-note");
	ok(note.startsWith("100 \u00b7 10.000\u202fms to 10.000\u202fms"), "launches of the kernel with the most time are counted by length", note);
	await v.page.selectOption("#repeat-of", "periods");
	await v.page.fill("#repeat-least", "1 s");
	await v.page.locator("#repeat-least").press("Enter");
	await v.settle();
	ok((await v.text("#repeat-found")).startsWith("9 of at least 1.000"), "nine times the next launch comes more than a second later", await v.text("#repeat-found"));
	await v.picture("view-durations");
	await v.page.locator("#repeat-rows button").nth(2).click();
	await v.settle();
	ok(/^14\.390\u202fs to 21\.300\u202fs/.test(await v.text("#range")), "a click on one of the table selects its time", await v.text("#range"));
	is(await v.page.locator("#repeat-rows tr").count(), 9, "and the table stays");
	await v.page.locator("#heat").press("Escape");
	await v.page.click("#tab-flame");
	await v.settle();
}

async function goBack(v) {
	const address = v.page.url();
	await v.page.click("#back");
	await v.settle();
	is(await v.text("#range"), "the whole recording", "Back shows what was selected before");
	await v.page.goForward();
	await v.settle();
	ok(v.page.url() === address && (await v.text("#range")).startsWith("14.300"), "and forward goes there again", v.page.url());
	await v.page.locator("#heat").press("Escape");
	await v.settle();
	is(await v.text("#range"), "the whole recording", "Escape selects everything");
}

// Rows of the axis: a group, the stream, a group, the thread.
async function useAxis(v) {
	await v.page.locator("#lanes").press("0");
	await v.settle();
	const box = await v.page.locator("#lanes").boundingBox(), width = box.width - NAMES_PX;
	const xOf = second => (NAMES_PX + second / 70 * width) / box.width;
	const y = (20 + 8) / box.height;
	const drawn = async second => {
		const [r, g, b] = await v.pixel("boxes", xOf(second) + 1 / box.width, (20 + 13) / box.height);
		return g > r + 30 && g > b;
	};
	ok(await drawn(14.3) && await drawn(33.5) && !await drawn(36), "the axis shows bursts, and the kernel of a microsecond, where they are");
	await v.page.mouse.move(box.x + xOf(33.5) * box.width + 1, box.y + 28);
	await v.settle();
	ok((await v.text("#tip")).includes("1 begin in this pixel"), "under the pointer is how many there are", await v.text("#tip"));
	for (let n = 0; n < 8; n++)
		await v.page.locator("#lanes").press("w");
	await v.settle();
	ok(/axis=\d+-\d+/.test(v.page.url()), "w zooms, and the address says so", v.page.url());
	await v.drag("#lanes", [xOf(20), y], [xOf(50), y]);
	const range = await v.text("#range");
	ok(/^3\d\.\d+\u202fs to 3\d\.\d+\u202fs: 1\.7\d\d\u202fs$/.test(range), "dragging on the axis selects a part of what it shows", range);
	await v.picture("view-axis");
}

async function openAgain(v, browser) {
	await v.page.close();
	await v.open(browser, "dark", "#view=gpu&what=work&axis=14000000000-15000000000&range=14310000000-14320000000");
	is(await v.text("#range"), "14.310\u202fs to 14.320\u202fs: 10.000\u202fms", "an address shows what it says");
	const box = await v.page.locator("#lanes").boundingBox();
	await v.page.mouse.click(box.x + NAMES_PX + (box.width - NAMES_PX) * 0.355, box.y + 28);
	await v.settle();
	is(await v.text("#range"), "14.350\u202fs to 14.360\u202fs: 10.000\u202fms", "a click on a kernel selects its time");
	is(await v.text("#links"), "its call was not recorded", "and its call is looked for");
	await v.picture("view-dark");
	await seePaper(v);
	await v.page.goto(v.address + "#view=none&axis=5-1&range=x&what=%3Cb%3E");
	await v.page.reload();
	await v.settle();
	ok(await v.text("#range") === "the whole recording" && !v.errors.length, "an address that makes no sense shows everything", ...v.errors);
}

// Notes what there is to print, when it is printed, and says what there is now.
function lookAtPaper() {
	const look = () => {
		const inside = document.getElementById("flame").contentDocument, {scrollHeight, clientHeight} = inside.querySelector(".scroll"), canvas = inside.querySelector("canvas");
		const [red, green, blue, alpha] = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height - 8, 1, 1).data;
		return {beyond: scrollHeight - clientHeight, bright: alpha > 0 && red + green + blue > 600, ground: getComputedStyle(document.body).backgroundColor};
	};
	document.getElementById("flame").contentWindow.addEventListener("beforeprint", () => { window.printed_ = look(); });
	return look();
}

// What comes onto paper is light and all of the flame graph, also of a window that is dark and low.
async function seePaper(v) {
	await v.page.setViewportSize({width: 1300, height: 420});
	await v.settle();
	const before = await v.page.evaluate(lookAtPaper);
	await v.page.pdf();
	const printed = await v.page.evaluate(() => window.printed_);
	ok(before.beyond > 0 && !before.bright && printed?.beyond === 0 && printed.bright && printed.ground === "rgb(255, 255, 255)",
		"what is printed is light and whole", JSON.stringify(before), JSON.stringify(printed));
	await v.settle();
	is(JSON.stringify(await v.page.evaluate(lookAtPaper)), JSON.stringify(before), "and the window is as it was before");
	await v.page.setViewportSize({width: 1300, height: 900});
	await v.settle();
}

async function main() {
	const browser = await launch(), v = new Viewer(xpuprof, folder);
	await v.serve(burst);
	await v.open(browser);
	is(await v.text("#title"), "app", "the page is headed with the program");
	await seeBursts(v);
	await chooseBurst(v);
	await goBack(v);
	await compareBursts(v);
	await seeDurations(v);
	await useAxis(v);
	ok(!v.errors.length && !v.foreign.length, "nothing goes wrong, and nothing else is asked", ...v.errors, ...v.foreign);
	await openAgain(v, browser);
	is(await v.end(), 0, "Ctrl-C ends it");
	await v.page.keyboard.press("0");
	await v.page.keyboard.press("w");
	await v.settle();
	ok((await v.text("#error")).includes("ended"), "then the page says so", await v.text("#error"));
	await v.page.close();
	await v.serve(hostile);
	await v.open(browser);
	const alive = await v.page.evaluate(() => document.querySelectorAll("header img, header b, pre *").length);
	ok(!alive && !v.errors.length && !v.foreign.length, "names are text, whatever is in them", ...v.errors);
	await v.picture("view-hostile");
	await v.end();
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
