// SPDX-License-Identifier: MIT
/*
 * What maps and variables begin with, as the command line says: "NAME[KEY]=VALUE".
 *
 * Of a map that is kept several times, as programs only add to it, the first copy has the number,
 * so that the sum is right. An entry of a hash is in all copies, as programs look there for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "probe/plan_internal.h"

#define NUMBERS_MAX  64
#define ENTRY_KEY_AT sizeof(struct arena_hash_entry)

struct numbers {
	uint64_t items[NUMBERS_MAX]; /* that it is made up of, in its order */
	uint32_t count;
};

struct setting {
	const char *name;
	size_t length;
	bool has_key;
	struct numbers key, value;
};

/* Where one is to be put. */
struct target {
	struct plan *plan;
	uint32_t object, map;
	const struct ebpf_map *of;
	const struct map_place *place;
	uint64_t width; /* of each number of the value */
};

static bool read_number(const char *text, const char *end, uint64_t *ret)
{
	char *stop;

	errno = 0;
	*ret = *text == '-' ? (uint64_t)strtoll(text, &stop, 0) : strtoull(text, &stop, 0);
	return !errno && stop == end && stop != text;
}

static bool read_numbers(const char *text, const char *end, struct numbers *ret)
{
	for (;;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));

		if (ret->count == NUMBERS_MAX ||
			!read_number(text, comma ? comma : end, &ret->items[ret->count++]))
			return false;
		if (!comma)
			return true;
		text = comma + 1;
	}
}

static bool read_setting(const char *text, struct setting *ret)
{
	const char *equals = strchr(text, '='), *bracket = strchr(text, '[');

	if (!equals || !read_numbers(equals + 1, equals + strlen(equals), &ret->value))
		return false;
	ret->name = text;
	ret->has_key = bracket && bracket < equals;
	ret->length = (size_t)((ret->has_key ? bracket : equals) - text);
	if (!ret->has_key)
		return ret->length;
	return ret->length && equals[-1] == ']' && read_numbers(bracket + 1, equals - 1, &ret->key);
}

/* Bytes of each of the numbers that are `bytes` together; 0: they are not. */
static uint64_t width_of(const struct numbers *n, uint64_t bytes)
{
	uint64_t width = bytes / n->count;

	return bytes % n->count || (width != 1 && width != 2 && width != 4 && width != 8) ? 0
											  : width;
}

/* Whether they fit, with a sign or without. */
static int check_numbers(const struct numbers *n, uint64_t width, const struct setting *s)
{
	uint64_t low = width < 8 ? UINT64_MAX << (8 * width - 1) : 0;
	uint64_t high = width < 8 ? ~(UINT64_MAX << 8 * width) : UINT64_MAX;

	for (uint32_t i = 0; i < n->count; i++)
		if (n->items[i] > high && n->items[i] < low)
			return error_set(-EINVAL,
				"a number for '%.*s' does not fit into %llu bits: 0x%llx",
				(int)s->length, s->name, (unsigned long long)(8 * width),
				(unsigned long long)n->items[i]);
	return 0;
}

/* The numbers at `offset` of the map; of an array of the kernel's, also in the value of `key`. */
static int put_numbers(
	const struct target *t, const struct setting *s, uint64_t offset, uint64_t in_value)
{
	for (uint32_t i = 0; i < s->value.count; i++) {
		struct plan_kernel_value v = {t->object, t->map, (uint32_t)s->key.items[0],
			in_value + i * t->width, t->width, s->value.items[i]};

		/* Of what nobody changes, each has its own. */
		if (t->place->is_used && !t->place->is_shared)
			plan_add_initial(t->plan, t->object, t->map, offset + i * t->width,
				&s->value.items[i], t->width);
		if (t->of->used_by_cpu && vec_push(&t->plan->kernel_values, v))
			return error_memory("programs for GPUs");
	}
	return 0;
}

static int no_entry(const struct target *t, const struct setting *s)
{
	if (!s->has_key)
		return error_set(-EINVAL, "map '%s' has %u entries: which is %s[KEY]", t->of->name,
			t->of->max_entries, t->of->name);
	return error_set(-EINVAL, "map '%s' has no entry %llu: it has %u", t->of->name,
		(unsigned long long)s->key.items[0], t->of->max_entries);
}

/* What multiprocessors have of their own all begin with, unless it is added up. */
static int put_in_array(const struct target *t, const struct setting *s)
{
	uint32_t copies =
		t->of->kind->shape == EBPF_SM_ARRAY && !t->place->sum_bytes ? t->place->copies : 1;
	uint64_t offset = s->key.items[0] * t->place->entry_bytes;
	int error = 0;

	if (s->key.count > 1 || s->key.items[0] >= t->of->max_entries ||
		(!s->has_key && t->of->max_entries > 1))
		return no_entry(t, s);
	for (uint32_t copy = 0; !error && copy < copies; copy++)
		error = put_numbers(t, s, copy * t->place->stride + offset, 0);
	return error;
}

/* The entry of another setting at this place of the hash, or NULL. */
static const struct plan_hash_entry *entry_at(const struct target *t, uint32_t place)
{
	vec_foreach (e, &t->plan->hash_entries)
		if (e->object == t->object && e->map == t->map && e->place == place)
			return e;
	return NULL;
}

static uint32_t first_place(const uint8_t *key, uint32_t key_bytes)
{
	uint64_t hash = 0, part;

	for (uint32_t at = 0; at < key_bytes; at += sizeof(part)) {
		memcpy(&part, key + at, sizeof(part));
		hash = (hash ^ part) * ARENA_HASH_MULTIPLIER;
	}
	return (uint32_t)(hash >> 32);
}

/* Where programs will look for the key, which then is there. */
static int take_place(const struct target *t, const uint8_t *key, uint32_t *ret)
{
	struct arena_hash_entry head = {.state = ARENA_HASH_THERE};
	uint32_t first = first_place(key, t->place->key_bytes);

	for (uint32_t i = 0; i < ARENA_HASH_TRIES; i++) {
		struct plan_hash_entry new = {.object = t->object, .map = t->map};
		const struct plan_hash_entry *other;

		*ret = new.place = (first + i) & (t->place->capacity - 1);
		other = entry_at(t, *ret);
		if (other && !memcmp(other->key, key, t->place->key_bytes))
			return 0;
		if (other)
			continue;
		memcpy(new.key, key, t->place->key_bytes);
		for (uint32_t copy = 0; copy < t->place->copies; copy++) {
			uint64_t at =
				copy * t->place->stride + (uint64_t)*ret * t->place->entry_bytes;

			plan_add_initial(t->plan, t->object, t->map, at + ENTRY_KEY_AT, key,
				t->place->key_bytes);
			plan_add_initial(t->plan, t->object, t->map, at, &head, sizeof(head));
		}
		return vec_push(&t->plan->hash_entries, new) ? error_memory("programs for GPUs")
							     : 0;
	}
	return error_set(-ENOSPC, "hash '%s' has no place for one more entry", t->of->name);
}

static int put_in_hash(const struct target *t, const struct setting *s)
{
	uint64_t width = s->has_key ? width_of(&s->key, t->of->key_size) : 0;
	uint8_t key[PLAN_KEY_MAX] = {0};
	uint32_t place = 0;
	int error;

	if (!s->has_key)
		return error_set(-EINVAL, "map '%s' is a hash: of which key is %s[KEY]",
			t->of->name, t->of->name);
	if (!width || t->place->key_bytes > sizeof(key))
		return error_set(-EINVAL,
			"the key of '%s' has %u bytes, and is not made up of %u number%s",
			t->of->name, t->of->key_size, s->key.count, s->key.count == 1 ? "" : "s");
	error = check_numbers(&s->key, width, s);
	if (error)
		return error;
	for (uint32_t i = 0; i < s->key.count; i++)
		memcpy(key + i * width, &s->key.items[i], width);
	error = take_place(t, key, &place);
	return error
		       ?: put_numbers(t, s,
				  t->place->values_at + (uint64_t)place * t->place->value_bytes, 0);
}

/* Why a map never begins with values; NULL: it may. */
static const char *why_never(const struct target *t)
{
	if (!t->of->kind || (!t->place->is_used && t->of->kind->shape != EBPF_ARRAY))
		return "is used by programs for the kernel only, and is no array";
	switch (t->of->kind->shape) {
	case EBPF_THREAD_ARRAY:
		return "has values of each thread, which begin as 0";
	case EBPF_SITES:
		return "has values of each access in the code, which begin as 0";
	case EBPF_RING:
		return "is a ring, which begins without records";
	default:
		return NULL;
	}
}

static int check_map(const struct target *t)
{
	const char *why = t->of->is_section ? NULL : why_never(t);

	if (t->of->is_section)
		return error_set(-EINVAL,
			"'%s' is a section: its variables have names of their own", t->of->name);
	return why ? error_set(-EINVAL, "map '%s' %s", t->of->name, why) : 0;
}

/* 1: it was set. */
static int set_in_map(struct target *t, const struct setting *s)
{
	const struct ebpf_object *o = t->plan->objects.items[t->object].object;
	uint64_t offset = 0, bytes;
	bool is_variable;
	int error;

	t->of = &o->maps.items[t->map];
	t->place = &t->plan->objects.items[t->object].bodies.layout.maps[t->map];
	bytes = t->of->value_size;
	if (!t->place->is_used && !t->of->used_by_cpu)
		return 0;
	is_variable = ebpf_object_variable(o, t->of, s->name, s->length, &offset, &bytes);
	if (!is_variable &&
		(strncmp(t->of->name, s->name, s->length) != 0 || t->of->name[s->length]))
		return 0;
	if (is_variable && s->has_key)
		return error_set(-EINVAL, "'%.*s' is a variable, which has no keys", (int)s->length,
			s->name);
	error = is_variable ? 0 : check_map(t);
	if (error)
		return error;
	t->width = width_of(&s->value, bytes);
	if (!t->width)
		return error_set(-EINVAL,
			"the value of '%.*s' has %llu bytes, and is not made up of %u number%s",
			(int)s->length, s->name, (unsigned long long)bytes, s->value.count,
			s->value.count == 1 ? "" : "s");
	error = check_numbers(&s->value, t->width, s);
	if (error)
		return error;
	if (is_variable)
		error = put_numbers(t, s, offset, offset);
	else
		error = t->of->kind->shape == EBPF_HASH ? put_in_hash(t, s) : put_in_array(t, s);
	return error ?: 1;
}

/* How many objects have it; each that has gets it. */
static int set_in_objects(struct plan *p, const struct setting *s)
{
	int objects = 0;

	for (uint32_t i = 0; i < p->objects.count; i++) {
		struct target t = {.plan = p, .object = i};
		int set = 0;

		for (; !set && t.map < p->objects.items[i].object->maps.count; t.map++)
			set = set_in_map(&t, s);
		if (set < 0)
			return set;
		objects += set;
	}
	return objects;
}

int plan_set(struct plan *p, const char *text)
{
	struct setting s = {0};
	int objects, error = plan_place(p);

	if (error)
		return error;
	if (!read_setting(text, &s))
		return error_set(-EINVAL,
			"cannot read '%s': NAME=NUMBER or NAME[KEY]=NUMBER, KEY and NUMBER as "
			"N[,N]...",
			text);
	objects = set_in_objects(p, &s);
	if (!objects)
		return error_set(-ENOENT, "no program uses a map or variable that is called '%.*s'",
			(int)s.length, s.name);
	if (objects > 1)
		buf_printf(&p->notes, "'%.*s' was set in each of %d objects that have it\n",
			(int)s.length, s.name, objects);
	return objects < 0 ? objects : 0;
}
