// SPDX-License-Identifier: MIT
/*
 * The key (up to 3.14): a Py_tss_t { int is_initialized; pthread_key_t key; } in _PyRuntime, at the
 * offset that the layout has, or else at the first offset whose key leads from a listed thread to
 * that thread's PyThreadState.
 *
 * Where pthread_getspecific looks, on x86-64, as offsets from the thread pointer:
 *
 *	glibc  784   the first 32 entries { sequence, value }
 *	       1296  32 addresses of blocks of 32 entries; the first block is the one above
 *	musl   128   the address of an array of 128 values
 *
 * glibc's are tried first; when they do not lead to the PyThreadState, the thread's descriptor is
 * searched for what does.
 *
 * The variable (from 3.15 on): what PyGILState_GetThisThreadState returns. Its code is one of
 * three:
 *
 *	mov %fs:offset, %rax
 *		in programs
 *	mov slot(%rip), %rax; mov %fs:(%rax), %rax
 *		in libraries that are loaded early
 *	lea slot(%rip), %rdi; call __tls_get_addr; mov offset(%rax), %rax
 *		in other libraries
 *
 * In the last one the variable is in the module's block. For libraries loaded at start that is at a
 * fixed distance from the thread pointer; for others each thread's dtv says where it is.
 */
#include "python/thread_state.h"

#include <string.h>

#include "python/remote.h"

#define KEY_MAX		 1024
#define ODD_KEYS_MAX	 64	     /* are tried with any layout, which takes many reads */
#define SCAN_MAX	 (64u << 10) /* bytes of _PyRuntime */
#define DESCRIPTOR_BYTES 4096
#define GLIBC_FIRST	 784
#define GLIBC_BLOCKS	 1296
#define GLIBC_SHIFT	 5
#define MUSL_SHIFT	 7
#define MUSL_FIELDS	 512 /* bytes of struct pthread to look for the array in */

struct tsd_layout {
	int16_t first, blocks;
	uint16_t size, value, shift;
};

static const struct tsd_layout glibc = {GLIBC_FIRST, GLIBC_BLOCKS, 16, 8, GLIBC_SHIFT};

static void use_layout(struct walk_python *p, const struct tsd_layout *t)
{
	p->tsd_first = t->first;
	p->tsd_blocks = t->blocks;
	p->tsd_size = t->size;
	p->tsd_value = t->value;
	p->tsd_shift = t->shift;
}

/* True when the walkers find at least one listed thread with *p. */
static bool finds_a_thread(const struct walk_python *p, const struct python_memory *m,
	const struct python_states *states)
{
	for (uint32_t i = 0; i < states->count; i++)
		if (python_remote_state(m, p, states->items[i].thread_pointer) ==
			states->items[i].address)
			return true;
	return false;
}

/* glibc of another layout: the value in the descriptor, `first` as far before it as the key says,
 * and the first address of the table of blocks. */
static bool search_glibc(const uint64_t *words, size_t count, uint32_t key,
	const struct python_state *s, struct tsd_layout *ret)
{
	for (size_t i = 2 * key + 1; key < 1u << GLIBC_SHIFT && i < count; i++) {
		size_t first = i - 1 - 2 * key;

		if (words[i] != s->address)
			continue;
		for (size_t k = 0; k < count; k++) {
			if (words[k] != s->thread_pointer + 8 * first)
				continue;
			*ret = (struct tsd_layout){
				(int16_t)(8 * first), (int16_t)(8 * k), 16, 8, GLIBC_SHIFT};
			return true;
		}
	}
	return false;
}

static bool search_musl(const struct python_memory *m, const uint64_t *words, uint32_t key,
	const struct python_state *s, struct tsd_layout *ret)
{
	uint64_t value;

	for (size_t i = 1; key < 1u << MUSL_SHIFT && i < MUSL_FIELDS / 8; i++) {
		if (!words[i] || words[i] & 7 || !python_read_word(m, words[i] + 8 * key, &value) ||
			value != s->address)
			continue;
		*ret = (struct tsd_layout){0, (int16_t)(8 * i), 8, 0, MUSL_SHIFT};
		return true;
	}
	return false;
}

/* How much of a thread's descriptor there is to read: it can be at the end of its pages. */
static size_t read_descriptor(const struct python_memory *m, uint64_t address, uint64_t *words)
{
	size_t size = DESCRIPTOR_BYTES;

	memset(words, 0, DESCRIPTOR_BYTES);
	while (size >= MUSL_FIELDS && !python_read(m, address, words, size))
		size /= 2;
	return size >= MUSL_FIELDS ? size / 8 : 0;
}

/* Tries the key at one address, with whatever layout leads from it to a thread's state. */
static bool try_any_layout(struct walk_python *p, const struct python_memory *m, uint64_t address,
	uint32_t key, const struct python_states *states)
{
	uint64_t words[DESCRIPTOR_BYTES / 8];
	struct tsd_layout found;

	for (uint32_t i = 0; i < states->count; i++) {
		const struct python_state *s = &states->items[i];
		size_t count = read_descriptor(m, s->thread_pointer, words);

		if (!count || (!search_glibc(words, count, key, s, &found) &&
				      !search_musl(m, words, key, s, &found)))
			continue;
		p->tss_address = address;
		use_layout(p, &found);
		return finds_a_thread(p, m, states);
	}
	return false;
}

/* With glibc's usual layout. */
static bool try_glibc(struct walk_python *p, const struct python_memory *m, uint64_t address,
	uint32_t key, const struct python_states *states)
{
	p->tss_address = address;
	use_layout(p, &glibc);
	return finds_a_thread(p, m, states);
}

typedef bool (*key_try)(struct walk_python *p, const struct python_memory *m, uint64_t address,
	uint32_t key, const struct python_states *states);

static bool is_key(uint64_t word)
{
	return (uint32_t)word == 1 && word >> 32 < KEY_MAX;
}

/* The one key of _PyRuntime that leads to the thread state, of at most `keys_max` that could be. */
static bool search_key(struct walk_python *p, const struct python_memory *m, uint64_t runtime_bytes,
	const struct python_states *states, key_try try, uint32_t keys_max)
{
	uint64_t words[512],
		size = runtime_bytes && runtime_bytes < SCAN_MAX ? runtime_bytes : SCAN_MAX;

	for (uint64_t at = 0; at + 8 <= size && keys_max; at += sizeof(words)) {
		uint64_t piece = size - at < sizeof(words) ? (size - at) & ~7ull : sizeof(words);

		if (!python_read(m, p->runtime + at, words, piece))
			return false;
		for (uint64_t i = 0; i < piece / 8 && keys_max; i++) {
			if (!is_key(words[i]))
				continue;
			if (try(p, m, p->runtime + at + 8 * i, (uint32_t)(words[i] >> 32), states))
				return true;
			keys_max--;
		}
	}
	return false;
}

bool python_find_key(struct walk_python *p, const struct python_memory *m,
	const struct python_layout *l, uint64_t runtime_bytes, const struct python_states *states)
{
	uint64_t address = p->runtime + l->tss, word;

	if (l->tss && python_read_word(m, address, &word) && is_key(word) &&
		(try_glibc(p, m, address, (uint32_t)(word >> 32), states) ||
			try_any_layout(p, m, address, (uint32_t)(word >> 32), states)))
		return true;
	return search_key(p, m, runtime_bytes, states, try_glibc, KEY_MAX) ||
	       search_key(p, m, runtime_bytes, states, try_any_layout, ODD_KEYS_MAX);
}

#if defined(__x86_64__)

#define CODE_BYTES     64
#define STATIC_TLS_MAX (16u << 10)

struct code {
	uint8_t bytes[CODE_BYTES];
	uint64_t address;
};

static int32_t read_i32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The first position in the code where `size` bytes are these, from `from` on; -1: none. */
static int find_bytes(const struct code *c, int from, const void *bytes, size_t size)
{
	for (size_t i = (size_t)from; i + size + 8 <= CODE_BYTES; i++)
		if (!memcmp(c->bytes + i, bytes, size))
			return (int)i;
	return -1;
}

/* The address that an instruction of `length` bytes at `at` names relative to its end, in its
 * last 4. */
static uint64_t relative(const struct code *c, int at, int length)
{
	return c->address + (uint64_t)(at + length) +
	       (uint64_t)(int64_t)read_i32(c->bytes + at + length - 4);
}

static bool decode_direct(struct walk_python *p, const struct code *c)
{
	int at = find_bytes(c, 0, "\x64\x48\x8b\x04\x25", 5);

	if (at < 0)
		return false;
	p->state_tls = read_i32(c->bytes + at + 5);
	return true;
}

static bool decode_slot(struct walk_python *p, const struct python_memory *m, const struct code *c)
{
	int at = find_bytes(c, 0, "\x48\x8b\x05", 3);
	uint64_t offset;

	if (at < 0 || find_bytes(c, at, "\x64\x48\x8b\x00", 4) < 0 ||
		!python_read_word(m, relative(c, at, 7), &offset))
		return false;
	p->state_tls = (int32_t)offset;
	return p->state_tls == (int64_t)offset;
}

/* The offset in the module's block that the code adds to what __tls_get_addr returns. */
static bool decode_displacement(const struct code *c, int from, int64_t *ret)
{
	for (int i = from; i + 7 <= CODE_BYTES && c->bytes[i] != 0xc3; i++) {
		if (memcmp(c->bytes + i, "\x48\x8b", 2))
			continue;
		if (c->bytes[i + 2] == 0x80)
			*ret = read_i32(c->bytes + i + 3);
		else if (c->bytes[i + 2] == 0x40)
			*ret = (int8_t)c->bytes[i + 3];
		else if (c->bytes[i + 2] == 0x00)
			*ret = 0;
		else
			continue;
		return true;
	}
	return false;
}

static bool decode_call(struct walk_python *p, const struct python_memory *m, const struct code *c)
{
	int at = find_bytes(c, 0, "\x48\x8d\x3d", 3);
	uint64_t index[2]; /* the module, and the offset that __tls_get_addr adds */
	int64_t displacement;

	if (at < 0 || !decode_displacement(c, at + 7, &displacement) ||
		!python_read(m, relative(c, at, 7), index, sizeof(index)) || !index[0] ||
		index[0] > UINT16_MAX || index[1] > INT32_MAX / 2 || displacement < 0 ||
		displacement > INT32_MAX / 2)
		return false;
	p->tls_module = (uint16_t)index[0];
	p->state_tls = (int32_t)(index[1] + (uint64_t)displacement);
	return true;
}

/* A block that lies directly below the thread's descriptor was laid out at the program's start, and
 * lies there in all threads. */
static void prefer_fixed(
	struct walk_python *p, const struct python_memory *m, const struct python_states *states)
{
	uint64_t dtv, block, distance;

	if (!p->tls_module ||
		!python_read_word(m, states->items[0].thread_pointer + WALK_PYTHON_DTV, &dtv) ||
		!python_read_word(m, dtv + 16 * (uint64_t)p->tls_module, &block))
		return;
	distance = states->items[0].thread_pointer - block;
	if (!distance || distance > STATIC_TLS_MAX)
		return;
	p->state_tls -= (int32_t)distance;
	p->tls_module = 0;
}

bool python_find_variable(struct walk_python *p, const struct python_memory *m, uint64_t get_state,
	const struct python_states *states)
{
	struct code c = {.address = get_state};

	if (!get_state || !states->count || !python_read(m, get_state, c.bytes, sizeof(c.bytes)))
		return false;
	if (!decode_direct(p, &c) && !decode_slot(p, m, &c) && !decode_call(p, m, &c))
		return false;
	prefer_fixed(p, m, states);
	return (p->state_tls || p->tls_module) && finds_a_thread(p, m, states);
}

#else

bool python_find_variable(struct walk_python *p, const struct python_memory *m, uint64_t get_state,
	const struct python_states *states)
{
	return false;
}

#endif
