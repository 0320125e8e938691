// SPDX-License-Identifier: MIT
// What becomes of the page's lists and pictures when answers come late, or not at all.
//
//	node view_lists.js XPUPROF FOLDER RECORDING.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const path = require("path"), {spawn} = require("child_process");
const {is, ok, done, launch} = require("./tap.js");

const [xpuprof, folder, recording] = process.argv.slice(2);
const server = spawn(xpuprof, ["view", "--no-browser", recording], {stdio: ["ignore", "pipe", "inherit"]});
process.once("exit", () => server.kill());

async function settle(page) {
	await page.waitForTimeout(500);
	await page.locator("body:not([aria-busy=true])").waitFor();
	await page.waitForTimeout(200);
}

// Trees that are asked for from now on wait until the returned function is called.
async function holdTrees(page) {
	let go = () => {};
	const held = new Promise(resolve => { go = resolve; });
	await page.route("**/flame.svg*", async route => {
		await held;
		await route.continue();
	});
	return async () => {
		go();
		await settle(page);
		await page.unroute("**/flame.svg*");
	};
}

const asked = page => page.locator("body[aria-busy=true]").waitFor();
const middle = ({x, y, width, height}) => [x + width / 2, y + height / 2];

async function selectRange(page, from, to) {
	await page.evaluate(([from, to]) => { location.hash = location.hash.replace(/&range=[^&]*/, "") + `&range=${from}-${to}`; }, [from, to]);
}

// The answer comes between the press and the release.
async function pressWhileItComes(page) {
	const go = await holdTrees(page), button = page.locator("#function-rows button").nth(1), name = await button.innerText();
	const times = () => page.locator("#function-rows").innerText(), before = await times();
	await selectRange(page, 100000000, 150000000);
	await asked(page);
	await page.mouse.move(...middle(await button.boundingBox()));
	await page.mouse.down();
	await go();
	is(await times(), before, "while a function is pressed its row stays");
	await page.mouse.up();
	await settle(page);
	is(await page.locator("#function-about h2").innerText(), name, "the click is not lost");
	ok(await times() !== before, "then what came is listed");
	await page.screenshot({path: path.join(folder, "lists-pressed.png")});
}

async function keepFocus(page) {
	const button = page.locator("#function-rows button").nth(2), name = await button.innerText(), before = await page.locator("#function-rows").innerText();
	await button.focus();
	await selectRange(page, 100000000, 400000000);
	await settle(page);
	ok(await page.locator("#function-rows").innerText() !== before, "other times are listed");
	is(await page.evaluate(() => document.activeElement?.textContent), name, "what has the keyboard's focus keeps it");
	await page.keyboard.press("Space");
	await settle(page);
	is(await page.locator("#function-about h2").innerText(), name, "and the space bar clicks it");
}

// A tree that did not come is no picture of nothing, and is asked for again.
async function lackATree(page) {
	await page.click("#tab-flame");
	await settle(page);
	await page.route("**/flame.svg*", route => route.fulfill({status: 500, contentType: "text/plain", body: "there is no memory for it"}));
	await page.check("#once");
	await selectRange(page, 200000000, 300000000);
	await settle(page);
	is(await page.locator("#error").innerText(), "there is no memory for it", "what the server says is shown");
	const picture = page.frameLocator("#flame");
	is(await picture.getByText("There is nothing of this view here").count(), 0, "and not that there is nothing");
	await page.unroute("**/flame.svg*");
	await page.click("#tab-functions");
	await page.click("#tab-flame");
	await settle(page);
	const facts = await picture.locator(".facts").innerText();
	ok(facts.includes("range 0.2 s to 0.3 s"), "when it can be got, the picture is drawn", facts);
	is(await page.locator("#error").innerText(), "", "and no error is shown any more");
	await page.screenshot({path: path.join(folder, "lists-flame.png")});
}

async function main() {
	const address = await new Promise(found => server.stdout.once("data", text => found(String(text).split("\n")[0])));
	const browser = await launch(), page = await browser.newPage({viewport: {width: 1300, height: 900}}), errors = [];
	page.setDefaultTimeout(60000);
	page.on("pageerror", error => errors.push(error.message));
	await page.goto(address + "#view=merge&pane=functions&range=100000000-400000000");
	await settle(page);
	await pressWhileItComes(page);
	await keepFocus(page);
	await lackATree(page);
	is(errors.join("\n"), "", "nothing goes wrong");
	await browser.close();
	server.kill("SIGINT");
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
