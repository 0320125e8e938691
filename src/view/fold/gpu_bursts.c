// SPDX-License-Identifier: MIT
#include "view/fold/gpu_bursts.h"

#include "base/digits.h"
#include "base/error.h"
#include "base/text.h"

void gpu_bursts_release(struct gpu_bursts *b)
{
	spread_release(&b->time);
}

int gpu_bursts_add(
	struct gpu_bursts *b, const struct profile_reader *r, const struct profile_work *w)
{
	double value = (double)w->duration_ns * w->weight;
	uint64_t sort = profile_sort(r, w);
	int error = sort ? spread_add_draw(&b->time, sort, w->weight, value)
			 : spread_add(&b->time, profile_bursts(r), w->burst, value);

	b->seen_ns += w->duration_ns;
	b->seen += !w->cut.continued;
	b->of += w->cut.continued ? 0 : w->weight;
	return error ? error_memory("the bursts") : 0;
}

static int describe_draws(const struct gpu_bursts *b, struct view_result *v, const char *error)
{
	char seen[DIGITS_SIZE], of[DIGITS_SIZE];
	int result = view_fact(v, "GPU times", "%s", error);

	return result
		       ?: view_remark(v,
				  "%s of %s pieces of GPU work have times, and stand for the "
				  "others: GPU times are estimates, %s in all",
				  digits_group(seen, b->seen),
				  digits_group(of, profile_rounded(b->of)), error);
}

static int add_remark(struct view_result *v, const struct bursts_extent *extent, const char *error)
{
	char share[TEXT_CELL], count[DIGITS_SIZE];

	if (!extent->count)
		return view_remark(v, "GPU work was to be recorded in bursts, and there was none: "
				      "how much there was is not known");
	return view_remark(v,
		"GPU work was recorded for %s of the time, in %s burst%s: GPU times are estimates, "
		"%s in all",
		text_share(share, extent->recorded_ns, extent->of_ns),
		digits_group(count, extent->count), extent->count == 1 ? "" : "s", error);
}

int gpu_bursts_describe(
	const struct gpu_bursts *b, const struct profile_reader *r, struct view_result *v)
{
	const struct bursts *bursts = profile_bursts(r);
	const struct bursts_extent extent = bursts_extent(bursts);
	const struct spread_range range = spread_range(&b->time, bursts, NULL, b->seen_ns);
	char cell[TEXT_CELL], count[DIGITS_SIZE];
	const char *error = text_error(cell, profile_rounded(b->time.sum), range.high);
	int result;

	if (!profile_is_in_bursts(r))
		return profile_is_drawn(r) ? describe_draws(b, v, error) : 0;
	result = extent.count ? view_fact(v, "GPU times", "%s", error) : 0;
	result = result ?: add_remark(v, &extent, error);
	if (!result && bursts->without)
		result = view_remark(v,
			"GPU work of %s process%s is not shown: no burst came while it ran",
			digits_group(count, bursts->without), bursts->without == 1 ? "" : "es");
	return result;
}

int gpu_bursts_leave_out(const struct profile_reader *r, struct view_result *v, const char *what)
{
	return profile_is_estimated(r)
		       ? view_remark(v, "GPU work was %s: %s is not known",
				 profile_is_in_bursts(r) ? "recorded in bursts" : "timed in part",
				 what)
		       : 0;
}
