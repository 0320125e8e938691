// SPDX-License-Identifier: MIT
// Search: which names match, their time, and going from match to match.

// Text that must be part of the label; upper case only matters when there is some. /text/ is a regular
// expression.
function matcher(wanted) {
	const regex = /^\/(.+)\/(i?)$/.exec(wanted);
	if (regex) {
		const expression = new RegExp(regex[1], regex[2]);
		return label => expression.test(label);
	}
	if (wanted !== wanted.toLowerCase())
		return label => label.includes(wanted);
	return label => label.toLowerCase().includes(wanted);
}

// Time in frames that match, each part counted once however many frames above each other match.
function search() {
	const wanted = query.value;
	query.classList.remove("wrong");
	found.textContent = "";
	matches = null;
	if (wanted) {
		try {
			const fits = matcher(wanted);
			matches = new Uint8Array(labels.length);
			for (let i = 0; i < labels.length; i++)
				matches[i] = fits(labels[i]) ? 1 : 0;
			countMatches();
		} catch (e) {
			query.classList.add("wrong");
			found.textContent = "not a regular expression";
			matches = null;
		}
	}
	redraw();
}

function countMatches() {
	let c = 0, g = 0, n = 0, frames = 0;
	for (let i = 1, covered = 0; i < count; i++) {
		if (!matches[nameOf[i]])
			continue;
		frames++;
		if (i >= covered) {
			c += cpu[i];
			g += gpu[i];
			n += samples[i];
			covered = end[i];
		}
	}
	found.textContent = frames ? grouped(frames) + (frames === 1 ? " frame" : " frames") + ": " +
		times(c, g, cpu[0], gpu[0], n) : "no match";
}

function nextMatch(step) {
	if (!matches)
		return;
	for (let n = 1, i = selected; n < count; n++) {
		i = (i + step + count) % count;
		if (i && matches[nameOf[i]]) {
			if (start[i] < from || start[i] + width(i) > to || !boxOf(i))
				zoomTo(i);
			else
				select(i);
			reveal(i);
			return;
		}
	}
}
