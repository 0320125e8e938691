// SPDX-License-Identifier: MIT
// Colours: those of the static picture (colours.css), read back, as they are defined only there.

let fills = [], hazeFill, matchFill, ink, faint;

function readColours() {
	const probe = document.createElementNS(SVG.namespaceURI, "rect");
	SVG.append(probe);
	function fillOf(name) {
		probe.setAttribute("class", name);
		return getComputedStyle(probe).fill;
	}
	fills = info.kinds.map(kind => fillOf(kind["class"]));
	hazeFill = fillOf("haze");
	matchFill = fillOf("match");
	probe.remove();
	const style = getComputedStyle(app);
	ink = style.color;
	faint = style.backgroundColor;
	const present = new Set();
	for (let i = 0; i < count; i++)
		present.add(kindOf[nameOf[i]]);
	const shown = new Map();
	for (let k = 0; k < fills.length; k++)
		if (present.has(k) && info.kinds[k].legend)
			shown.set(info.kinds[k].legend, fills[k]);
	legend.replaceChildren(...Array.from(shown, ([name, fill]) => {
		const swatch = make("i", {});
		swatch.style.background = fill;
		return make("span", {}, swatch, name);
	}));
}

// Neighbours differ a little, always in the same way for the same name.
const SHADES = [1, 0.94, 0.88];
const shadeOf = new Uint8Array(labels.length);
for (let i = 0; i < labels.length; i++) {
	let h = 0;
	for (let k = 0; k < labels[i].length; k++)
		h = Math.imul(h, 31) + labels[i].charCodeAt(k) | 0;
	shadeOf[i] = (h >>> 4) % 3;
}
