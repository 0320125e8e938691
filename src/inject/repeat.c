// SPDX-License-Identifier: MIT
#include "inject/repeat.h"

#include <string.h>

static size_t slot_words(size_t slots)
{
	return (slots * sizeof(uint16_t) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

static bool is_repeatable(const struct unwound *u)
{
	return u->repeatable && u->walk_end == WALK_COMPLETE && u->python.complete;
}

size_t repeat_words(const struct unwound *u)
{
	size_t words = sizeof(struct repeat) / sizeof(uint64_t);

	if (!is_repeatable(u))
		return words;
	return words + u->base_count + u->python.entry_count +
	       slot_words(u->user_depth + u->base_count);
}

static uint16_t reach_of(const struct unwound *u)
{
	uint16_t reach = 0;

	for (uint32_t i = 0; i < u->user_depth; i++)
		if (u->slots[i] >= reach)
			reach = u->slots[i] + 1;
	for (uint32_t i = 0; i < u->base_count; i++)
		if (u->base_slots[i] >= reach)
			reach = u->base_slots[i] + 1;
	return reach;
}

void repeat_note(struct repeat *r, const struct unwound *u)
{
	uint16_t *slots;

	*r = (struct repeat){0};
	if (!is_repeatable(u))
		return;
	r->frames = (uint16_t)u->user_depth;
	r->bases = (uint16_t)u->base_count;
	r->entries = (uint16_t)u->python.entry_count;
	r->reach = reach_of(u);
	memcpy(r->values, u->bases, u->base_count * sizeof(u->bases[0]));
	for (uint32_t i = 0; i < u->python.entry_count; i++)
		r->values[r->bases + i] = u->python.entries[i] - u->frame;
	slots = (uint16_t *)&r->values[r->bases + r->entries];
	memcpy(slots, u->slots, r->frames * sizeof(*slots));
	memcpy(slots + r->frames, u->base_slots, r->bases * sizeof(*slots));
}

static bool same_native(const struct repeat *r, const uint64_t *frames, uintptr_t frame)
{
	const uint16_t *slots = (const uint16_t *)&r->values[r->bases + r->entries];
	const uint64_t *stack = (const uint64_t *)frame;

	for (uint32_t i = 0; i < r->frames; i++)
		if (stack[slots[i]] != (frames[i] & WALK_FRAME_ADDRESS))
			return false;
	slots += r->frames;
	for (uint32_t i = 0; i < r->bases; i++)
		if (stack[slots[i]] - frame != r->values[i])
			return false;
	return true;
}

bool repeat_matches(const struct repeat *r, const uint64_t *words, uint32_t python_depth,
	const struct unwound *u, uintptr_t end)
{
	return r->frames && (end - u->frame) / sizeof(uint64_t) >= r->reach &&
	       same_native(r, words, u->frame) &&
	       unwind_has_python(u, (const struct walk_python_frame *)(words + r->frames),
		       python_depth, r->values + r->bases, r->entries);
}
