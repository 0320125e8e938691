// SPDX-License-Identifier: MIT
/*
 * One lock guards everything, and is held for moments only: files are read, tables made and chunks
 * created without it.
 *
 * A table has two states: the one that callers see, which only their own thread changes (poll), and
 * the next one, which our threads set. A table with a next state that callers have not seen yet is
 * in the list `changed`.
 *
 *	caller's thread           ours
 *	request: queue  --------> wait_for_job, make, finish: next = READY, changed, eventfd
 *	poll: state = next <-----'      `-- reserve: evicts others: next = EVICTED, changed
 */
#include "unwind/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "unwind/arena.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"

#define PROBLEM_BYTES 256
#define QUEUE_MAX     4096 /* each may have two descriptors */

/* Open files; -1: none. */
struct table_files {
	int fd;
	int debug_fd;
};

static const struct table_files no_files = {-1, -1};

struct table {
	struct unwind_cache_key key;
	uint32_t same_hash; /* id of the next one with a key of equal hash */
	enum unwind_state state;
	enum unwind_state next;
	bool changed; /* is in that list */
	uint32_t word;
	uint32_t words;
	uint32_t shown_word; /* belongs to `state` */
	int64_t uses;
	uint64_t touched_ns;
	struct table_files files; /* while it is in the queue */
};

/* One of our threads; its index is its number. */
struct worker {
	struct unwind_tables *tables;
	pthread_t thread;
};

struct unwind_tables {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* there is a job, or it is time to stop */
	pthread_cond_t moved; /* a table has got on, room has changed */
	struct worker workers[UNWIND_THREADS_MAX];
	unsigned int worker_count;
	bool stopping;
	bool growing; /* a thread is making a chunk */
	bool shown;   /* states have changed since the caller's last poll */
	int event;

	int (*build)(void *context, unsigned int thread, int fd, int debug_fd, uint32_t **ret_words,
		size_t *ret_count);
	void (*begin)(void *build_context, unsigned int thread);
	void *build_context;
	struct arena arena;
	uint64_t budget_words;
	uint64_t used_words; /* by tables that are ready or being filled in */
	struct unwind_cache *cache;
	char cache_problem[PROBLEM_BYTES];

	struct vec(struct table *) tables; /* by id - 1 */
	struct map by_key;		   /* hash of a key -> id of the first one */
	struct vec(struct table *) queue;
	size_t queue_head;
	struct vec(struct table *) changed;
	struct unwind_totals totals;
};

/* What became of a job. */
struct outcome {
	enum unwind_state state;
	uint32_t word;
	uint32_t words;
	bool cached;
};

static void lock(const struct unwind_tables *t)
{
	pthread_mutex_lock((pthread_mutex_t *)&t->lock);
}

static void unlock(const struct unwind_tables *t)
{
	pthread_mutex_unlock((pthread_mutex_t *)&t->lock);
}

/* Waits for `moved` until a time; the lock is held before and after. */
static void wait_until(struct unwind_tables *t, uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SECOND),
		.tv_nsec = (long)(until_ns % NS_PER_SECOND)};

	if (until_ns == UINT64_MAX)
		pthread_cond_wait(&t->moved, &t->lock);
	else
		pthread_cond_timedwait(&t->moved, &t->lock, &until);
}

/* A table has a next state. The list has room for all tables (see new_table). */
static void set_next(struct unwind_tables *t, struct table *table, enum unwind_state next)
{
	const uint64_t one = 1;

	table->next = next;
	if (!table->changed)
		t->changed.items[t->changed.count++] = table;
	table->changed = true;
	pthread_cond_broadcast(&t->moved);
	/* It cannot block: the counter would have to be full. */
	(void)!write(t->event, &one, sizeof(one));
}

/* ------------------------------------------------------------------ room */

static struct table *find_victim(const struct unwind_tables *t)
{
	struct table *victim = NULL;
	uint64_t now = clock_now_ns();

	vec_foreach (item, &t->tables) {
		struct table *x = *item;
		bool better =
			!victim || (x->uses ? victim->uses && x->touched_ns < victim->touched_ns
					    : victim->uses || x->touched_ns < victim->touched_ns);

		if (x->next == UNWIND_READY && better &&
			(!x->uses || now - x->touched_ns >= UNWIND_KEEP_NS))
			victim = x;
	}
	return victim;
}

static bool evict_one(struct unwind_tables *t)
{
	struct table *victim = find_victim(t);

	if (!victim || arena_retire(&t->arena, victim->word, victim->words))
		return false;
	t->used_words -= victim->words;
	t->totals.tables--;
	t->totals.bytes -= victim->words * 4ull;
	t->totals.evicted++;
	set_next(t, victim, UNWIND_EVICTED);
	return true;
}

/* One chunk more, made without the lock. */
static int grow(struct unwind_tables *t)
{
	uint32_t index = t->arena.chunk_count;
	int fd, error;

	t->growing = true;
	unlock(t);
	error = arena_make_chunk(&t->arena, index, &fd);
	lock(t);
	t->growing = false;
	error = error ?: arena_attach(&t->arena, fd);
	pthread_cond_broadcast(&t->moved);
	return error;
}

/* Room for a table: 0; -ENOSPC: there is none now; -EFBIG: there never is; -ECANCELED: it is time
 * to stop; or another -errno.
 */
static int reserve(struct unwind_tables *t, uint32_t words, uint32_t *ret_at)
{
	uint64_t more_ns;
	int error;

	if (words > t->budget_words)
		return -EFBIG;
	while (!t->stopping) {
		more_ns = arena_reclaim(&t->arena, clock_now_ns());
		if (t->used_words + words > t->budget_words) {
			if (!evict_one(t))
				return -ENOSPC;
		} else if (arena_alloc(&t->arena, words, ret_at)) {
			t->used_words += words;
			return 0;
		} else if (t->growing) {
			wait_until(t, UINT64_MAX);
		} else if (t->arena.chunk_count < t->arena.chunks_max) {
			error = grow(t);
			if (error)
				return error;
		} else if (more_ns) {
			wait_until(t, more_ns);
		} else if (!evict_one(t)) {
			return -ENOSPC;
		}
	}
	return -ECANCELED;
}

static int reserve_locked(struct unwind_tables *t, uint32_t words, uint32_t *ret_at)
{
	int error;

	lock(t);
	error = reserve(t, words, ret_at);
	unlock(t);
	return error;
}

static void unreserve(struct unwind_tables *t, uint32_t at, uint32_t words)
{
	lock(t);
	arena_give(&t->arena, at, words);
	t->used_words -= words;
	pthread_cond_broadcast(&t->moved);
	unlock(t);
}

/* ------------------------------------------------------------------ our threads */

/* No room is a matter of the moment, everything else one of the file. */
static void note_error(struct outcome *o, int error)
{
	o->state = error == -ENOSPC || error == -ECANCELED ? UNWIND_EVICTED
		   : error == -ENODATA			   ? UNWIND_NONE
							   : UNWIND_FAILED;
}

/* Reads a table from disk; NULL: there is none, or none that is sound. */
static uint32_t *load(
	const struct unwind_tables *t, const struct unwind_cache_key *key, size_t *ret_count)
{
	struct unwind_cached found;
	uint32_t *words;

	if (!t->cache || unwind_cache_find(t->cache, key, &found))
		return NULL;
	words = malloc((size_t)found.words * sizeof(*words));
	if (!words) {
		unwind_cache_drop(&found);
		return NULL;
	}
	*ret_count = found.words;
	if (!unwind_cache_load(t->cache, &found, words))
		return words;
	free(words);
	return NULL;
}

/* In this process. */
static int build_here(void *context, unsigned int thread, int fd, int debug_fd,
	uint32_t **ret_words, size_t *ret_count)
{
	const struct debug_search search = {.is_given = true, .fd = debug_fd};
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0), error = own < 0 ? -errno : 0;
	struct elf_file *file = NULL;

	error = error ?: elf_file_open_fd(&file, own, "a file of code");
	if (!error)
		elf_file_search(file, &search);
	error = error ?: unwind_build(file, ret_words, NULL);
	if (!error)
		*ret_count = ((const struct walk_table_header *)*ret_words)->words;
	elf_file_close(file);
	return error;
}

static int build_sound(const struct worker *w, const struct table_files *files,
	uint32_t **ret_words, size_t *ret_count)
{
	const struct unwind_tables *t = w->tables;
	int error = t->build(t->build_context, (unsigned int)(w - t->workers), files->fd,
		files->debug_fd, ret_words, ret_count);

	if (error || unwind_table_is_sound(*ret_words, *ret_count))
		return error;
	free(*ret_words);
	return -EINVAL;
}

/* Puts a table where walkers read it. */
static int put(struct unwind_tables *t, const uint32_t *words, size_t count, struct outcome *o)
{
	int error;

	o->words = (uint32_t)count;
	error = reserve_locked(t, o->words, &o->word);
	if (error)
		return error;
	error = arena_write(&t->arena, o->word, words, o->words);
	if (error)
		unreserve(t, o->word, o->words);
	else
		o->state = UNWIND_READY;
	return error;
}

static void make(const struct worker *w, const struct unwind_cache_key *key,
	const struct table_files *files, struct outcome *o)
{
	struct unwind_tables *t = w->tables;
	size_t count = 0;
	uint32_t *words = load(t, key, &count);
	int error = 0;

	o->cached = words;
	if (!words)
		error = build_sound(w, files, &words, &count);
	if (!error) {
		error = put(t, words, count, o);
		if (t->cache && !o->cached) /* what cannot be kept is made anew the next time */
			(void)unwind_cache_store(t->cache, key, words);
		free(words);
	}
	if (error)
		note_error(o, error);
}

static void finish(struct unwind_tables *t, struct table *table, const struct outcome *o)
{
	struct unwind_totals *totals = &t->totals;

	table->word = o->word;
	table->words = o->words;
	table->touched_ns = clock_now_ns();
	totals->failed += o->state == UNWIND_FAILED;
	totals->evicted += o->state == UNWIND_EVICTED;
	if (o->state == UNWIND_READY) {
		totals->tables++;
		totals->bytes += o->words * 4ull;
		totals->cached += o->cached;
		totals->built += !o->cached;
	}
	set_next(t, table, o->state);
}

static struct table *wait_for_job(struct unwind_tables *t)
{
	struct table *job;

	while (!t->stopping && t->queue_head == t->queue.count)
		pthread_cond_wait(&t->work, &t->lock);
	if (t->stopping)
		return NULL;
	job = t->queue.items[t->queue_head++];
	if (t->queue_head == t->queue.count)
		t->queue_head = t->queue.count = 0;
	return job;
}

static void close_files(struct table_files *files)
{
	if (files->fd >= 0)
		close(files->fd);
	if (files->debug_fd >= 0)
		close(files->debug_fd);
	*files = no_files;
}

static void *work(void *context)
{
	const struct worker *w = context;
	struct unwind_tables *t = w->tables;
	struct table *job;

	if (t->begin)
		t->begin(t->build_context, (unsigned int)(w - t->workers));
	lock(t);
	while ((job = wait_for_job(t))) {
		struct unwind_cache_key key = job->key;
		struct table_files files = job->files;
		struct outcome o = {0};

		job->files = no_files;
		unlock(t);
		make(w, &key, &files, &o);
		close_files(&files);
		lock(t);
		finish(t, job, &o);
	}
	unlock(t);
	return NULL;
}

/* Signals are for the threads that expect them. */
static int start_threads(struct unwind_tables *t, unsigned int count)
{
	sigset_t all, before;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!error && t->worker_count < count) {
		struct worker *w = &t->workers[t->worker_count];

		w->tables = t;
		error = pthread_create(&w->thread, NULL, work, w);
		t->worker_count += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error && !t->worker_count
		       ? error_errno(-error, "cannot start a thread for unwind tables")
		       : 0;
}

/* ------------------------------------------------------------------ the whole */

static int init_sync(struct unwind_tables *t)
{
	pthread_condattr_t monotonic;
	int error = pthread_condattr_init(&monotonic);

	if (error)
		return error_errno(-error, "cannot prepare unwind tables");
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->moved, &monotonic);
	pthread_condattr_destroy(&monotonic);
	t->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return t->event < 0 ? error_errno(-errno, "cannot prepare unwind tables") : 0;
}

static int init_memory(struct unwind_tables *t, const struct unwind_tables_options *options)
{
	size_t budget = options->budget_bytes ? options->budget_bytes : UNWIND_DEFAULT_BUDGET;
	const struct arena_home home = {options->new_chunk, options->write_words, options->context};
	size_t chunks = (budget + WALK_CHUNK_BYTES - 1) / WALK_CHUNK_BYTES;
	int error, fd;

	if (chunks > WALK_CHUNKS_MAX)
		chunks = WALK_CHUNKS_MAX;
	t->budget_words = budget / 4;
	error = arena_init(&t->arena, (uint32_t)chunks, &home);
	error = error ?: arena_make_chunk(&t->arena, 0, &fd);
	return error ?: arena_attach(&t->arena, fd);
}

/* A folder that cannot be used is no reason not to record. */
static void init_cache(struct unwind_tables *t, const char *path)
{
	if (path && unwind_cache_open(&t->cache, path, UNWIND_CACHE_LIMIT))
		snprintf(t->cache_problem, sizeof(t->cache_problem), "%s", error_text());
}

static unsigned int thread_count(const struct unwind_tables_options *options)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int count = options->threads ? options->threads
			     : cpus > 1	      ? (unsigned int)cpus - 1
					      : 1;

	return count < UNWIND_THREADS_MAX ? count : UNWIND_THREADS_MAX;
}

int unwind_tables_new(struct unwind_tables **ret, const struct unwind_tables_options *options)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return error_errno(-ENOMEM, "cannot prepare unwind tables");
	t->event = -1;
	t->build = options->build ? options->build : build_here;
	t->begin = options->begin;
	t->build_context = options->build_context;
	error = init_sync(t);
	error = error ?: init_memory(t, options);
	if (!error) {
		init_cache(t, options->cache_dir);
		error = start_threads(t, thread_count(options));
	}
	if (error) {
		unwind_tables_free(t);
		return error;
	}
	*ret = t;
	return 0;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	lock(t);
	t->stopping = true;
	pthread_cond_broadcast(&t->work);
	pthread_cond_broadcast(&t->moved);
	unlock(t);
	for (unsigned int i = 0; i < t->worker_count; i++)
		pthread_join(t->workers[i].thread, NULL);
	vec_foreach (item, &t->tables) {
		close_files(&(*item)->files);
		free(*item);
	}
	vec_release(&t->tables);
	vec_release(&t->queue);
	vec_release(&t->changed);
	map_release(&t->by_key);
	unwind_cache_close(t->cache);
	arena_release(&t->arena);
	if (t->event >= 0)
		close(t->event);
	pthread_cond_destroy(&t->work);
	pthread_cond_destroy(&t->moved);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

const char *unwind_tables_cache_problem(const struct unwind_tables *t)
{
	return t->cache_problem[0] ? t->cache_problem : NULL;
}

/* ------------------------------------------------------------------ requests */

static struct unwind_cache_key key_of(const struct unwind_file *file)
{
	struct unwind_cache_key key = {
		.id_size = (uint32_t)file->build_id_size, .file = file->identity};

	memcpy(key.id, file->build_id, file->build_id_size);
	return key;
}

static bool same_key(const struct unwind_cache_key *a, const struct unwind_cache_key *b)
{
	return a->id_size == b->id_size && !memcmp(a->id, b->id, sizeof(a->id)) &&
	       !memcmp(&a->file, &b->file, sizeof(a->file));
}

static uint64_t hash_key(const struct unwind_cache_key *key)
{
	uint64_t hash = hash_bytes(key->id, sizeof(key->id));

	return hash_combine(hash, hash_bytes(&key->file, sizeof(key->file)));
}

/* The id that a key has; 0: none. */
static uint32_t find_table(const struct unwind_tables *t, const struct unwind_cache_key *key)
{
	const uint64_t *first = map_get(&t->by_key, hash_key(key));
	uint32_t id = first ? (uint32_t)*first : 0;

	while (id && !same_key(&t->tables.items[id - 1]->key, key))
		id = t->tables.items[id - 1]->same_hash;
	return id;
}

/* A new table. The lists of all tables have room for one more afterwards. */
static int new_table(struct unwind_tables *t, const struct unwind_cache_key *key, uint32_t *ret_id)
{
	struct table *table = calloc(1, sizeof(*table));
	uint32_t id = (uint32_t)t->tables.count + 1;
	uint64_t hash = hash_key(key), *first = map_get(&t->by_key, hash);
	int error;

	if (!table)
		return -ENOMEM;
	*table = (struct table){.key = *key,
		.state = UNWIND_EVICTED,
		.next = UNWIND_EVICTED,
		.same_hash = first ? (uint32_t)*first : 0,
		.files = no_files};
	error = vec_reserve(&t->changed, id - t->changed.count);
	error = error ?: vec_push(&t->tables, table);
	if (error) {
		free(table);
		return error;
	}
	error = map_put(&t->by_key, hash, id);
	if (error) {
		t->tables.count--;
		free(table);
		return error;
	}
	*ret_id = id;
	return 0;
}

static int find_or_new(
	struct unwind_tables *t, const struct unwind_cache_key *key, uint32_t *ret_id)
{
	*ret_id = find_table(t, key);
	return *ret_id ? 0 : new_table(t, key, ret_id);
}

/* Puts a table into the queue, unless it is there or coming. Without room in it, or a free
 * descriptor, it stays EVICTED. */
static void enqueue(struct unwind_tables *t, struct table *table, const struct unwind_file *file)
{
	struct table_files own = no_files;

	table->touched_ns = clock_now_ns();
	if (table->state != UNWIND_EVICTED || t->queue.count - t->queue_head >= QUEUE_MAX)
		return;
	own.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (own.fd < 0)
		return;
	if (file->debug_fd >= 0)
		own.debug_fd = fcntl(file->debug_fd, F_DUPFD_CLOEXEC, 0);
	t->queue.items[t->queue.count++] = table;
	table->state = table->next = UNWIND_PENDING;
	table->files = own;
	pthread_cond_signal(&t->work);
}

int unwind_tables_request(struct unwind_tables *t, const struct unwind_file *file, uint32_t *ret_id)
{
	struct unwind_cache_key key = key_of(file);
	int error;

	lock(t);
	error = vec_reserve(&t->queue, 1);
	error = error ?: find_or_new(t, &key, ret_id);
	if (!error)
		enqueue(t, t->tables.items[*ret_id - 1], file);
	unlock(t);
	return error ? error_errno(error, "cannot ask for an unwind table") : 0;
}

/* There is only one. */
int unwind_tables_request_vdso(struct unwind_tables *t, struct elf_file *vdso, uint32_t *ret_id)
{
	struct unwind_file file = {.fd = elf_file_fd(vdso), .debug_fd = -1};

	file.build_id_size = elf_file_build_id(vdso, file.build_id);
	return unwind_tables_request(t, &file, ret_id);
}

/* ------------------------------------------------------------------ states */

/* The lock is held. */
static void show(struct unwind_tables *t)
{
	vec_foreach (item, &t->changed) {
		struct table *table = *item;

		t->shown |= table->state != table->next;
		table->state = table->next;
		table->shown_word = table->word;
		table->changed = false;
	}
	t->changed.count = 0;
	arena_publish(&t->arena, clock_now_ns());
	pthread_cond_broadcast(&t->moved);
}

bool unwind_tables_poll(struct unwind_tables *t)
{
	uint64_t events;
	bool changed;

	(void)!read(t->event, &events, sizeof(events));
	lock(t);
	if (t->changed.count)
		show(t);
	changed = t->shown;
	t->shown = false;
	unlock(t);
	return changed;
}

int unwind_tables_fd(const struct unwind_tables *t)
{
	return t->event;
}

enum unwind_state unwind_tables_state(
	const struct unwind_tables *t, uint32_t id, uint32_t *ret_word)
{
	enum unwind_state state = UNWIND_FAILED;

	lock(t);
	if (id && id <= t->tables.count) {
		state = t->tables.items[id - 1]->state;
		if (state == UNWIND_READY && ret_word)
			*ret_word = t->tables.items[id - 1]->shown_word;
	}
	unlock(t);
	return state;
}

static bool any_pending(const struct unwind_tables *t, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] && ids[i] <= t->tables.count &&
			t->tables.items[ids[i] - 1]->state == UNWIND_PENDING)
			return true;
	return false;
}

bool unwind_tables_wait(
	struct unwind_tables *t, const uint32_t *ids, size_t count, uint64_t timeout_ns)
{
	uint64_t now = clock_now_ns();
	uint64_t until = timeout_ns > UINT64_MAX / 2 ? UINT64_MAX / 2 : now + timeout_ns;
	bool pending;

	lock(t);
	for (;;) {
		if (t->changed.count)
			show(t);
		pending = any_pending(t, ids, count);
		if (!pending || clock_now_ns() >= until)
			break;
		wait_until(t, until);
	}
	unlock(t);
	return !pending;
}

static void use(struct unwind_tables *t, uint32_t id, int change, uint64_t now_ns)
{
	struct table *table = id && id <= t->tables.count ? t->tables.items[id - 1] : NULL;

	if (!table)
		return;
	table->uses += change;
	if (table->uses < 0)
		table->uses = 0;
	table->touched_ns = now_ns;
}

/* Processes may map a hundred thousand. */
void unwind_tables_use(struct unwind_tables *t, const uint32_t *ids, size_t count, int change)
{
	uint64_t now_ns = clock_now_ns();

	lock(t);
	for (size_t i = 0; i < count; i++)
		use(t, ids[i], change, now_ns);
	unlock(t);
}

/* ------------------------------------------------------------------ the memory */

const uint32_t *unwind_tables_words(const struct unwind_tables *t)
{
	return t->arena.words;
}

static uint32_t chunk_count(const struct unwind_tables *t)
{
	uint32_t count;

	lock(t);
	count = t->arena.chunk_count;
	unlock(t);
	return count;
}

uint64_t unwind_tables_word_count(const struct unwind_tables *t)
{
	return (uint64_t)chunk_count(t) * WALK_CHUNK_WORDS;
}

uint32_t unwind_tables_chunks(const struct unwind_tables *t, uint32_t first,
	int (*visit)(void *context, uint32_t index, int fd), void *context)
{
	uint32_t count = chunk_count(t);

	for (uint32_t i = first; i < count; i++)
		if (visit(context, i, t->arena.fds[i]))
			break;
	return count;
}

struct unwind_totals unwind_tables_totals(const struct unwind_tables *t)
{
	struct unwind_totals totals;

	lock(t);
	totals = t->totals;
	unlock(t);
	return totals;
}
