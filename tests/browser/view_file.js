// SPDX-License-Identifier: MIT
// The page of a recording as one file (`xpuprof export --to html`), opened without a server. Its numbers are those of
// `xpuprof flame` and `export --to folded` for the same ranges.
//
//	node view_file.js XPUPROF FOLDER RECORDING.xpu HOSTILE.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const path = require("path"), {execFileSync} = require("child_process"), {pathToFileURL} = require("url");
const {is, ok, done, launch} = require("./tap.js");

const [xpuprof, folder, recording, hostile] = process.argv.slice(2);

class FilePage {
	constructor(file, ...options) {
		this.html = path.resolve(path.basename(file, ".xpu") + ".html");
		execFileSync(xpuprof, ["export", "--to", "html", ...options, "-o", this.html, file], {stdio: ["ignore", "ignore", "inherit"]});
	}

	async open(browser, fragment = "") {
		this.errors = [];
		this.page = await browser.newPage({viewport: {width: 1300, height: 900}});
		this.page.on("pageerror", error => this.errors.push(error.message));
		this.page.on("console", message => message.text().includes("willReadFrequently") || this.errors.push(message.text()));
		this.page.on("request", request => {
			if (!/^(file|blob|data):/.test(request.url()))
				this.errors.push("asked for " + request.url());
		});
		await this.page.addInitScript(() => {
			const create = URL.createObjectURL;
			URL.createObjectURL = blob => create.call(URL, window.latestBlob = blob);
		});
		await this.page.goto(pathToFileURL(this.html) + fragment);
		await this.settle();
	}

	async settle() {
		await this.page.waitForTimeout(500);
	}

	flame(selector) {
		return this.page.frameLocator("#flame").locator(selector);
	}

	async facts() {
		await this.flame(".app").waitFor();
		return JSON.parse(await this.flame("metadata.info").textContent()).facts;
	}
}

// Times of their own of all nodes of the picture that was made last, which its script takes out of the document.
function ownTimes(picture) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", times = [];
	const sampled = JSON.parse(/<metadata[^>]*class="info">([^<]*)</.exec(picture)[1].replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&")).sampled;
	const text = [...picture.matchAll(/<metadata[^>]*class="nodes">([^<]*)</g)].map(match => match[1]).join("");
	let at = 0;
	const number = () => {
		for (let value = 0, scale = 1; ; scale *= 32) {
			const digit = digits.indexOf(text[at++]);
			value += digit % 32 * scale;
			if (digit < 32)
				return value;
		}
	};
	while (at < text.length) {
		const head = number();
		if (head & 2)
			number();
		if (head & 1)
			times.push(number());
		if (head & 1 && sampled)
			number();
	}
	return times;
}

// The times of all stacks of a view.
function expected(view, range, more) {
	const by = /by=([a-z,]+)/.exec(more), options = ["--view", view, ...(by ? ["--by", by[1]] : []), ...(more.includes("reverse") ? ["--reverse"] : []),
		...(range ? ["--from", range[0] + "ns", "--to", range[1] + "ns"] : [])];
	const text = execFileSync(xpuprof, ["export", "--to", "folded", "--unit", "ns", ...options, recording], {encoding: "utf8", stdio: ["ignore", "pipe", "ignore"]});
	return text.split("\n").filter(line => line).map(line => Number(line.slice(line.lastIndexOf(" ") + 1)));
}

const sorted = numbers => numbers.filter(n => n).sort((a, b) => a - b).join(" ");

async function compare(p, view, range, more = "") {
	await p.page.goto(pathToFileURL(p.html) + "#view=" + view + (range ? "&range=" + range.join("-") : "") + more);
	await p.page.reload();
	await p.settle();
	const got = ownTimes(await p.page.evaluate(() => window.latestBlob.text())), wanted = expected(view, range, more);
	ok(wanted.length && sorted(got) === sorted(wanted), `${view} of ${range || "all"}${more}: stacks have the times that xpuprof export has, to the nanosecond`,
		got.reduce((a, b) => a + b, 0), wanted.reduce((a, b) => a + b, 0), got.length, wanted.length);
}

// Of slices, in a second of which each has 500 microseconds.
function someRange() {
	const edges = [Math.floor(Math.random() * 2000), Math.floor(Math.random() * 2000)].sort((a, b) => a - b);
	return [edges[0] * 500000, (edges[1] + 1) * 500000];
}

async function main() {
	const browser = await launch(), p = new FilePage(recording);
	await p.open(browser);
	ok((await p.page.locator("#reading").innerText()).includes("ranges are in steps of"), "it says how fine it is");
	await p.page.screenshot({path: path.join(folder, "file.png")});
	for (const view of ["merge", "gpu", "cpu"])
		for (const range of [null, someRange(), someRange()])
			await compare(p, view, range);
	await compare(p, "merge", someRange(), "&by=process,thread&reverse=1");
	await compare(p, "merge", someRange(), "&by=process,thread");
	await compare(p, "gpu", someRange(), "&by=device,stream&inverted=1");
	await p.page.screenshot({path: path.join(folder, "file-range.png")});
	const heat = await p.page.locator("#heat").boundingBox();
	await p.page.mouse.move(heat.x + heat.width * 0.2, heat.y + 100);
	await p.page.mouse.down();
	await p.page.mouse.move(heat.x + heat.width * 0.4, heat.y + 50, {steps: 4});
	await p.page.mouse.up();
	await p.settle();
	ok(/ to .*: /.test(await p.page.locator("#range").innerText()), "dragging selects a range", await p.page.locator("#range").innerText());
	ok((await p.facts()).some(fact => fact[0] === "range"), "and the flame graph is of it");
	await p.page.click("#tab-report");
	await p.settle();
	ok((await p.page.locator("#report").innerText()).includes("GPU time"), "it has the report");
	ok(!p.errors.length, "nothing goes wrong, and nothing is asked for", ...p.errors);
	const h = new FilePage(hostile);
	await h.open(browser);
	const alive = await h.page.evaluate(() => document.querySelectorAll("header img, header b, pre *, body > img").length);
	ok(!alive && !h.errors.length, "names are text, whatever is in them", ...h.errors);
	is(await h.page.evaluate(() => document.querySelectorAll("script").length), 1, "and no script but the page's is there");
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
