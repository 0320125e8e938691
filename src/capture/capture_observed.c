// SPDX-License-Identifier: MIT
/*
 * Calls of a GPU driver's library, seen by the kernel alone: for programs that may not be joined.
 *
 *	ASKED --offsets of the calls--> IDLE --window begins--> OPEN --ends--> CLOSING --> IDLE
 *	   |                                                                      |
 *	   `-> ENDED: the library has nothing to probe, or the program is gone <--'
 *
 * Probes are within the one process, and there are none outside of windows (windows.h); without a
 * budget there is one window, up to the end. Attaching takes a moment, detaching some 30 ms, for
 * which the kernel waits: a window is therefore opened and closed by a word that the BPF programs
 * read, and probes are removed by a thread of their own. Calls that wait are sent when they return,
 * so a window that is over stays attached for a while for those that have begun in it.
 */
#include "capture/capture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "capture/observe_costs.h"
#include "capture/uprobe.h"
#include "capture/windows.h"
#include "vendor/vendor.h"

#define MAPS_MAX_BYTES	  ((size_t)64 << 20)
#define WAITS_PATIENCE_NS (200 * NS_PER_MS) /* for calls that wait, behind the end of a window */
#define WAITS_LOOK_NS	  (5 * NS_PER_MS)
#define CALLS_MAX	  (BPF_COOKIE_CALL_MASK + 1)

enum observed_state {
	OBSERVED_ASKED,
	OBSERVED_IDLE,
	OBSERVED_OPEN,
	OBSERVED_CLOSING,
	OBSERVED_ENDED
};

_Static_assert((int)VENDOR_CALL_LAUNCH == (int)CALL_LAUNCH &&
		       (int)VENDOR_CALL_COPY == (int)CALL_COPY &&
		       (int)VENDOR_CALL_SET == (int)CALL_SET &&
		       (int)VENDOR_CALL_GRAPH == (int)CALL_GRAPH &&
		       (int)VENDOR_CALL_SYNC == (int)CALL_SYNC,
	"calls have the same kinds for vendors");

struct observed {
	uint32_t pid, process, instance;
	enum observed_state state;
	uint32_t slot; /* in the array that the BPF programs read */
	bool was_open;
	const struct vendor_call *calls;
	int file; /* the library */
	/* of the probes; those of calls that wait come first, and have probes on their returns */
	struct vec(uint64_t) offsets, cookies;
	size_t waiting;
	int links[2];
	struct windows windows;
	uint64_t start_ns, end_ns, look_ns; /* of the window; when to look again for its waits */
	uint64_t attach_ns;		    /* that attaching took */
	struct bpf_observed before;	    /* sums, when the latest window was counted */
	uint32_t calls_sent;
	char *why; /* it is not observed; NULL: it is */
};

struct observing {
	uint32_t overhead;
	struct observe_costs costs;
	struct bpf_observed *slots;
	bool used[OBSERVE_SLOTS];
	struct vec(struct observed *) all;
	struct buf names; /* of the calls of `of` */
	const struct vendor_call *of;
};

int capture_open_observing(struct capture *c, uint32_t overhead)
{
	struct observing *o = calloc(1, sizeof(*o));

	if (!o)
		return error_memory(NULL);
	o->overhead = overhead;
	o->slots = programs_observed(c->programs);
	c->observing = o;
	return observe_costs_measure(&o->costs, c->programs);
}

static void close_both(const int *links)
{
	for (int i = 0; i < 2; i++)
		if (links[i] >= 0)
			close(links[i]);
}

static void free_one(struct observed *p)
{
	close_both(p->links);
	if (p->file >= 0)
		close(p->file);
	vec_release(&p->offsets);
	vec_release(&p->cookies);
	free(p->why);
	free(p);
}

void capture_close_observing(struct capture *c)
{
	if (!c->observing)
		return;
	vec_foreach (p, &c->observing->all)
		free_one(*p);
	vec_release(&c->observing->all);
	buf_release(&c->observing->names);
	free(c->observing);
	c->observing = NULL;
}

/* ------------------------------------------------------------------ which calls */

static int fail(struct observed *p, const char *why)
{
	p->state = OBSERVED_ENDED;
	p->why = strdup(why);
	return p->why ? 0 : error_memory(NULL);
}

static int add_place(struct observed *p, uint64_t offset, uint64_t call, bool waits)
{
	uint64_t cookie = (uint64_t)p->slot << BPF_COOKIE_INDEX | call;

	vec_foreach (known, &p->offsets)
		if (*known == offset)
			return 0; /* another name of the same function */
	p->waiting += waits;
	return vec_push(&p->offsets, offset) ||
	       vec_push(&p->cookies, waits ? cookie | BPF_COOKIE_WAITS : cookie);
}

/* Where the kernel cannot have probes on returns, the calls that wait are calls as others. */
static int add_places(struct observing *o, struct observed *p, const struct files_answer *answer)
{
	bool times = o->costs.return_ns;
	int failed = 0;

	for (int waiting = 1; !failed && waiting >= 0; waiting--)
		for (size_t i = 0; !failed && i < answer->offset_count && p->calls[i].name; i++)
			if (answer->offsets[i] && (p->calls[i].kind == VENDOR_CALL_SYNC) == waiting)
				failed = add_place(p, answer->offsets[i], i, waiting && times);
	return failed ? error_memory(NULL) : 0;
}

static int on_functions(void *context, uint64_t tag, struct files_answer *answer)
{
	struct capture *c = context;
	struct observed *p = c->observing->all.items[tag];
	int error;

	if (p->state == OBSERVED_ENDED)
		return 0;
	if (answer->error)
		return fail(p, "its driver library cannot be read");
	if (answer->opened.copied)
		return fail(p, "its driver library is on a file system that a user serves");
	error = add_places(c->observing, p, answer);
	if (error || !p->offsets.count)
		return error ?: fail(p, "no calls were found in its driver library");
	p->file = answer->fd;
	answer->fd = -1;
	p->state = OBSERVED_IDLE;
	if (c->observing->overhead)
		windows_begin(&p->windows, c->observing->overhead, clock_now_ns(),
			clock_now_ns() ^ (uint64_t)p->pid << 32);
	return 0;
}

static int list_names(struct observing *o, const struct vendor_call *calls)
{
	if (o->of == calls)
		return 0;
	buf_reset(&o->names);
	for (size_t i = 0; calls[i].name && i < CALLS_MAX; i++)
		buf_append(&o->names, calls[i].name, strlen(calls[i].name) + 1);
	o->of = calls;
	return o->names.failed ? error_memory(NULL) : 0;
}

/* The code of the driver's library among the lines of /proc/PID/maps. */
static bool find_library(char *maps, struct proc_mapping *ret)
{
	char *rest = maps, *line;

	while ((line = strsep(&rest, "\n")))
		if (proc_mapping_parse(line, strlen(line), ret) && ret->executable &&
			ret->path_size && vendor_driver_calls(ret->path))
			return true;
	return false;
}

static int ask(struct capture *c, struct observed *p, const struct proc_mapping *m)
{
	struct mapped_file mapped = {.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.device = makedev(m->major, m->minor),
		.inode = m->inode};
	struct files_question q = {.purpose = FILES_FUNCTIONS,
		.pid = p->pid,
		.path = m->path,
		.mapped = &mapped,
		.done = on_functions,
		.context = c,
		.tag = c->observing->all.count - 1};
	int error;

	p->calls = vendor_driver_calls(m->path);
	error = list_names(c->observing, p->calls);
	q.names = c->observing->names.data;
	q.names_size = c->observing->names.size;
	return error ?: files_ask(c->files, &q);
}

static int look_into(struct capture *c, struct observed *p)
{
	struct buf text = BUF_INIT;
	struct proc_mapping m;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	error = io_read_file(path, MAPS_MAX_BYTES, &text);
	buf_puts(&text, "");
	if (error || text.failed || !find_library(text.data, &m))
		error = fail(p, "it has ended, or its mappings cannot be read");
	else
		error = ask(c, p, &m);
	buf_release(&text);
	return error;
}

static bool take_slot(struct observing *o, uint32_t *ret)
{
	for (uint32_t i = 0; i < OBSERVE_SLOTS; i++)
		if (!o->used[i]) {
			o->used[i] = true;
			*ret = i;
			return true;
		}
	return false;
}

int capture_observe(struct capture *c, uint32_t pid, uint32_t process, uint32_t instance)
{
	struct observed *p = calloc(1, sizeof(*p));

	if (!p || vec_push(&c->observing->all, p)) {
		free(p);
		return error_memory(NULL);
	}
	*p = (struct observed){.pid = pid,
		.process = process,
		.instance = instance,
		.file = -1,
		.links = {-1, -1}};
	if (!take_slot(c->observing, &p->slot))
		return fail(p, "too many programs are observed");
	p->before = (struct bpf_observed){0};
	c->observing->slots[p->slot] = (struct bpf_observed){.instance = instance};
	return look_into(c, p);
}

/* ------------------------------------------------------------------ windows */

static int attach(struct capture *c, struct observed *p)
{
	char path[32];
	struct uprobe_places places = {.path = path,
		.offsets = p->offsets.items,
		.cookies = p->cookies.items,
		.pid = p->pid};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	/* first, so that none is missed of a call that was seen */
	for (int i = 1; i >= 0; i--) {
		places.at_return = i;
		places.count = i ? p->waiting : p->offsets.count;
		if (!places.count)
			continue;
		p->links[i] = programs_observe(c->programs, &places);
		if (p->links[i] < 0)
			return p->links[i];
	}
	return 0;
}

static void *close_links(void *links)
{
	close_both(links);
	free(links);
	return NULL;
}

/* In a thread of its own, if there can be one. */
static void detach(struct observed *p)
{
	int *links = malloc(sizeof(p->links));
	pthread_t thread;

	if (links)
		memcpy(links, p->links, sizeof(p->links));
	if (links && !pthread_create(&thread, NULL, close_links, links)) {
		pthread_detach(thread);
	} else {
		free(links);
		close_both(p->links);
	}
	p->links[0] = p->links[1] = -1;
}

static void set_open(struct observing *o, const struct observed *p, bool open)
{
	__atomic_store_n(&o->slots[p->slot].open, open, __ATOMIC_SEQ_CST);
}

static void end_observed(struct capture *c, struct observed *p)
{
	p->state = OBSERVED_ENDED;
	c->observing->used[p->slot] = false;
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
	vec_release(&p->offsets);
	vec_release(&p->cookies);
}

static int open_window(struct capture *c, struct observed *p, uint64_t now_ns)
{
	struct observing *o = c->observing;
	int error = attach(c, p);

	p->start_ns = clock_now_ns();
	p->attach_ns = p->start_ns - now_ns;
	if (error) {
		detach(p);
		end_observed(c, p);
		/* one that is gone needs no reason */
		return error == -ESRCH ? 0 : fail(p, strerror(-error));
	}
	o->slots[p->slot].window++;
	set_open(o, p, true);
	p->was_open = true;
	p->state = OBSERVED_OPEN;
	return 0;
}

static void begin_closing(struct capture *c, struct observed *p)
{
	set_open(c->observing, p, false);
	p->end_ns = p->look_ns = clock_now_ns();
	p->state = OBSERVED_CLOSING;
}

static uint64_t waits_open(const struct observing *o, const struct observed *p)
{
	const struct bpf_observed *s = &o->slots[p->slot];
	uint64_t ended = __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE) - p->before.ended;

	return __atomic_load_n(&s->begun, __ATOMIC_ACQUIRE) - p->before.begun - ended;
}

/* What the window cost, with what came behind the end of the last one. Attaching may hold up the
 * program, and so may detaching. */
static uint64_t take_cost_ns(struct observing *o, struct observed *p)
{
	const struct bpf_observed now = o->slots[p->slot];
	uint64_t cost_ns = (now.calls - p->before.calls) * o->costs.call_ns +
			   (now.returns - p->before.returns) * o->costs.return_ns +
			   (now.spent_ns - p->before.spent_ns) + 2 * p->attach_ns;

	p->before = now;
	return cost_ns;
}

static int report(struct capture *c, const struct observed *p, uint64_t since_ns, uint64_t until_ns,
	uint64_t start_ns, uint64_t end_ns)
{
	const struct profile_burst burst = {.process = p->process,
		.instance = p->instance,
		.since_ns = since_ns,
		.until_ns = until_ns,
		.start_ns = start_ns,
		.end_ns = end_ns};

	return c->observing->overhead ? profile_add_burst(c->w, &burst) : 0;
}

static int close_window(struct capture *c, struct observed *p)
{
	uint64_t lost = waits_open(c->observing, p);
	int error;

	detach(p);
	p->state = OBSERVED_IDLE;
	windows_end(&p->windows, clock_now_ns(), take_cost_ns(c->observing, p));
	error = report(c, p, p->windows.since_ns, p->windows.until_ns, p->start_ns, p->end_ns);
	windows_next(&p->windows);
	return error ?: profile_count_loss(c->w, LOSS_WAITS_OBSERVED, lost);
}

static uint64_t due_ns(const struct observing *o, const struct observed *p)
{
	switch (p->state) {
	case OBSERVED_IDLE:
		return o->overhead ? p->windows.planned_ns : 0;
	case OBSERVED_OPEN:
		return o->overhead ? p->start_ns + p->windows.length_ns : UINT64_MAX;
	case OBSERVED_CLOSING:
		return p->look_ns;
	default:
		return UINT64_MAX;
	}
}

/* The program is over, or another one runs in its process. Or the recording ends. */
static int end_last(struct capture *c, struct observed *p)
{
	uint64_t now_ns = clock_now_ns(), since_ns = p->windows.since_ns, lost = 0;
	int error = 0;

	if (p->state == OBSERVED_OPEN)
		set_open(c->observing, p, false);
	if (p->state == OBSERVED_OPEN || p->state == OBSERVED_CLOSING)
		lost = waits_open(c->observing, p);
	if (p->state == OBSERVED_CLOSING) {
		error = report(c, p, since_ns, now_ns, p->start_ns, p->end_ns);
	} else if (p->state == OBSERVED_OPEN && c->observing->overhead) {
		uint64_t cut_ns = windows_cut(&p->windows, p->start_ns, now_ns);

		error = report(c, p, since_ns, cut_ns, cut_ns, cut_ns);
		error = error ?: report(c, p, cut_ns, now_ns, p->start_ns, now_ns);
	} else if (p->state == OBSERVED_IDLE) {
		error = report(c, p, since_ns < now_ns ? since_ns : now_ns, now_ns, now_ns, now_ns);
	}
	detach(p);
	end_observed(c, p);
	return error ?: profile_count_loss(c->w, LOSS_WAITS_OBSERVED, lost);
}

static bool is_over(const struct capture *c, const struct observed *p)
{
	uint32_t process;

	return !processes_find(c->processes, p->pid) || tasks_process(c->tasks, p->pid, &process) ||
	       process != p->process;
}

static int observe_on(struct capture *c, struct observed *p)
{
	uint64_t now_ns = clock_now_ns();

	if (p->state == OBSERVED_ENDED)
		return 0;
	if (is_over(c, p))
		return end_last(c, p);
	if (now_ns < due_ns(c->observing, p))
		return 0;
	if (p->state == OBSERVED_IDLE)
		return open_window(c, p, now_ns);
	if (p->state == OBSERVED_OPEN)
		begin_closing(c, p);
	if (p->state != OBSERVED_CLOSING)
		return 0;
	if (!waits_open(c->observing, p) || now_ns - p->end_ns > WAITS_PATIENCE_NS)
		return close_window(c, p);
	p->look_ns = now_ns + WAITS_LOOK_NS;
	return 0;
}

int capture_observe_round(struct capture *c)
{
	int error = 0;

	if (!c->observing)
		return 0;
	for (size_t i = 0; !error && i < c->observing->all.count; i++)
		error = observe_on(c, c->observing->all.items[i]);
	return error;
}

uint64_t capture_observe_due_ns(const struct capture *c)
{
	uint64_t earliest_ns = UINT64_MAX;

	if (!c->observing)
		return earliest_ns;
	vec_foreach (p, &c->observing->all) {
		uint64_t next_ns = due_ns(c->observing, *p);

		if (next_ns < earliest_ns)
			earliest_ns = next_ns;
	}
	return earliest_ns;
}

int capture_stop_observing(struct capture *c)
{
	int error = 0;

	if (!c->observing)
		return 0;
	vec_foreach (p, &c->observing->all)
		if ((*p)->state != OBSERVED_ENDED)
			error = error ?: end_last(c, *p);
	return error;
}

/* ------------------------------------------------------------------ calls */

static struct observed *find_instance(const struct observing *o, uint32_t instance)
{
	for (size_t i = 0; o && i < o->all.count; i++)
		if (o->all.items[i]->instance == instance)
			return o->all.items[i];
	return NULL;
}

int capture_add_observed(
	struct capture *c, const struct bpf_launch_event *e, uint32_t thread, uint32_t stack)
{
	struct observed *p = find_instance(c->observing, e->instance);
	const struct vendor_call *of = p && p->calls ? &p->calls[e->correlation] : NULL;
	struct profile_call call = {.start_ns = e->time_ns - e->waited_ns,
		.duration_ns = e->waited_ns,
		.thread = thread,
		.stack = stack,
		.instance = e->instance,
		.observed = true};
	int error;

	if (!of)
		return profile_count_loss(c->w, LOSS_GPU_INVALID, 1);
	call.kind = (enum profile_call_kind)of->kind;
	call.correlation = ++p->calls_sent;
	error = profile_add_string(c->w, of->name, strlen(of->name), &call.api);
	return error ?: profile_write_call(c->w, &call);
}

const char *capture_observe_refusal(const struct capture *c)
{
	return c->observe_refusal;
}

bool capture_observes(const struct capture *c)
{
	return c->observing;
}

const char *capture_not_observed(const struct capture *c, uint32_t process, bool *ret_any)
{
	*ret_any = false;
	for (size_t i = 0; c->observing && i < c->observing->all.count; i++) {
		const struct observed *p = c->observing->all.items[i];

		if (p->process != process)
			continue;
		*ret_any = !p->why || p->was_open;
		return p->why;
	}
	return NULL;
}
