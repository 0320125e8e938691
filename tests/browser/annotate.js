// SPDX-License-Identifier: MIT
// The page of `xpuprof annotate` in a headless browser, used as a person would use it.
//
//	node annotate.js PAGE.html HOSTILE.html FOLDER     (leaves pictures of what it saw in FOLDER)
"use strict";

const fs = require("fs"), path = require("path");
const {is, ok, done, launch} = require("./tap.js");

const [page_file, hostile_file, folder] = process.argv.slice(2).map(file => path.resolve(file));

async function open(browser, file, options = {}) {
	const context = await browser.newContext({viewport: {width: 1400, height: 800}, ...options});
	const page = await context.newPage();
	page.errors = [];
	page.requests = [];
	page.on("pageerror", error => page.errors.push(error.message));
	page.on("console", message => page.errors.push(message.text()));
	page.on("request", request => page.requests.push(request.url()));
	await page.goto("file://" + file);
	return page;
}

async function shoot(page, name) {
	const file = path.join(folder, name + ".png");
	await page.screenshot({path: file});
	return fs.statSync(file).size;
}

// What is marked, as offsets of instructions and numbers of lines: "5 | 0010 0020".
async function marked(page, name) {
	const texts = selector => page.locator(selector + ` tr.${name} .l`).allInnerTexts();
	return (await texts("#source")).join(" ") + " | " + (await texts("#sass")).join(" ");
}

function row(page, text) {
	return page.locator("tr[id]", {hasText: text}).first();
}

async function looking(page) {
	is(await page.title(), "void matmul<16>(float const*, float const*, float*, int)", "the page is of the kernel");
	is(await page.locator("#source table").first().locator("tr[id]").count(), 6, "lines with code are rows");
	is(await row(page, "LDG.E R2").locator(".n").innerText(), "50.6\u00a0%", "instructions have their shares");
	is(await row(page, "LDG.E R2").locator(".bar").getAttribute("title"),
		"95.2\u00a0% waiting for a global or local memory load (long_scoreboard)\n4.8\u00a0% issuing the instruction (selected)",
		"and a bar says why");
	const widths = await row(page, "LDG.E R2").locator(".bar i").evaluateAll(stripes =>
		stripes.map(stripe => Math.round(stripe.getBoundingClientRect().width / 74 * 100)));
	is(widths.join(" "), "95 5", "in stripes as wide as the reasons are frequent");
	is(await row(page, "float left = load_tile").locator(".c").innerText(), "60.2\u00a0%",
		"a line with a call has the share of what was inlined there");
	const heat = text => row(page, text).locator(".n").evaluate(cell => getComputedStyle(cell).backgroundColor);
	const alpha = colour => parseFloat(colour.match(/([\d.]+)\)$/)[1]);
	ok(alpha(await heat("LDG.E R2")) > alpha(await heat("FMUL")), "hot rows are coloured more strongly");
	ok(await shoot(page, "annotate") > 10000, "and there is something to see");
}

async function linking(page) {
	await row(page, "float value").hover();
	is(await marked(page, "near"), "5 | 0010 0020", "the pointer on a line shows its instructions");
	await row(page, "FMUL").hover();
	is(await marked(page, "near"), "6 15 3 | 0030", "on an instruction its line, and the calls it was inlined at");
	await row(page, "float right = load_tile").click();
	is(await marked(page, "on"), "16 | 0020", "a click on a line with a call marks what was inlined there");
	is(new URL(page.url()).hash, "#L4", "and the address says so");
	await row(page, "BAR.SYNC").click();
	is(await marked(page, "on"), "17 | 0040 0050", "a click on an instruction marks its line and the others of it");
	await shoot(page, "annotate-marked");
	await page.locator(".hottest a").first().click();
	is(await marked(page, "on"), "5 | 0010 0020", "links to the hottest lines do the same");
	await page.keyboard.press("Escape");
	is(await marked(page, "on"), " | ", "Escape takes the marks away");
}

async function typing(page) {
	await page.locator("table.sass").focus();
	for (const key of ["ArrowDown", "ArrowDown", "Enter"])
		await page.keyboard.press(key);
	is(await marked(page, "on"), "5 15 | 0010 0020", "Down and Enter mark as a click does");
	await page.keyboard.press("n");
	is(await marked(page, "at"), " | 0020", "n goes to the next hottest instruction");
	await page.keyboard.press("p");
	is(await marked(page, "at"), " | 0010", "p back");
	await page.keyboard.press("End");
	is(await marked(page, "at"), " | 0060", "End to the last");
	await page.locator("table.lines").first().focus();
	await page.keyboard.press("Home");
	is(await marked(page, "at"), "5 | ", "Home to the first line in the other table");
	await page.keyboard.press("Escape");
}

async function returning(browser) {
	const page = await open(browser, page_file + "#L0");
	is(await marked(page, "on"), "5 | 0010 0020", "an address with a row shows it marked");
	is(page.errors.join("\n"), "", "without errors");
}

async function withoutScript(browser) {
	const page = await open(browser, page_file, {javaScriptEnabled: false});
	is(await page.locator("tr[id]").count(), 15, "without scripts both tables are there");
	await page.locator("#sass a", {hasText: "kernel.cu:17"}).first().click();
	ok(page.url().endsWith("#L5"), "and their links lead from instruction to line");
	ok(await shoot(page, "annotate-plain") > 10000, "and are shown");
}

async function dark(browser) {
	const page = await open(browser, page_file, {colorScheme: "dark"});
	const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	is(colour, "rgb(22, 24, 28)", "dark where that is preferred");
	await shoot(page, "annotate-dark");
}

async function narrow(browser) {
	const page = await open(browser, page_file, {viewport: {width: 500, height: 800}});
	const boxes = await page.locator("section").evaluateAll(all => all.map(one => one.getBoundingClientRect().top));
	ok(boxes[1] > boxes[0], "on narrow screens instructions stand below the source");
}

async function hostile(browser) {
	const page = await open(browser, hostile_file);
	await page.locator("tr[id]").first().click();
	ok(!(await page.title()).startsWith("taken"), "names of all kinds stay text");
	is(await page.locator("img, body script ~ script").count(), 0, "and become no elements");
	is(page.errors.join("\n"), "", "without errors");
	is(page.requests.filter(url => !url.startsWith("file://")).length, 0, "and nothing is asked for");
}

(async () => {
	const browser = await launch();
	const page = await open(browser, page_file);
	await looking(page);
	await linking(page);
	await typing(page);
	is(page.errors.join("\n"), "", "nothing went wrong in the page");
	is(page.requests.length, 1, "and it asked for nothing but itself");
	await returning(browser);
	await withoutScript(browser);
	await dark(browser);
	await narrow(browser);
	await hostile(browser);
	await browser.close();
	done();
})().catch(error => {
	console.log("not ok 0 - " + String(error.message).replace(/\n/g, "\n# "));
	process.exit(1);
});
