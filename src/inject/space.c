// SPDX-License-Identifier: MIT
/*
 * The recorder's list is copied under its sequence number. The library trusts the recorder. Even
 * so, an error in a list or a table gives wrong stacks and nothing worse: see unwind.c.
 *
 * The walk over Python's frames begins with two words of the interpreter, wherever it is mapped. So
 * an interpreter that is a library is kept from being unloaded, by a reference of ours.
 */
#include "inject/space.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/library.h"
#include "inject/loads.h"

#define ATTEMPTS     8
#define PAUSE_MIN_NS 50000000ull
#define PAUSE_MAX_NS 10000000000ull

struct space *space;

/* The latest question to the recorder, and how many libraries had been loaded then. */
static struct {
	uint32_t number;
	uint64_t loads, undone;
	/* for code in no mapping: how long, and until when, not to ask again */
	uint64_t pause_ns, again_ns;
} asked;

/* Handles of the libraries that space->pythons are in; NULL: the program itself. */
static void *pins[SPACE_PYTHONS];

int space_init(void)
{
	void *memory = mmap(NULL, sizeof(struct space), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, sizeof(struct space), MADV_DONTFORK);
	space = memory;
	return 0;
}

void space_release(void)
{
	if (!space)
		return;
	for (uint32_t i = 0; i < WALK_CHUNKS_MAX; i++)
		if (space->chunks[i])
			munmap((void *)(uintptr_t)space->chunks[i], WALK_CHUNK_BYTES);
	for (uint32_t i = 0; i < space->python_count; i++)
		if (pins[i])
			dlclose(pins[i]);
	munmap(space, sizeof(*space));
	space = NULL;
}

static void map_chunk(uint32_t index, int fd)
{
	void *chunk;

	if (index >= WALK_CHUNKS_MAX || space->chunks[index])
		return;
	chunk = mmap(NULL, WALK_CHUNK_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (chunk == MAP_FAILED)
		return;
	madvise(chunk, WALK_CHUNK_BYTES, MADV_DONTFORK);
	__atomic_store_n(&space->chunks[index], chunk, __ATOMIC_RELEASE);
}

static void receive_chunks(void)
{
	uint32_t index;
	int fd;

	while ((fd = connection_receive_chunk(&library.connection, &index)) >= 0) {
		map_chunk(index, fd);
		close(fd);
	}
}

/* False: the recorder was writing. */
static bool copy_list(struct space_copy *copy, struct walk_python *python, uint32_t *ret_sequence)
{
	const struct wire_space *list = ring_space(&library.ring);
	uint32_t sequence = __atomic_load_n(&list->sequence, __ATOMIC_ACQUIRE);

	if (sequence & 1)
		return false;
	copy->count = list->count < WIRE_MAPPINGS ? list->count : WIRE_MAPPINGS;
	copy->pending = list->pending;
	copy->generation = list->generation;
	memcpy(python, &list->python, sizeof(*python));
	memcpy(copy->mappings, list->mappings, copy->count * sizeof(copy->mappings[0]));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	*ret_sequence = sequence;
	return __atomic_load_n(&list->sequence, __ATOMIC_RELAXED) == sequence;
}

/* Whether the address is in a library that will stay. The program itself, which has no name, does.
 * A library in a namespace of its own (dlmopen) cannot be opened; dlopen may return another one of
 * that name. */
static bool pin(uint64_t address, void **ret_handle)
{
	struct link_map *map, *found;
	Dl_info info;
	void *handle;

	*ret_handle = NULL;
	if (!dladdr1((void *)(uintptr_t)address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	if (!*map->l_name)
		return true;
	handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (handle && !dlinfo(handle, RTLD_DI_LINKMAP, &found) && found == map) {
		*ret_handle = handle;
		return true;
	}
	if (handle)
		dlclose(handle);
	return false;
}

static const struct walk_python not_to_be_walked = {.layout = WALK_PYTHON_NONE};

static const struct walk_python *keep_python(const struct walk_python *python)
{
	struct walk_python *next = &space->pythons[space->python_count];
	bool pinned;

	if (python->layout == WALK_PYTHON_NONE)
		return NULL;
	for (uint32_t i = 0; i < space->python_count; i++)
		if (!memcmp(&space->pythons[i], python, sizeof(*python)))
			return &space->pythons[i];
	if (space->python_count == SPACE_PYTHONS)
		return &not_to_be_walked;
	pthread_mutex_lock(&library.no_fork);
	pinned = pin(python->runtime, &pins[space->python_count]);
	pthread_mutex_unlock(&library.no_fork);
	if (!pinned)
		return &not_to_be_walked;
	space->python_count++;
	return memcpy(next, python, sizeof(*python));
}

/* The rules of the turn before are cleared only after the turn: readers distinguish them by it. */
static void begin_turn(uint32_t sequence)
{
	space->sequence = sequence;
	__atomic_store_n(&space->turn, space->turn + 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < SPACE_RULE_SLOTS; i++)
		__atomic_store_n(&space->rules[i], 0, __ATOMIC_RELAXED);
}

bool space_is_stale(void)
{
	const struct wire_space *list = ring_space(&library.ring);

	return space && library.walk &&
	       __atomic_load_n(&list->sequence, __ATOMIC_RELAXED) != space->sequence;
}

void space_update(void)
{
	struct space_copy *copy = &space->copies[(space->turn + 1) & 1];
	struct walk_python python;
	uint32_t sequence;

	receive_chunks();
	for (int i = 0; i < ATTEMPTS && space_is_stale(); i++) {
		if (!copy_list(copy, &python, &sequence))
			continue;
		__atomic_store_n(&space->python, keep_python(&python), __ATOMIC_RELEASE);
		begin_turn(sequence);
		return;
	}
}

static bool is_answered(void)
{
	const struct wire_control *c = library.ring.control;

	return __atomic_load_n(&c->space_answered, __ATOMIC_ACQUIRE) >= asked.number;
}

static void ask(void)
{
	asked.loads = library.marker ? 0 : loads_ask();
	asked.undone = library.marker ? 0 : loads_undone();
	asked.number = __atomic_add_fetch(&library.ring.control->space_asked, 1, __ATOMIC_SEQ_CST);
	connection_hurry(&library.connection);
}

/* The answer has been copied, so walks use it. */
static void accept_answer(void)
{
	if (!is_answered() || space_is_stale())
		return;
	__atomic_store_n(&space->undone, asked.undone, __ATOMIC_RELAXED);
	__atomic_store_n(&space->loads, asked.loads, __ATOMIC_RELEASE);
}

/* Code that stays unknown is asked for ever more seldom. */
static bool is_due(void)
{
	if (!__atomic_load_n(&space->unknown, __ATOMIC_RELAXED) || now_ns() < asked.again_ns)
		return false;
	asked.pause_ns = asked.pause_ns < PAUSE_MAX_NS / 2 ? asked.pause_ns * 2 + PAUSE_MIN_NS
							   : PAUSE_MAX_NS;
	asked.again_ns = now_ns() + asked.pause_ns;
	return true;
}

void space_watch(void)
{
	if (library.marker || !library.walk)
		return;
	accept_answer();
	if (!is_answered() || (loads_ask() == asked.loads && !is_due()))
		return;
	__atomic_store_n(&space->unknown, 0, __ATOMIC_RELAXED);
	ask();
}

bool space_is_doubtful(void)
{
	return !library.marker && loads_now() != __atomic_load_n(&space->loads, __ATOMIC_ACQUIRE);
}

bool space_has_lost(void)
{
	return loads_undone() != __atomic_load_n(&space->undone, __ATOMIC_RELAXED);
}

void space_met_unknown(void)
{
	if (!__atomic_exchange_n(&space->unknown, 1, __ATOMIC_RELAXED))
		collector_wake();
}

static bool is_ready(void)
{
	if (!is_answered())
		return false;
	return !library.walk ||
	       (!space_is_stale() && (!space->turn || !space->copies[space->turn & 1].pending));
}

void space_await(uint64_t deadline_ns)
{
	struct wire_control *c = library.ring.control;

	ask();
	for (;;) {
		uint32_t seen = __atomic_load_n(&c->wake, __ATOMIC_SEQ_CST);
		uint64_t now = now_ns();

		space_update();
		accept_answer();
		if (is_ready() || now >= deadline_ns || connection_lost(&library.connection))
			return;
		futex_wait(&c->wake, seen, deadline_ns - now);
	}
}
