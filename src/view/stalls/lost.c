// SPDX-License-Identifier: MIT
#include "view/stalls/lost.h"

#include "base/buf.h"
#include "base/digits.h"

int stalls_each_lost(
	const struct profile_reader *r, int (*put)(void *to, const char *sentence), void *to)
{
	static const enum profile_loss losses[] = {LOSS_STALLS_OVERFLOWS, LOSS_STALLS_AMBIGUOUS,
		LOSS_STALLS_OUTSIDE, LOSS_STALLS_PLACES, LOSS_STALLS_RING_FULL};
	struct buf b = BUF_INIT;
	char digits[DIGITS_SIZE];
	int result = 0;

	for (size_t n = 0; !result && n < sizeof(losses) / sizeof(losses[0]); n++) {
		uint64_t count = profile_loss_count(r, losses[n]);

		if (!count)
			continue;
		buf_reset(&b);
		buf_printf(&b, "%s %s", digits_group(digits, count),
			profile_loss_text(losses[n], count));
		result = put(to, buf_text(&b));
	}
	buf_release(&b);
	return result;
}
