/* SPDX-License-Identifier: MIT */
/*
 * A whole stack: Python's frames first, because they mark native frames as theirs, then the native
 * ones.
 *
 *	record	[ head | native | kernel | Python ]		as events.h says
 *		[ head | native | kernel | Python | entries ]	with raw material (raw.h)
 *	part	[ head | native | Python | entries ]
 *
 * Of a stack that is deeper than there is room for, the two walks take turns: Python's goes on
 * until its room is full, the native one until it has met the loops of these frames, or its own
 * room is full. Then what both have found is sent as a part.
 *
 * Code objects that were not seen lately are copied (python_code.h), and are worth waking the
 * reader for: what has no room in the copy is read from the program's memory.
 */
#pragma once

#include "base/bare/hash_step.h"
#include "bpf/walker.h"
#include "walk/python_walk.h"

#define RECORD_WORDS                                                                               \
	(BPF_PART_FRAMES + BPF_KERNEL_DEPTH_MAX + 2 * WALK_PYTHON_ROOM + WALK_PYTHON_ENTRIES_ROOM)
#define MORE_WORDS	  (RECORD_WORDS - BPF_PART_FRAMES)
#define PLAIN_STEPS	  8 /* between two that need the whole walker */
#define NATIVE_STEPS	  (PLAIN_STEPS + 1)
#define PYTHON_STEPS	  4 /* in a turn */
#define PYTHON_WINDOW	  1024
#define MACHINE_STACK_MAX (16ull << 20) /* what lies so far above its pointer can be on it */
#define CODE_OBJECTS	  16384
#define NEW_CODES	  8 /* code objects of a stack that are copied; the next one has others */
#define WAKE_PAUSE_NS	  1000000

/* A record before it is sent. All kinds of heads end where the words begin, the native ones. */
struct record {
	union {
		struct bpf_sample_event sample;
		struct {
			uint8_t unused[sizeof(struct bpf_sample_event) -
				       sizeof(struct bpf_launch_event)];
			struct bpf_launch_event launch;
		};
		struct {
			uint8_t before[sizeof(struct bpf_sample_event) -
				       sizeof(struct bpf_wait_begin_event)];
			struct bpf_wait_begin_event wait;
		};
	};
	uint64_t words[BPF_PART_FRAMES];
};

_Static_assert(sizeof(struct bpf_probe_event) - sizeof(struct bpf_launch_event) <=
		       sizeof(((struct record *)0)->words),
	"what a probe says is built where a stack comes to be");

/* Where records of a kind go, and where the one in a buffer begins. */
struct destination {
	void *ring;
	uint64_t ring_bytes;
	const void *head;
	uint64_t head_size;
};

/* The Python side, which most threads need not have. */
struct python_buffer {
	uint32_t pid;
	uint32_t new_count;	       /* of code objects that were not seen lately, */
	uint64_t new_codes[NEW_CODES]; /* these */
	struct walk_python interpreter;
	struct walk_python_stack stack;
	uint64_t sp; /* of the machine's stack */
	uint64_t window_base;
	uint8_t window[PYTHON_WINDOW];
};

/*
 * When the walk is done its window is not needed, and the words of the kernel and of Python spread
 * over it:
 *
 *	record [ head | native words ] walker [ window         | state ]
 *	                      [ kernel | Python ]
 *
 * for this has to be small: task storage of Linux 7.2 gives out less than 8 KiB (6.18's more).
 */
struct stack_buffer {
	uint32_t pid;
	uint32_t hits;
	uint32_t next_entry;
	uint32_t entry_count;
	uint64_t entries[WALK_PYTHON_ENTRIES_ROOM];
	uint32_t sent; /* native frames, in parts */
	uint16_t part; /* how many parts were sent */
	uint8_t part_lost;
	uint8_t has_python;  /* the thread has a Python side */
	uint8_t python_turn; /* whose turn it is */
	uint8_t python_open; /* Python's chain has not been followed to its end */
	uint8_t native_ended;
	uint8_t raw_sent; /* raw material was */
	uint8_t guessing; /* GUESS_*; 0: nothing is */
	uint8_t reserved[3];
	uint64_t raw_end; /* of the stack, as far as it is sent */
	struct record record;
	struct walker walker; /* behind the record */
};

_Static_assert(sizeof(struct stack_buffer) <= 7680, "task storage has to hold it");
_Static_assert(__builtin_offsetof(struct stack_buffer, walker.window) ==
		       __builtin_offsetof(struct stack_buffer, record.words) +
			       BPF_PART_FRAMES * sizeof(uint64_t),
	"the window is where the words go on");
_Static_assert(WINDOW_BYTES >= MORE_WORDS * sizeof(uint64_t), "the words end in the window");

/* Python code objects seen lately, where their hash says. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_OBJECTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} code_objects SEC(".maps");

uint64_t woken_ns; /* when code objects last woke the reader */

/* ------------------------------------------------------------------ Python */

/*
 * A frame. Those of a thread lie one behind the other, callers below, for the most part: a window
 * is read that ends with this one. Entry frames on the machine's stack do not move it.
 */
static __always_inline bool read_python_frame(
	struct python_buffer *p, uint64_t address, uint64_t size)
{
	uint64_t offset = address - p->window_base;
	const uint64_t *from;

	if (offset > PYTHON_WINDOW - sizeof(p->stack.words)) {
		offset = address % PAGE_BYTES; /* below the page there may be nothing */
		if (offset > PYTHON_WINDOW - sizeof(p->stack.words))
			offset = PYTHON_WINDOW - sizeof(p->stack.words);
		if (address - p->sp < MACHINE_STACK_MAX ||
			bpf_probe_read_user(
				p->window, sizeof(p->window), (const void *)(address - offset))) {
			asm volatile("" : "+r"(size));
			size &= sizeof(p->stack.words) - 1;
			return !bpf_probe_read_user(p->stack.words, size, (const void *)address);
		}
		p->window_base = address - offset;
	}
	asm volatile("" : "+r"(offset));
	if (offset > PYTHON_WINDOW - sizeof(p->stack.words))
		return false;
	/* By word: for all that the compiler knows, a copy would have to go byte by byte. */
	from = (const uint64_t *)(p->window + offset);
	for (int i = 0; i < WALK_PYTHON_WORDS; i++)
		p->stack.words[i] = from[i];
	return true;
}

static __always_inline bool walk_python_home_read(
	struct walk_python_stack *s, uint64_t address, void *ret, uint32_t size)
{
	/* Of all that is read, frames alone have no fixed size. */
	if (!__builtin_constant_p(size) && ret == (void *)s->words)
		return read_python_frame(
			(struct python_buffer *)((uint8_t *)s -
						 __builtin_offsetof(struct python_buffer, stack)),
			address, size);
	return !bpf_probe_read_user(ret, size, (const void *)address);
}

static bool walk_python_home_state(
	struct walk_python_stack *s, const struct walk_python *p, uint64_t *ret)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return walk_python_state_of(s, p, arch_thread_pointer(task), ret);
}

/* Notes a frame's code object, if there is room for it. */
static __always_inline void note_code(struct python_buffer *p, uint64_t code)
{
	uint32_t index = hash_step(code, (uint64_t)p->pid << 32) >> 50;
	uint64_t *slot = bpf_map_lookup_elem(&code_objects, &index), count = p->new_count;

	_Static_assert(CODE_OBJECTS == 1 << (64 - 50), "the hash gives an index");
	asm volatile("" : "+r"(count));
	if (!slot || *slot == (code ^ p->pid) || count >= NEW_CODES)
		return;
	*slot = code ^ p->pid;
	p->new_codes[count] = code;
	p->new_count = count + 1;
}

/* Adds one Python frame: false when there is no further one. */
static __always_inline bool python_step(struct python_buffer *p)
{
	struct walk_python_stack *s = &p->stack;
	uint64_t depth = s->depth;
	bool on = walk_python_step(s, &p->interpreter);

	asm volatile("" : "+r"(depth));
	if (s->depth > depth && depth < WALK_PYTHON_ROOM)
		note_code(p, s->frames[depth].code);
	return on;
}

/* Whether there are Python frames to walk. */
static __always_inline bool python_begin(
	struct python_buffer *p, uint32_t pid, uint64_t sp, const struct walk_python *interpreter)
{
	p->pid = pid;
	p->sp = sp;
	p->window_base = 1; /* no frame is there */
	p->new_count = 0;
	p->interpreter = *interpreter;
	if (walk_python_begin(&p->stack, &p->interpreter))
		return true;
	p->stack.complete = 1; /* the thread runs no Python */
	return false;
}

/* ------------------------------------------------------------------ both walks */

static __always_inline void next_entry(struct stack_buffer *b)
{
	uint64_t i = b->next_entry++;

	asm volatile("" : "+r"(i));
	b->walker.walk.entry =
		i < WALK_PYTHON_ENTRIES_ROOM && i < b->entry_count ? b->entries[i] : 0;
}

/* The native walk cannot go on until Python's has: it may meet the loop of frames to come. */
static __always_inline bool lacks_entry(const struct stack_buffer *b)
{
	return b->python_open && !b->walker.walk.entry;
}

enum turn {
	TURN_END,   /* the walk is done */
	TURN_AGAIN, /* it goes on */
	TURN_PART,  /* so it does when what was found has been sent, */
	TURN_RULE,  /* or the rule for the present code was looked for (find_rule) */
};

/* Adds native frames as long as it is simple: true when the next entry of Python's was met. */
static __always_inline bool plain_steps(struct stack_buffer *b)
{
	uint64_t frame;

	for (int i = 0; i < PLAIN_STEPS; i++) {
		if (b->walker.walk.loops[0].end || !plain_step(&b->walker, b->record.words, &frame))
			return false;
		if (frame & WALK_FRAME_PYTHON) {
			next_entry(b);
			return true;
		}
	}
	return false;
}

/* Adds native frames, unless a rule is to be looked for first. TURN_END: there is no further one.
 */
static __always_inline enum turn native_steps(struct stack_buffer *b)
{
	struct walker *k = &b->walker;
	bool on, has_rule;
	uint64_t frame;

	if (k->found == RULE_UNKNOWN && plain_steps(b))
		return TURN_AGAIN;
	if (observes && k->trampoline && k->walk.pc == k->trampoline && !k->walk.exact)
		leave_trampoline(&k->walk);
	if (k->found == RULE_UNKNOWN && !take_known_rule(k))
		return TURN_RULE;
	has_rule = k->found != RULE_NONE;
	k->found = RULE_UNKNOWN;
	follow_misses(k);
	on = walker_step(k, has_rule, b->record.words, &frame);
	if (frame & WALK_FRAME_PYTHON)
		next_entry(b);
	return on ? TURN_AGAIN : TURN_END;
}

static __always_inline bool native_is_full(const struct stack_buffer *b)
{
	return b->walker.depth > BPF_PART_FRAMES - NATIVE_STEPS;
}

static __always_inline bool python_is_full(const struct python_buffer *p)
{
	return p->stack.depth >= WALK_PYTHON_ROOM ||
	       p->stack.entry_count >= WALK_PYTHON_ENTRIES_ROOM;
}

/* Adds Python frames: false when there is no further one, or no room. */
static __always_inline bool python_steps(struct python_buffer *p)
{
	for (int i = 0; i < PYTHON_STEPS; i++)
		if (python_is_full(p) || !python_step(p))
			return false;
	return true;
}

/* Now the native walk meets the loops of these frames. */
static __always_inline void take_entries(struct stack_buffer *b, const struct python_buffer *p)
{
	uint64_t entries = p->stack.entry_count;

	asm volatile("" : "+r"(entries));
	if (entries > WALK_PYTHON_ENTRIES_ROOM)
		entries = WALK_PYTHON_ENTRIES_ROOM;
	if (entries)
		bpf_probe_read_kernel(b->entries, entries * sizeof(*b->entries), p->stack.entries);
	b->entry_count = entries;
	b->next_entry = 0;
	next_entry(b);
	if (p->stack.sent + p->stack.depth && p->interpreter.layout == WALK_PYTHON_OBJECTS)
		__builtin_memcpy(
			b->walker.walk.loops, p->interpreter.loops, sizeof(p->interpreter.loops));
}

/* The caller of the latest frame is looked for. */
enum { GUESS_BEGINS = 1, GUESS_GOES_ON };

static __always_inline enum turn take_python_turn(struct stack_buffer *b, struct python_buffer *p)
{
	if (python_steps(p))
		return TURN_AGAIN;
	b->python_open = python_is_full(p);
	take_entries(b, p);
	if (b->python_open && (b->native_ended || !b->walker.walk.entry))
		return TURN_PART;
	b->python_turn = 0;
	return b->native_ended ? TURN_END : TURN_AGAIN;
}

static __always_inline enum turn end_native(struct stack_buffer *b)
{
	b->guessing = 0;
	b->native_ended = 1;
	b->python_turn = b->python_open;
	return b->python_open ? TURN_PART : TURN_END;
}

static __always_inline enum turn take_native_turn(struct stack_buffer *b)
{
	enum turn turn;

	b->python_turn = lacks_entry(b);
	if (b->python_turn)
		return TURN_PART;
	if (b->sent + b->walker.depth <= WALK_FOLLOWED_MAX - NATIVE_STEPS) {
		if (native_is_full(b))
			return TURN_PART;
		turn = native_steps(b);
		if (turn != TURN_END)
			return turn;
		b->guessing = walk_may_guess(&b->walker.walk) ? GUESS_BEGINS : 0;
		if (b->guessing)
			return TURN_AGAIN;
	}
	return end_native(b);
}

/* Looks for the caller of the latest frame, which nothing else shows: a turn of its own, as there
 * is little room on the stack of BPF. */
static __always_inline enum turn take_guess_turn(struct stack_buffer *b)
{
	struct walker *k = &b->walker;
	bool drop = false;
	uint64_t at;

	if (b->guessing == GUESS_BEGINS) {
		if (!walk_begin_guess(&k->walk, &drop))
			return end_native(b);
		if (drop && k->depth)
			k->depth--;
		b->guessing = GUESS_GOES_ON;
		return TURN_AGAIN;
	}
	at = k->walk.guess_at ? k->walk.guess_at : k->walk.sp;
	if (at + 8 * WALK_GUESS_TURN - k->window_base > k->window_room)
		move_window(k, at);
	if (walk_guess(&k->walk))
		b->guessing = 0;
	else if (!k->walk.guess_left)
		return end_native(b);
	return TURN_AGAIN;
}

/* To be called with the walker's registers set. p: NULL when there are no Python frames. */
static __always_inline void walk_begin(struct stack_buffer *b, const struct python_buffer *p)
{
	const struct walk *w = &b->walker.walk;
	struct bpf_raw_stack *start = &b->walker.start;

	start->pc = w->pc;
	start->sp = w->sp;
	start->fp = w->fp;
	start->lr = w->lr;
	start->exact = w->exact;
	b->entry_count = b->sent = 0;
	b->part = 0;
	b->part_lost = b->native_ended = b->raw_sent = b->guessing = 0;
	b->has_python = b->python_turn = b->python_open = p != NULL;
	b->walker.walk.entry = 0;
	__builtin_memset(b->walker.walk.loops, 0, sizeof(b->walker.walk.loops));
}

/* There is no stack, for this reason. */
static __always_inline void no_stack(struct stack_buffer *b, uint32_t end)
{
	b->walker.start.pc = 0;
	b->walker.depth = 0;
	b->walker.generation = 0;
	b->walker.outdated = 0;
	b->walker.walk.end = end;
	b->part = 0;
	b->has_python = b->part_lost = b->raw_sent = 0;
}

/* ------------------------------------------------------------------ records */

/* The description of the stack is what all heads end with. */
static __always_inline struct bpf_stack *stack_of(struct stack_buffer *b)
{
	return &b->record.sample.stack;
}

/* Puts words, `most` at most, behind those that are there, and returns how many there are then. */
static __always_inline uint64_t put_words(struct stack_buffer *b, uint64_t words, const void *from,
	uint64_t count, const uint64_t most)
{
	asm volatile("" : "+r"(words));
	if (words > RECORD_WORDS - most)
		return 0;
	asm volatile("" : "+r"(count));
	if (count > most)
		count = most;
	if (count)
		bpf_probe_read_kernel(
			(uint8_t *)b + __builtin_offsetof(struct stack_buffer, record.words) +
				words * sizeof(uint64_t),
			count * sizeof(uint64_t), from);
	return words + count;
}

/* Puts Python's frames behind the words that are there, fills in the description and returns how
 * many words there are. */
static __always_inline uint64_t finish_stack(
	struct stack_buffer *b, const struct python_buffer *p, uint64_t kernel_depth)
{
	uint64_t native_depth = walker_depth(&b->walker);
	uint64_t python_depth = p ? p->stack.depth : 0;

	*stack_of(b) = (struct bpf_stack){.user_depth = native_depth,
		.kernel_depth = kernel_depth,
		.python_depth = python_depth,
		.walk_end = b->walker.walk.end,
		.python_incomplete = p && !p->stack.complete,
		.space = b->walker.generation,
		.part = b->part,
		.python_void = p && p->stack.void_sent};
	return put_words(b, native_depth + kernel_depth, p ? p->stack.frames : NULL,
		2 * python_depth, 2 * WALK_PYTHON_ROOM);
}

/* Makes a part of what there is, but for a frame whose group has not ended, and returns how many
 * words it has. */
static __always_inline uint64_t finish_part(struct stack_buffer *b, const struct python_buffer *p)
{
	uint64_t native_depth = walker_depth(&b->walker), words = native_depth;
	uint64_t python_depth = p ? p->stack.depth - (p->stack.open != 0) : 0;
	uint64_t entries = p ? p->stack.entry_count : 0;

	*stack_of(b) = (struct bpf_stack){.user_depth = native_depth,
		.python_depth = python_depth,
		.entry_count = entries,
		.space = b->walker.generation,
		.part = b->part,
		.more = 1,
		.python_void = p && p->stack.void_sent};
	if (!p)
		return words;
	words = put_words(b, words, p->stack.frames, 2 * python_depth, 2 * WALK_PYTHON_ROOM);
	return put_words(b, words, p->stack.entries, entries, WALK_PYTHON_ENTRIES_ROOM);
}

/* After it was sent: all that was in it makes room. */
static __always_inline void part_is_sent(struct stack_buffer *b, struct python_buffer *p)
{
	uint64_t last;

	b->sent += b->walker.depth;
	b->walker.depth = 0;
	b->part++;
	close_window(&b->walker); /* the words were put there */
	if (!p)
		return;
	last = p->stack.depth - 1;
	p->stack.void_sent = 0;
	p->stack.entry_count = 0;
	p->stack.sent += p->stack.depth - (p->stack.open != 0);
	asm volatile("" : "+r"(last));
	if (p->stack.open && last < WALK_PYTHON_ROOM)
		p->stack.frames[0] = p->stack.frames[last];
	p->stack.depth = p->stack.open != 0;
}

/* Whether to wake the reader for code objects that are new. */
static __always_inline bool wakes_for_code(const struct python_buffer *p, uint64_t now_ns)
{
	if (!p || !p->new_count || now_ns - woken_ns < WAKE_PAUSE_NS)
		return false;
	woken_ns = now_ns;
	return true;
}
