// SPDX-License-Identifier: MIT
// Questions. A newer one of the same name takes the place of one that is under way.

const underWay = new Map();
const errors = new Map(); // by question: what was said of it last, the latest at the end

// "": it was answered.
function noteError(name, text) {
	errors.delete(name);
	if (text)
		errors.set(name, text);
	showErrors();
}

function showErrors() {
	const line = byId("error");
	line.hidden = !errors.size;
	line.textContent = [...errors.values()].pop() || "";
}

function forgetErrors() {
	errors.clear();
	showErrors();
}

// Answers that are not wanted any more, but for those to one.
function stopAsking(name) {
	for (const [other, controller] of underWay)
		if (other !== name)
			controller.abort();
}

function showBusy() {
	document.body.setAttribute("aria-busy", String(underWay.size > 0));
}

// The answer, or null when a newer question came, or none was got, which is then said.
async function ask(name, words, form) {
	if (data)
		return ANSWERS[name](words);
	const mine = new AbortController();
	underWay.get(name)?.abort();
	underWay.set(name, mine);
	showBusy();
	try {
		const answer = await fetch(name + "?" + new URLSearchParams(ofFile(words)), {signal: mine.signal});
		const text = await answer.text();
		if (!answer.ok)
			throw new Error(text.trim());
		noteError(name, "");
		return form === "text" ? text : JSON.parse(text);
	} catch (e) {
		if (e.name !== "AbortError")
			noteError(name, e instanceof TypeError ? "xpuprof does not answer any more: it has ended" : e.message);
		return null;
	} finally {
		if (underWay.get(name) === mine)
			underWay.delete(name);
		showBusy();
	}
}

// Of a recording that is being read: what is known by now.
function partly(words) {
	return about.whole ? words : {...words, partial: 1};
}

// Calls it once when it is not called again for a while.
function settled(call, wait) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(call, wait);
	};
}
