// SPDX-License-Identifier: MIT
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "told.h"

#define QUEUES_MAX 256
#define JOBS_MAX   1024 /* that wait; more have to */
#define SYNCS_MAX  4

struct job {
	uint64_t address; /* 0: nothing to run */
	uint32_t sync_count;
	struct xe_sync syncs[SYNCS_MAX];
};

struct queue {
	struct streamer streamer;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending, banned;
	uint32_t first, count;
	struct job jobs[JOBS_MAX];
};

struct queues {
	struct memory *memory;
	const struct device *device;
	pthread_mutex_t lock;
	struct queue *all[QUEUES_MAX];
};

struct queues *queues_new(struct memory *m, const struct device *d)
{
	struct queues *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->memory = m;
	q->device = d;
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

void queues_free(struct queues *q)
{
	for (uint32_t id = 1; q && id <= QUEUES_MAX; id++)
		queues_destroy(q, id);
	free(q);
}

/* --- the engine */

static void signal_all(struct streamer *s, const struct job *j)
{
	for (uint32_t i = 0; i < j->sync_count; i++) {
		void *at = memory_at(s->memory, s->vm, j->syncs[i].address, sizeof(uint64_t));

		if (at)
			atomic_store((_Atomic uint64_t *)at, j->syncs[i].value);
	}
}

static bool take_job(struct queue *q, struct job *ret)
{
	bool is_there;

	pthread_mutex_lock(&q->lock);
	while (!q->count && !q->ending)
		pthread_cond_wait(&q->changed, &q->lock);
	is_there = !q->ending;
	if (is_there) {
		*ret = q->jobs[q->first];
		q->first = (q->first + 1) % JOBS_MAX;
		q->count--;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return is_there;
}

static void ban(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->banned = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

/* Fences of what a banned queue does not run are signalled, as the kernel does. */
static void *run_engine(void *argument)
{
	struct queue *q = argument;
	struct job j;

	while (take_job(q, &j)) {
		told_batches += j.address != 0;
		if (j.address && !q->banned && streamer_run(&q->streamer, j.address))
			ban(q);
		signal_all(&q->streamer, &j);
	}
	return NULL;
}

/* The program's signals are not for it. */
static int start_engine(struct queue *q)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&q->thread, NULL, run_engine, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* --- queues */

static void end_engine(struct queue *q)
{
	atomic_store(&q->streamer.stop, true);
	pthread_mutex_lock(&q->lock);
	q->ending = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
}

static int add_queue(struct queues *q, struct queue *added, uint32_t *ret_id)
{
	uint32_t i = 0;

	pthread_mutex_lock(&q->lock);
	while (i < QUEUES_MAX && q->all[i])
		i++;
	if (i < QUEUES_MAX)
		q->all[i] = added;
	pthread_mutex_unlock(&q->lock);
	*ret_id = i + 1;
	return i < QUEUES_MAX ? 0 : -ENOSPC;
}

int queues_make(struct queues *q, const struct xe_queue *wanted, uint32_t *ret_id)
{
	const struct xe_instance *on = (const void *)(uintptr_t)wanted->instances;
	struct queue *made;
	int error;

	if (!on || wanted->width != 1 || !wanted->placements || on->gt % SIM_XE_GTS_EACH ||
		on->gt / SIM_XE_GTS_EACH >= device_tiles())
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->streamer.memory = q->memory;
	made->streamer.device = q->device;
	made->streamer.vm = wanted->vm;
	made->streamer.tile = on->gt / SIM_XE_GTS_EACH;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->changed, NULL);
	error = start_engine(made);
	if (error) {
		free(made);
		return error;
	}
	error = add_queue(q, made, ret_id);
	if (error) {
		end_engine(made);
		free(made);
	}
	return error;
}

/* NULL: there is none. */
static struct queue *find_queue(struct queues *q, uint32_t id, bool take)
{
	struct queue *found = NULL;

	pthread_mutex_lock(&q->lock);
	if (id && id <= QUEUES_MAX)
		found = q->all[id - 1];
	if (found && take)
		q->all[id - 1] = NULL;
	pthread_mutex_unlock(&q->lock);
	return found;
}

int queues_destroy(struct queues *q, uint32_t id)
{
	struct queue *found = find_queue(q, id, true);

	if (!found)
		return -ENOENT;
	end_engine(found);
	free(found);
	return 0;
}

int queues_is_banned(struct queues *q, uint32_t id, uint64_t *ret)
{
	struct queue *found = find_queue(q, id, false);

	if (!found)
		return -ENOENT;
	pthread_mutex_lock(&found->lock);
	*ret = found->banned;
	pthread_mutex_unlock(&found->lock);
	return 0;
}

static int add_job(struct queue *q, const struct job *j)
{
	int error;

	pthread_mutex_lock(&q->lock);
	while (q->count == JOBS_MAX && !q->banned)
		pthread_cond_wait(&q->changed, &q->lock);
	error = q->banned ? -ECANCELED : 0;
	if (!error) {
		q->jobs[(q->first + q->count++) % JOBS_MAX] = *j;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return error;
}

int queues_exec(struct queues *q, const struct xe_exec *e)
{
	struct queue *found = find_queue(q, e->queue, false);
	const struct xe_sync *syncs = (const void *)(uintptr_t)e->syncs;
	struct job j = {.address = e->batches ? e->address : 0, .sync_count = e->sync_count};

	if (!found)
		return -ENOENT;
	if (has_fault("lost"))
		return -ENODEV;
	if (e->batches > 1 || e->sync_count > SYNCS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < e->sync_count; i++) {
		if (syncs[i].type != XE_FENCE)
			return -EOPNOTSUPP;
		j.syncs[i] = syncs[i];
	}
	return add_job(found, &j);
}
