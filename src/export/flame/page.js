// SPDX-License-Identifier: MIT
// The elements around the picture: heading, search field, legend, tooltip.

function make(tag, attributes, ...children) {
	const e = document.createElementNS(XHTML, tag);
	for (const key in attributes)
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), attributes[key]);
		else
			e.setAttribute(key, attributes[key]);
	for (const child of children)
		e.append(child);
	return e;
}

const canvas = make("canvas", {});
const context = canvas.getContext("2d");
const spacer = make("div", {});
const scroll = make("div", {"class": "scroll", tabindex: "0", role: "application",
	"aria-label": "Flame graph. Arrow keys move, Enter zooms, Escape goes back, question mark shows help."},
	spacer);
const graph = make("div", {"class": "graph"}, canvas, scroll);
const query = make("input", {type: "search", placeholder: "Search (or /regex/)", spellcheck: "false",
	"aria-label": "Search frames", autocomplete: "off"});
const found = make("div", {"class": "found", "aria-live": "polite"});
const backButton = make("button", {type: "button", title: "Backspace"}, "Reset zoom");
const flipButton = make("button", {type: "button", title: "i"}, "Flip");
const helpButton = make("button", {type: "button", title: "?", "aria-label": "Help"}, "?");
const legend = make("div", {"class": "legend"});
const frameText = make("div", {"class": "frame", "aria-live": "polite"});
const leftText = make("div", {"class": "left"});
const tip = make("div", {"class": "tip", hidden: ""});
const help = make("div", {"class": "help", hidden: ""});
const remarks = make("div", {"class": "remarks"});
const app = make("div", {"class": "app"},
	make("div", {"class": "top"},
		make("div", {"class": "what"}, heading(), facts(), remarks),
		make("div", {"class": "tools"},
			make("div", {"class": "bar"}, query, backButton, flipButton, helpButton), found)),
	legend, graph,
	make("div", {"class": "status"}, frameText, leftText), tip, help);

function heading() {
	const h = make("h1", {title: info.title}, make("span", {}, info.title));
	if (info.simulated)
		h.append(make("span", {"class": "simulated"}, "simulated GPU"));
	return h;
}

function facts() {
	const line = make("div", {"class": "facts"});
	for (const fact of info.facts) {
		if (line.childNodes.length)
			line.append(" \u00b7 ");
		line.append(fact[0], " ", make("b", {}, fact[1]));
	}
	return line;
}

function showRemarks() {
	const open = remarks.classList.contains("open");
	remarks.textContent = info.remarks.join(open ? "\n" : " \u00b7 ");
	remarks.title = open ? "" : info.remarks.join("\n");
}
showRemarks();
remarks.hidden = !info.remarks.length;
if (info.remarks.length) {
	remarks.setAttribute("role", "button");
	remarks.addEventListener("click", () => {
		remarks.classList.toggle("open");
		showRemarks();
		resize();
	});
}
