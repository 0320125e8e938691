// SPDX-License-Identifier: MIT
// A comparison of two recordings in a headless browser.
//
//	node diff.js XPUPROF FOLDER FIRST.xpu SECOND.xpu     (of tests/helpers/diff_profile, the second with 5 points more)
"use strict";

const path = require("path"), {execFileSync} = require("child_process");
const {is, ok, done, launch} = require("./tap.js");

const [xpuprof, folder, first, second] = process.argv.slice(2);
const RED = [0xf7, 0xb7, 0x99], PALE = [0xe8, 0xe6, 0xe1];

// The colour of the canvas at a place of the window.
// When what was asked for is drawn.
function colourAt(page, x, y) {
	return page.evaluate(async ([x, y]) => {
		await new Promise(then => requestAnimationFrame(() => requestAnimationFrame(then)));
		const canvas = document.querySelector("canvas"), bounds = canvas.getBoundingClientRect();
		const scale = canvas.width / bounds.width;
		return Array.from(canvas.getContext("2d").getImageData((x - bounds.left) * scale, (y - bounds.top) * scale, 1, 1).data).slice(0, 3);
	}, [x, y]);
}

async function found(page, text) {
	await page.fill("input", text);
	return (await page.locator(".found").innerText()).replace(/[\u202f\s]+/g, " ");
}

const near = (a, b) => a.every((value, n) => Math.abs(value - b[n]) < 24); // neighbours differ a little

async function main() {
	const browser = await launch(), page = await browser.newPage({viewport: {width: 1200, height: 500}});
	const errors = [], svg = path.join(folder, "diff.svg");
	page.on("pageerror", error => errors.push(error.message));
	execFileSync(xpuprof, ["flame", "--diff", "--view", "cpu", "-o", svg, first, second]);
	await page.goto("file://" + svg);
	await page.waitForSelector("canvas");
	ok(/^1 frame: first 1[.\d ]* s \(1\d\.\d\d %\) \u00b7 second [12][.\d ]* s \((19|20|21)\.\d\d %\)$/.test(await found(page, "function3")),
		"a frame has the time of both sides, and its share of each", await found(page, "function3"));
	ok(/^1 frame: first 0 ns \(0 %\) \u00b7 second /.test(await found(page, "function12")), "and what it does not have on one side",
		await found(page, "function12"));
	await page.fill("input", "");
	const legend = await page.locator(".legend").innerText();
	ok(legend.includes("only in the second") && legend.includes("within the noise") && !legend.includes("twice"),
		"the legend says what the colours mean that there are", legend);
	const bounds = await page.locator("canvas").boundingBox(), row = 19;
	const y = depth => bounds.y + bounds.height - depth * row - row / 2;
	ok(near(await colourAt(page, 430, y(3) + 6), RED), "what grew is red", await colourAt(page, 430, y(3) + 6));
	ok(near(await colourAt(page, 600, y(1) + 6), PALE), "what did not is pale", await colourAt(page, 600, y(1) + 6));
	await page.mouse.move(430, y(3));
	await page.waitForSelector(".tip:not([hidden])");
	ok(/function3.*first.*second/s.test(await page.locator(".tip").innerText()), "the pointer shows both sides", await page.locator(".tip").innerText());
	await page.screenshot({path: path.join(folder, "diff.png")});
	is(errors.join("; "), "", "without an error of the script");
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack);
	process.exit(1);
});
