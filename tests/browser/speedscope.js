// SPDX-License-Identifier: MIT
// speedscope reads folded stacks of ours in a headless browser.
//
//	node speedscope.js STACKS.folded
"use strict";

const fs = require("fs"), os = require("os"), path = require("path");
const {is, ok, done, launch} = require("./tap.js");

// speedscope's page loads a script that is named in its address and hands it the file.
function writeLoader(folder, file) {
	const loader = path.join(folder, "loader.js");
	fs.writeFileSync(loader, "speedscope.loadFileFromBase64(" + JSON.stringify(path.basename(file)) + ", " +
		JSON.stringify(fs.readFileSync(file).toString("base64")) + ");");
	return loader;
}

async function main() {
	const file = process.argv[2], folder = fs.mkdtempSync(path.join(os.tmpdir(), "speedscope-"));
	const page_file = path.join(path.dirname(require.resolve("speedscope/package.json")),
		"dist/release/index.html");
	const browser = await launch();
	try {
		const page = await browser.newPage(), errors = [];
		page.on("pageerror", error => errors.push(error.message));
		await page.goto("file://" + page_file + "#localProfilePath=" + writeLoader(folder, file));
		await page.waitForFunction(name => document.title.includes(name), path.basename(file));
		ok(true, "speedscope opens folded stacks");
		await page.getByText("Sandwich").click();
		await page.waitForSelector("table tr");
		const rows = await page.$$eval("table tr", all => all.map(row =>
			Array.from(row.querySelectorAll("td"), cell => cell.innerText.trim())));
		if (process.env.SHOW)
			console.log(rows);
		const found = name => rows.find(row => row.length === 3 && row[2].includes(name)) || ["", "", ""];
		is(found("[GPU_Kernel]_Z4gemmPfS_i")[0].split(" ")[0], "1,235", "a kernel has its microseconds");
		is(found("solve")[0].split(" ")[0], "31,235", "a function has the sum of what stands on it");
		is(found("do_syscall_64_[k]")[0].split(" ")[0], "5,000", "kernel frames are there");
		ok(rows.some(row => row[2] === "math::step(int)"), "names with brackets stay whole");
		is(errors.join("\n"), "", "and it has no errors");
	} finally {
		await browser.close();
		fs.rmSync(folder, {recursive: true});
	}
	done();
}

main().catch(error => {
	ok(false, "speedscope reads folded stacks", error.stack || error);
	done();
});
