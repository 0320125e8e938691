// SPDX-License-Identifier: MIT
/* Cells come from the test, in the place of a watch; processes are folders below a root of the
 * test's own. */
#include "monitor/metrics/accounts.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "bucket.h"
#include "folder.h"
#include "tap.h"

#define SECOND_NS 1000000000ull
#define QUIET_NS  ACCOUNTS_QUIET_NS
#define CELLS_MAX 64

enum { RUNS, MOVES };

// clang-format off
static const struct monitor_series series[] = {
	[RUNS] = {.name = "runs", .unit = UNIT_NANOSECONDS, .histogram = true, .by_process = true, .busy = true,
		.label = {"ring"}},
	[MOVES] = {.name = "moves", .unit = UNIT_BYTES, .by_process = true, .label = {"from", "to"}},
	{0},
};
// clang-format on

static const struct monitor_event events[] = {
	{.name = "DONE", .counts = {{RUNS, VALUE_DURATION, .label = {"ring"}}}, .label = {"ring"}},
	{.name = "MOVE", .counts = {{MOVES, VALUE_FIELD, .field = "size"}}},
	{0},
};

static const struct monitor table = {.name = "test", .events = events, .series = series};

struct watch {
	struct monitor_cell_key key[CELLS_MAX];
	struct monitor_cell cell[CELLS_MAX];
	size_t count;
	int refusal; /* what watch_forget returns */
};

int watch_cells(struct watch *w,
	int (*visit)(void *, const struct monitor_cell_key *, const struct monitor_cell *),
	void *context)
{
	int error = 0;

	for (size_t i = 0; !error && i < w->count; i++)
		error = visit(context, &w->key[i], &w->cell[i]);
	return error;
}

int watch_forget(struct watch *w, const struct monitor_cell_key *key, struct monitor_cell *ret_last)
{
	if (w->refusal)
		return error_set(w->refusal, "cannot forget");
	for (size_t i = 0; i < w->count; i++)
		if (!memcmp(&w->key[i], key, sizeof(*key))) {
			*ret_last = w->cell[i];
			w->count--;
			w->key[i] = w->key[w->count];
			w->cell[i] = w->cell[w->count];
			return 0;
		}
	return -ENOENT;
}

/* One value more in a cell. */
static void count(struct watch *w, uint16_t s, uint16_t cpu, uint32_t pid, const char *label,
	uint64_t cgroup, uint64_t value)
{
	struct monitor_cell_key key = {.series = s, .cpu = cpu, .pid = pid};
	size_t i = 0;

	snprintf(key.label[0], sizeof(key.label[0]), "%s", label);
	while (i < w->count && memcmp(&w->key[i], &key, sizeof(key)))
		i++;
	if (i == w->count) {
		w->count++;
		w->key[i] = key;
		w->cell[i] =
			(struct monitor_cell){.cgroup = cgroup, .min = UINT64_MAX, .comm = "app"};
	}
	w->cell[i].count++;
	w->cell[i].sum += value;
	w->cell[i].min = value < w->cell[i].min ? value : w->cell[i].min;
	w->cell[i].max = value > w->cell[i].max ? value : w->cell[i].max;
	w->cell[i].buckets[total_bucket(value)]++;
}

static uint64_t cgroup_of(const char *name)
{
	struct stat st;

	return stat(in_folder(name), &st) ? 0 : st.st_ino;
}

/* A machine of its own: two containers, and processes 10 and 20. */
static void begin(struct accounts *a)
{
	CHECK(shell("rm -rf root && mkdir -p root/proc/10 root/proc/20 root/proc/self/ns "
		    "root/sys/fs/cgroup/a "
		    "root/sys/fs/cgroup/b && touch root/sys/fs/cgroup/cgroup.controllers && "
		    "ln -s 'pid:[4026531836]' root/proc/self/ns/pid"));
	CHECK(accounts_init(a, in_folder("root")) == 0);
}

static int update(struct accounts *a, struct watch *w, struct busy_times *busy, uint64_t now_ns,
	struct totals *ret)
{
	CHECK(totals_fetch(&table, w, busy, ret) == 0);
	return accounts_update(a, ret, &table, w, busy, now_ns, 0);
}

static void update_at(struct accounts *a, struct watch *w, uint64_t now_ns)
{
	struct totals t = TOTALS_INIT;

	CHECK(update(a, w, NULL, now_ns, &t) == 0);
	totals_release(&t);
}

/* What was taken over: of all (NULL), or of a container. */
static const struct total *taken(
	const struct accounts *a, uint16_t s, const char *label, const char *container)
{
	vec_foreach (i, &a->sums)
		if (i->sum.series == s && !strcmp(i->sum.label[0], label) &&
			!i->container == !container &&
			(!container || !strcmp(i->container, container)))
			return &i->sum;
	return NULL;
}

static void a_process_that_is_there_is_let_alone(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 10, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 100);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, 1000 * SECOND_NS);
	CHECK(w.count == 1);
	CHECK(a.sums.count == 0 && a.ended == 0);
	accounts_release(&a);
}

static void an_ended_process_goes_to_its_container_and_out_of_the_watch(void)
{
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct accounts a;

	begin(&a);
	for (uint16_t cpu = 0; cpu < 2; cpu++) {
		count(&w, RUNS, cpu, 10, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 100 + cpu);
		count(&w, RUNS, cpu, 20, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 7);
	}
	count(&w, MOVES, 0, 10, "gtt", cgroup_of("root/sys/fs/cgroup/a"), 4096);
	update_at(&a, &w, SECOND_NS);
	CHECK(shell("rmdir root/proc/10"));
	CHECK(update(&a, &w, NULL, SECOND_NS + QUIET_NS, &t) == 0);
	CHECK(w.count == 2 && w.key[0].pid == 20 && w.key[1].pid == 20);
	CHECK(t.rows.count == 1 && t.rows.items[0].pid == 20);
	CHECK(a.ended == 1);
	for (int i = 0; i < 2; i++) {
		const struct total *runs = taken(&a, RUNS, "gfx", i ? "/a" : NULL);
		const struct total *moves = taken(&a, MOVES, "gtt", i ? "/a" : NULL);

		CHECK(runs && runs->count == 2 && runs->sum == 201 && runs->min == 100 &&
			runs->max == 101);
		CHECK(runs &&
			runs->buckets[total_bucket(100)] + runs->buckets[total_bucket(101)] > 0);
		CHECK(runs && runs->pid == 0 && !runs->comm[0]);
		CHECK(moves && moves->count == 1 && moves->sum == 4096);
	}
	totals_release(&t);
	accounts_release(&a);
}

static void processes_of_one_container_are_added_up_and_others_are_not(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 1, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 1);
	count(&w, RUNS, 0, 2, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 10);
	count(&w, RUNS, 0, 3, "gfx", cgroup_of("root/sys/fs/cgroup/b"), 100);
	count(&w, RUNS, 0, 4, "sdma", cgroup_of("root/sys/fs/cgroup/a"), 1000);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, 2 * SECOND_NS + QUIET_NS);
	CHECK(w.count == 0);
	CHECK(taken(&a, RUNS, "gfx", "/a")->sum == 11);
	CHECK(taken(&a, RUNS, "gfx", "/b")->sum == 100);
	CHECK(taken(&a, RUNS, "sdma", "/a")->sum == 1000);
	CHECK(taken(&a, RUNS, "gfx", NULL)->sum == 111);
	CHECK(a.sums.count == 5);
	accounts_release(&a);
}

static void what_is_still_counted_for_an_ended_process_keeps_it(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", 0, 1);
	update_at(&a, &w, SECOND_NS);
	count(&w, RUNS, 0, 99, "gfx", 0, 1);
	update_at(&a, &w, SECOND_NS + QUIET_NS);
	CHECK(w.count == 1);
	update_at(&a, &w, SECOND_NS + 2 * QUIET_NS - 1);
	CHECK(w.count == 1);
	update_at(&a, &w, SECOND_NS + 2 * QUIET_NS);
	CHECK(w.count == 0);
	CHECK(taken(&a, RUNS, "gfx", "")->sum == 2);
	accounts_release(&a);
}

static void what_comes_after_it_was_let_go_is_added_too(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", 0, 5);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, 2 * QUIET_NS);
	count(&w, RUNS, 1, 99, "gfx", 0, 6);
	update_at(&a, &w, 3 * QUIET_NS);
	CHECK(w.count == 1);
	update_at(&a, &w, 4 * QUIET_NS);
	CHECK(w.count == 0);
	CHECK(taken(&a, RUNS, "gfx", NULL)->sum == 11 && taken(&a, RUNS, "gfx", NULL)->count == 2);
	accounts_release(&a);
}

static void a_process_that_moves_stays_where_it_was_seen_first(void)
{
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 1, 10, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 100);
	update_at(&a, &w, SECOND_NS);
	/* The cell of another CPU, which comes first now, was made when the process had moved. */
	w.key[1] = w.key[0];
	w.cell[1] = w.cell[0];
	w.key[0].cpu = 0;
	w.cell[0].cgroup = cgroup_of("root/sys/fs/cgroup/b");
	snprintf(w.cell[0].comm, sizeof(w.cell[0].comm), "other");
	w.count = 2;
	CHECK(update(&a, &w, NULL, 2 * SECOND_NS, &t) == 0);
	CHECK(t.rows.count == 1 && t.rows.items[0].count == 2);
	CHECK(t.rows.items[0].cgroup == cgroup_of("root/sys/fs/cgroup/a"));
	CHECK_TEXT(t.rows.items[0].comm, "app");
	totals_release(&t);
	accounts_release(&a);
}

static void set_start(unsigned int ticks)
{
	char command[256];

	snprintf(command, sizeof(command),
		"echo '10 (a ) (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %u 20 21' "
		">root/proc/10/stat",
		ticks);
	CHECK(shell(command));
}

static void a_number_that_another_process_has_by_now_is_not_the_same_process(void)
{
	uint64_t in_a, in_b;
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct accounts a;

	begin(&a);
	in_a = cgroup_of("root/sys/fs/cgroup/a");
	in_b = cgroup_of("root/sys/fs/cgroup/b");
	set_start(1000);
	count(&w, RUNS, 0, 10, "gfx", in_a, 5);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, 2 * SECOND_NS);
	CHECK(w.count == 1 && a.ended == 0);
	set_start(2000);
	update_at(&a, &w, 3 * SECOND_NS);
	CHECK(w.count == 0 && a.ended == 1);
	count(&w, RUNS, 0, 10, "gfx", in_b, 100);
	CHECK(update(&a, &w, NULL, 4 * SECOND_NS, &t) == 0);
	CHECK(w.count == 1 && t.rows.count == 1 && t.rows.items[0].cgroup == in_b);
	CHECK(taken(&a, RUNS, "gfx", "/a")->sum == 5 && taken(&a, RUNS, "gfx", NULL)->sum == 5);
	CHECK(!taken(&a, RUNS, "gfx", "/b"));
	totals_release(&t);
	accounts_release(&a);
}

static void what_was_counted_since_the_fetch_is_taken_over_too(void)
{
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", 0, 5);
	update_at(&a, &w, SECOND_NS);
	CHECK(totals_fetch(&table, &w, NULL, &t) == 0);
	count(&w, RUNS, 0, 99, "gfx", 0, 6);
	CHECK(accounts_update(&a, &t, &table, &w, NULL, SECOND_NS + QUIET_NS, 0) == 0);
	CHECK(w.count == 0 && t.rows.count == 0);
	CHECK(taken(&a, RUNS, "gfx", NULL)->sum == 11 && taken(&a, RUNS, "gfx", "")->count == 2);
	totals_release(&t);
	accounts_release(&a);
}

static void a_longer_wait_can_be_asked_for(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", 0, 5);
	for (uint64_t now_ns = SECOND_NS; now_ns <= SECOND_NS + 3 * QUIET_NS; now_ns += QUIET_NS) {
		struct totals t = TOTALS_INIT;

		CHECK(w.count == 1);
		CHECK(totals_fetch(&table, &w, NULL, &t) == 0);
		CHECK(accounts_update(&a, &t, &table, &w, NULL, now_ns, 3 * QUIET_NS) == 0);
		totals_release(&t);
	}
	CHECK(w.count == 0);
	accounts_release(&a);
}

static void in_another_pid_namespace_a_process_is_let_go_only_after_an_hour(void)
{
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	accounts_release(&a);
	CHECK(shell("ln -sfn 'pid:[4026532000]' root/proc/self/ns/pid"));
	CHECK(accounts_init(&a, in_folder("root")) == 0);
	count(&w, RUNS, 0, 99, "gfx", 0, 5);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, ACCOUNTS_QUIET_BLIND_NS);
	CHECK(w.count == 1);
	update_at(&a, &w, SECOND_NS + ACCOUNTS_QUIET_BLIND_NS);
	CHECK(w.count == 0);
	accounts_release(&a);
}

static void busy_time_of_an_ended_process_goes_to_its_container(void)
{
	const struct monitor_span span = {.event = 0,
		.count = 0,
		.end_ns = 500,
		.duration_ns = 200,
		.pid = 99,
		.label = {"gfx"}};
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct busy_times *busy = NULL;
	const struct total *all;
	struct accounts a;

	begin(&a);
	CHECK(busy_times_new(&table, &busy) == 0);
	CHECK(busy_times_add(busy, &span) == 0);
	count(&w, RUNS, 0, 99, "gfx", cgroup_of("root/sys/fs/cgroup/b"), 200);
	CHECK(update(&a, &w, busy, SECOND_NS, &t) == 0);
	totals_release(&t);
	CHECK(update(&a, &w, busy, SECOND_NS + QUIET_NS, &t) == 0);
	CHECK(taken(&a, RUNS, "gfx", "/b")->busy_ns == 200);
	all = taken(&a, RUNS, "gfx", NULL);
	CHECK(all && all->busy_ns == 0);
	vec_foreach (b, &t.busy)
		CHECK(b->pid == 0);
	totals_release(&t);
	CHECK(update(&a, &w, busy, 2 * SECOND_NS + QUIET_NS, &t) == 0);
	CHECK(taken(&a, RUNS, "gfx", "/b")->busy_ns == 200);
	totals_release(&t);
	busy_times_free(busy);
	accounts_release(&a);
}

static void busy_time_of_a_process_without_cells_is_let_go_too(void)
{
	const struct monitor_span span = {.event = 0,
		.count = 0,
		.end_ns = 500,
		.duration_ns = 200,
		.pid = 99,
		.label = {"gfx"}};
	struct watch w = {.count = 0};
	struct totals t = TOTALS_INIT;
	struct busy_times *busy = NULL;
	struct accounts a;

	begin(&a);
	CHECK(busy_times_new(&table, &busy) == 0);
	CHECK(busy_times_add(busy, &span) == 0);
	for (uint64_t n = 0; n < 3; n++) {
		totals_release(&t);
		CHECK(update(&a, &w, busy, SECOND_NS + n * QUIET_NS, &t) == 0);
	}
	CHECK(t.busy.count == 1 && t.busy.items[0].pid == 0 && t.busy.items[0].busy_ns == 200);
	CHECK(taken(&a, RUNS, "gfx", "")->busy_ns == 200);
	totals_release(&t);
	busy_times_free(busy);
	accounts_release(&a);
}

static void a_container_is_kept_while_it_is_there_and_an_hour_longer(void)
{
	struct watch w = {.count = 0};
	uint64_t ended_ns = SECOND_NS + QUIET_NS;
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 98, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 1);
	count(&w, RUNS, 0, 99, "gfx", cgroup_of("root/sys/fs/cgroup/b"), 2);
	update_at(&a, &w, SECOND_NS);
	update_at(&a, &w, ended_ns);
	CHECK(shell("rmdir root/sys/fs/cgroup/b"));
	update_at(&a, &w, ended_ns + ACCOUNTS_KEPT_NS);
	CHECK(taken(&a, RUNS, "gfx", "/b") && a.forgotten == 0);
	update_at(&a, &w, ended_ns + ACCOUNTS_KEPT_NS + 1);
	CHECK(!taken(&a, RUNS, "gfx", "/b") && a.forgotten == 1);
	CHECK(taken(&a, RUNS, "gfx", "/a")->sum == 1);
	CHECK(taken(&a, RUNS, "gfx", NULL)->sum == 3);
	count(&w, RUNS, 0, 98, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 5);
	update_at(&a, &w, 3 * ACCOUNTS_KEPT_NS);
	update_at(&a, &w, 4 * ACCOUNTS_KEPT_NS);
	CHECK(taken(&a, RUNS, "gfx", "/a")->sum == 6);
	accounts_release(&a);
}

static void sums_are_bounded_and_the_oldest_go(void)
{
	size_t rounds = ACCOUNTS_MAX * 5 / 8 / CELLS_MAX;
	struct watch w = {.count = 0};
	uint64_t now_ns = 0;
	struct accounts a;
	char label[16];

	begin(&a);
	for (size_t n = 0; n < rounds; n++) {
		for (size_t i = 0; i < CELLS_MAX; i++) {
			snprintf(label, sizeof(label), "r%zu", n * CELLS_MAX + i);
			count(&w, RUNS, 0, 99, label, 0, 1);
		}
		update_at(&a, &w, now_ns += QUIET_NS);
		update_at(&a, &w, now_ns += QUIET_NS);
		CHECK(w.count == 0);
		CHECK(a.sums.count <= ACCOUNTS_MAX);
	}
	CHECK(a.forgotten > 0);
	CHECK(a.sums.count + a.forgotten == 2 * rounds * CELLS_MAX);
	/* Those of a container that is not there, and of them the oldest. */
	CHECK(!taken(&a, RUNS, "r0", "") && taken(&a, RUNS, label, ""));
	CHECK(taken(&a, RUNS, "r0", NULL) && taken(&a, RUNS, label, NULL));
	accounts_release(&a);
}

static void a_watch_that_cannot_forget_is_an_error_and_nothing_is_taken_over(void)
{
	struct watch w = {.refusal = -EPERM};
	struct totals t = TOTALS_INIT;
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", 0, 5);
	update_at(&a, &w, SECOND_NS);
	CHECK(update(&a, &w, NULL, SECOND_NS + QUIET_NS, &t) == -EPERM);
	CHECK_TEXT(error_text(), "cannot forget");
	CHECK(a.sums.count == 0 && t.rows.count == 1);
	totals_release(&t);
	accounts_release(&a);
}

static void statistics_of_everything_get_what_ended_processes_used(void)
{
	struct totals t = TOTALS_INIT;
	struct watch w = {.count = 0};
	struct accounts a;

	begin(&a);
	count(&w, RUNS, 0, 99, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 5);
	update_at(&a, &w, SECOND_NS);
	count(&w, RUNS, 0, 10, "gfx", cgroup_of("root/sys/fs/cgroup/a"), 6);
	CHECK(update(&a, &w, NULL, SECOND_NS + QUIET_NS, &t) == 0);
	CHECK(accounts_add_ended(&a, &t) == 0);
	CHECK(t.rows.count == 2);
	CHECK(t.rows.items[0].sum + t.rows.items[1].sum == 11);
	CHECK(t.rows.items[1].pid == 0 && t.rows.items[1].count == 1);
	totals_release(&t);
	accounts_release(&a);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_process_that_is_there_is_let_alone);
	RUN(an_ended_process_goes_to_its_container_and_out_of_the_watch);
	RUN(processes_of_one_container_are_added_up_and_others_are_not);
	RUN(what_is_still_counted_for_an_ended_process_keeps_it);
	RUN(what_comes_after_it_was_let_go_is_added_too);
	RUN(a_process_that_moves_stays_where_it_was_seen_first);
	RUN(a_number_that_another_process_has_by_now_is_not_the_same_process);
	RUN(what_was_counted_since_the_fetch_is_taken_over_too);
	RUN(a_longer_wait_can_be_asked_for);
	RUN(in_another_pid_namespace_a_process_is_let_go_only_after_an_hour);
	RUN(busy_time_of_an_ended_process_goes_to_its_container);
	RUN(busy_time_of_a_process_without_cells_is_let_go_too);
	RUN(a_container_is_kept_while_it_is_there_and_an_hour_longer);
	RUN(sums_are_bounded_and_the_oldest_go);
	RUN(a_watch_that_cannot_forget_is_an_error_and_nothing_is_taken_over);
	RUN(statistics_of_everything_get_what_ended_processes_used);
	shell("rm -rf root");
	rmdir(folder);
	return tap_end();
}
