// SPDX-License-Identifier: MIT
/*
 * Threads that are in calls of the driver, and a time in which none is: with threads that call all
 * the time, and with such as do not come out.
 */
#include "inject/cupti/inside.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define THREADS	   4
#define HOLDS	   60
#define QUIET_US   1500
#define A_WHILE_NS 20000000ull
#define MUCH_NS	   1500000000ull /* on a busy machine */

static struct {
	uint32_t in_driver, over, wrong, calls;
	uint64_t longest_ns;
	uint32_t stay, stays;
} program;

static int contexts[2];

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void add(uint32_t *word, uint32_t value)
{
	__atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

static void make_guard(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	library.guard =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(library.guard, size, MADV_WIPEONFORK);
	inside_begin();
}

static void call(void)
{
	uint64_t begin_ns = now_ns(), took_ns;

	inside_enter(&contexts[0], true);
	took_ns = now_ns() - begin_ns;
	if (took_ns > __atomic_load_n(&program.longest_ns, __ATOMIC_RELAXED))
		__atomic_store_n(&program.longest_ns, took_ns, __ATOMIC_RELAXED);
	add(&program.in_driver, 1);
	if (load(&program.calls) % 16 == 0)
		usleep(3000);
	inside_enter(&contexts[0], true); /* the driver calls itself */
	inside_exit();
	add(&program.in_driver, -1u);
	inside_exit();
	add(&program.calls, 1);
}

static void *call_on(void *unused)
{
	while (!load(&program.over))
		call();
	return NULL;
}

static void begin_threads(pthread_t *threads)
{
	store(&program.over, 0);
	for (int n = 0; n < THREADS; n++)
		pthread_create(&threads[n], NULL, call_on, NULL);
}

static void end_threads(pthread_t *threads)
{
	store(&program.over, 1);
	for (int n = 0; n < THREADS; n++)
		pthread_join(threads[n], NULL);
}

static bool hold_by_and_by(void)
{
	for (int tries = 0; tries < 200; tries++)
		if (inside_hold())
			return true;
	return false;
}

static void nobody_is_inside_while_calls_are_held(void)
{
	uint32_t held = 0, inside = 0, calls;
	pthread_t threads[THREADS];

	begin_threads(threads);
	for (int n = 0; n < HOLDS; n++) {
		if (!hold_by_and_by())
			continue;
		held++;
		calls = load(&program.calls);
		for (int look = 0; look < 10; look++) {
			inside += load(&program.in_driver);
			usleep(QUIET_US / 10);
		}
		inside += load(&program.calls) != calls;
		inside_enter(NULL, true); /* one of who holds */
		inside_exit();
		CHECK(inside_is_held());
		inside_release();
		usleep(200);
	}
	end_threads(threads);
	CHECK(held == HOLDS && !inside && load(&program.calls) > HOLDS);
}

static void *stay_inside(void *unused)
{
	inside_enter(NULL, true);
	store(&program.stays, 1);
	while (load(&program.stay))
		usleep(1000);
	inside_exit();
	return NULL;
}

static void a_thread_that_does_not_come_out_keeps_others_20_ms(void)
{
	pthread_t threads[THREADS], other;
	uint64_t begin_ns;
	uint32_t before;

	store(&program.stay, 1);
	pthread_create(&other, NULL, stay_inside, NULL);
	while (!load(&program.stays))
		usleep(100);
	program.longest_ns = 0;
	begin_threads(threads);
	begin_ns = now_ns();
	CHECK(!inside_hold() && !inside_is_held());
	CHECK(now_ns() - begin_ns >= A_WHILE_NS && now_ns() - begin_ns < MUCH_NS);
	before = load(&program.calls);
	while (load(&program.calls) < before + 100)
		usleep(100);
	end_threads(threads);
	CHECK(program.longest_ns < MUCH_NS);
	store(&program.stay, 0);
	pthread_join(other, NULL);
	CHECK(hold_by_and_by());
	inside_release();
}

static void who_never_releases_keeps_others_two_seconds(void)
{
	pthread_t thread;
	uint64_t begin_ns = now_ns();

	CHECK(hold_by_and_by());
	store(&program.stay, 0);
	pthread_create(&thread, NULL, stay_inside, NULL);
	pthread_join(thread, NULL);
	CHECK(now_ns() - begin_ns >= 1900000000ull && !inside_is_held());
	inside_release();
	CHECK(hold_by_and_by() && inside_is_held());
	inside_release();
}

static void *hold_too(void *ret)
{
	*(bool *)ret = inside_hold();
	return NULL;
}

static void one_holds_at_a_time(void)
{
	bool other = true;
	pthread_t thread;

	CHECK(hold_by_and_by());
	pthread_create(&thread, NULL, hold_too, &other);
	pthread_join(thread, NULL);
	CHECK(!other && inside_is_held());
	inside_release();
}

static void a_thread_may_hold_in_its_own_call(void)
{
	inside_enter(&contexts[0], true);
	CHECK(hold_by_and_by());
	inside_enter(&contexts[0], true);
	inside_exit();
	inside_release();
	inside_exit();
	inside_exit(); /* of one that began before anybody counted */
	CHECK(hold_by_and_by());
	inside_release();
}

static void a_forked_child_is_not_held(void)
{
	int status = -1;
	pid_t child;

	CHECK(hold_by_and_by());
	child = fork();
	if (!child) {
		alarm(10);
		_exit(inside_is_counted() || library.guard->calls);
	}
	waitpid(child, &status, 0);
	CHECK(!status);
	inside_release();
}

static uint32_t handled;

static void note_signal(int number)
{
	store(&handled, load(&program.stays) + 1);
}

static void *wait_inside(void *unused)
{
	inside_enter(NULL, true);
	store(&program.stays, 1);
	inside_exit();
	return NULL;
}

/* The handler may call the driver, which nobody would see. */
static void a_thread_that_waits_handles_no_signals(void)
{
	pthread_t thread;

	signal(SIGUSR1, note_signal);
	store(&program.stays, 0);
	store(&handled, 0);
	CHECK(hold_by_and_by());
	pthread_create(&thread, NULL, wait_inside, NULL);
	usleep(100000);
	pthread_kill(thread, SIGUSR1);
	usleep(100000);
	CHECK(!load(&handled) && !load(&program.stays));
	inside_release();
	pthread_join(thread, NULL);
	CHECK(load(&handled));
}

static void *call_with(void *context)
{
	inside_enter(context, true);
	inside_exit();
	return NULL;
}

static void call_elsewhere(void *context)
{
	pthread_t thread;

	pthread_create(&thread, NULL, call_with, context);
	pthread_join(thread, NULL);
}

static void contexts_are_noticed(void)
{
	bool several;

	call_elsewhere(&contexts[0]);
	CHECK(inside_context(&several) == &contexts[0] && !several);
	inside_context_ends(&contexts[0]);
	CHECK(!inside_context(&several) && !several);
	call_elsewhere(&contexts[1]);
	CHECK(inside_context(&several) == &contexts[1] && !several);
	call_elsewhere(&contexts[0]);
	CHECK(!inside_context(&several) && several);
}

/* What a call that nobody saw begin calls back for. */
static void *call_back_in_the_middle(void *ret_noticed)
{
	inside_enter(NULL, false);
	inside_exit();
	*(bool *)ret_noticed = inside_has_begun((pid_t)syscall(SYS_gettid));
	return NULL;
}

static void threads_that_have_called_are_noticed(void)
{
	pthread_t thread;
	bool noticed = true;

	CHECK(inside_has_begun(getpid()) && !inside_has_begun(1));
	pthread_create(&thread, NULL, call_back_in_the_middle, &noticed);
	pthread_join(thread, NULL);
	CHECK(!noticed);
}

int main(void)
{
	make_guard();
	RUN(nobody_is_inside_while_calls_are_held);
	RUN(a_thread_that_does_not_come_out_keeps_others_20_ms);
	RUN(who_never_releases_keeps_others_two_seconds);
	RUN(one_holds_at_a_time);
	RUN(a_thread_may_hold_in_its_own_call);
	RUN(a_forked_child_is_not_held);
	RUN(a_thread_that_waits_handles_no_signals);
	RUN(contexts_are_noticed);
	RUN(threads_that_have_called_are_noticed);
	return tap_end();
}
