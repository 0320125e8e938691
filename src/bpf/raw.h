/* SPDX-License-Identifier: MIT */
/*
 * Raw material, from which the recorder walks a stack later: the registers that the walk began with
 * and the stack itself, where the walk came to code whose table is not ready. Also while code is
 * mapped that the recorder has not published yet: the walk may have used the rules of code that was
 * there before.
 *
 *	part	[ head | registers | piece of the stack ]
 *
 * It is rare and can be large: pieces are sent in front of the record as parts of it, each made in
 * the ring, and only as long as half of the ring is free, so that they displace no other records.
 * Code that stays unknown stops being sent.
 */
#pragma once

#include "bpf/stack.h"

#define RAW_PIECE_PAGES 2
#define RAW_PIECES	(BPF_RAW_PAGES_MAX / RAW_PIECE_PAGES)
#define RAW_UNBOUNDED	65536 /* bytes of a stack whose end is not known */
#define RAW_MAX                                                                                    \
	1024 /* how often per page of code: while its table is made or its mapping not published */
#define RAW_UNKNOWN_MAX 64	  /* and when it probably never will be */
#define NEWS_NS		500000000 /* which takes no longer */

struct raw_piece {
	uint8_t bytes[sizeof(struct bpf_sample_event) + sizeof(struct bpf_raw_stack) +
		      RAW_PIECE_PAGES * PAGE_BYTES];
};

/* How often raw material was sent, and since when. */
struct raw_count {
	uint64_t since_ns;
	uint32_t count;
	uint32_t reserved;
};

/* By the generation of mappings and the page of the unknown code, or by process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint64_t);
	__type(value, struct raw_count);
} raw_counts SEC(".maps");

static __always_inline bool is_blocked(const struct walk *w)
{
	return w->end == WALK_PENDING || w->end == WALK_NO_MAPPING;
}

static __always_inline struct raw_count *find_raw_count(
	const struct stack_buffer *b, uint64_t *ret_key)
{
	const struct walk *w = &b->walker.walk;
	uint32_t page = is_blocked(w) ? w->pc / PAGE_BYTES : 0;

	*ret_key = b->walker.generation ? (uint64_t)b->walker.generation << 32 | page : b->pid;
	return bpf_map_lookup_elem(&raw_counts, ret_key);
}

/* Whether the recorder may not have published yet what is mapped where the walk ended. */
static __always_inline bool is_news(const struct stack_buffer *b, uint64_t now_ns)
{
	uint64_t key;
	const struct raw_count *sent = find_raw_count(b, &key);

	return !sent || now_ns - sent->since_ns < NEWS_NS;
}

/* Whether the stack is worth its raw material. */
static __always_inline bool wants_raw(
	struct stack_buffer *b, void *ring, uint64_t ring_bytes, uint64_t now_ns)
{
	const struct walk *w = &b->walker.walk;
	struct raw_count first = {.since_ns = now_ns, .count = 1}, *sent;
	uint64_t key;
	bool unknown;

	if ((!is_blocked(w) && !b->walker.outdated) || !b->walker.start.pc ||
		bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_bytes / 2)
		return false;
	sent = find_raw_count(b, &key);
	if (!sent) {
		bpf_map_update_elem(&raw_counts, &key, &first, BPF_ANY);
		return true;
	}
	unknown = w->end == WALK_NO_MAPPING && now_ns - sent->since_ns >= NEWS_NS;
	return sent->count++ < (unknown ? RAW_UNKNOWN_MAX : RAW_MAX);
}

/*
 * Where the stack ends. A thread's has its thread pointer at its end, and that of the program's
 * first thread its arguments; what comes behind may be anything.
 */
static __always_inline uint64_t end_of_stack(struct task_struct *task, uint64_t sp)
{
	uint64_t thread = arch_thread_pointer(task),
		 arguments = BPF_CORE_READ(task, mm, start_stack);

	if (thread - sp < MACHINE_STACK_MAX)
		return thread;
	if (arguments - sp < MACHINE_STACK_MAX)
		return arguments;
	return sp + RAW_UNBOUNDED;
}

/* Where a piece of the stack begins; *ret_size: of what it has of that page. */
static __always_inline uint64_t begin_of_piece(
	const struct bpf_raw_stack *start, uint64_t piece, uint64_t *ret_size)
{
	uint64_t size = PAGE_BYTES - start->sp % PAGE_BYTES;

	_Static_assert(PAGE_BYTES == BPF_RAW_PAGE_BYTES, "the reader counts as we do");
	*ret_size = piece ? PAGE_BYTES : size;
	return piece ? start->sp + size + (piece * RAW_PIECE_PAGES - 1) * PAGE_BYTES : start->sp;
}

/* Whether any of its pages can be read: what is reserved in a ring takes room there, also when it
 * is given back. */
static __always_inline bool is_readable(const struct bpf_raw_stack *start, uint64_t piece)
{
	uint64_t size, from = begin_of_piece(start, piece, &size);
	uint8_t byte;

	for (int i = 0; i < RAW_PIECE_PAGES; i++) {
		if (!bpf_probe_read_user(&byte, sizeof(byte), (const void *)from))
			return true;
		from += size;
		size = PAGE_BYTES;
	}
	return false;
}

/* Copies what can be read of a piece of the stack to `at` in the ring, and returns where that
 * ends. */
static __always_inline uint64_t copy_piece(
	struct raw_piece *r, uint64_t at, uint64_t piece, struct bpf_raw_stack *start)
{
	uint64_t size, from = begin_of_piece(start, piece, &size), pages = 0, got;

	for (int i = 0; i < RAW_PIECE_PAGES; i++) {
		asm volatile("" : "+r"(at));
		if (at > sizeof(*r) - PAGE_BYTES)
			break;
		/* Without a branch, which the verifier would follow to both sides on each page. */
		got = ~(bpf_probe_read_user((uint8_t *)r + at, size, (const void *)from) >> 63);
		asm volatile("" : "+r"(got));
		pages |= (got & 1) << i;
		at += size & got;
		from += size;
		size = PAGE_BYTES;
	}
	start->first = piece * RAW_PIECE_PAGES;
	start->pages = pages;
	return at;
}

/* Fills in the description of a piece, in the head of the thread's record. */
static __always_inline void describe_piece(
	const struct stack_buffer *b, struct bpf_stack *ret, uint64_t bytes)
{
	*ret = (struct bpf_stack){.raw_size = (bytes + 7) & ~7ull,
		.space = b->walker.generation,
		.part = b->part,
		.more = 1};
}

/* Sends a piece of the stack: false when there is no room for it, or the stack has ended. */
static __always_inline bool send_piece(
	struct stack_buffer *b, struct destination to, uint32_t piece)
{
	struct bpf_raw_stack *start = &b->walker.start;
	const uint64_t begin = to.head_size + sizeof(*start);
	struct raw_piece *r;
	uint64_t end;

	if (begin_of_piece(start, piece, &end) >= b->raw_end ||
		bpf_ringbuf_query(to.ring, BPF_RB_AVAIL_DATA) > to.ring_bytes / 2)
		return false;
	if (!is_readable(start, piece))
		return true;
	r = bpf_ringbuf_reserve(to.ring, sizeof(*r), 0);
	if (!r)
		return false;
	end = copy_piece(r, begin, piece, start);
	bpf_probe_read_kernel(r, to.head_size, to.head);
	bpf_probe_read_kernel((uint8_t *)r + to.head_size, sizeof(*start), start);
	describe_piece(b,
		(struct bpf_stack *)((uint8_t *)r + ((uint8_t *)stack_of(b) - (uint8_t *)to.head)),
		end - to.head_size);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	b->part++;
	b->raw_sent = 1;
	return true;
}

/* After the pieces: what else the record needs then. Returns how many words it has. */
static __always_inline uint64_t finish_raw(
	struct stack_buffer *b, const struct python_buffer *p, uint64_t words)
{
	uint64_t entries = p ? p->stack.entry_count : 0;

	if (!b->raw_sent)
		return words;
	stack_of(b)->part = b->part;
	stack_of(b)->entry_count = entries;
	return p ? put_words(b, words, p->stack.entries, entries, WALK_PYTHON_ENTRIES_ROOM) : words;
}
