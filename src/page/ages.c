// SPDX-License-Identifier: MIT
#include "page/ages.h"

#include "base/nice.h"

static uint32_t end_of(const struct ages *a, uint32_t part)
{
	return (uint32_t)((uint64_t)a->count * (part + 1) / AGES);
}

static uint32_t steps_of(const struct ages *a, uint32_t part, uint32_t oldest)
{
	uint64_t width_ns = a->width_ns, steps = 1;

	for (uint32_t level = part; level < oldest && width_ns <= NICE_MAX / 10; level++) {
		uint64_t factor = nice_factor(width_ns);

		width_ns *= factor;
		steps *= factor;
	}
	return steps < a->count ? (uint32_t)steps : a->count;
}

static uint32_t part_of(const struct ages *a, uint32_t n)
{
	uint32_t part = 0;

	while (part + 1 < AGES && n >= end_of(a, part))
		part++;
	return part;
}

uint32_t ages_together(const struct ages *a, uint32_t n)
{
	return steps_of(a, part_of(a, n), a->level);
}

uint32_t ages_steps(const struct ages *a, uint32_t n)
{
	uint32_t part = part_of(a, n), steps = steps_of(a, part, a->level);

	return steps < end_of(a, part) - n ? steps : end_of(a, part) - n;
}

/* What there is of all parts, in steps of the newest. */
static double amount(const struct ages *a, uint32_t level)
{
	double sum = 0;

	for (uint32_t part = 0; part < AGES; part++)
		sum += 1.0 / steps_of(a, part, level);
	return sum * a->count / AGES;
}

bool ages_grow(struct ages *a, size_t size, size_t room)
{
	double before = amount(a, a->level);

	if (a->level + 1 >= AGES || !a->count)
		return false;
	do
		a->level++;
	while (a->level + 1 < AGES && (double)size * amount(a, a->level) > (double)room * before);
	return true;
}

void ages_json(struct json_writer *w, const char *name, const struct ages *a)
{
	json_begin(w, name, '[');
	for (uint32_t part = 0; part < a->level; part++) {
		uint32_t end = end_of(a, part), length = end - (part ? end_of(a, part - 1) : 0);
		uint32_t steps = steps_of(a, part, a->level);

		json_number(w, NULL, end);
		json_number(w, NULL, steps < length ? steps : length);
	}
	json_end(w, ']');
}
