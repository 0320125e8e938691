// SPDX-License-Identifier: MIT
// On paper: light, and the flame graph or the kernel whole, not only what a window shows of it.

// What scrolls in a frame. None where a browser keeps the two apart, as some do with a file's.
function scrollerOf(frame) {
	try {
		return frame.contentDocument.querySelector(".scroll") || frame.contentDocument.documentElement;
	} catch {
		return null;
	}
}

const PAPER_PX = 1100; // what browsers bring onto an upright sheet
let scrolledTo = 0;

function setFrame(frame, printing) {
	const scroller = frame.hidden ? null : scrollerOf(frame);
	if (printing && scroller) {
		scrolledTo = scroller.scrollTop;
		frame.style.height = frame.clientHeight + scroller.scrollHeight - scroller.clientHeight + "px";
	}
	frame.style.flex = printing ? "none" : "";
	if (printing || !scroller)
		return;
	frame.style.height = "";
	scroller.scrollTop = scrolledTo;
}

function setPaper(printing) {
	const rows = axis.lanes.clientHeight; // of the time axis, as many as can be seen
	document.documentElement.classList.toggle("paper", printing);
	document.body.style.width = printing ? Math.min(window.innerWidth, PAPER_PX) + "px" : "";
	axis.lanes.style.maxHeight = printing ? rows + "px" : "";
	setFrame(byId("flame"), printing);
	setFrame(byId("kernel"), printing);
	makeShades();
	drawHeat();
	drawAxis();
	if (repeats)
		drawBars();
}

addEventListener("beforeprint", () => setPaper(true));
addEventListener("afterprint", () => setPaper(false));
