// SPDX-License-Identifier: MIT
// Our SVG in a headless browser, used as a person would use it.
//
//	node svg.js XPUPROF FOLDER HOSTILE.xpu     (works in FOLDER; leaves pictures of what it saw there)
"use strict";

const fs = require("fs"), path = require("path"), {execFileSync} = require("child_process");
const {is, ok, done, launch} = require("./tap.js");

const [xpuprof, folder, hostile] = process.argv.slice(2);
const ROW = 19;

// 50 us CPU: 30 in solve, 20 in io. 50 us GPU: gemm, launched by solve. Siblings stand in order of names.
const SMALL = "main;io 20\nmain;solve 30\n" +
	"main;solve;ns::start<4>;cudaLaunchKernel;[GPU_Kernel]_Z4gemmPfS_i 50\n";

// 60 us CPU in main, and 40 us GPU: 30 at an instruction, 10 without samples.
const STALLS = "main 60\nmain;cudaLaunchKernel;[GPU_Kernel]k;[not sampled] 10\n" +
	"main;cudaLaunchKernel;[GPU_Kernel]k;-;/src/app_[G];k.cu_[G];k(float*)_[G];LDG_[g];long_scoreboard_[g];0x10_[g] 30\n";

function draw(name, text, ...options) {
	const folded = path.join(folder, name + ".folded"), svg = path.join(folder, name + ".svg");
	fs.writeFileSync(folded, text);
	execFileSync(xpuprof, ["flame", "--unit", "us", folded, "-o", svg, ...options]);
	return svg;
}

class View {
	constructor(page) {
		this.page = page;
		this.errors = [];
		this.requests = [];
		this.inverted = false;
		page.on("pageerror", error => this.errors.push(error.message));
		page.on("console", message => this.errors.push(message.text()));
		page.on("request", request => this.requests.push(request.url().replace(/#.*/, "")));
	}

	async open(svg, fragment = "") {
		await this.page.goto("about:blank");
		await this.page.goto("file://" + svg + fragment);
		await this.settle();
	}

	// Animations take 180 ms and end with the first frame behind that, whenever it is drawn.
	async settle() {
		await this.page.waitForTimeout(200);
		await this.page.evaluate(() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn))));
	}

	// The place of a frame: `across` is a share of the width, `depth` 0 is the root, at the bottom unless inverted.
	async at(across, depth) {
		const box = await this.page.locator("canvas").boundingBox(), y = (depth + 0.5) * ROW;
		return [box.x + across * box.width, this.inverted ? box.y + y : box.y + box.height - y];
	}

	async hover(across, depth) {
		const [x, y] = await this.at(across, depth);
		await this.page.mouse.move(x, y);
		return (await this.text(".tip")).replace(/\s+/g, " ");
	}

	async click(across, depth) {
		const [x, y] = await this.at(across, depth);
		await this.page.mouse.click(x, y);
		await this.settle();
	}

	async key(name) {
		await this.page.keyboard.press(name);
		await this.settle();
	}

	text(selector) {
		return this.page.locator(selector).innerText();
	}

	async search(text) {
		await this.page.fill("input", text);
		return (await this.text(".found")).replace(/\u202f/g, " ");
	}

	hash() {
		return new URL(this.page.url()).hash;
	}

	shoot(name) {
		return this.page.screenshot({path: path.join(folder, name + ".png")});
	}
}

async function hovering(view) {
	is(await view.hover(0.5, 2), "solve native time of all of parent CPU 30 \u00b5s 60.00 % 60.00 % " +
		"GPU 50 \u00b5s 100 % 100 % self 30 \u00b5s 60.00 % 60.00 %", "the pointer on a frame shows its times and shares");
	const [, y] = await view.at(0.5, 2), tip = await view.page.locator(".tip").boundingBox();
	ok(tip.y + tip.height <= y - ROW / 2 || tip.y >= y + ROW / 2, "and does not cover the frame's row");
	is(await view.hover(0.4, 5), "gemm(float*, float*, int) GPU kernel time of all of parent " +
		"GPU 50 \u00b5s 100 % 100 %", "GPU kernels have readable names and GPU time only");
	await view.shoot("hover");
	await view.hover(0.1, 4);
	ok(await view.page.locator(".tip").isHidden(), "where there is no frame nothing is shown");
}

async function zooming(view) {
	await view.click(0.4, 3);
	is(view.hash(), "#z=20-70", "a click zooms to the frame, and the address says so");
	ok((await view.hover(0.97, 3)).startsWith("ns::start<4>"), "the frame fills the width");
	ok((await view.hover(0.97, 1)).startsWith("main"), "what it stands on stays below it");
	ok((await view.hover(0.03, 1)).startsWith("main"), "as wide");
	await view.shoot("zoomed");
	await view.page.goBack();
	await view.settle();
	ok((await view.hover(0.1, 2)).startsWith("io"), "going back in the history zooms out");
	await view.click(0.1, 2);
	await view.page.getByText("Reset zoom").click();
	await view.settle();
	is(view.hash(), "", "reset shows everything");
	ok((await view.hover(0.5, 2)).startsWith("solve"), "again");
}

async function searching(view) {
	is(await view.search("gemm"), "1 frame: GPU 50 \u00b5s (100 %)", "search adds up what matches");
	is(await view.search("/solve|start|gemm/"), "3 frames: CPU 30 \u00b5s (60.00 %) \u00b7 GPU 50 \u00b5s (100 %)",
		"a regular expression too, and frames above each other count once");
	is(await view.search("SOLVE"), "no match", "capital letters matter when there are any");
	is(await view.search("/(/"), "not a regular expression", "a broken expression is reported");
	is(await view.search("<4>"), "1 frame: GPU 50 \u00b5s (100 %)", "special characters are plain text");
	await view.shoot("searched");
	is(view.hash(), "#q=%3C4%3E", "the address keeps the search");
	await view.key("Escape");
	is(await view.text(".found"), "", "Escape ends it");
}

async function typing(view) {
	await view.key("ArrowUp");
	await view.key("ArrowUp");
	ok((await view.text(".status .frame")).startsWith("solve"), "up goes to the widest frame above");
	await view.key("ArrowLeft");
	ok((await view.text(".status .frame")).startsWith("io \u2014 CPU 20 \u00b5s (40.00 %)"), "left to the one beside");
	await view.key("Enter");
	is(view.hash(), "#z=0-20", "Enter zooms in");
	await view.key("Backspace");
	is(view.hash(), "", "Backspace zooms out");
	await view.key("Enter");
	await view.key("Escape");
	is(view.hash(), "", "Escape shows everything");
	await view.key("/");
	await view.page.keyboard.type("i0?n");
	is(await view.page.locator("input").evaluate(input => input.value), "i0?n", "slash begins a search and letters go there");
	await view.key("Escape");
	await view.key("?");
	ok(await view.page.locator(".help").isVisible(), "question mark shows help");
	await view.key("Escape");
	ok(await view.page.locator(".help").isHidden(), "and Escape hides it");
	await view.key("/");
	await view.page.keyboard.type("gemm");
	await view.key("Enter");
	ok((await view.text(".status .frame")).startsWith("gemm"), "Enter goes to a match");
	await view.key("Escape");
	await view.key("i");
	is(view.hash(), "#flip", "i turns the graph over");
	const box = await view.page.locator("canvas").boundingBox();
	await view.page.mouse.move(box.x + box.width / 2, box.y + 1.5 * ROW);
	ok((await view.text(".tip")).startsWith("main"), "so that callers are on top");
}

async function names(browser) {
	const view = new View(await browser.newPage()), svg = path.join(folder, "hostile.svg");
	execFileSync(xpuprof, ["flame", hostile, "-o", svg]);
	await view.open(svg);
	const title = await view.page.title();
	ok(title !== "taken" && title.includes("script"), "hostile names stay names", title);
	await view.search("script");
	ok(/^6 frames: CPU 2 ms/.test(await view.text(".found")), "and can be searched for", await view.text(".found"));
	is(await view.page.evaluate("document.querySelectorAll('script').length"), 1, "there is one script");
	is(view.errors.join("\n"), "", "and no error");
}

async function withoutScript(browser, svg) {
	const context = await browser.newContext({javaScriptEnabled: false});
	const page = await context.newPage();
	await page.goto("file://" + svg);
	const texts = await page.locator("#static text").allTextContents();
	ok(texts.includes("solve") && texts.includes("cudaLaunchKernel"), "without script there is a picture");
	ok(texts.some(text => text.includes("CPU time 50.000 \u00b5s \u00b7 GPU time 50.000 \u00b5s")),
		"that says how much time there was", texts);
	ok((await page.locator("#static title").allTextContents()).some(text => /solve, CPU 30/.test(text)),
		"and has times for the pointer");
	await page.screenshot({path: path.join(folder, "static.png")});
	await context.close();
}

async function asImage(browser, svg) {
	const html = path.join(folder, "image.html"), page = await browser.newPage();
	fs.writeFileSync(html, '<img src="small.svg">');
	await page.goto("file://" + html);
	is(await page.evaluate("document.images[0].naturalWidth"), 1200, "it is an image for other pages");
}

// 20,000 distinct stacks: hardly one is as wide as a pixel.
async function many(browser) {
	let seed = 1, text = "";
	const random = n => (seed = seed * 16807 % 2147483647) % n;
	for (let i = 0; i < 20000; i++) {
		text += "root;group_" + random(4);
		for (let depth = 2; depth < 25; depth++)
			text += ";f" + depth + "_" + random(1000);
		text += " " + (1 + random(9)) + "\n";
	}
	const view = new View(await browser.newPage());
	await view.open(draw("many", text));
	ok((await view.text(".status .left")).includes("narrow frames"), "frames too narrow to draw are counted");
	let zooms = 0;
	for (; zooms < 8 && /too narrow/.test(await view.hover(0.5, 3)); zooms++)
		await view.click(0.5, 3);
	ok(zooms > 0 && /^f2_/.test(await view.hover(0.5, 3)) && !/narrow/.test(await view.hover(0.5, 3)),
		"and zooming reaches them");
	await view.click(0.5, 3);
	ok(/^f24_/.test(await view.hover(0.5, 25)) || /^f2/.test(await view.hover(0.5, 4)), "up to the leaf");
	await view.shoot("many");
	is(view.errors.join("\n"), "", "and no error");
}

// With frames left out the times of the others stay as they are.
async function leftOut(browser) {
	const folded = path.join(folder, "cut.folded"), svg = path.join(folder, "cut.svg");
	fs.writeFileSync(folded, "main;big 6000\nmain;[GPU_Kernel]k 2000\nmain;f;a 3\nmain;f;b 2\n" +
		"main;f;[GPU_Kernel]x 1\nmain;[GPU_Kernel]y 4\nmain 10\n");
	execFileSync(xpuprof, ["flame", "--unit", "us", "--max-frames", "3", folded, "-o", svg]);
	const view = new View(await browser.newPage());
	await view.open(svg);
	is(await view.text(".remarks"), "5 frames with less than 8.000 \u00b5s each left out of this picture",
		"what was left out of a picture is said");
	is(await view.hover(0.5, 1), "main native time of all of parent CPU 6.015 ms 100 % 100 % " +
		"GPU 2.005 ms 100 % 100 % self 10 \u00b5s 0.17 % 0.17 %", "and its time stays in the others");
	await view.search("left out");
	is(await view.text(".found"), "2 frames: CPU 5 \u00b5s (0.08 %) \u00b7 GPU 5 \u00b5s (0.25 %)",
		"in frames of its own");
}

async function stalls(browser) {
	const view = new View(await browser.newPage());
	await view.open(draw("stalls", STALLS));
	is(await view.text(".legend"), "native\nAPI call\nGPU kernel\nGPU source\nGPU instruction, stall\nnote",
		"source and instructions of GPU code are kinds of their own");
	is(await view.hover(0.1, 8), "long_scoreboard GPU code: waiting for a global or local memory load " +
		"time of all of parent GPU 30 \u00b5s 75.00 % 100 %", "the pointer on a reason says what it means");
	is(await view.hover(0.35, 4), "[not sampled] note time of all of parent GPU 10 \u00b5s 25.00 % 25.00 %",
		"what stands on a GPU frame is GPU time");
	await view.shoot("stalls");
	view.inverted = true;
	await view.open(draw("inverted", STALLS, "--inverted"));
	ok((await view.hover(0.5, 1)).startsWith("main"), "inverted, the root is on top");
	ok((await view.hover(0.1, 8)).startsWith("long_scoreboard"), "and leaves are below");
	is(view.hash(), "", "which is no state of the address");
	await view.shoot("inverted");
	await view.key("i");
	view.inverted = false;
	ok((await view.hover(0.5, 1)).startsWith("main"), "it can be turned");
	is(view.hash(), "#flip", "which is one");
	await view.open(draw("reversed", STALLS, "--reverse"));
	is(await view.hover(0.1, 1), "0x10 GPU code time of all of parent GPU 30 \u00b5s 75.00 % 75.00 %",
		"reversed, leaves stand on the root");
	is(await view.hover(0.1, 9), "main native time of all of parent GPU 30 \u00b5s 75.00 % 100 %",
		"and what called them on these, with their GPU time");
	is(await view.hover(0.9, 1), "main native time of all of parent CPU 60 \u00b5s 100 % 100 %", "CPU time stays CPU time");
	is(view.errors.join("\n"), "", "there was no error with stalls");
}

// A phone, and a tower of 200 frames that is one hundredth of the width.
async function phone(browser) {
	const tower = Array.from({length: 200}, (_, i) => "t" + i).join(";");
	const svg = draw("tower", "main;wide;wider;widest 9900\nmain;" + tower + " 100\n");
	const context = await browser.newContext({viewport: {width: 390, height: 780}, isMobile: true, hasTouch: true});
	const view = new View(await context.newPage());
	await view.open(svg);
	is(await view.page.evaluate(() => innerWidth + " " + document.documentElement.scrollWidth), "390 390",
		"a phone shows the picture in its own width");
	is(await view.page.evaluate(() => document.querySelector(".scroll > div").offsetHeight), 202 * 27,
		"beside a thin tower rows are higher");
	await view.page.touchscreen.tap(...await view.at(0.5, 1.5));
	await view.settle();
	ok((await view.text(".status")).startsWith("main"), "a touch selects a frame");
	const graph = await view.page.locator("canvas").boundingBox(), status = await view.page.locator(".status").boundingBox();
	ok(graph.y + graph.height <= status.y + 0.5, "and what it says covers no frame");
	is(view.errors.join("\n"), "", "there was no error on a phone");
	await context.close();
	ok(fs.readFileSync(svg, "utf8").includes("178 more rows of thin frames"),
		"the picture without script leaves out what would make it a tower");
}

// As in tests/unit/label_test.c, which tries the same for pictures without script.
function briefNames() {
	const script = fs.readFileSync(path.join(__dirname, "../../src/export/flame/draw.js"), "utf8");
	const begin = script.indexOf("const WHOLE"), end = script.indexOf("// Functions that do what");
	const bare = new Function(script.slice(begin, end) + "return bare;")();
	const names = [
		["void at::native::reduce_kernel<512, at::Op<float, (int)4> >(float*, int)", "at::native::reduce_kernel"],
		["at::native::(anonymous namespace)::softmax<float>(float*)", "at::native::softmax"],
		["ns::vec<int>::at(unsigned long) const", "ns::vec::at"],
		["f(int) [clone .1]", "f"],
		["load(float const*, int) (kernel.cu:5)", "load"],
		["<alloc::vec::Vec<T> as core::Drop>::drop", "::drop"],
		["ns::operator<<(std::ostream&, int)", "ns::operator<<"],
		["ns::f::operator()(int) const", "ns::f::operator()"],
		["void ns::operator_of(int)", "ns::operator_of"],
		["s<int>::operator bool() const", "s::operator bool() const"]];
	is(names.map(([name]) => bare(name)).join("\n"), names.map(([, brief]) => brief).join("\n"),
		"where there is little room, names are cut down to what is called");
}

async function main() {
	const browser = await launch();
	try {
		const svg = draw("small", SMALL), view = new View(await browser.newPage());
		await view.open(svg);
		is(await view.text("h1"), "Flame graph", "there is a title");
		is(await view.text(".facts"), "CPU time 50.000 \u00b5s \u00b7 GPU time 50.000 \u00b5s",
			"the subtitle states CPU and GPU time");
		is(await view.page.locator(".facts b").first().evaluate(fact => getComputedStyle(fact).whiteSpace), "nowrap",
			"a number stays with its unit where the subtitle takes several lines");
		is(await view.text(".legend"), "C++, Rust\nnative\nAPI call\nGPU kernel", "the legend has the kinds there are");
		await hovering(view);
		await zooming(view);
		await searching(view);
		await view.open(svg);
		await typing(view);
		await view.open(svg, "#z=20-70&q=gemm");
		ok((await view.hover(0.97, 3)).startsWith("ns::start<4>"), "an address opens zoomed");
		is(await view.text(".found"), "1 frame: GPU 50 \u00b5s (100 %)", "and searched");
		is(view.errors.join("\n"), "", "there was no error");
		is(view.requests.filter(url => url !== "about:blank" && url !== "file://" + svg).join("\n"), "",
			"nothing else was loaded");
		await names(browser);
		await withoutScript(browser, svg);
		await asImage(browser, svg);
		await leftOut(browser);
		await stalls(browser);
		await phone(browser);
		briefNames();
		await many(browser);
	} finally {
		await browser.close();
	}
	done();
}

main().catch(error => {
	ok(false, "the picture works in a browser", error.stack || error);
	done();
});
