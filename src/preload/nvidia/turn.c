// SPDX-License-Identifier: MIT
#include "preload/nvidia/turn.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/vec.h"
#include "preload/nvidia/sanitizer/library.h"

#define PATIENCE_S 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct task {
	void (*change)(void *);
	void *what;
};

static struct {
	pthread_mutex_t lock; /* held for moments only */
	uint32_t count;	      /* looked at without the lock */
	struct vec(struct task) tasks;
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

void turn_leave(void (*change)(void *), void *what)
{
	const struct task task = {change, what};

	pthread_mutex_lock(&left.lock);
	if (!vec_push(&left.tasks, task))
		__atomic_store_n(&left.count, (uint32_t)left.tasks.count, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&left.lock);
}

static void do_left(void)
{
	if (!__atomic_load_n(&left.count, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&left.lock);
	vec_foreach (task, &left.tasks)
		task->change(task->what);
	left.tasks.count = 0;
	__atomic_store_n(&left.count, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&left.lock);
}

bool turn_begin_soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	if (pthread_mutex_timedlock(&lock, &until))
		return false;
	do_left();
	return true;
}

void turn_wait(void)
{
	pthread_mutex_lock(&lock);
	do_left();
}

bool turn_begin(void)
{
	if (sanitizer_is_wanted())
		return turn_begin_soon();
	turn_wait();
	return true;
}

void turn_end(void)
{
	pthread_mutex_unlock(&lock);
}
