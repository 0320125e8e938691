// SPDX-License-Identifier: MIT
/*
 * A stack is read through /proc, as its thread may end at any time, from the stack pointer that the
 * kernel gives for a sleeping thread up to the end of the mapping. What is left over there from an
 * earlier call counts as one, too: then the thread is looked at again later.
 *
 * Threads of the driver itself always have its code on their stacks, and those of CUPTI may. The C
 * library keeps the function that a thread began with above its stack: the last address of code
 * there, but for those of the C library. If that is the driver's or CUPTI's, so is the thread.
 *
 * Stacks may be deep, and threads many. So a try looks at as many as there is time for, one at
 * least, and the next one goes on behind them. Of each word of a stack it has to be found out what
 * it points to, mostly nothing of interest: only other code than the C library's is searched.
 */
#include "inject/cupti/earlier.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/cupti/inside.h"
#include "guest/tasks.h"

#define THREADS_MAX  4096
#define MAPPINGS_MAX 32768
#define STACK_MAX    (16ull << 20)
#define LINE_BYTES   4608
#define RECORD_BYTES 2304 /* struct pthread, glibc 2.17 to 2.41 */
#define AT_ONCE	     1024u
#define TRY_NS	     10000000ull /* of processor time, beside the last thread and what is mapped */

enum kind {
	DATA = 0,
	CODE,
	C_LIBRARY, /* code of it */
	CUPTI,	   /* code of it */
	DRIVER,	   /* code of it */
};

struct mapping {
	uint64_t start, end;
	uint64_t kind; /* enum kind */
};

struct list {
	uint32_t count;
	struct mapping items[MAPPINGS_MAX];
};

struct mappings {
	struct list all;
	struct list code; /* of these those that are code, but not the C library's */
};

static struct {
	bool too_many; /* threads */
	uint32_t count;
	uint32_t next; /* to be looked at */
	pid_t tids[THREADS_MAX];
} earlier;

void earlier_begin(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t self = gettid();

	earlier.count = earlier.next = 0;
	earlier.too_many = !folder;
	while (folder && (entry = readdir(folder))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 || tid == self)
			continue;
		if (earlier.count < THREADS_MAX)
			earlier.tids[earlier.count++] = tid;
		else
			earlier.too_many = true;
	}
	if (folder)
		closedir(folder);
}

/* ---- what is mapped ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static enum kind kind_of(const char *rights, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (rights[2] != 'x')
		return DATA;
	if (begins(name, "libcuda.so"))
		return DRIVER;
	if (begins(name, "libcupti.so"))
		return CUPTI;
	return begins(name, "libc.so") || begins(name, "libc-") || begins(name, "libpthread") ||
			       begins(name, "ld-linux")
		       ? C_LIBRARY
		       : CODE;
}

/* Behind the next blanks. */
static const char *next_word(const char *at)
{
	at += strcspn(at, " ");
	return at + strspn(at, " ");
}

/* "start-end rights offset device inode path" */
static bool read_line(struct mappings *m, const char *line)
{
	struct mapping new = {0};
	const char *rights;
	char *at;

	new.start = strtoull(line, &at, 16);
	if (*at != '-')
		return true;
	new.end = strtoull(at + 1, &at, 16);
	rights = next_word(at);
	if (new.end <= new.start || strlen(rights) < 4)
		return true;
	new.kind = kind_of(rights, next_word(next_word(next_word(next_word(rights)))));
	if (m->all.count == MAPPINGS_MAX)
		return false;
	m->all.items[m->all.count++] = new;
	if (new.kind != DATA &&new.kind != C_LIBRARY)
		m->code.items[m->code.count++] = new;
	return true;
}

/* False: they are not to be had, or too many. */
static bool read_mappings(struct mappings *m)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[LINE_BYTES];
	bool all = file;

	m->all.count = m->code.count = 0;
	while (all && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		all = read_line(m, line);
	}
	if (file)
		fclose(file);
	return all;
}

static const struct mapping *find(const struct list *m, uint64_t address)
{
	uint32_t low = 0, high = m->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (address >= m->items[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->count && address >= m->items[low].start ? &m->items[low] : NULL;
}

/* ---- a thread ---- */

/* Of one that sleeps; 0: it does not, or has no stack. */
static uint64_t stack_pointer(const char *call)
{
	const char *last = strrchr(call, ' ');

	while (last && last > call && *--last != ' ')
		;
	return last && *last == ' ' && (*call == '-' || (*call >= '0' && *call <= '9'))
		       ? strtoull(last, NULL, 16)
		       : 0;
}

struct search {
	const struct mappings *mappings;
	uint64_t end;	/* of the stack, and of what the C library keeps above it */
	bool driver;	/* its code was seen */
	enum kind last; /* of code that is not the C library's */
};

static void search_word(struct search *s, uint64_t word)
{
	const struct list *code = &s->mappings->code;
	const struct mapping *at;

	if (!code->count || word < code->items[0].start || word >= code->items[code->count - 1].end)
		return;
	at = find(code, word);
	if (!at)
		return;
	s->last = (enum kind)at->kind;
	s->driver |= at->kind == DRIVER;
}

/* The C library's record of the thread begins with its own address, and has it again in its third
 * word. Other memory may follow in the same mapping. */
static void search_words(struct search *s, uint64_t at, const uint64_t *words, size_t count)
{
	for (size_t n = 0; n < count && at + n * 8 < s->end; n++) {
		search_word(s, words[n]);
		if (words[n] == at + n * 8 && words[n + 2] == words[n] &&
			s->end > words[n] + RECORD_BYTES)
			s->end = words[n] + RECORD_BYTES;
	}
}

/* Whether a stack shows that its thread is in no call of the driver. */
static bool is_free_of_driver(const struct mappings *m, int memory, uint64_t sp)
{
	const struct mapping *stack = find(&m->all, sp);
	struct search s = {.mappings = m, .end = stack ? stack->end : 0};
	uint64_t words[AT_ONCE + 2];

	if (!stack || stack->end - sp > STACK_MAX)
		return false;
	for (uint64_t at = sp & ~7ull; at < s.end; at += AT_ONCE * 8) {
		size_t size = s.end - at < sizeof(words) ? s.end - at : sizeof(words);

		memset(words, 0, sizeof(words));
		if (pread(memory, words, size, (off_t)at) != (ssize_t)size)
			return false;
		search_words(&s, at, words, AT_ONCE);
	}
	return !s.driver || s.last == DRIVER || s.last == CUPTI;
}

/* It sleeps in the same call before and after. */
static bool sleeps_outside(const struct mappings *m, int memory, pid_t tid)
{
	char before[256], after[256];
	uint64_t sp;

	if (!task_read(tid, "syscall", before, sizeof(before)))
		return false;
	sp = stack_pointer(before);
	return sp && is_free_of_driver(m, memory, sp) &&
	       task_read(tid, "syscall", after, sizeof(after)) && !strcmp(before, after);
}

static bool is_gone(pid_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;
}

static bool has_ended(const struct mappings *m, int memory, pid_t tid)
{
	return inside_has_begun(tid) || sleeps_outside(m, memory, tid) || is_gone(tid);
}

/* Of processor time: on a busy machine a try looks at no fewer. */
static uint64_t spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Each of those that are left once at most. */
static void look(const struct mappings *m, int memory)
{
	uint64_t until_ns = spent_ns() + TRY_NS;
	uint32_t left = earlier.count;

	do {
		if (earlier.next >= earlier.count)
			earlier.next = 0;
		if (has_ended(m, memory, earlier.tids[earlier.next]))
			earlier.tids[earlier.next] = earlier.tids[--earlier.count];
		else
			earlier.next++;
	} while (--left && earlier.count && spent_ns() < until_ns);
}

bool earlier_have_ended(void)
{
	struct mappings *m;
	int memory;

	if (earlier.too_many || !earlier.count)
		return !earlier.too_many;
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory >= 0 && m != MAP_FAILED && read_mappings(m))
		look(m, memory);
	if (m != MAP_FAILED)
		munmap(m, sizeof(*m));
	if (memory >= 0)
		close(memory);
	return !earlier.count;
}
