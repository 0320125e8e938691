// SPDX-License-Identifier: MIT
/*
 * Chains live one after the other in an arena that only grows, are found through an open-addressing index
 * of their numbers, and are immutable once their number is in the index. One thread at a time adds; one
 * that finds another adding does without a number this once. When arena or index are full, new chains get
 * no number and their launches fire the marker: slower, not less.
 *
 * How a thread learns the end of its stack:
 *
 *	thread                          our thread
 *	free -> CLAIMED, tid, sp, tls
 *	        ASKED                -> finds the mapping that holds sp; it counts as this thread's stack
 *	                                when it also holds the thread's control block (glibc puts that at
 *	                                the top of every thread's stack) or is the main thread's [stack]
 *	                                (which grows: the kernel keeps other mappings 128 MB away, see
 *	                                mmap_base() in arch/x86/mm/mmap.c and mm/util.c)
 *	        ANSWERED            <-
 *	takes the answer, -> free
 *
 * A thread that ended before it took its answer leaves it behind; such places are freed after a while.
 */
#include "inject/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/code_map.h"
#include "inject/library.h"

#define MAX_FRAMES    127
#define INDEX_SLOTS   (WIRE_STACKS * 2) /* at most half full */
#define ARENA_WORDS   ((size_t)512 << 10)
#define GUESSES       4096
#define GUESS_FRAMES  12
#define QUESTIONS     64
#define STALE_ROUNDS  600
#define MAIN_BYTES    ((uintptr_t)128 << 20)

struct chain {
	uint64_t hash;
	uint32_t depth;
	uint32_t epoch;
	uint64_t frames[];
};

enum question_state {
	QUESTION_FREE = 0,
	QUESTION_CLAIMED,
	QUESTION_ASKED,
	QUESTION_ANSWERED,
};

struct question {
	uint32_t state; /* enum question_state */
	uint32_t tid;
	uintptr_t sp;
	uintptr_t control_block;
	uintptr_t start, end; /* the answer; end 0: not a stack we know */
	uint32_t rounds;
};

struct store {
	uint64_t arena[ARENA_WORDS];
	uint32_t index[INDEX_SLOTS];       /* numbers */
	uint32_t places[WIRE_STACKS];      /* number - 1 -> word in the arena */
	uint32_t guesses[GUESSES];         /* numbers */
	struct question questions[QUESTIONS];
	uint32_t adding; /* a thread is adding */
	uint32_t count;
	uint32_t used; /* words of the arena */
};

static struct store *store;

static __thread struct {
	uintptr_t start, end; /* of this thread's stack; end 0: not known */
	uint16_t asked;       /* question + 1 */
	bool refused;         /* it launched from a stack we do not know: never ask again */
} self;

int stacks_init(void)
{
	void *memory = mmap(NULL, sizeof(struct store), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, sizeof(struct store), MADV_DONTFORK);
	store = memory;
	return code_map_init();
}

/* ---- the end of the stack ---- */

static void ask(uintptr_t sp)
{
	for (uint16_t i = 0; i < QUESTIONS; i++) {
		struct question *q = &store->questions[i];
		uint32_t expected = QUESTION_FREE;

		if (!__atomic_compare_exchange_n(&q->state, &expected, QUESTION_CLAIMED, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		q->tid = (uint32_t)syscall(SYS_gettid);
		q->sp = sp;
		q->control_block = (uintptr_t)__builtin_thread_pointer();
		q->start = q->end = 0;
		q->rounds = 0;
		__atomic_store_n(&q->state, QUESTION_ASKED, __ATOMIC_RELEASE);
		self.asked = (uint16_t)(i + 1);
		return;
	}
}

static void take_answer(void)
{
	struct question *q = &store->questions[self.asked - 1];
	uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

	if (state != QUESTION_ANSWERED && state != QUESTION_FREE)
		return;
	self.asked = 0;
	if (state == QUESTION_FREE || q->control_block != (uintptr_t)__builtin_thread_pointer())
		return;
	self.start = q->start;
	self.end = q->end;
	self.refused = !q->end;
	__atomic_store_n(&q->state, QUESTION_FREE, __ATOMIC_RELEASE);
}

/* One mapping against every open question. */
static void compare_mapping(uintptr_t start, uintptr_t end, bool main_stack)
{
	for (int i = 0; i < QUESTIONS; i++) {
		struct question *q = &store->questions[i];

		if (__atomic_load_n(&q->state, __ATOMIC_ACQUIRE) != QUESTION_ASKED)
			continue;
		if (q->sp < start || q->sp >= end)
			continue;
		q->start = main_stack && end > MAIN_BYTES ? end - MAIN_BYTES : start;
		if (main_stack)
			q->end = end;
		else if (q->control_block > q->sp && q->control_block < end)
			q->end = q->control_block;
	}
}

static uintptr_t take_hex(const char **at)
{
	uintptr_t value = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* "start-end rwxp offset device inode   name"; the ends, the x and a name of "[stack]" matter. */
static void take_line(const char *line, const char *line_end)
{
	static const char main_name[] = "[stack]";
	const ptrdiff_t name_size = sizeof(main_name) - 1;
	bool main_stack = line_end - line > name_size &&
		!memcmp(line_end - name_size, main_name, (size_t)name_size);
	uintptr_t start = take_hex(&line), end;

	if (*line++ != '-')
		return;
	end = take_hex(&line);
	compare_mapping(start, end, main_stack);
	if (line_end - line > 4 && line[3] == 'x')
		code_map_add(start, end);
}

/* Takes the whole lines of buffer[0..filled) and moves the rest to the front: its size. */
static size_t take_lines(char *buffer, size_t filled)
{
	char *line = buffer, *end;

	while ((end = memchr(line, '\n', filled - (size_t)(line - buffer)))) {
		*end = '\0';
		take_line(line, end);
		line = end + 1;
	}
	filled -= (size_t)(line - buffer);
	memmove(buffer, line, filled);
	return filled;
}

/* A line longer than the buffer (no path is) would only be cut: its beginning is what matters. */
static bool read_maps(void)
{
	char buffer[8192];
	size_t filled = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while ((n = read(fd, buffer + filled, sizeof(buffer) - filled)) > 0) {
		filled = take_lines(buffer, filled + (size_t)n);
		if (filled == sizeof(buffer))
			filled = 0;
	}
	close(fd);
	return !n;
}

/* Ages answers nobody took; true when there are open questions. */
static bool look_at_questions(void)
{
	bool open_ones = false;

	for (int i = 0; i < QUESTIONS; i++) {
		struct question *q = &store->questions[i];
		uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

		if (state == QUESTION_ASKED)
			open_ones = true;
		else if (state == QUESTION_ANSWERED && ++q->rounds > STALE_ROUNDS)
			__atomic_compare_exchange_n(&q->state, &state, QUESTION_FREE, false,
				__ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	return open_ones;
}

void stacks_answer(void)
{
	uint32_t asked[QUESTIONS];

	if (!look_at_questions() && !code_map_is_wanted())
		return;
	for (int i = 0; i < QUESTIONS; i++)
		asked[i] = __atomic_load_n(&store->questions[i].state, __ATOMIC_ACQUIRE);
	code_map_begin();
	if (!read_maps())
		return;
	code_map_end();
	for (int i = 0; i < QUESTIONS; i++)
		if (asked[i] == QUESTION_ASKED)
			__atomic_store_n(&store->questions[i].state, QUESTION_ANSWERED, __ATOMIC_RELEASE);
}

/* True when memory from `frame` to self.end is this thread's own stack. */
static bool know_stack(uintptr_t frame)
{
	if (self.refused)
		return false;
	if (!self.end) {
		if (self.asked)
			take_answer();
		else
			ask(frame);
		return false;
	}
	return frame >= self.start && frame < self.end;
}

/* ---- chains ---- */

/* What rbp leads to, whether return addresses or not. */
struct raw_chain {
	uint64_t depth;
	uint64_t words[MAX_FRAMES];
};

/*
 *	frame:     saved rbp --> the caller's frame, further out
 *	frame + 8: return address
 */
static void read_chain(uintptr_t frame, struct raw_chain *ret)
{
	uint64_t depth = 0;

	while (depth < MAX_FRAMES && !(frame & 7) && frame <= self.end - 16) {
		const uint64_t *slots = (const uint64_t *)frame;

		ret->words[depth++] = slots[1];
		if (slots[0] <= frame)
			break;
		frame = slots[0];
	}
	ret->depth = depth;
}

static const struct chain *chain_of(uint32_t number)
{
	return (const struct chain *)&store->arena[store->places[number - 1]];
}

static uint64_t hash_words(const uint64_t *words, uint64_t count)
{
	uint64_t hash = count;

	for (uint64_t i = 0; i < count; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static uint32_t add_chain(
	size_t slot, const uint64_t *words, uint64_t depth, uint32_t epoch, uint64_t hash)
{
	uint32_t number = store->count + 1;
	struct chain *c = (struct chain *)&store->arena[store->used];

	if (number > WIRE_STACKS || store->used + 2 + depth > ARENA_WORDS)
		return 0;
	c->hash = hash;
	c->depth = (uint32_t)depth;
	c->epoch = epoch;
	memcpy(c->frames, words, depth * 8);
	store->places[number - 1] = store->used;
	store->used += 2 + (uint32_t)depth;
	store->count = number;
	__atomic_store_n(&store->index[slot], number, __ATOMIC_RELEASE);
	return number;
}

/* Slots only ever go from free to taken, so a look-up needs no lock, and what it finds is whole. */
static uint32_t find_chain(const uint64_t *words, uint64_t depth, uint32_t epoch)
{
	uint64_t hash = hash_words(words, depth) + epoch * 0x9e3779b97f4a7c15ull;
	size_t slot = (hash >> 16) % INDEX_SLOTS;
	uint32_t number, expected = 0;

	for (;; slot = (slot + 1) % INDEX_SLOTS) {
		const struct chain *c;

		number = __atomic_load_n(&store->index[slot], __ATOMIC_ACQUIRE);
		if (!number)
			break;
		c = chain_of(number);
		if (c->hash == hash && c->depth == depth && c->epoch == epoch &&
			!memcmp(c->frames, words, depth * 8))
			return number;
	}
	if (!__atomic_compare_exchange_n(&store->adding, &expected, 1, false, __ATOMIC_ACQUIRE,
		    __ATOMIC_RELAXED))
		return 0;
	/* Somebody may have taken the slot in between: then not this time. */
	if (!__atomic_load_n(&store->index[slot], __ATOMIC_RELAXED))
		number = add_chain(slot, words, depth, epoch, hash);
	__atomic_store_n(&store->adding, 0, __ATOMIC_RELEASE);
	return number;
}

/* Up to the first word that is no code. */
static uint64_t code_depth(const struct raw_chain *raw)
{
	uint64_t depth = 0;

	while (depth < raw->depth && code_map_has(raw->words[depth]))
		depth++;
	return depth;
}

/* Whether the raw chain, cut where code ends, is chain `number`: every word compared, and the one behind
 * them no code. What lies inside the chain is code because the chain's words were, when it was added
 * or found under this map. */
static bool is_chain(uint32_t number, const struct raw_chain *raw, uint32_t epoch)
{
	const struct chain *c = chain_of(number);

	return c->epoch == epoch && c->depth <= raw->depth && !memcmp(c->frames, raw->words, c->depth * 8) &&
	       (c->depth == raw->depth || !code_map_has(raw->words[c->depth]));
}

/* A guess by the inner end of the chain and its place on the stack: usually right, always checked. */
static uint32_t *guess_for(uintptr_t frame, const struct raw_chain *raw)
{
	uint64_t inner = raw->depth < GUESS_FRAMES ? raw->depth : GUESS_FRAMES;

	return &store->guesses[((hash_words(raw->words, inner) ^ frame) * 0x9e3779b97f4a7c15ull >> 32) %
			       GUESSES];
}

struct stack_name stacks_find(const void *frame)
{
	struct stack_name name = {0};
	struct raw_chain raw;
	uint32_t *guess, epoch;
	uint64_t depth;

	if (!know_stack((uintptr_t)frame) || !code_map_is_current(&name.generation))
		return name;
	epoch = __atomic_load_n(&library.ring.control->code_epoch, __ATOMIC_ACQUIRE);
	read_chain((uintptr_t)frame, &raw);
	guess = guess_for((uintptr_t)frame, &raw);
	name.number = __atomic_load_n(guess, __ATOMIC_ACQUIRE);
	if (!name.number || !is_chain(name.number, &raw, epoch)) {
		depth = code_depth(&raw);
		name.number = depth ? find_chain(raw.words, depth, epoch) : 0;
		__atomic_store_n(guess, name.number, __ATOMIC_RELEASE);
	}
	if (!name.number)
		return name;
	name.depth = chain_of(name.number)->depth;
	name.known = wire_stack_known(library.ring.control, name.number);
	return name;
}
