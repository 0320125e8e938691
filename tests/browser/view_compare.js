// SPDX-License-Identifier: MIT
// Two recordings in the page of `xpuprof view`, and iterations that take long beside the others.
//
//	node view_compare.js XPUPROF FOLDER FIRST.xpu SECOND.xpu STEPS.xpu     (of tests/helpers/diff_profile; leaves pictures in FOLDER)
"use strict";

const {is, ok, done, launch} = require("./tap.js"), {Viewer} = require("./viewer.js");

const [xpuprof, folder, first, second, steps] = process.argv.slice(2);

const info = async v => JSON.parse(await v.page.frameLocator("#flame").locator("metadata.info").first().textContent());
const names = v => v.page.frameLocator("#flame").locator("metadata.names").first().textContent();

async function seePair(v) {
	is(await v.text("#range"), "the whole recording, compared with first.xpu \u2013 red: more of the time, blue: less", "the second recording is compared with the first");
	const {title, facts} = await info(v);
	ok(title === "first.xpu, and then second.xpu" && facts[1][1].endsWith("in 10.0 s"), "as flame --diff does", title, facts);
	is(await v.page.locator("#file").inputValue(), "2", "and it is the one that the axis shows");
	await v.picture("view-pair");
	await v.page.click("#compare");
	await v.settle();
	ok(await v.text("#range") === "the whole recording" && !(await names(v)).includes("function11"), "a click ends it: the flame graph is of the second alone", await v.text("#range"));
	await v.page.click("#back");
	await v.settle();
	ok((await v.text("#range")).includes("compared with first.xpu"), "and Back undoes that", await v.text("#range"));
}

// A range of each.
async function seeRanges(v) {
	await v.page.selectOption("#file", "1");
	await v.settle();
	ok((await v.text("#range")).includes("now select the range to compare with it, or the other recording"), "the first alone is nothing to compare", await v.text("#range"));
	ok((await names(v)).includes("function11") && !(await names(v)).includes("function12"), "its flame graph is the first's", await names(v));
	await v.page.click("#compare");
	await v.drag("#heat", [0.205, 0.5], [0.305, 0.5]);
	await v.page.click("#compare");
	await v.settle();
	const base = /base=1%3A(\d+-\d+)/.exec(v.page.url());
	await v.picture("view-pair-base");
	await v.page.selectOption("#file", "2");
	await v.settle();
	ok(base && (await v.text("#range")).startsWith("the whole recording, compared with first.xpu, "), "a range of the first is compared with the second", await v.text("#range"), v.page.url());
	await v.drag("#heat", [0.605, 0.5], [0.805, 0.5]);
	const {remarks} = await info(v);
	ok(remarks.some(text => text.startsWith("first: ")) && remarks.some(text => text.startsWith("second: ")), "and with a range of it", remarks);
	const address = v.page.url(), range = await v.text("#range");
	await v.page.click("#tab-report");
	await v.settle();
	ok(/first +first\.xpu/.test(await v.text("#report")) && /std err/.test(await v.text("#report")), "the report has both names", (await v.text("#report")).slice(0, 400));
	await v.page.selectOption("#file", "1");
	await v.settle();
	await v.page.selectOption("#file", "2");
	await v.settle();
	is(await v.text("#range"), range, "each recording is shown again as it was left");
	await v.page.goto(address);
	await v.page.reload();
	await v.settle();
	is(await v.text("#range"), range, "the address says all of it");
}

// By the keyboard, and with the names that a screen reader says.
async function useKeys(v) {
	await v.page.getByRole("combobox", {name: /^Recording/}).focus();
	await v.page.keyboard.press("ArrowUp");
	await v.settle();
	is(await v.page.locator("#file").inputValue(), "1", "the list of recordings has a name, and a key shows the other one");
	ok(/file=1/.test(v.page.url()), "which is in the address", v.page.url());
	is(await v.page.getByRole("button", {name: "End comparison"}).getAttribute("aria-pressed"), "true", "the button says that something is compared");
}

// Every seventh step takes 100 ms longer, in function12.
async function seeSteps(v) {
	await v.page.click("#tab-repeats");
	await v.page.selectOption("#repeat-of", "markers");
	await v.settle();
	ok(await v.page.locator("#repeat-compared").isDisabled(), "of all steps there are no others");
	await v.page.fill("#repeat-least", "100 ms");
	await v.page.locator("#repeat-least").press("Enter");
	await v.settle();
	ok((await v.text("#repeat-found")).startsWith("22 of at least 100.000"), "some steps take long", await v.text("#repeat-found"));
	await v.picture("view-steps-table");
	await v.page.getByRole("button", {name: "Compare with the others"}).click();
	await v.settle();
	const {remarks, facts} = await info(v);
	ok(remarks.some(text => /^first: .* 132 other markers 'step'/.test(text)) && remarks.some(text => /^second: .* 22 markers 'step' of at least 100 ms/.test(text)),
		"they are compared with the others", remarks);
	ok(facts.some(fact => fact[0] === "compared by" && fact[1] === "elapsed time") && (await v.text("#range")).includes("each side by its own time"), "and it is said by what", facts);
	ok(/these=compared/.test(v.page.url()), "the address says so", v.page.url());
	await v.picture("view-steps");
	await v.page.reload();
	await v.settle();
	ok((await v.text("#range")).startsWith("markers step of at least 100.000"), "and shows it again", await v.text("#range"));
	await v.page.getByRole("button", {name: "Undo: compared with the others"}).click();
	await v.settle();
	ok(await v.text("#range") === "the whole recording" && !/these=/.test(v.page.url()), "it can be undone", await v.text("#range"), v.page.url());
	await v.page.click("#tab-repeats");
	await v.settle();
	await v.page.locator("#repeat-rows button").first().click();
	await v.settle();
	await v.page.click("#repeat-only");
	await v.settle();
	ok((await v.text("#range")).endsWith("in the whole recording") && (await info(v)).facts.some(fact => fact[0] === "range" && fact[1].startsWith("3.301 s of")), "a flame graph of those alone is of all that are listed",
		await v.text("#range"), (await info(v)).facts);
	await v.page.click("#tab-functions");
	await v.settle();
	const rows = await v.text("#function-rows");
	ok(/function12/.test(rows), "so are the functions", rows);
}

async function main() {
	const browser = await launch(), v = new Viewer(xpuprof, folder);
	await v.serve(first, second);
	await v.open(browser);
	await seePair(v);
	await seeRanges(v);
	await useKeys(v);
	ok(!v.errors.length && !v.foreign.length, "nothing goes wrong, and nothing else is asked", ...v.errors, ...v.foreign);
	await v.page.close();
	await v.open(browser, "dark");
	await v.picture("view-pair-dark");
	await v.page.close();
	await v.end();
	await v.serve(steps);
	await v.open(browser);
	await seeSteps(v);
	ok(!v.errors.length, "nothing goes wrong there", ...v.errors);
	await v.end();
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
