// SPDX-License-Identifier: MIT
// The page of a recording as one file (`xpuprof export --to html`), opened without a server. Its numbers are those of
// `xpuprof flame` and `export --to folded` for the same ranges.
//
//	node view_file.js XPUPROF FOLDER RECORDING.xpu HOSTILE.xpu MANY.xpu     (leaves pictures of what it saw in FOLDER)
"use strict";

const path = require("path"), {readFileSync} = require("fs"), {execFileSync} = require("child_process"), {pathToFileURL} = require("url");
const {is, ok, done, launch} = require("./tap.js"), {Viewer} = require("./viewer.js");

const [xpuprof, folder, recording, hostile, many] = process.argv.slice(2);

class FilePage {
	constructor(file, ...options) {
		this.file = file;
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

// The nodes of a picture, which are numbers, as a function that reads the next one; null: there is none.
function nodesOf(picture) {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const text = [...picture.matchAll(/<metadata[^>]*class="nodes">([^<]*)</g)].map(match => match[1]).join("");
	let at = 0;
	return () => {
		for (let value = 0, scale = 1; at < text.length; scale *= 32) {
			const digit = digits.indexOf(text[at++]);
			value += digit % 32 * scale;
			if (digit < 32)
				return value;
		}
		return null;
	};
}

// Times of their own of all nodes of the picture that was made last, which its script takes out of the document.
function ownTimes(picture) {
	const number = nodesOf(picture), times = [];
	const sampled = JSON.parse(/<metadata[^>]*class="info">([^<]*)</.exec(picture)[1].replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&")).sampled;
	for (let head = number(); head !== null; head = number()) {
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
function expected(file, view, range, more) {
	const by = /by=([a-z,]+)/.exec(more), options = ["--view", view, ...(by ? ["--by", by[1]] : []), ...(more.includes("reverse") ? ["--reverse"] : []),
		...(range ? ["--from", range[0] + "ns", "--to", range[1] + "ns"] : [])];
	const text = execFileSync(xpuprof, ["export", "--to", "folded", "--unit", "ns", ...options, file], {encoding: "utf8", stdio: ["ignore", "pipe", "ignore"]});
	return text.split("\n").filter(line => line).map(line => Number(line.slice(line.lastIndexOf(" ") + 1)));
}

const sorted = numbers => numbers.filter(n => n).sort((a, b) => a - b).join(" ");

async function compare(p, view, range, more = "") {
	await p.page.goto(pathToFileURL(p.html) + "#view=" + view + (range ? "&range=" + range.join("-") : "") + more);
	await p.page.reload();
	await p.settle();
	const got = ownTimes(await p.page.evaluate(() => window.latestBlob.text())), wanted = expected(p.file, view, range, more);
	ok(wanted.length && sorted(got) === sorted(wanted), `${view} of ${range || "all"}${more}: stacks have the times that xpuprof export has, to the nanosecond`,
		got.reduce((a, b) => a + b, 0), wanted.reduce((a, b) => a + b, 0), got.length, wanted.length);
}

// The same with their frames, whose letter is what the difference is.
function ownFrames(picture) {
	const names = /<metadata[^>]*class="names">([^<]*)</.exec(picture)[1].split("\n"), number = nodesOf(picture), found = [];
	for (let head = number(); head !== null; head = number()) {
		const up = head & 2 ? number() : 0, time = head & 1 ? number() : 0, second = head & 1 ? number() : 0;
		found.push([names[head >> 2], up >= 0, time, second].join(" "));
	}
	return found.sort();
}

// Two ranges of a file: the times, and what is pale, are those that the server has, which are made in C.
async function checkComparison(browser, p) {
	const v = new Viewer(xpuprof, folder), slice = 500000;
	await v.serve(recording);
	for (const [view, base, range, more] of [["merge", [0, 240], [720, 1200], ""], ["gpu", [480, 960], [960, 1920], ""],
		["cpu", [24, 48], [24, 984], "&by=thread"]]) {
		const words = {base: base.map(n => n * slice).join("-"), range: range.map(n => n * slice).join("-")};
		await p.page.goto(pathToFileURL(p.html) + `#view=${view}&range=${words.range}&base=${words.base}${more}`);
		await p.page.reload();
		await p.settle();
		const got = ownFrames(await p.page.evaluate(() => window.latestBlob.text()));
		const asked = new URLSearchParams({view, "from": range[0] * slice, "to": range[1] * slice, "base-from": base[0] * slice, "base-to": base[1] * slice});
		const wanted = ownFrames(await (await fetch(v.address + "flame.svg?" + asked + more)).text()), shown = frames => frames.filter(frame => !/ 0 0$/.test(frame)).join("\n");
		ok(got.length > 5 && shown(got) === shown(wanted), `two ranges compared are as the server has them (${view}${more})`, got.slice(0, 6).join("; "), wanted.slice(0, 6).join("; "));
	}
	const range = await p.page.locator("#range").innerText();
	ok(range.includes("compared with ") && range.includes("red: more of the time"), "and it is said what the colours are", range);
	await p.page.screenshot({path: path.join(folder, "file-compare.png")});
	await p.page.click("#compare");
	await p.settle();
	ok(!/base=/.test(p.page.url()), "a click ends it", p.page.url());
	await checkDurations(browser, p, v);
	await v.end();
}

// Launches by length, as the server's page has them.
async function checkDurations(browser, p, v) {
	await v.open(browser);
	for (const fragment of ["of=periods&least=2000000", "of=launches&range=100000000-600000000"]) {
		const seen = [];
		for (const [page, address] of [[p.page, pathToFileURL(p.html)], [v.page, v.address]]) {
			await page.goto(address + "#pane=repeats&" + fragment);
			await page.reload();
			await v.settle();
			await page.waitForTimeout(400);
			const texts = await Promise.all(["#repeat-note", "#repeat-found", "#repeat-rows", "#repeat-name"].map(id => page.locator(id).innerText()));
			seen.push(texts.join("\n"));
		}
		ok(seen[0].length > 100 && seen[0] === seen[1], `durations are as the server has them (${fragment})`, seen[0].slice(0, 600), seen[1].slice(0, 600));
	}
	ok(await p.page.locator("#repeat-compared").isHidden(), "flame graphs of iterations are not in a file");
	await p.page.screenshot({path: path.join(folder, "file-durations.png")});
	await v.page.close();
}

// The longest call that asked for work: a click on it says for how much, and draws arrows to it.
async function checkArrows(p) {
	const data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(readFileSync(p.html, "utf8"))[1]);
	const [count, , begin, length] = data.events.links.filter(link => link[0] > 0 && link[1] >= 0 && link[2] > 0).sort((a, b) => b[3] - a[3])[0];
	await p.page.goto(pathToFileURL(p.html) + `#axis=${begin - 3 * length}-${begin + 4 * length}`);
	await p.page.reload();
	await p.settle();
	const lanes = await p.page.locator("#lanes").boundingBox();
	let text = "";
	for (let y = 4; y < lanes.height && !text.startsWith("asked for"); y += 8) {
		await p.page.mouse.click(lanes.x + 190 + (lanes.width - 190) / 2, lanes.y + y);
		await p.page.waitForTimeout(100);
		text = await p.page.locator("#links").innerText();
	}
	ok(text.startsWith("asked for " + (count === 1 ? "a piece" : count + " pieces")), "arrows lead from a call to its work", text, count);
	await p.page.screenshot({path: path.join(folder, "file-arrows.png")});
}

// Of slices, in a second of which each has 500 microseconds.
function someRange() {
	const edges = [Math.floor(Math.random() * 2000), Math.floor(Math.random() * 2000)].sort((a, b) => a - b);
	return [edges[0] * 500000, (edges[1] + 1) * 500000];
}

// What is older is coarser: its ranges, too, have the times of xpuprof export.
async function checkAges(browser) {
	const p = new FilePage(many, "--limit", "1");
	await p.open(browser);
	const text = await p.page.locator("#reading").innerText(), data = JSON.parse(/id="data">(.*?)<\/script>/s.exec(readFileSync(p.html, "utf8"))[1]);
	const {ages, slice_ns: step} = data.sums, oldest = ages[1] * step, end = ages[0] * step;
	ok(text.includes("what is older is coarser") && text.includes(`before ${milliseconds(end)} of ${milliseconds(oldest)}`), "it says which parts are how coarse", text, ages);
	const edges = [];
	for (let n = 0, i = 0; n < data.sums.count;) {
		edges.push(n * step);
		n += i < ages.length ? Math.min(ages[i + 1], ages[i] - n) : 1;
		i += n === ages[i] ? 2 : 0;
	}
	const nearest = time => edges.reduce((best, edge) => Math.abs(edge - time) < Math.abs(best - time) ? edge : best);
	await compare(p, "merge", [0, oldest]);
	for (const [view, from, to] of [["gpu", 1, 3], ["cpu", 2, edges.length - 10], ["merge", 1, edges.length >> 1]])
		await compare(p, view, [edges[from], edges[to]]);
	await p.page.goto(pathToFileURL(p.html) + `#range=${Math.round(0.9 * oldest)}-${Math.round(2.2 * oldest)}`);
	await p.page.reload();
	await p.settle();
	ok((await p.page.locator("#range").innerText()).startsWith(`${milliseconds(nearest(0.9 * oldest))} to ${milliseconds(nearest(2.2 * oldest))}:`), "a range goes from edge to edge",
		await p.page.locator("#range").innerText(), oldest);
	await p.page.screenshot({path: path.join(folder, "file-ages.png")});
	is(p.errors.join("\n"), "", "nothing goes wrong");
	await p.page.close();
}

// What is said of all rows of the heatmap, by the pointer on their names: the name, and a sum.
async function heatRows(page) {
	const box = await page.locator("#heat").boundingBox(), said = [];
	for (let y = 4; y < box.height; y += 7) {
		await page.mouse.move(box.x + 20, box.y + y);
		await page.waitForTimeout(60);
		const text = await page.locator("#tip").textContent();
		if (!said.includes(text))
			said.push(text);
	}
	return said.join(", ");
}

// The rows of a file are those that the server has.
async function checkHeats(browser) {
	const v = new Viewer(xpuprof, folder), f = new FilePage(recording);
	await v.serve(recording);
	for (const what of ["streams", "threads-waits", "reasons", "function&function=kernel"]) {
		await v.open(browser, "light", "#what=" + what);
		const wanted = await heatRows(v.page);
		await v.page.close();
		await f.open(browser, "#what=" + what);
		const got = await heatRows(f.page), filled = await f.page.evaluate(() => {
			const c = document.getElementById("heat"), {data} = c.getContext("2d").getImageData(200, 0, c.width - 200, c.height);
			return data.some(value => value > 0);
		});
		ok(/ in all/.test(got) && got === wanted && filled && !f.errors.length, `rows of the heatmap are the server's (${what})`, got, wanted, ...f.errors);
		await f.page.screenshot({path: path.join(folder, "file-heat-" + what.split("&")[0] + ".png")});
		await f.page.close();
	}
	await v.end();
}

const milliseconds = ns => (ns / 1e6).toFixed(3) + "\u202fms";

async function main() {
	const browser = await launch(), p = new FilePage(recording);
	await p.open(browser);
	ok((await p.page.locator("#reading").innerText()).includes("ranges are in steps of"), "it says how fine it is");
	is(await p.page.locator("#hide").getAttribute("placeholder"), "name", "and offers no libraries to be left out, which it does not know");
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
	await checkComparison(browser, p);
	await checkArrows(p);
	ok(!p.errors.length, "nothing goes wrong, and nothing is asked for", ...p.errors);
	const h = new FilePage(hostile);
	await h.open(browser);
	const alive = await h.page.evaluate(() => document.querySelectorAll("header img, header b, pre *, body > img").length);
	ok(!alive && !h.errors.length, "names are text, whatever is in them", ...h.errors);
	is(await h.page.evaluate(() => document.querySelectorAll("script").length), 1, "and no script but the page's is there");
	await checkAges(browser);
	await checkHeats(browser);
	await browser.close();
	done();
}

main().catch(error => {
	console.log("# " + error.stack.replace(/\n/g, "\n# "));
	process.exit(1);
});
