// SPDX-License-Identifier: MIT
#include "profile/cpu_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/varint.h"

#define ENTRY_MAX_BYTES (5 * VARINT_MAX_BYTES)

void cpu_times_release(struct cpu_times *a)
{
	free(a->items);
	*a = (struct cpu_times){0};
}

/* NULL: there is no memory for it. */
static struct cpu_time *cpu_time_at(struct cpu_times *a, uint32_t thread)
{
	size_t capacity = a->capacity ? a->capacity : 64;
	struct cpu_time *items;

	while (capacity <= thread)
		capacity *= 2;
	if (capacity > a->capacity) {
		items = realloc(a->items, capacity * sizeof(*items));
		if (!items)
			return NULL;
		memset(items + a->capacity, 0, (capacity - a->capacity) * sizeof(*items));
		a->items = items;
		a->capacity = capacity;
	}
	if (a->count <= thread)
		a->count = (size_t)thread + 1;
	return &a->items[thread];
}

int cpu_times_add(struct cpu_times *a, uint32_t thread, const struct profile_account *more)
{
	struct cpu_time *account = cpu_time_at(a, thread);

	if (!account)
		return -ENOMEM;
	account->known = true;
	account->is.run_ns += more->run_ns;
	account->is.kernel_ns += more->kernel_ns;
	if (more->end_ns > account->is.end_ns)
		account->is.end_ns = more->end_ns;
	return 0;
}

int cpu_times_add_period(struct cpu_times *a, uint32_t thread, uint64_t period_ns)
{
	struct cpu_time *account = cpu_time_at(a, thread);

	if (!account)
		return -ENOMEM;
	account->periods_ns += period_ns;
	return 0;
}

struct cpu_time *cpu_times_find(const struct cpu_times *a, uint32_t thread)
{
	return thread < a->count && a->items[thread].known ? &a->items[thread] : NULL;
}

/* ------------------------------------------------------------------ in the file */

static size_t encode(uint32_t thread, const struct cpu_time *a, uint8_t *to)
{
	uint8_t *p = varint_put(to, thread);

	p = varint_put(p, a->is.run_ns);
	p = varint_put(p, a->is.kernel_ns);
	p = varint_put(p, a->is.end_ns);
	p = varint_put(p, a->periods_ns);
	return (size_t)(p - to);
}

void cpu_times_encode(
	const struct cpu_times *a, uint32_t *thread, size_t size_bytes, struct buf *out)
{
	uint8_t entry[ENTRY_MAX_BYTES], size[VARINT_MAX_BYTES];
	size_t until = out->size + size_bytes;

	for (; *thread < a->count && out->size < until && !out->failed; ++*thread) {
		size_t bytes;

		if (!a->items[*thread].known)
			continue;
		bytes = encode(*thread, &a->items[*thread], entry);
		buf_append(out, size, (size_t)(varint_put(size, bytes) - size));
		buf_append(out, entry, bytes);
	}
}

/* One entry; a thread may have one only. */
static bool decode(const uint8_t *p, const uint8_t *end, uint32_t last, struct cpu_times *ret)
{
	uint64_t thread = varint_get(&p);
	struct cpu_time a = {.known = true}, *to;

	a.is.run_ns = varint_get(&p);
	a.is.kernel_ns = varint_get(&p);
	a.is.end_ns = varint_get(&p);
	a.periods_ns = varint_get(&p);
	/* More bytes are fields of a later version. */
	if (p > end || !thread || thread > last || a.is.kernel_ns > a.is.run_ns)
		return false;
	if (!ret)
		return true;
	to = cpu_time_at(ret, (uint32_t)thread);
	if (!to || to->known)
		return false;
	*to = a;
	return true;
}

bool cpu_times_decode(const uint8_t *p, const uint8_t *end, uint32_t last, struct cpu_times *ret)
{
	while (p < end) {
		uint64_t size = varint_get(&p);

		if (p > end || size > (uint64_t)(end - p) || !decode(p, p + size, last, ret))
			return false;
		p += size;
	}
	return true;
}

/* ------------------------------------------------------------------ divided */

/* What the first `passed_ns` of all periods have of a time. */
static uint64_t part_until(const struct cpu_time *a, uint64_t passed_ns, uint64_t of_ns)
{
	if (!a->periods_ns || passed_ns >= a->periods_ns)
		return of_ns;
	return (uint64_t)((unsigned __int128)of_ns * passed_ns / a->periods_ns);
}

static uint64_t sampled_ns(const struct cpu_time *a)
{
	return a->is.run_ns - a->is.kernel_ns;
}

static uint64_t passed_with(const struct cpu_time *a, uint64_t period_ns)
{
	uint64_t passed_ns;

	return __builtin_add_overflow(a->passed_ns, period_ns, &passed_ns) ? a->periods_ns
									   : passed_ns;
}

uint64_t cpu_time_next_part(struct cpu_time *a, uint64_t period_ns)
{
	uint64_t before_ns = part_until(a, a->passed_ns, sampled_ns(a));

	a->passed_ns = passed_with(a, period_ns);
	return part_until(a, a->passed_ns, sampled_ns(a)) - before_ns;
}

uint64_t cpu_time_next_kernel_part(const struct cpu_time *a, uint64_t period_ns, bool kept)
{
	return kept ? part_until(a, passed_with(a, period_ns), a->is.kernel_ns) -
			       part_until(a, a->passed_ns, a->is.kernel_ns)
		    : 0;
}

uint64_t cpu_time_part(const struct cpu_time *a, uint64_t period_ns)
{
	return part_until(a, period_ns, sampled_ns(a));
}
