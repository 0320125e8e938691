// SPDX-License-Identifier: MIT
/*
 * Who loads it has the loader's lock now and then, which another thread may have that begins with
 * the GPU, too, as in a constructor of a library. And the library may begin with it itself. So
 * nobody waits for the loading for ever, and who loads not at all.
 */
#include "preload/nvidia/sanitizer/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "guest/futex.h"
#include "wire/probe.h"

#define FAILURE_BYTES 512
#define LOADING_NS    2000000000ull /* how long another thread waits */

enum state {
	NOT_LOADED,
	LOADING,
	LOADED, /* or failed */
};

struct sanitizer sanitizer;

static uint32_t state;
static _Thread_local bool loads __attribute__((tls_model("initial-exec")));
static char failure[FAILURE_BYTES];

bool sanitizer_is_wanted(void)
{
	const char *path = getenv(PROBE_ENV_SANITIZER);

	return path && *path;
}

/* None is switched on. */
static void callback(void *unused, int domain, uint32_t id, const void *data)
{
}

static bool find(void *library)
{
#define FIND(name, arguments)                                                                      \
	*(void **)&sanitizer.name = dlsym(library, "sanitizer" #name);                             \
	if (!sanitizer.name) {                                                                     \
		snprintf(failure, sizeof(failure), "it has no function sanitizer" #name);          \
		return false;                                                                      \
	}
	SANITIZER(FIND)
#undef FIND
	return true;
}

const char *sanitizer_result(int result)
{
	const char *text = NULL;

	if (!sanitizer.GetResultString || sanitizer.GetResultString(result, &text) || !text)
		return "an unknown error";
	return text;
}

static void load(void)
{
	const char *path = getenv(PROBE_ENV_SANITIZER);
	void *library, *subscriber;
	int result;

	if (!path || !*path) {
		snprintf(failure, sizeof(failure), "it is not wanted");
		return;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(failure, sizeof(failure), "%s", dlerror());
		return;
	}
	if (!find(library))
		return;
	result = sanitizer.Subscribe(&subscriber, callback, NULL);
	if (result)
		snprintf(failure, sizeof(failure), "it cannot be subscribed to: %s",
			sanitizer_result(result));
}

static uint32_t state_now(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

void sanitizer_open(void)
{
	uint64_t until_ns = now_ns() + LOADING_NS, now;
	uint32_t not_loaded = NOT_LOADED;

	if (loads)
		return;
	if (__atomic_compare_exchange_n(
		    &state, &not_loaded, LOADING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		loads = true;
		load();
		loads = false;
		__atomic_store_n(&state, LOADED, __ATOMIC_RELEASE);
		futex_wake(&state);
		return;
	}
	while (state_now() == LOADING && (now = now_ns()) < until_ns)
		futex_wait(&state, LOADING, until_ns - now);
}

const char *sanitizer_failure(void)
{
	if (state_now() != LOADED)
		return "it was not loaded before the GPU was used";
	return failure[0] ? failure : NULL;
}
