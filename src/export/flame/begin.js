// SPDX-License-Identifier: MIT
// Replaces the static picture by the page, and listens to events.

function begin() {
	const holder = document.createElementNS(SVG.namespaceURI, "foreignObject");
	for (const [key, value] of [["x", "0"], ["y", "0"], ["width", "100%"], ["height", "100%"]])
		holder.setAttribute(key, value);
	// Phones take a page without this for one of 980 pixels, and show it small.
	holder.append(make("meta", {name: "viewport", content: "width=device-width, initial-scale=1"}), app);
	document.getElementById("static").remove();
	SVG.removeAttribute("viewBox");
	SVG.setAttribute("width", "100%");
	SVG.setAttribute("height", "100%");
	SVG.append(holder);
	fillHelp();
	readColours();
	resize();
	readAddress();
	scroll.scrollTop = flipped ? 0 : spacer.offsetHeight;
}

const DARK = "(prefers-color-scheme: dark)";
const darkRules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => rule.media?.mediaText === DARK);

// Light on paper, and as large as a page around it has made it: drawn at once.
function setPaper(printing) {
	for (const rule of darkRules)
		rule.media.mediaText = printing ? "not all" : DARK;
	readColours();
	resize();
	draw();
}

scroll.addEventListener("mousemove", hover);
scroll.addEventListener("mouseleave", leave);
scroll.addEventListener("scroll", () => {
	tip.hidden = true;
	redraw();
});
scroll.addEventListener("click", event => {
	const bounds = scroll.getBoundingClientRect();
	const box = boxAt(event.clientX - bounds.left, event.clientY - bounds.top);
	if (!box)
		return;
	if (box.node < 0)
		zoom(box.from, box.to);
	else
		zoomTo(box.node);
});
query.addEventListener("input", () => {
	search();
	address(false);
});
backButton.addEventListener("click", () => zoomTo(0));
flipButton.addEventListener("click", flip);
helpButton.addEventListener("click", keys["?"]);
new ResizeObserver(resize).observe(graph); // the window's, and what stands around it
window.addEventListener("hashchange", () => {
	if (location.hash !== written)
		readAddress();
});
window.addEventListener("beforeprint", () => setPaper(true));
window.addEventListener("afterprint", () => setPaper(false));
window.matchMedia(DARK).addEventListener("change", () => {
	readColours();
	redraw();
});
begin();
