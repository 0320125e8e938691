// SPDX-License-Identifier: MIT
/* Calls that began before anybody counted them: what the stacks of threads prove, and how long it
 * takes to look at them. */
#include "inject/cupti/earlier.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "inject/cupti/inside.h"
#include "tap.h"

#define THREADS	     48
#define STACK_BYTES  ((size_t)15 << 20) /* which a look reads all of, up from near its end */
#define TRY_MAX_NS   100000000ull	/* of processor time; for all at once it takes a second */
#define TRIES_MAX    1000
#define TRIES_NEEDED 4

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t asleep;
	bool over;
	uint32_t spin;
} program = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false, 0};

static void make_guard(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	library.guard =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside_begin();
}

__attribute__((noinline)) static void sleep_until_over(void)
{
	pthread_mutex_lock(&program.lock);
	program.asleep++;
	pthread_cond_broadcast(&program.changed);
	while (!program.over)
		pthread_cond_wait(&program.changed, &program.lock);
	pthread_mutex_unlock(&program.lock);
}

/* Far down its stack, of which most is never touched. */
static void *sleep_deep(void *unused)
{
	volatile char room[STACK_BYTES];

	room[0] = 0;
	sleep_until_over();
	return (void *)(uintptr_t)room[0];
}

static void *spin(void *unused)
{
	while (__atomic_load_n(&program.spin, __ATOMIC_SEQ_CST))
		;
	return NULL;
}

static pthread_t begin(void *(*function)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES + (256u << 10));
	CHECK(!pthread_create(&thread, &attributes, function, NULL));
	pthread_attr_destroy(&attributes);
	return thread;
}

static void begin_all(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		threads[i] = begin(sleep_deep);
	pthread_mutex_lock(&program.lock);
	while (program.asleep < THREADS)
		pthread_cond_wait(&program.changed, &program.lock);
	pthread_mutex_unlock(&program.lock);
	usleep(20000); /* in their waits */
}

static uint64_t own_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* How many tries it takes; 0: they were not enough. */
static uint32_t try_all(uint64_t *ret_longest_ns)
{
	*ret_longest_ns = 0;
	for (uint32_t tries = 1; tries <= TRIES_MAX; tries++) {
		uint64_t begin_ns = own_time_ns(), took_ns;
		bool ended = earlier_have_ended();

		took_ns = own_time_ns() - begin_ns;
		if (took_ns > *ret_longest_ns)
			*ret_longest_ns = took_ns;
		if (ended)
			return tries;
	}
	return 0;
}

static void many_deep_stacks_are_looked_at_one_after_the_other(void)
{
	pthread_t threads[THREADS], busy;
	uint64_t longest_ns;
	uint32_t tries;

	/* The first of all, which proves nothing, keeps no other from being looked at. */
	__atomic_store_n(&program.spin, 1, __ATOMIC_SEQ_CST);
	busy = begin(spin);
	begin_all(threads);
	earlier_begin();
	for (int i = 0; i < 3 * THREADS; i++)
		CHECK(!earlier_have_ended());
	__atomic_store_n(&program.spin, 0, __ATOMIC_SEQ_CST);
	pthread_join(busy, NULL);
	CHECK(try_all(&longest_ns));

	earlier_begin();
	tries = try_all(&longest_ns);
	CHECK(tries >= TRIES_NEEDED && longest_ns < TRY_MAX_NS);
	printf("# %u tries, of %llu ms at most\n", tries,
		(unsigned long long)(longest_ns / 1000000));
	pthread_mutex_lock(&program.lock);
	program.over = true;
	pthread_cond_broadcast(&program.changed);
	pthread_mutex_unlock(&program.lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void threads_that_have_ended_have_proved_it(void)
{
	uint64_t longest_ns;
	pthread_t thread;

	__atomic_store_n(&program.spin, 1, __ATOMIC_SEQ_CST);
	thread = begin(spin);
	earlier_begin();
	CHECK(!earlier_have_ended());
	__atomic_store_n(&program.spin, 0, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CHECK(try_all(&longest_ns));
}

int main(void)
{
	make_guard();
	RUN(many_deep_stacks_are_looked_at_one_after_the_other);
	RUN(threads_that_have_ended_have_proved_it);
	return tap_end();
}
