// SPDX-License-Identifier: MIT
#include "export/apportion.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

struct part {
	uint64_t time_us;
	uint32_t rest_ns; /* 0 to 999 */
	size_t index;
};

/* Those that would vanish first, then by what rounding down took; ties in the given order. */
static int compare_claims(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int x_vanishes = !x->time_us && x->rest_ns, y_vanishes = !y->time_us && y->rest_ns;

	if (x_vanishes != y_vanishes)
		return y_vanishes - x_vanishes;
	if (x->rest_ns != y->rest_ns)
		return x->rest_ns < y->rest_ns ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Reduces the times above one by `need` microseconds: each in proportion to its size, then by one
 * at a time from the largest on. Returns by how much; less than `need` if they are too small. */
static uint64_t reduce_by_size(struct part *parts, size_t count, uint64_t need)
{
	uint64_t reduced = 0, before, sum = 0;

	qsort(parts, count, sizeof(*parts), compare_sizes);
	for (size_t i = 0; i < count && parts[i].time_us > 1; i++)
		sum += parts[i].time_us - 1;
	if (sum <= need)
		need = sum;
	for (size_t i = 0; i < count && parts[i].time_us > 1; i++) {
		uint64_t share = (uint64_t)((unsigned __int128)need * (parts[i].time_us - 1) / sum);

		parts[i].time_us -= share;
		reduced += share;
	}
	do {
		before = reduced;
		for (size_t i = 0; i < count && reduced < need; i++)
			if (parts[i].time_us > 1) {
				parts[i].time_us--;
				reduced++;
			}
	} while (reduced < need && reduced != before);
	return reduced;
}

static void share_out(struct part *parts, size_t count, uint64_t extra, size_t vanishing)
{
	/* When too few are left over for the times that would vanish, larger ones give some up. */
	if (extra < vanishing)
		extra += reduce_by_size(parts, count, vanishing - extra);
	qsort(parts, count, sizeof(*parts), compare_claims);
	for (size_t i = 0; i < count && extra; i++, extra--)
		parts[i].time_us++;
}

int apportion_us(uint64_t *times, size_t count)
{
	struct part *parts = calloc(count ? count : 1, sizeof(*parts));
	uint64_t rests_ns = 0, any = 0;
	size_t vanishing = 0;

	if (!parts)
		return error_set(-ENOMEM, "not enough memory to round %zu times", count);
	for (size_t i = 0; i < count; i++) {
		parts[i] = (struct part){times[i] / 1000, (uint32_t)(times[i] % 1000), i};
		rests_ns += parts[i].rest_ns;
		any |= parts[i].time_us;
		vanishing += !parts[i].time_us && parts[i].rest_ns;
	}
	if (!any && rests_ns && rests_ns < 500)
		rests_ns = 1000;
	share_out(parts, count, (rests_ns + 500) / 1000, vanishing);
	for (size_t i = 0; i < count; i++)
		times[parts[i].index] = parts[i].time_us;
	free(parts);
	return 0;
}
