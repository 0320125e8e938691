// SPDX-License-Identifier: MIT
/*
 * How a thread learns the end of its stack:
 *
 *	thread                          our thread
 *	free -> CLAIMED, sp, tls
 *	        ASKED, wakes it      -> finds the mapping that holds sp; it counts as this thread's stack
 *	                                when it also holds the thread's control block (glibc puts that at
 *	                                the top of every thread's stack) or is the main thread's [stack]
 *	                                (which grows: the kernel keeps other mappings 128 MB away, see
 *	                                mmap_base() in arch/x86/mm/mmap.c and mm/util.c)
 *	        ANSWERED            <-
 *	reads the answer, -> free
 *
 * A thread that ends before it has read its answer leaves it behind; such questions are freed after
 * a while.
 */
#include "inject/stack_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/library.h"

#define QUESTIONS    64
#define STALE_ROUNDS 600
#define MAIN_BYTES   ((uintptr_t)128 << 20)

enum question_state {
	QUESTION_FREE = 0,
	QUESTION_CLAIMED,
	QUESTION_ASKED,
	QUESTION_ANSWERED,
};

struct question {
	uint32_t state; /* enum question_state */
	uint32_t rounds;
	uintptr_t sp;
	uintptr_t control_block;
	uintptr_t start, end; /* the answer; end 0: not the thread's own stack */
};

#define QUESTIONS_BYTES (QUESTIONS * sizeof(struct question))

static struct question *questions; /* QUESTIONS of them */

static __thread struct {
	uintptr_t start, end; /* of this thread's stack; end 0: unknown */
	uint16_t asked;	      /* question + 1 */
	bool refused;	      /* it launched from a stack of another kind: never ask again */
} self;

int stack_end_init(void)
{
	void *memory = mmap(
		NULL, QUESTIONS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, QUESTIONS_BYTES, MADV_DONTFORK);
	questions = memory;
	return 0;
}

void stack_end_release(void)
{
	if (questions)
		munmap(questions, QUESTIONS_BYTES);
	questions = NULL;
}

static void ask(uintptr_t sp)
{
	for (uint16_t i = 0; i < QUESTIONS; i++) {
		struct question *q = &questions[i];
		uint32_t expected = QUESTION_FREE;

		if (!__atomic_compare_exchange_n(&q->state, &expected, QUESTION_CLAIMED, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		q->sp = sp;
		q->control_block = (uintptr_t)__builtin_thread_pointer();
		q->start = q->end = 0;
		q->rounds = 0;
		__atomic_store_n(&q->state, QUESTION_ASKED, __ATOMIC_RELEASE);
		self.asked = (uint16_t)(i + 1);
		collector_wake();
		return;
	}
}

static void read_answer(void)
{
	struct question *q = &questions[self.asked - 1];
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
		struct question *q = &questions[i];

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

static uintptr_t parse_hex(const char **at)
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

/* "start-end rwxp offset device inode   name": only start, end and a name of "[stack]" matter. */
static void parse_line(const char *line, const char *line_end)
{
	static const char main_name[] = "[stack]";
	const ptrdiff_t name_size = sizeof(main_name) - 1;
	bool main_stack = line_end - line > name_size &&
			  !memcmp(line_end - name_size, main_name, (size_t)name_size);
	uintptr_t start = parse_hex(&line), end;

	if (*line++ != '-')
		return;
	end = parse_hex(&line);
	compare_mapping(start, end, main_stack);
}

/* Parses the whole lines of buffer[0..filled) and moves the rest to the front: its size. */
static size_t parse_lines(char *buffer, size_t filled)
{
	char *line = buffer, *end;

	while ((end = memchr(line, '\n', filled - (size_t)(line - buffer)))) {
		*end = '\0';
		parse_line(line, end);
		line = end + 1;
	}
	filled -= (size_t)(line - buffer);
	memmove(buffer, line, filled);
	return filled;
}

/* A line longer than the buffer (no path is) would be cut, which does no harm: its beginning
 * matters. */
static bool read_maps(void)
{
	char buffer[8192];
	size_t filled = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while ((n = read(fd, buffer + filled, sizeof(buffer) - filled)) > 0) {
		filled = parse_lines(buffer, filled + (size_t)n);
		if (filled == sizeof(buffer))
			filled = 0;
	}
	close(fd);
	return !n;
}

/* Frees old answers that nobody has read; true when questions are open. */
static bool look_at_questions(void)
{
	bool open_ones = false;

	for (int i = 0; i < QUESTIONS; i++) {
		struct question *q = &questions[i];
		uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

		if (state == QUESTION_ASKED)
			open_ones = true;
		else if (state == QUESTION_ANSWERED && ++q->rounds > STALE_ROUNDS)
			__atomic_compare_exchange_n(&q->state, &state, QUESTION_FREE, false,
				__ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	return open_ones;
}

void stack_end_answer(void)
{
	uint32_t asked[QUESTIONS];

	if (!look_at_questions())
		return;
	for (int i = 0; i < QUESTIONS; i++)
		asked[i] = __atomic_load_n(&questions[i].state, __ATOMIC_ACQUIRE);
	if (!read_maps())
		return;
	for (int i = 0; i < QUESTIONS; i++)
		if (asked[i] == QUESTION_ASKED)
			__atomic_store_n(&questions[i].state, QUESTION_ANSWERED, __ATOMIC_RELEASE);
}

uintptr_t stack_end_of(uintptr_t frame)
{
	if (self.refused)
		return 0;
	if (!self.end && self.asked)
		read_answer();
	else if (!self.end)
		ask(frame);
	return self.end && frame >= self.start && frame < self.end ? self.end : 0;
}
