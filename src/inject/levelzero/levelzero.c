// SPDX-License-Identifier: MIT
/*
 * Level Zero as one of the library's APIs (inject/api.h).
 *
 * It begins with the program's first call (begin.c). Once the loader's own has returned, its
 * tracing layer is asked to call us back. That layer is there if the recorder has set its variable,
 * or is switched on in a program that is joined (running.c).
 *
 * Such a program is left when nothing of ours is in the driver any more: no command that signals
 * one of our events goes on, and no recorded list has one. Until then calls are traced.
 */
#include "inject/levelzero/levelzero.h"

#include <dlfcn.h>
#include <stdio.h>

#include "inject/api.h"
#include "guest/hooks.h"
#include "vendor/intel/intel.h"

#define FINISH_STEP_NS	   1000000
#define FINISH_PATIENCE_NS 100000000ull /* without an end of anything */
#define FINISH_MAX_NS	   1000000000ull
#define LET_GO_NS	   300000000ull
#define INIT_NS		   1000000000ull
#define INIT_STEP_NS	   10000000

struct levelzero_functions levelzero;

static struct {
	void *handle; /* NULL: there is none */
	bool enabled;
	uint32_t inside; /* threads in calls that wait */
} tracer;

void *xpuprof_join_levelzero_run(int socket);

bool tracer_register(const char *name, levelzero_callback *before, levelzero_callback *after)
{
	int32_t (*function)(void *, int, levelzero_callback *);
	char symbol[128];

	snprintf(symbol, sizeof(symbol), "zelTracer%sRegisterCallback", name);
	*(void **)&function = loader_symbol(symbol);
	return function && (!before || !function(tracer.handle, LEVELZERO_PROLOGUE, before)) &&
	       (!after || !function(tracer.handle, LEVELZERO_EPILOGUE, after));
}

void tracer_enters(void)
{
	if (library.joined)
		__atomic_add_fetch(&tracer.inside, 1, __ATOMIC_SEQ_CST);
}

void tracer_leaves(void)
{
	if (library.joined)
		__atomic_sub_fetch(&tracer.inside, 1, __ATOMIC_SEQ_CST);
}

/* --- the API */

static bool find_functions(void)
{
	bool all = true;

#define FUNCTION(result, name, parameters)                                                         \
	*(void **)&levelzero.name = loader_symbol(#name);                                          \
	all &= levelzero.name != NULL;
	LEVELZERO_FUNCTIONS(FUNCTION)
#undef FUNCTION
	return all;
}

static bool is_ending(void)
{
	return __atomic_load_n(&library.finish, __ATOMIC_SEQ_CST);
}

/* A program may be joined in the middle of zeInit, as that maps the driver: the loader refuses
 * until it is nearly over. */
static bool make_tracer(void)
{
	const struct levelzero_tracer_desc desc = {.stype = LEVELZERO_IS_TRACER_DESC};
	struct timespec step = {.tv_nsec = INIT_STEP_NS};
	uint64_t end_ns = now_ns() + (library.joined ? INIT_NS : 0);
	bool refused = false;

	while (levelzero.zelTracerCreate(&desc, &tracer.handle)) {
		if (now_ns() > end_ns || is_ending())
			return false;
		nanosleep(&step, NULL);
		refused = true;
	}
	if (refused)
		nanosleep(&step, NULL);
	return true;
}

static enum wire_reason start(void)
{
	if (objects_init() || pieces_init() || recorded_init() || signals_init() || copies_init())
		return WIRE_REASON_MEMORY;
	if (!find_functions() || (library.joined && !running_find()) || !make_tracer() ||
		(library.joined && !running_begin()))
		return WIRE_REASON_NO_TRACER;
	objects_register();
	ends_register();
	runs_register();
	signals_register();
	copies_register();
	commands_register();
	if (library.stalls)
		code_register();
	return WIRE_REASON_NONE;
}

/* The file of the loader. */
static void report_tracer(void)
{
	struct wire_tracer record = {.type = WIRE_TRACER, .api = LEVELZERO_API};
	Dl_info info;

	if (!dladdr(*(void **)&levelzero.zelTracerCreate, &info) || !info.dli_fname)
		return;
	record.path_size = (uint32_t)strnlen(info.dli_fname, 4096);
	send_long(&record, sizeof(record), info.dli_fname, record.path_size);
}

/* The recorder hears of us before anything is launched: the driver may tell it the same. */
static enum wire_reason follow_calls(void)
{
	if (levelzero.zelTracerSetEnabled(tracer.handle, true))
		return WIRE_REASON_REFUSED;
	tracer.enabled = true;
	report_tracer();
	return WIRE_REASON_NONE;
}

static void drain(void)
{
	code_send();
	ends_drain(report_piece);
	report_end_round();
}

static void stop(void)
{
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
}

static void drop_piece(struct piece *p)
{
}

/* Work that goes on ends soon, or not at all. */
static void await_ends(void)
{
	struct timespec step = {.tv_nsec = FINISH_STEP_NS};
	uint64_t begun_ns = now_ns(), seen_ns = begun_ns, ended = 0;

	while (ends_waiting() && now_ns() - seen_ns < FINISH_PATIENCE_NS &&
		now_ns() - begun_ns < FINISH_MAX_NS) {
		nanosleep(&step, NULL);
		drain();
		if (ends_ended() != ended)
			seen_ns = now_ns();
		ended = ends_ended();
	}
}

static void finish(bool program_goes_on)
{
	drain();
	await_ends();
	code_finish();
	if (program_goes_on)
		ends_close();
}

static void discard(void)
{
	code_drop();
	ends_close();
}

static void disable_tracer(void)
{
	if (tracer.enabled)
		levelzero.zelTracerSetEnabled(tracer.handle, false);
	tracer.enabled = false;
}

/* To destroy the tracer is to wait for the calls that it has seen begin. */
static bool let_go_now(void)
{
	ends_drain(drop_piece);
	if (tracer.enabled && !objects_let_go())
		return false;
	disable_tracer();
	if (__atomic_load_n(&tracer.inside, __ATOMIC_SEQ_CST) ||
		(tracer.handle && levelzero.zelTracerDestroy(tracer.handle)))
		return false;
	tracer.handle = NULL;
	running_end();
	return true;
}

/* Programs that record their lists anew do so soon. */
static bool let_go(void)
{
	struct timespec step = {.tv_nsec = FINISH_STEP_NS};
	uint64_t end_ns = now_ns() + LET_GO_NS;

	while (is_ending() || !let_go_now()) {
		if (is_ending() || now_ns() > end_ns)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

static void leave(void)
{
	ends_close();
	if (library.joined)
		let_go();
	else
		disable_tracer();
}

static bool release(void)
{
	objects_release();
	pieces_release();
	recorded_release();
	signals_release();
	copies_release();
	code_release();
	loader_release();
	return true;
}

const struct inject_api levelzero_inject = {
	.start = start,
	.follow_calls = follow_calls,
	.drain = drain,
	.sleep_ns = ends_sleep_ns,
	.stop = stop,
	.finish = finish,
	.discard = discard,
	.leave = leave,
	.let_go = let_go,
	.release = release,
};

/* What unloads the library, NULL: it stays (guest/join_entry.h). */
void *xpuprof_join_levelzero_run(int socket)
{
	return inject_join(&levelzero_inject, socket) ? NULL : hooks_unload();
}
