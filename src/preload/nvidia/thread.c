// SPDX-License-Identifier: MIT
#include "preload/nvidia/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "guest/futex.h"
#include "preload/link.h"
#include "preload/nvidia/alone.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/modules.h"
#include "preload/nvidia/turn.h"

#define LOOK_NS	   1000000000ull /* whether xpuprof is still there */
#define STACK_SIZE (256u << 10)

static uint32_t control_word(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void serve(struct arena *a, uint32_t asked, uint32_t off)
{
	if (!arena_enter(a))
		return;
	if (off != a->off)
		modules_switch(a, off);
	alone_run(a);
	arena_push_tails(a);
	if (asked != __atomic_load_n(&a->shared->answered, __ATOMIC_RELAXED))
		arena_read(a, asked);
	arena_leave();
}

static void serve_all(uint32_t off)
{
	uint32_t asked = control_word(&link_to_xpuprof.control->asked);

	turn_wait();
	for (uint32_t i = 0; link_is_alive() && i < PROBE_ARENAS_MAX; i++)
		if (arenas[i].live && arenas[i].at)
			serve(&arenas[i], asked, off);
	turn_end();
}

static void *run(void *context)
{
	struct probe_control *c = link_to_xpuprof.control;
	struct calls calls;

	prctl(PR_SET_NAME, "xpuprof-probe");
	calls_begin(&calls);
	while (link_is_alive()) {
		uint32_t changes = control_word(&c->changes);

		serve_all(control_word(&c->off));
		if (link_is_lost()) {
			serve_all(1);
			link_end();
			break;
		}
		futex_wait(&c->changes, changes, LOOK_NS);
	}
	return NULL;
}

/* Before the handlers that were registered until now, such as that of the runtime library, which
 * ends what the values are in. */
static void at_exit(void)
{
	struct calls calls;

	if (!link_is_alive() || !turn_begin_soon())
		return;
	calls_begin(&calls);
	arenas_end();
	link_end();
	calls_end(&calls);
	turn_end();
}

void thread_start(void)
{
	static bool started;
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;

	if (started)
		return;
	started = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_attr_init(&attributes)) {
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attributes, STACK_SIZE);
		if (pthread_create(&thread, &attributes, run, NULL))
			link_send_fate(PROBE_FATE_NO_MEMORY, 0, "no thread");
		pthread_attr_destroy(&attributes);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	atexit(at_exit);
}
