// SPDX-License-Identifier: MIT
// Lists whose elements are replaced when an answer comes. A click begins and ends on one element: while something in a list
// is pressed, what would replace it waits until it is released and has had its click. What has the focus keeps it, by its key.

/** @type {any} */
let pressed = null; // the element
const refills = new Map(); // place -> what waits to be there

function refill(place, ...nodes) {
	refills.delete(place);
	if (pressed && place.contains(pressed)) {
		refills.set(place, nodes);
		return;
	}
	const key = place.contains(document.activeElement) ? keyOf(document.activeElement) : null;
	place.replaceChildren(...nodes);
	if (key)
		[...place.querySelectorAll("button")].find(button => keyOf(button) === key)?.focus({preventScroll: true});
}

// What an element is of: its own key, or its text.
function keyOf(element) {
	return element.dataset.key || element.textContent;
}

// Behind the click, which comes after the release: where that lists anew, nothing waits any more.
function released() {
	if (!pressed)
		return;
	setTimeout(() => {
		pressed = null;
		for (const [place, nodes] of [...refills])
			refill(place, ...nodes);
	});
}

document.addEventListener("pointerdown", event => { pressed = event.target; }, true);
for (const name of ["pointerup", "pointercancel", "dragend", "contextmenu"])
	document.addEventListener(name, released, true);
// The space bar clicks when it comes up.
document.addEventListener("keydown", event => {
	if (event.key === " ")
		pressed = event.target;
}, true);
document.addEventListener("keyup", released, true);
addEventListener("blur", released);
