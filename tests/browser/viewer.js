// SPDX-License-Identifier: MIT
// `xpuprof view` and its page in a browser.
"use strict";

const path = require("path"), {spawn} = require("child_process");

const NAMES_PX = 190; // of the time axis, left of its lanes
const SLOW_MS = 120000; // a machine that is busy with other tests

class Viewer {
	constructor(xpuprof, folder) {
		this.xpuprof = xpuprof;
		this.folder = folder;
	}

	async serve(...files) {
		this.process = spawn(this.xpuprof, ["view", "--no-browser", ...files], {stdio: ["ignore", "pipe", "inherit"]});
		this.address = await new Promise((found, lost) => {
			this.process.stdout.once("data", text => found(String(text).split("\n")[0]));
			this.process.once("exit", () => lost(new Error("xpuprof view ended")));
		});
	}

	async open(browser, scheme = "light", fragment = "") {
		this.errors = [];
		this.foreign = [];
		this.page = await browser.newPage({viewport: {width: 1300, height: 900}, colorScheme: scheme});
		this.page.setDefaultTimeout(SLOW_MS);
		this.page.on("pageerror", error => this.errors.push(error.message));
		// advice on our own looking at what is drawn is none of the page's
		this.page.on("console", message => message.text().includes("willReadFrequently") || this.errors.push(message.text()));
		this.page.on("request", request => {
			if (!request.url().startsWith(this.address) && !/^(blob|data):/.test(request.url()))
				this.foreign.push(request.url());
		});
		await this.page.goto(this.address + fragment);
		await this.settle();
	}

	// Until nothing is asked any more, and what came is drawn.
	async settle() {
		await this.page.waitForTimeout(400);
		await this.page.locator("body:not([aria-busy=true])").waitFor();
		await this.page.waitForTimeout(200);
	}

	text(selector) {
		return this.page.locator(selector).innerText();
	}

	flame(selector) {
		return this.page.frameLocator("#flame").locator(selector).innerText();
	}

	// The colour of a canvas at a place, in shares of its width and height: [red, green, blue, alpha].
	pixel(canvas, x, y) {
		return this.page.evaluate(([id, x, y]) => {
			const c = document.getElementById(id);
			return [...c.getContext("2d").getImageData(Math.floor(x * c.width), Math.floor(y * c.height), 1, 1).data];
		}, [canvas, x, y]);
	}

	async heatCell(columns, column, row, rows = 50) {
		return (await this.pixel("heat", (column + 0.4) / columns, 1 - (row + 0.5) / rows))[3] > 0;
	}

	async drag(selector, from, to) {
		const box = await this.page.locator(selector).boundingBox();
		await this.page.mouse.move(box.x + from[0] * box.width, box.y + from[1] * box.height);
		await this.page.mouse.down();
		await this.page.mouse.move(box.x + to[0] * box.width, box.y + to[1] * box.height, {steps: 5});
		await this.page.mouse.up();
		await this.settle();
	}

	async picture(name) {
		await this.page.screenshot({path: path.join(this.folder, name + ".png")});
	}

	end() {
		return new Promise(ended => {
			this.process.once("exit", ended);
			this.process.kill("SIGINT");
		});
	}
}

module.exports = {Viewer, NAMES_PX};
