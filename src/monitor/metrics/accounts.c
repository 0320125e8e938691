// SPDX-License-Identifier: MIT
/*
 * When a process is let go, its cells are first removed from the watch, and what they held then is
 * added to the sums. So nothing is counted twice, or lost because it was counted after the rows
 * were fetched.
 */
#include "monitor/metrics/accounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/io.h"

/* The first pid namespace, by its inode number: PROC_PID_INIT_INO of the kernel's
 * include/linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

#define STAT_MAX_BYTES 4096

/* ------------------------------------------------------------------ sums */

void accounts_sum(struct total *to, const struct total *from)
{
	if (from->count && (!to->count || from->min < to->min))
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;
	to->busy_ns += from->busy_ns;
	to->busy_uncertain_ns += from->busy_uncertain_ns;
	for (size_t i = 0; i < MONITOR_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

static uint64_t hash_of(const struct total *t, const char *container)
{
	uint64_t h =
		hash_combine(container ? hash_bytes(container, strlen(container)) : 1, t->series);

	for (size_t i = 0; i < MONITOR_LABELS; i++)
		h = hash_combine(h, hash_bytes(t->label[i], strlen(t->label[i])));
	return h;
}

static bool is_of(const struct account *s, const struct total *t, const char *container)
{
	if (s->sum.series != t->series || !s->container != !container ||
		(container && strcmp(s->container, container)))
		return false;
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (strcmp(s->sum.label[i], t->label[i]))
			return false;
	return true;
}

static void clear(struct account *s)
{
	free(s->container);
	s->container = NULL;
}

/* Sums with the same hash have keys that follow one another. */
static int find_or_add(
	struct accounts *a, const struct total *t, const char *container, struct account **ret)
{
	uint64_t hash = hash_of(t, container), *at;
	struct account new = {.sum.series = t->series};

	while ((at = map_get(&a->index, hash)) && !is_of(&a->sums.items[*at], t, container))
		hash++;
	if (!at) {
		memcpy(new.sum.label, t->label, sizeof(new.sum.label));
		new.container = container ? strdup(container) : NULL;
		if ((container && !new.container) || vec_push(&a->sums, new) < 0) {
			clear(&new);
			return -ENOMEM;
		}
		if (map_put(&a->index, hash, a->sums.count - 1) < 0) {
			clear(&a->sums.items[--a->sums.count]);
			return -ENOMEM;
		}
		*ret = &a->sums.items[a->sums.count - 1];
		return 0;
	}
	*ret = &a->sums.items[*at];
	return 0;
}

/* After some were taken out. */
static int index_anew(struct accounts *a)
{
	int error = 0;

	map_release(&a->index);
	for (size_t i = 0; !error && i < a->sums.count; i++) {
		uint64_t hash = hash_of(&a->sums.items[i].sum, a->sums.items[i].container);

		while (map_get(&a->index, hash))
			hash++;
		error = map_put(&a->index, hash, i);
	}
	return error;
}

static int add_row(
	struct accounts *a, const struct total *row, const char *container, uint64_t now_ns)
{
	struct account *s;
	int error = find_or_add(a, row, container, &s);

	if (error)
		return error;
	accounts_sum(&s->sum, row);
	s->changed_ns = now_ns;
	return 0;
}

/* ------------------------------------------------------------------ which are forgotten */

static bool is_old(const struct accounts *a, const struct account *s, uint64_t now_ns)
{
	return s->container && now_ns - s->changed_ns > ACCOUNTS_KEPT_NS &&
	       !containers_present(a->containers, s->container);
}

struct candidate {
	unsigned int worth;
	uint64_t changed_ns;
	size_t at;
};

static int by_worth(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = (a->worth > b->worth) - (a->worth < b->worth);

	return order ? order : (a->changed_ns > b->changed_ns) - (a->changed_ns < b->changed_ns);
}

/* A counter that goes down looks as if it had begun anew: so first what nobody will ask for
 * again. */
static unsigned int worth_of(const struct accounts *a, const struct account *s)
{
	if (!s->container)
		return 2;
	return containers_present(a->containers, s->container);
}

/* When there are too many, until a quarter of the room is free. */
static int mark_excess(struct accounts *a)
{
	size_t count = a->sums.count, excess;
	struct candidate *c;

	if (count <= ACCOUNTS_MAX)
		return 0;
	c = malloc(count * sizeof(*c));
	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		c[i] = (struct candidate){
			worth_of(a, &a->sums.items[i]), a->sums.items[i].changed_ns, i};
	qsort(c, count, sizeof(*c), by_worth);
	excess = count - ACCOUNTS_MAX * 3 / 4;
	for (size_t i = 0; i < excess; i++)
		a->sums.items[c[i].at].excess = true;
	free(c);
	return 0;
}

static int forget_old(struct accounts *a, uint64_t now_ns)
{
	size_t kept = 0;
	int error = mark_excess(a);

	if (error)
		return error;
	for (size_t i = 0; i < a->sums.count; i++) {
		struct account *s = &a->sums.items[i];

		if (s->excess || is_old(a, s, now_ns))
			clear(s);
		else
			a->sums.items[kept++] = *s;
	}
	if (kept == a->sums.count)
		return 0;
	a->forgotten += a->sums.count - kept;
	a->sums.count = kept;
	return index_anew(a);
}

/* ------------------------------------------------------------------ processes */

static int by_pid(const void *left, const void *right)
{
	const struct account_process *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

const struct account_process *accounts_process(const struct accounts *a, uint32_t pid)
{
	struct account_process wanted = {.pid = pid};

	if (!a->processes.count)
		return NULL;
	return bsearch(&wanted, a->processes.items, a->processes.count, sizeof(wanted), by_pid);
}

static bool is_running(const struct accounts *a, uint32_t pid)
{
	char path[PATH_MAX];

	if (!a->sees_processes)
		return false;
	snprintf(path, sizeof(path), "%s/%u", a->proc, pid);
	return !access(path, F_OK) || errno != ENOENT;
}

/* When the process began that has this number now, in ticks: field 22 of proc_pid_stat(5), counted
 * from behind the name, which may hold anything. 0: not known. */
static uint64_t start_of(const struct accounts *a, uint32_t pid)
{
	struct buf text = BUF_INIT;
	uint64_t start = 0;
	const char *at = NULL;
	char path[PATH_MAX];

	if (!a->sees_processes)
		return 0;
	snprintf(path, sizeof(path), "%s/%u/stat", a->proc, pid);
	if (!io_read_file(path, STAT_MAX_BYTES, &text)) {
		buf_puts(&text, "");
		at = strrchr(buf_text(&text), ')');
	}
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	buf_release(&text);
	return start;
}

static void judge(
	const struct accounts *a, struct account_process *p, uint64_t now_ns, uint64_t quiet_ns)
{
	const struct account_process *before = accounts_process(a, p->pid);
	bool replaced = false;

	p->changed_ns = now_ns;
	p->start = start_of(a, p->pid);
	if (before && !before->ended) {
		replaced = before->start && p->start && before->start != p->start;
		if (before->count == p->count)
			p->changed_ns = before->changed_ns;
		if (before->cgroup)
			p->cgroup = before->cgroup;
		memcpy(p->comm, before->comm, sizeof(p->comm));
	}
	p->ended = replaced || (now_ns - p->changed_ns >= quiet_ns && !is_running(a, p->pid));
}

static int add_process(struct accounts *a, const struct total *row)
{
	struct account_process p = {.pid = row->pid, .count = row->count, .cgroup = row->cgroup};

	memcpy(p.comm, row->comm, sizeof(p.comm));
	return vec_push(&a->processes, p);
}

/* Where there was no room for a process's cells, its busy time is known nevertheless. */
static int add_busy_process(struct accounts *a, const struct total_busy *b)
{
	const struct account_process p = {.pid = b->pid, .count = b->busy_ns};

	return vec_push(&a->processes, p);
}

static int add_processes(const struct totals *t, struct accounts *ret)
{
	vec_foreach (row, &t->rows)
		if (row->pid && add_process(ret, row) < 0)
			return -ENOMEM;
	vec_foreach (b, &t->busy)
		if (b->pid && add_busy_process(ret, b) < 0)
			return -ENOMEM;
	return 0;
}

/* One for each that has rows or busy time, by pid. */
static int list_processes(const struct totals *t, struct accounts *ret)
{
	size_t kept = 0;

	if (add_processes(t, ret) < 0)
		return -ENOMEM;
	if (!ret->processes.count)
		return 0;
	qsort(ret->processes.items, ret->processes.count, sizeof(*ret->processes.items), by_pid);
	for (size_t i = 1; i < ret->processes.count; i++) {
		struct account_process *last = &ret->processes.items[kept];
		const struct account_process *p = &ret->processes.items[i];

		if (p->pid != last->pid) {
			ret->processes.items[++kept] = *p;
			continue;
		}
		last->count += p->count;
		if (!last->cgroup)
			last->cgroup = p->cgroup;
		if (!last->comm[0])
			memcpy(last->comm, p->comm, sizeof(last->comm));
	}
	ret->processes.count = kept + 1;
	return 0;
}

/* Brings the processes up to date, and rows in agreement with them: *ret_ended says how many have
 * ended. */
static int look_at_processes(
	struct accounts *a, struct totals *t, uint64_t now_ns, uint64_t quiet_ns, size_t *ret_ended)
{
	struct accounts now = {0};
	int error = list_processes(t, &now);

	if (error) {
		vec_release(&now.processes);
		return error;
	}
	*ret_ended = 0;
	vec_foreach (p, &now.processes) {
		judge(a, p, now_ns, quiet_ns);
		*ret_ended += p->ended;
	}
	vec_release(&a->processes);
	a->processes = now.processes;
	vec_foreach (row, &t->rows) {
		const struct account_process *p = row->pid ? accounts_process(a, row->pid) : NULL;

		if (!p)
			continue;
		row->cgroup = p->cgroup;
		memcpy(row->comm, p->comm, sizeof(row->comm));
	}
	return 0;
}

/* ------------------------------------------------------------------ letting go */

struct cells {
	const struct accounts *accounts;
	struct vec(struct monitor_cell_key) keys;
};

static bool has_ended(const struct accounts *a, uint32_t pid)
{
	const struct account_process *p = pid ? accounts_process(a, pid) : NULL;

	return p && p->ended;
}

static int visit_cell(
	void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell)
{
	struct cells *c = context;

	return has_ended(c->accounts, key->pid) ? vec_push(&c->keys, *key) : 0;
}

/* Removes the cells of those that have ended from the watch: *ret has what they held in the end. */
static int forget_cells(
	const struct accounts *a, const struct monitor *m, struct watch *w, struct totals *ret)
{
	struct cells c = {.accounts = a};
	int error = watch_cells(w, visit_cell, &c);

	vec_foreach (key, &c.keys) {
		struct monitor_cell last = {0};

		error = error ?: watch_forget(w, key, &last);
		if (!error && last.count)
			error = totals_add(ret, m, key, &last);
	}
	vec_release(&c.keys);
	return error ?: totals_finish(ret, m, NULL);
}

/* As a row, so that it is summed up like the others. Not for the sum of all: a ring's busy time is
 * a union, which the ring keeps. */
static int add_busy(
	struct accounts *a, const struct total_busy *b, const char *container, uint64_t now_ns)
{
	struct total row = {
		.series = b->series, .busy_ns = b->busy_ns, .busy_uncertain_ns = b->uncertain_ns};

	memcpy(row.label, b->label, sizeof(row.label));
	return add_row(a, &row, container, now_ns);
}

static const char *container_of(const struct accounts *a, uint32_t pid)
{
	return containers_name(a->containers, accounts_process(a, pid)->cgroup);
}

static int move_busy(struct accounts *a, struct totals *t, uint64_t now_ns)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < t->busy.count; i++) {
		const struct total_busy *b = &t->busy.items[i];

		if (!has_ended(a, b->pid))
			t->busy.items[kept++] = *b;
		else if (!error && b->label[0][0])
			error = add_busy(a, b, container_of(a, b->pid), now_ns);
	}
	t->busy.count = kept;
	return error;
}

static int add_rows(struct accounts *a, const struct totals *last, uint64_t now_ns)
{
	int error = 0;

	vec_foreach (row, &last->rows) {
		error = error ?: add_row(a, row, NULL, now_ns);
		error = error ?: add_row(a, row, container_of(a, row->pid), now_ns);
	}
	return error;
}

static void drop_rows(const struct accounts *a, struct totals *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.count; i++)
		if (!has_ended(a, t->rows.items[i].pid))
			t->rows.items[kept++] = t->rows.items[i];
	t->rows.count = kept;
}

static int move_ended(
	struct accounts *a, struct totals *t, const struct totals *last, uint64_t now_ns)
{
	int error = move_busy(a, t, now_ns);

	error = error ?: add_rows(a, last, now_ns);
	drop_rows(a, t);
	return error ? error_set(error, "out of memory") : 0;
}

static int let_go(struct accounts *a, struct totals *t, const struct monitor *m, struct watch *w,
	struct busy_times *busy, uint64_t now_ns)
{
	struct totals last = TOTALS_INIT;
	int error = forget_cells(a, m, w, &last);

	error = error ?: move_ended(a, t, &last, now_ns);
	totals_release(&last);
	if (error)
		return error;
	vec_foreach (p, &a->processes) {
		if (p->ended && busy)
			busy_times_forget(busy, p->pid);
		a->ended += p->ended;
	}
	return 0;
}

int accounts_update(struct accounts *a, struct totals *t, const struct monitor *m, struct watch *w,
	struct busy_times *busy, uint64_t now_ns, uint64_t quiet_ns)
{
	uint64_t least_ns = a->sees_processes ? ACCOUNTS_QUIET_NS : ACCOUNTS_QUIET_BLIND_NS;
	size_t ended;
	int error;

	containers_refresh(a->containers, now_ns);
	error = look_at_processes(a, t, now_ns, quiet_ns > least_ns ? quiet_ns : least_ns, &ended);
	if (error)
		return error_set(error, "out of memory");
	/* Names are looked up while they can be: a container may be gone with its last process. */
	vec_foreach (p, &a->processes)
		(void)containers_name(a->containers, p->cgroup);
	error = ended ? let_go(a, t, m, w, busy, now_ns) : 0;
	if (error)
		return error;
	return forget_old(a, now_ns) ? error_memory(NULL) : 0;
}

int accounts_add_ended(const struct accounts *a, struct totals *t)
{
	vec_foreach (s, &a->sums)
		if (!s->container && vec_push(&t->rows, s->sum) < 0)
			return -ENOMEM;
	return 0;
}

/* ------------------------------------------------------------------ the object */

static bool is_first_namespace(const char *proc)
{
	char link[PATH_MAX], text[64];
	ssize_t size;

	snprintf(link, sizeof(link), "%s/self/ns/pid", proc);
	size = readlink(link, text, sizeof(text) - 1);
	if (size < 0)
		return false;
	text[size] = '\0';
	return !strcmp(text, FIRST_PID_NAMESPACE);
}

int accounts_init(struct accounts *a, const char *root)
{
	struct buf cgroups = BUF_INIT;
	int error = -ENOMEM;

	*a = (struct accounts){0};
	buf_printf(&cgroups, "%s/sys/fs/cgroup", root);
	if (asprintf(&a->proc, "%s/proc", root) < 0)
		a->proc = NULL;
	if (a->proc && !cgroups.failed)
		error = containers_new(buf_text(&cgroups), &a->containers);
	buf_release(&cgroups);
	if (error) {
		accounts_release(a);
		return error_set(error, "out of memory");
	}
	a->sees_processes = is_first_namespace(a->proc);
	return 0;
}

void accounts_release(struct accounts *a)
{
	vec_foreach (s, &a->sums)
		clear(s);
	vec_release(&a->sums);
	map_release(&a->index);
	vec_release(&a->processes);
	containers_free(a->containers);
	free(a->proc);
	*a = (struct accounts){0};
}
