// SPDX-License-Identifier: MIT
/*
 * Hashes: open addressing in steps of one entry, over at most ARENA_HASH_TRIES entries. Whoever
 * makes an entry takes it first (free to being made), writes key and value, and then says that it
 * is there; who meets it meanwhile waits, but not for ever. An entry belongs to its key for good:
 * what is deleted is only marked, and made anew in the same place.
 */
#include <errno.h>
#include <stdio.h>

#include "ebpf/nvidia/emit.h"

#define KEY_AT ((unsigned int)sizeof(struct arena_hash_entry))

struct hash {
	struct emitter *e;
	const struct map_place *p;
	uint8_t map;
	int32_t helper;
	/* labels */
	uint32_t next, look, key, absent, found, full, exists, write, end;
};

static unsigned int key_parts(const struct hash *h)
{
	return h->p->key_bytes / 8;
}

/* %ek0...: the key; %ew0: where to begin; %ew1: entries tried */
static void begin(struct hash *h)
{
	struct emitter *e = h->e;
	uint32_t size = e->flow->object->maps.items[h->map].key_size;

	for (unsigned int i = 0; i < key_parts(h); i++) {
		char part[NAME_BYTES];

		snprintf(part, sizeof(part), "%%ek%u", i);
		emit_argument_part(e, 2, i * 8, size - i * 8 < 8 ? size - i * 8 : 8, part);
	}
	emit(e, "mul.lo.u64 %%ex0, %%ek0, 0x%llx;", ARENA_HASH_MULTIPLIER);
	for (unsigned int i = 1; i < key_parts(h); i++) {
		emit(e, "xor.b64 %%ex0, %%ex0, %%ek%u;", i);
		emit(e, "mul.lo.u64 %%ex0, %%ex0, 0x%llx;", ARENA_HASH_MULTIPLIER);
	}
	emit(e, "shr.u64 %%ex0, %%ex0, 32;");
	emit(e, "cvt.u32.u64 %%ew0, %%ex0;");
	emit(e, "mov.u32 %%ew1, 0;");
	emit_map_base(e, h->map);
}

/* %ex2: the next entry; %ew3: its state; %ew4: rounds waited for it. It has a key, or is free. */
static void look(struct hash *h, uint32_t free)
{
	struct emitter *e = h->e;

	emit_label(e, h->next);
	emit(e, "setp.ge.u32 %%ep0, %%ew1, %u;", ARENA_HASH_TRIES);
	emit(e, "@%%ep0 bra EA%u;", h->helper == HELPER_UPDATE ? h->full : h->absent);
	emit(e, "add.u32 %%ew2, %%ew0, %%ew1;");
	emit(e, "and.b32 %%ew2, %%ew2, %u;", h->p->capacity - 1);
	emit(e, "add.u32 %%ew1, %%ew1, 1;");
	emit(e, "mad.wide.u32 %%ex2, %%ew2, %u, %%ex5;", h->p->entry_bytes);
	emit(e, "mov.u32 %%ew4, 0;");
	emit_label(e, h->look);
	emit(e, "ld.acquire.gpu.global.u32 %%ew3, [%%ex2];");
	emit(e, "setp.eq.u32 %%ep0, %%ew3, %u;", ARENA_HASH_FREE);
	emit(e, "@%%ep0 bra EA%u;", free);
	emit(e, "setp.ne.u32 %%ep0, %%ew3, %u;", ARENA_HASH_BEING_MADE);
	emit(e, "@%%ep0 bra EA%u;", h->key);
	emit(e, "add.u32 %%ew4, %%ew4, 1;");
	emit(e, "setp.lt.u32 %%ep0, %%ew4, %u;", ARENA_HASH_WAITS);
	emit(e, "@%%ep0 bra EA%u;", h->look);
	emit(e, "bra EA%u;", h->full);
}

static void compare_key(struct hash *h)
{
	struct emitter *e = h->e;

	emit_label(e, h->key);
	for (unsigned int i = 0; i < key_parts(h); i++) {
		emit(e, "ld.global.u64 %%ex3, [%%ex2+%u];", KEY_AT + i * 8);
		emit(e, "setp.ne.u64 %%ep0, %%ex3, %%ek%u;", i);
		emit(e, "@%%ep0 bra EA%u;", h->next);
	}
	emit(e, "setp.eq.u32 %%ep0, %%ew3, %u;", ARENA_HASH_THERE);
	emit(e, "@%%ep0 bra EA%u;", h->found);
}

/* Takes the entry if it still has this state; else looks at it again. */
static void take(struct hash *h, enum arena_hash_state state)
{
	struct emitter *e = h->e;

	emit_if_flags(e, BPF_EXIST, h->absent);
	emit(e, "atom.acquire.gpu.global.cas.b32 %%ew3, [%%ex2], %u, %u;", state,
		ARENA_HASH_BEING_MADE);
	emit(e, "setp.ne.u32 %%ep0, %%ew3, %u;", state);
	emit(e, "@%%ep0 bra EA%u;", h->look);
}

/* %ex1 + values_at: the value of the entry that was found or made */
static void find_value(struct hash *h)
{
	emit(h->e, "mad.wide.u32 %%ex1, %%ew2, %u, %%ex5;", h->p->value_bytes);
}

static void write_value(struct hash *h)
{
	uint32_t size = h->e->flow->object->maps.items[h->map].value_size;

	find_value(h);
	emit(h->e, "add.u64 %%ex1, %%ex1, %llu;", (unsigned long long)h->p->values_at);
	emit_copy(h->e, 3, size, "%ex1", 0);
}

/*
 * Most often the first entry is the key's. Where nothing is ever deleted, an entry that was there
 * once is there for good, with its key: what says so is true, however old the cache that it comes
 * from, and needs no acquire, which would empty that cache. One multiprocessor alone writes into
 * its copy, so that no part of what it reads is older than the rest. What is not found so is looked
 * for as ever. Assemblers compute all of this beforehand for a key that they know, as that of an
 * access.
 */
static void try_first(struct hash *h)
{
	struct emitter *e = h->e;

	emit(e, "and.b32 %%ew2, %%ew0, %u;", h->p->capacity - 1);
	emit(e, "mad.wide.u32 %%ex2, %%ew2, %u, %%ex5;", h->p->entry_bytes);
	emit(e, "ld.global.u32 %%ew3, [%%ex2];");
	emit(e, "setp.eq.u32 %%ep0, %%ew3, %u;", ARENA_HASH_THERE);
	for (unsigned int i = 0; i < key_parts(h); i++) {
		emit(e, "ld.global.u64 %%ex3, [%%ex2+%u];", KEY_AT + i * 8);
		emit(e, "setp.eq.and.u64 %%ep0, %%ex3, %%ek%u, %%ep0;", i);
	}
	find_value(h);
	emit(e, "add.u64 %%e0, %%ex1, %llu;", (unsigned long long)h->p->values_at);
	emit(e, "@%%ep0 bra EA%u;", h->end);
}

static void finish(struct hash *h, uint32_t label, int result, bool is_last)
{
	emit_label(h->e, label);
	if (result == -E2BIG)
		emit_loss(h->e, ARENA_LOSS_FULL);
	emit(h->e, "mov.s64 %%e0, %d;", result);
	if (!is_last)
		emit(h->e, "bra EA%u;", h->end);
}

static void update(struct hash *h, uint32_t free)
{
	struct emitter *e = h->e;

	take(h, ARENA_HASH_DELETED);
	emit(e, "bra EA%u;", h->write);
	emit_label(e, free);
	take(h, ARENA_HASH_FREE);
	for (unsigned int i = 0; i < key_parts(h); i++)
		emit(e, "st.global.u64 [%%ex2+%u], %%ek%u;", KEY_AT + i * 8, i);
	emit_label(e, h->write);
	write_value(h);
	emit(e, "st.release.gpu.global.u32 [%%ex2], %u;", ARENA_HASH_THERE);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EA%u;", h->end);
	emit_label(e, h->found);
	emit_if_flags(e, BPF_NOEXIST, h->exists);
	write_value(h);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EA%u;", h->end);
	finish(h, h->exists, -EEXIST, false);
	finish(h, h->full, -E2BIG, false);
	finish(h, h->absent, -ENOENT, true);
}

static void look_up(struct hash *h, uint32_t free)
{
	struct emitter *e = h->e;

	emit(e, "bra EA%u;", h->absent);
	emit_label(e, h->found);
	find_value(h);
	emit(e, "add.u64 %%e0, %%ex1, %llu;", (unsigned long long)h->p->values_at);
	emit(e, "bra EA%u;", h->end);
	emit_label(e, h->full);
	emit_loss(e, ARENA_LOSS_FULL);
	emit_label(e, free);
	finish(h, h->absent, 0, true);
}

static void delete (struct hash *h, uint32_t free)
{
	struct emitter *e = h->e;

	emit(e, "bra EA%u;", h->absent);
	emit_label(e, h->found);
	emit(e, "atom.acquire.gpu.global.cas.b32 %%ew3, [%%ex2], %u, %u;", ARENA_HASH_THERE,
		ARENA_HASH_DELETED);
	emit(e, "setp.ne.u32 %%ep0, %%ew3, %u;", ARENA_HASH_THERE);
	emit(e, "@%%ep0 bra EA%u;", h->look);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EA%u;", h->end);
	emit_label(e, h->full);
	emit_loss(e, ARENA_LOSS_FULL);
	emit_label(e, free);
	finish(h, h->absent, -ENOENT, true);
}

void emit_hash(struct emitter *e, int32_t helper)
{
	uint8_t map = fact_now(e)->arguments[1].which;
	struct hash h = {.e = e, .p = &e->layout->maps[map], .map = map, .helper = helper};
	uint32_t *labels[] = {&h.next, &h.look, &h.key, &h.absent, &h.found, &h.full, &h.exists,
		&h.write, &h.end};
	uint32_t free = new_label(e);

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		*labels[i] = new_label(e);
	begin(&h);
	if (helper == HELPER_LOOKUP && h.p->is_sum && !h.p->is_squeezed)
		try_first(&h);
	look(&h, free);
	compare_key(&h);
	if (helper == HELPER_UPDATE)
		update(&h, free);
	else if (helper == HELPER_LOOKUP)
		look_up(&h, free);
	else
		delete (&h, free);
	emit_label(e, h.end);
}
