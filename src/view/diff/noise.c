// SPDX-License-Identifier: MIT
#include "view/diff/noise.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/root.h"

#define DRAWS	  300
#define QUANTILE  0.99	/* of the largest of all */
#define LOOKED_AT 0.001 /* an item with a smaller share on both sides is not worth it */
#define SEED	  0x9e3779b97f4a7c15ull

struct judging {
	const struct diff_amounts *sides;
	enum diff_scale scale;
	struct diff_verdict *verdicts;
	size_t *items; /* those that are looked at */
	size_t count;  /* of these */
	double *draws; /* by draw and item: the difference */
	double *largest;
	uint64_t random;
};

/* What amounts of a side are divided by. */
static double whole_of(const struct judging *j, size_t side)
{
	const struct diff_amounts *a = &j->sides[side];

	return j->scale == DIFF_NOT	   ? 1
	       : j->scale == DIFF_BY_TOTAL ? a->total
					   : (double)a->elapsed_ns;
}

static double share_of(double amount, double whole)
{
	return whole > 0 ? amount / whole : 0;
}

/* Beside which a share is small. */
static double size_of(const struct judging *j)
{
	double most = j->sides[0].total > j->sides[1].total ? j->sides[0].total : j->sides[1].total;
	double before = share_of(j->sides[0].total, whole_of(j, 0)),
	       after = share_of(j->sides[1].total, whole_of(j, 1));

	if (j->scale == DIFF_NOT)
		return most;
	return before > after ? before : after;
}

static void choose_items(struct judging *j, size_t count)
{
	double least = size_of(j) * LOOKED_AT;

	for (size_t n = 0; n < count; n++) {
		struct diff_verdict *v = &j->verdicts[n];

		*v = (struct diff_verdict){.before = share_of(j->sides[0].whole[n], whole_of(j, 0)),
			.after = share_of(j->sides[1].whole[n], whole_of(j, 1))};
		if (v->before > least || v->after > least)
			j->items[j->count++] = n;
	}
}

static size_t random_slice(struct judging *j)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return (size_t)((j->random >> 32) * DIFF_SLICES >> 32);
}

/* Adds what the drawn slices of a side have, with this sign. */
static void add_side(
	struct judging *j, size_t side, const size_t *drawn, double sign, double *differences)
{
	const struct diff_amounts *a = &j->sides[side];
	double whole = j->scale == DIFF_NOT ? 1 : 0;

	for (size_t n = 0; n < DIFF_SLICES && j->scale != DIFF_NOT; n++)
		whole += j->scale == DIFF_BY_TOTAL ? a->slice_total[drawn[n]]
						   : (double)a->slice_ns[drawn[n]];
	for (size_t i = 0; i < j->count; i++) {
		double sum = 0;

		for (size_t n = 0; n < DIFF_SLICES; n++)
			sum += (double)a->slices[drawn[n]][j->items[i]];
		differences[i] += sign * share_of(sum, whole);
	}
}

static void draw(struct judging *j, double *differences)
{
	size_t drawn[DIFF_SLICES];

	for (size_t side = 0; side < 2; side++) {
		for (size_t n = 0; n < DIFF_SLICES; n++)
			drawn[n] = random_slice(j);
		add_side(j, side, drawn, side ? 1 : -1, differences);
	}
}

static void find_spreads(struct judging *j)
{
	for (size_t i = 0; i < j->count; i++) {
		double sum = 0, squares = 0, mean;

		for (size_t n = 0; n < DRAWS; n++)
			sum += j->draws[n * j->count + i];
		mean = sum / DRAWS;
		for (size_t n = 0; n < DRAWS; n++) {
			double off = j->draws[n * j->count + i] - mean;

			squares += off * off;
		}
		j->verdicts[j->items[i]].spread = root(squares / (DRAWS - 1));
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* How many spreads the largest of all differences is off in nearly all draws. */
static double find_limit(struct judging *j)
{
	for (size_t n = 0; n < DRAWS; n++)
		for (size_t i = 0; i < j->count; i++) {
			const struct diff_verdict *v = &j->verdicts[j->items[i]];
			double off =
				__builtin_fabs(j->draws[n * j->count + i] - (v->after - v->before));

			if (v->spread > 0 && off / v->spread > j->largest[n])
				j->largest[n] = off / v->spread;
		}
	qsort(j->largest, DRAWS, sizeof(*j->largest), compare);
	return j->largest[(size_t)(QUANTILE * (DRAWS - 1))];
}

static void judge(struct judging *j)
{
	double limit, least = size_of(j) * DIFF_LEAST;

	for (size_t n = 0; n < DRAWS; n++)
		draw(j, j->draws + n * j->count);
	find_spreads(j);
	limit = find_limit(j);
	for (size_t i = 0; i < j->count; i++) {
		struct diff_verdict *v = &j->verdicts[j->items[i]];
		double off = __builtin_fabs(v->after - v->before);
		double larger = v->after > v->before ? v->after : v->before;

		v->real = off > limit * v->spread && off > least && off > DIFF_LEAST_PART * larger;
	}
}

int diff_judge(const struct diff_amounts sides[2], size_t count, enum diff_scale scale,
	struct diff_verdict *ret)
{
	struct judging j = {.sides = sides, .scale = scale, .verdicts = ret, .random = SEED};
	int error = 0;

	j.items = calloc(count + 1, sizeof(*j.items));
	j.largest = calloc(DRAWS, sizeof(*j.largest));
	if (j.items)
		choose_items(&j, count);
	j.draws = j.items ? calloc(j.count * DRAWS + 1, sizeof(*j.draws)) : NULL;
	if (j.draws && j.largest)
		judge(&j);
	else
		error = error_memory("the comparison");
	free(j.items);
	free(j.largest);
	free(j.draws);
	return error;
}
