// SPDX-License-Identifier: MIT
#include "capture/perf_times.h"

#include "base/error.h"

void perf_times_release(struct perf_times *t)
{
	map_release(&t->indices);
	map_release(&t->unreported);
	map_release(&t->before);
	map_release(&t->begins);
	vec_release(&t->items);
}

static struct thread_time *time_of(struct perf_times *t, uint32_t thread)
{
	const uint64_t *known = map_get(&t->indices, thread);

	if (known)
		return &t->items.items[*known - 1];
	if (vec_push(&t->items, (struct thread_time){.thread = thread}) < 0)
		return NULL;
	if (map_put(&t->indices, thread, t->items.count) < 0) {
		t->items.count--;
		return NULL;
	}
	return &t->items.items[t->items.count - 1];
}

int perf_times_add_sample(struct perf_times *t, uint32_t thread)
{
	struct thread_time *time = time_of(t, thread);

	if (!time)
		return error_memory("CPU times");
	time->samples++;
	return 0;
}

int perf_times_begin(struct perf_times *t, uint32_t tid, uint64_t run_ns)
{
	return map_put(&t->begins, tid, run_ns) < 0 ? error_memory("CPU times") : 0;
}

uint64_t perf_times_since_begin(const struct perf_times *t, uint32_t tid, uint64_t run_ns)
{
	const uint64_t *before_ns = map_get(&t->begins, tid);

	if (!before_ns)
		return run_ns;
	return run_ns > *before_ns ? run_ns - *before_ns : 0;
}

void perf_times_forget(struct perf_times *t, uint32_t tid)
{
	map_remove(&t->begins, tid, NULL);
}

/* What earlier programs of the thread have of it comes off. */
static uint64_t take_off(struct perf_times *t, uint32_t tid, uint64_t run_ns)
{
	uint64_t *before = map_get(&t->before, tid), off_ns;

	if (!before)
		return run_ns;
	off_ns = *before < run_ns ? *before : run_ns;
	*before -= off_ns;
	if (!*before)
		map_remove(&t->before, tid, NULL);
	return run_ns - off_ns;
}

int perf_times_add_run(
	struct perf_times *t, uint32_t thread, uint32_t tid, uint64_t run_ns, uint64_t end_ns)
{
	struct thread_time *time = time_of(t, thread);

	if (!time)
		return error_memory("CPU times");
	run_ns = take_off(t, tid, run_ns);
	time->run_ns += run_ns;
	time->ticks += run_ns / t->period_ns;
	time->end_ns = end_ns;
	return 0;
}

int perf_times_end(struct perf_times *t, uint32_t thread, uint64_t end_ns)
{
	if (!time_of(t, thread) || map_put(&t->unreported, thread, end_ns) < 0)
		return error_memory("CPU times");
	return 0;
}

/* The one with most samples, of those that have ended and were not reported. */
static struct thread_time *unreported(struct perf_times *t)
{
	struct thread_time *most = NULL;

	vec_foreach (time, &t->items)
		if (map_get(&t->unreported, time->thread) &&
			(!most || time->samples > most->samples))
			most = time;
	return most;
}

int perf_times_add_rest(struct perf_times *t, uint32_t first, uint64_t run_ns)
{
	struct thread_time *time = unreported(t) ?: time_of(t, first);

	if (!time)
		return error_memory("CPU times");
	time->run_ns += run_ns;
	time->ticks += run_ns / t->period_ns;
	return 0;
}

int perf_times_add_exec(struct perf_times *t, uint32_t thread, uint32_t tid, uint64_t time_ns)
{
	struct thread_time *time = time_of(t, thread);
	const uint64_t *known = map_get(&t->before, tid);
	uint64_t before = known ? *known : 0, run_ns;

	if (!time)
		return error_memory("CPU times");
	run_ns = time->samples * t->period_ns;
	*time = (struct thread_time){
		.thread = thread, .run_ns = run_ns, .end_ns = time_ns, .samples = time->samples};
	if (run_ns && map_put(&t->before, tid, before + run_ns) < 0)
		return error_memory("CPU times");
	return 0;
}

int perf_times_write(struct perf_times *t, struct profile_writer *w, bool lost)
{
	int error = 0;

	vec_foreach (time, &t->items) {
		struct profile_account account = {.run_ns = time->run_ns, .end_ns = time->end_ns};

		if (!lost && time->ticks > time->samples)
			account.kernel_ns = (uint64_t)((unsigned __int128)time->run_ns *
						       (time->ticks - time->samples) / time->ticks);
		if (account.run_ns)
			error = error ?: profile_add_account(w, time->thread, &account);
	}
	return error;
}
