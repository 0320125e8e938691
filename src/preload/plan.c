// SPDX-License-Identifier: MIT
#include "preload/plan.h"

#include <string.h>

#define ARENA_BYTES_MAX	 ((uint64_t)64 << 30)
#define SHARED_BYTES_MAX ((uint64_t)64 << 30)

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t size)
{
	return at <= size && bytes <= size - at;
}

static bool is_list(const struct probe_plan *p, uint64_t at, uint64_t count, size_t each)
{
	return at % 8 == 0 && count <= p->size / each && is_inside(at, count * each, p->size);
}

static bool is_text(const struct probe_plan *p, uint64_t at)
{
	return at && at < p->size && memchr((const char *)p + at, 0, p->size - at);
}

/* Of a kernel that is ours to write. */
static bool is_name(const struct probe_plan *p, uint64_t at)
{
	const char *text = (const char *)p + at;

	for (const char *c = text; *c; c++)
		if (!(*c == '_' || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			    (c > text && *c >= '0' && *c <= '9')))
			return false;
	return *text;
}

static bool bodies_are_sound(const struct probe_plan *p)
{
	const struct probe_body *b = (const void *)((const char *)p + p->bodies_at);

	if (!p->body_count || p->body_count > PROBE_BODIES_MAX ||
		!is_list(p, p->bodies_at, p->body_count, sizeof(*b)))
		return false;
	for (uint32_t i = 0; i < p->body_count; i++)
		if (!is_text(p, b[i].kernels_at) || !is_text(p, b[i].text_at) || b[i].pair < -1 ||
			b[i].pair >= (int32_t)PROBE_BODIES_MAX ||
			(b[i].is_alone && !is_name(p, b[i].kernels_at)))
			return false;
	return !p->only_at || is_text(p, p->only_at);
}

static bool outsides_are_sound(const struct probe_plan *p)
{
	const struct probe_outside *o = (const void *)((const char *)p + p->outsides_at);
	uint32_t rings = 0, shared = 0;

	if (p->outside_count > ARENA_MAPS_MAX + 1 ||
		!is_list(p, p->outsides_at, p->outside_count, sizeof(*o)))
		return false;
	for (uint32_t i = 0; i < p->outside_count; i++) {
		if (o[i].address > ARENA_MAPS_MAX)
			return false;
		if (o[i].is_shared) {
			if (o[i].is_ring || !o[i].bytes || o[i].bytes % PROBE_PAGE ||
				o[i].bytes > SHARED_BYTES_MAX || shared++ == PROBE_SHARED_MAX)
				return false;
			continue;
		}
		if (o[i].at < p->outside_at || o[i].at % PROBE_PAGE ||
			!is_inside(o[i].at, o[i].bytes, p->shared_bytes))
			return false;
		if (o[i].is_ring &&
			(o[i].tails != rings++ || o[i].control_at % 8 ||
				!is_inside(o[i].control_at, ARENA_SMS * sizeof(struct arena_ring),
					p->arena_bytes)))
			return false;
	}
	return is_inside(PROBE_TAILS_AT, (uint64_t)rings * ARENA_SMS * 8, p->snapshot_at);
}

static bool initials_are_sound(const struct probe_plan *p)
{
	const struct probe_initial *n = (const void *)((const char *)p + p->initials_at);

	if (!is_list(p, p->initials_at, p->initial_count, sizeof(*n)))
		return false;
	for (uint32_t i = 0; i < p->initial_count; i++)
		if (!is_inside(n[i].data_at, n[i].bytes, p->size) ||
			!is_inside(n[i].at, n[i].bytes,
				n[i].is_outside ? p->shared_bytes : p->arena_bytes) ||
			n[i].at < (n[i].is_outside ? p->outside_at : ARENA_MAPS_AT))
			return false;
	return true;
}

static bool patches_are_sound(const struct probe_plan *p)
{
	const struct probe_patches *c = (const void *)((const char *)p + p->patches_at);

	if (p->patch_count > PROBE_PATCHES_MAX ||
		!is_list(p, p->patches_at, p->patch_count, sizeof(*c)))
		return false;
	for (uint32_t i = 0; i < p->patch_count; i++)
		if (!c[i].bytes || c[i].at % 8 || !is_inside(c[i].at, c[i].bytes, p->size))
			return false;
	return true;
}

bool plan_is_sound(const struct probe_plan *p, size_t size)
{
	if (size < sizeof(*p) || p->magic != PROBE_MAGIC || p->version != PROBE_VERSION ||
		p->size != size)
		return false;
	if (p->arena_bytes < ARENA_MAPS_AT || p->arena_bytes > ARENA_BYTES_MAX ||
		p->shared_bytes > SHARED_BYTES_MAX || p->shared_bytes % PROBE_PAGE ||
		p->outside_at % PROBE_PAGE || p->outside_at > p->shared_bytes ||
		p->map_count > ARENA_MAPS_MAX || p->snapshot_at % 8 ||
		p->accesses > p->arena_bytes / ARENA_SITE_BYTES ||
		!is_inside(p->snapshot_at, p->arena_bytes, p->outside_at))
		return false;
	return bodies_are_sound(p) && outsides_are_sound(p) && initials_are_sound(p) &&
	       patches_are_sound(p);
}
