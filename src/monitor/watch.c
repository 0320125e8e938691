// SPDX-License-Identifier: MIT
/*
 * Each event has an opened copy of the generic program (bpf/monitor.bpf.c) with one entry of it loaded. The first
 * copy makes the maps that all share, and with them the switch `running`, by which all begin and end at one moment:
 * what is counted of one event agrees with what is counted of another.
 *
 * A tracepoint's program is attached through a perf event on one CPU; the kernel runs it on all of them
 * (perf_trace_run_bpf_submit). As long as it is open, the module that has the tracepoint cannot be unloaded
 * (perf_trace_event_init takes a reference); one that has a probed function can be, and the probe is gone then, also
 * when the module comes back. That is seen by its folder in /sys/module, which is another then.
 *
 * Nobody is woken up for a record, so watch_fd becomes readable only when the ring fills: it is an epoll of the ring's
 * edge, since a ring that is not empty is always readable, and a loop on that would do nothing else.
 */
#include "monitor/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "bpf/monitor.skel.h"
#include "capture/refusal.h"
#include "capture/ring.h"
#include "monitor/ring_filter.h"

#define OBJECTS_DEFAULT 65536
#define CELLS_DEFAULT	8192
#define CELLS_PER_CPU	512 /* where there are many CPUs */
#define CELLS_MAX	32768
#define STACKS		16384
#define RING_BYTES	(8 << 20)

/* How much is read before the kernel may have its memory back. */
#define RELEASE_BYTES (64 << 10)

/* How many entries of a map are fetched at once. */
#define BATCH 128

#define MAX_STACK_PATH "/proc/sys/kernel/perf_event_max_stack"

/* Inode of the initial pid namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_PID_NS "pid:[4026531836]"

struct watched {
	struct monitor_event_plan plan;
	struct monitor_bpf *bpf;
	struct bpf_program *program;
	struct bpf_link *link;
	ino_t module; /* of its module's folder when it was attached; 0: there was none */
	bool vanished;
};

/* A cell's place that may be used anew some time after it was forgotten. */
struct forgotten {
	uint32_t place;
	uint64_t since_ns;
};

struct watch {
	const struct monitor *monitor;
	struct watched *events; /* by the table's numbers */
	size_t event_count;
	struct monitor_bpf *first; /* the copy that made the maps */
	char root[256];
	bool misses_counted;
	struct ring ring;
	int epoll;
	struct monitor_cell_place *cells; /* shared with the programs */
	size_t cell_count;
	struct vec(struct forgotten) forgotten;
};

/* ------------------------------------------------------------------ the kernel */

/* libbpf would print; what went wrong travels as an error. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static bool kernel_is_at_least(int major, int minor)
{
	struct utsname u;
	int has_major = 0, has_minor = 0;

	if (uname(&u) || sscanf(u.release, "%d.%d", &has_major, &has_minor) != 2)
		return true;
	return has_major > major || (has_major == major && has_minor >= minor);
}

static bool in_pid_namespace(void)
{
	char ns[64];
	ssize_t length = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	ns[length > 0 ? length : 0] = '\0';
	return strcmp(ns, INITIAL_PID_NS);
}

/* What can be seen without trying. */
static int check_kernel(const struct watch_options *options)
{
	if (!kernel_is_at_least(5, 10))
		return error_set(-ENOTSUP, "monitors need Linux 5.10 or later");
	if (options->pid && in_pid_namespace())
		return error_set(-ENOTSUP,
			"cannot watch process %u alone from within a pid namespace: the kernel's "
			"numbers are others",
			options->pid);
	return 0;
}

/* Stacks must not be larger than the kernel lets them be. */
static uint32_t stack_depth(void)
{
	struct buf text = BUF_INIT;
	long most = MONITOR_STACK_DEPTH;

	if (!io_read_file(MAX_STACK_PATH, 64, &text)) {
		buf_puts(&text, "");
		most = strtol(buf_text(&text), NULL, 10);
	}
	buf_release(&text);
	return most > 0 && most < MONITOR_STACK_DEPTH ? (uint32_t)most : MONITOR_STACK_DEPTH;
}

/* ------------------------------------------------------------------ what a plan needs */

static bool opens(const struct monitor_act_plan *a)
{
	return a->kind == ACT_OPEN || a->kind == ACT_REOPEN || a->kind == ACT_ADVANCE;
}

/* Whether somebody asks whose an object of this kind is. */
static bool owner_is_asked_for(const struct watch *w, uint8_t kind)
{
	const struct monitor_object_row *row =
		w->monitor->objects ? &w->monitor->objects[kind] : NULL;

	if (row && (row->left || row->by_stack))
		return true;
	for (size_t i = 0; i < w->event_count; i++) {
		const struct monitor_plan *p = &w->events[i].plan.plan;

		if (w->events[i].plan.presence == PRESENT && p->process_act < MONITOR_ACTS &&
			p->act[p->process_act].object == kind)
			return true;
	}
	return false;
}

static bool is_only_a_time(const struct monitor_plan *p, size_t act)
{
	const struct monitor_act_plan *a = &p->act[act];

	if ((a->kind != ACT_OPEN && a->kind != ACT_CLOSE) || a->only_value || a->stacks ||
		a->value != MONITOR_NONE || a->key[0] >= MONITOR_FIELDS ||
		p->field[a->key[0]].read != READ_THREAD || p->field[a->key[0]].subtract ||
		p->field[a->key[0]].shift || a->key[1] != MONITOR_NONE || p->process_act == act)
		return false;
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (a->label[i].from != LABEL_EMPTY)
			return false;
	for (size_t i = 0; i < MONITOR_COUNTS; i++) {
		const struct monitor_count_plan *c = &p->count[i];

		if ((c->value == VALUE_KEPT && c->index == act) ||
			(c->value == VALUE_PAIRED && c->from == act) ||
			(c->value == VALUE_DURATION && c->index == act && c->from))
			return false;
	}
	return true;
}

/* Whether objects of this kind are stopwatches: nobody wants to know anything of one but how long it ran. */
static bool is_stopwatch(const struct watch *w, uint8_t kind)
{
	if (owner_is_asked_for(w, kind))
		return false;
	for (size_t i = 0; i < w->event_count; i++) {
		const struct monitor_event_plan *e = &w->events[i].plan;

		for (size_t n = 0; n < MONITOR_ACTS && e->presence == PRESENT; n++)
			if (e->plan.act[n].kind != ACT_NOTHING && e->plan.act[n].object == kind &&
				!is_only_a_time(&e->plan, n))
				return false;
	}
	return true;
}

static void use_labels(uint32_t *used, const struct monitor_label_plan labels[MONITOR_LABELS])
{
	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (labels[i].from == LABEL_FIELD)
			*used |= 1u << labels[i].index;
}

static void use_field(uint32_t *used, uint8_t field)
{
	if (field < MONITOR_FIELDS)
		*used |= 1u << field;
}

static void use_string(uint32_t *used, const struct monitor_plan *p, uint8_t string)
{
	for (uint8_t i = 0; i < MONITOR_FIELDS && string < MONITOR_STRINGS; i++)
		if (p->field[i].string == string)
			use_field(used, i);
}

/* Many fields are only there to be printed: without records nobody reads them. */
static void drop_unused_fields(struct monitor_plan *p, bool filter)
{
	uint32_t used = 0;

	use_field(&used, p->client);
	use_string(&used, p, p->process_text);
	if (filter)
		use_labels(&used, p->label);
	for (size_t i = 0; i < MONITOR_ACTS; i++) {
		for (size_t k = 0; k < MONITOR_KEY_WORDS && p->act[i].kind; k++)
			use_field(&used, p->act[i].key[k]);
		if (p->act[i].kind)
			use_field(&used, p->act[i].value);
		use_labels(&used, p->act[i].label);
	}
	for (size_t i = 0; i < MONITOR_COUNTS; i++) {
		uint8_t value = p->count[i].value;

		if (value == VALUE_FIELD || value == VALUE_AGE || value == VALUE_PAIRED ||
			value == VALUE_RANGE)
			use_field(&used, p->count[i].index);
		if (value == VALUE_RANGE)
			use_field(&used, p->count[i].from);
		use_labels(&used, p->count[i].label);
	}
	for (size_t i = 0; i < MONITOR_FIELDS; i++)
		if (!(used & 1u << i))
			p->field[i].read = READ_NOTHING;
}

static bool needs_time(const struct monitor_plan *p)
{
	bool needs = p->records;

	for (size_t i = 0; i < MONITOR_ACTS; i++)
		needs |= opens(&p->act[i]) || p->act[i].kind == ACT_MARK;
	for (size_t i = 0; i < MONITOR_COUNTS; i++)
		needs |= p->count[i].value == VALUE_DURATION || p->count[i].value == VALUE_PERIOD ||
			 p->count[i].value == VALUE_AGE;
	return needs;
}

static struct monitor_plan_counts count_plan(const struct watch *w, const struct monitor_plan *p)
{
	struct monitor_plan_counts c = {.time = needs_time(p)};

	for (uint8_t i = 0; i < MONITOR_FIELDS; i++) {
		const struct monitor_field_plan *f = &p->field[i];

		if (f->read != READ_NOTHING)
			c.fields = i + 1;
		if (f->read == READ_CHARS && f->size == MONITOR_NAME_BYTES && f->string < MONITOR_STRINGS &&
			f->offset % sizeof(uint32_t) == 0)
			c.names |= 1u << i;
	}
	for (uint8_t i = 0; i < MONITOR_ACTS; i++) {
		if (p->act[i].kind != ACT_NOTHING)
			c.acts = i + 1;
		c.stopwatch[i] = p->act[i].kind != ACT_NOTHING && is_stopwatch(w, p->act[i].object);
		c.owners[i] = opens(&p->act[i]) && owner_is_asked_for(w, p->act[i].object);
	}
	for (uint8_t i = 0; i < MONITOR_COUNTS; i++)
		if (p->count[i].value != VALUE_NOTHING)
			c.counts = i + 1;
	return c;
}

/* ------------------------------------------------------------------ filters */

/* What is asked for may be a string, or a number: the program takes either for it. */
static void filter_label(const struct ring_filter *filter, struct monitor_plan *p,
	struct monitor_plan_counts *counts)
{
	memcpy(p->only, filter->text, sizeof(p->only));
	counts->only = filter->is_number ? 2 : 1;
	counts->only_number = filter->number;
}

static uint8_t wanted_records(
	const struct watch_options *options, const struct monitor_event *event, int number)
{
	if (options->above_event >= 0)
		return options->above_event == number ? 2 : 0;
	return options->records && (options->quiet_too || !event->quiet);
}

static void make_plan(const struct watch *w, const struct watch_options *options, size_t event)
{
	const struct monitor_event *row = &w->monitor->events[event];
	const struct watched *e = &w->events[event];
	struct monitor_bpf__rodata *data = e->bpf->rodata;
	const struct ring_filter filter = ring_filter_of(w->monitor, options->ring);
	struct monitor_plan p = e->plan.plan;
	struct monitor_plan_counts counts;

	p.records = wanted_records(options, row, (int)event);
	p.pid = options->pid;
	p.above = options->above;
	if (!p.records)
		drop_unused_fields(&p, !filter.all);
	counts = count_plan(w, &p);
	counts.wakeup_bytes = (uint32_t)bpf_map__max_entries(e->bpf->maps.records) / 4;
	if (!filter.all)
		filter_label(&filter, &p, &counts);
	memcpy((void *)&data->plan, &p, sizeof(p));
	memcpy((void *)&data->plan_counts, &counts, sizeof(counts));
}

/* ------------------------------------------------------------------ instructions */

static void make_zero(struct bpf_insn *insn)
{
	insn->code = BPF_ALU64 | BPF_MOV | BPF_K;
	insn->src_reg = 0;
	insn->off = 0;
	insn->imm = 0;
}

/* A load of the field, or of nothing where it is not to be loaded. False: no instruction could do it. */
static bool place_load(struct bpf_insn *insn, const struct monitor_field_plan *field)
{
	static const uint8_t sizes[9] = {[1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW};

	if (field->read == READ_NOTHING || field->read == READ_CHARS || field->read == READ_THREAD) {
		make_zero(insn);
		return true;
	}
	if (!field->size || field->size > 8 || (!sizes[field->size] && field->size != 4) ||
		field->offset % field->size ||
		field->offset + field->size > MONITOR_EVENT_BYTES)
		return false;
	insn->code = BPF_LDX | BPF_MEM | sizes[field->size];
	insn->off = (int16_t)field->offset;
	return true;
}

static bool is_load(const struct bpf_insn *insn, uint8_t size, int from, int bytes, size_t *ret_at)
{
	int at = insn->off - from;

	if (insn->code != (BPF_LDX | BPF_MEM | size) || at < 0 || at >= bytes)
		return false;
	*ret_at = (size_t)at;
	return true;
}

static int place_loads(struct watched *e)
{
	const struct monitor_field_plan *fields = (const void *)e->bpf->rodata->plan.field;
	const uint32_t names = e->bpf->rodata->plan_counts.names;
	size_t count = bpf_program__insn_cnt(e->program), at;
	struct bpf_insn *insns = malloc(count * sizeof(*insns));
	unsigned int placed = 0, words = 0;
	int error = 0;

	if (!insns)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	memcpy(insns, bpf_program__insns(e->program), count * sizeof(*insns));
	for (size_t i = 0; i < count && !error; i++) {
		const struct monitor_field_plan *f;

		if (is_load(&insns[i], BPF_DW, MONITOR_LOADS, MONITOR_FIELDS * 8, &at)) {
			f = &fields[at / 8];
			placed |= 1u << at / 8;
			if (!place_load(&insns[i], f))
				error = error_set(-EINVAL,
					"cannot read %u bytes at %u of an event's record", f->size,
					f->offset);
		} else if (is_load(&insns[i], BPF_W, MONITOR_NAME_LOADS,
				   MONITOR_FIELDS * MONITOR_NAME_BYTES, &at)) {
			f = &fields[at / MONITOR_NAME_BYTES];
			words++;
			if (names & 1u << at / MONITOR_NAME_BYTES)
				insns[i].off = (int16_t)(f->offset + at % MONITOR_NAME_BYTES);
			else
				make_zero(&insns[i]);
		}
	}
	if (!error && (placed != (1u << MONITOR_FIELDS) - 1 ||
			      words != MONITOR_FIELDS * MONITOR_NAME_BYTES / sizeof(uint32_t)))
		error = error_set(-EINVAL, "the BPF program does not read every field once");
	if (!error)
		error = bpf_program__set_insns(e->program, insns, count);
	free(insns);
	return error;
}

/* ------------------------------------------------------------------ loading */

static int size_cells(struct watch *w)
{
	struct bpf_map *const maps[] = {
		w->first->maps.cells, w->first->maps.cell_places, w->first->maps.free_places};
	int error = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !error; i++)
		error = bpf_map__set_max_entries(maps[i], (uint32_t)w->cell_count);
	return error;
}

static int size_maps(struct watch *w, const struct watch_options *options)
{
	size_t cpus = (size_t)libbpf_num_possible_cpus(), cells = cpus * CELLS_PER_CPU;
	bool objects = false, stacks = false;
	int error;

	for (size_t i = 0; i < w->event_count; i++)
		for (size_t n = 0; n < MONITOR_ACTS && w->events[i].plan.presence == PRESENT; n++) {
			objects |= opens(&w->events[i].plan.plan.act[n]);
			stacks |= w->events[i].plan.plan.act[n].stacks;
		}
	cells = cells < CELLS_DEFAULT ? CELLS_DEFAULT : cells > CELLS_MAX ? CELLS_MAX : cells;
	w->cell_count = options->cells_max ? options->cells_max : cells;
	error = size_cells(w);
	if (!error && objects)
		error = bpf_map__set_max_entries(w->first->maps.stopwatches, MONITOR_STOPWATCHES);
	if (!error && objects)
		error = bpf_map__set_max_entries(w->first->maps.objects,
			(uint32_t)(options->objects_max ? options->objects_max : OBJECTS_DEFAULT));
	if (!error && stacks)
		error = bpf_map__set_max_entries(w->first->maps.stacks, STACKS);
	if (!error)
		error = bpf_map__set_value_size(
			w->first->maps.stacks, stack_depth() * (uint32_t)sizeof(uint64_t));
	if (!error)
		error = bpf_map__set_max_entries(w->first->maps.records,
			(uint32_t)(options->ring_bytes ? options->ring_bytes : RING_BYTES));
	return error;
}

/* The first copy's maps, once they are there. */
static int share_maps(const struct monitor_bpf *first, struct monitor_bpf *copy)
{
	struct bpf_map *const from[] = {first->maps.objects, first->maps.stopwatches,
		first->maps.cells, first->maps.cell_places, first->maps.free_places,
		first->maps.stacks, first->maps.records, first->maps.bss};
	struct bpf_map *const to[] = {copy->maps.objects, copy->maps.stopwatches, copy->maps.cells,
		copy->maps.cell_places, copy->maps.free_places, copy->maps.stacks,
		copy->maps.records, copy->maps.bss};

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		int error = bpf_map__reuse_fd(to[i], bpf_map__fd(from[i]));

		if (error)
			return error;
	}
	return 0;
}

static struct bpf_program *choose_program(const struct watched *e)
{
	struct bpf_program *const by_kind[] = {
		[SOURCE_TRACEPOINT] = e->bpf->progs.on_tracepoint,
		[SOURCE_FUNCTION] = e->bpf->progs.on_function,
		[SOURCE_RETURN] = e->bpf->progs.on_return,
	};
	struct bpf_program *program;

	bpf_object__for_each_program(program, e->bpf->obj)
		bpf_program__set_autoload(program, program == by_kind[e->plan.source->kind]);
	return by_kind[e->plan.source->kind];
}

static int open_copy(struct watch *w, const struct watch_options *options, size_t event)
{
	struct watched *e = &w->events[event];
	int error;

	e->bpf = monitor_bpf__open();
	if (!e->bpf)
		return error_errno(-errno, "cannot open the BPF programs");
	e->program = choose_program(e);
	if (w->first)
		error = share_maps(w->first, e->bpf);
	else {
		w->first = e->bpf;
		error = size_maps(w, options);
	}
	if (error)
		return error_errno(error, "cannot make room for what monitors count");
	make_plan(w, options, event);
	return e->plan.source->kind == SOURCE_TRACEPOINT ? place_loads(e) : 0;
}

/* A copy that was refused cannot be loaded a second time: another one asks for the reason. */
static int explain_refusal(
	struct watch *w, const struct watch_options *options, size_t event, int error)
{
	struct watched *e = &w->events[event];
	struct buf why = BUF_INIT;

	if (w->first == e->bpf)
		w->first = NULL;
	monitor_bpf__destroy(e->bpf);
	e->bpf = NULL;
	if (error != -EPERM && !open_copy(w, options, event))
		refusal_find(e->bpf->obj, &why);
	error = why.size ? error_set(error, "cannot load BPF programs: the kernel does not take %s",
				   buf_text(&why))
			 : refusal_explain(error, "load BPF programs");
	buf_release(&why);
	return error;
}

static int load_event(struct watch *w, const struct watch_options *options, size_t event)
{
	int error = open_copy(w, options, event);

	if (error)
		return error;
	error = monitor_bpf__load(w->events[event].bpf);
	return error ? explain_refusal(w, options, event, error) : 0;
}

/* ------------------------------------------------------------------ attaching */

/* Any CPU will do that is there. */
static int open_tracepoint(uint32_t id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
	};
	int cpus = libbpf_num_possible_cpus(), fd = -ENODEV;

	for (int cpu = 0; cpu < cpus && fd == -ENODEV; cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

static int attach_tracepoint(struct watched *e)
{
	int fd = open_tracepoint(e->plan.tracepoint_id), error;

	if (fd < 0)
		return fd;
	e->link = bpf_program__attach_perf_event(e->program, fd);
	if (e->link)
		return 0;
	error = -errno;
	close(fd);
	return error;
}

static int attach_function(struct watched *e)
{
	e->link = bpf_program__attach_kprobe(
		e->program, e->plan.source->kind == SOURCE_RETURN, e->plan.function);
	return e->link ? 0 : -errno;
}

static ino_t module_folder(const struct watch *w, const struct watched *e)
{
	const char *module = e->plan.source->module;
	struct buf path = BUF_INIT;
	struct stat st = {0};

	buf_printf(&path, "%s/sys/module/%s", w->root, module ? module : "");
	if (!module || stat(buf_text(&path), &st))
		st.st_ino = 0;
	buf_release(&path);
	return st.st_ino;
}

/* One event that cannot be watched leaves the others, with the reason in its plan; without rights there is nothing. */
static int attach_event(const struct watch *w, struct watched *e)
{
	bool tracepoint = e->plan.source->kind == SOURCE_TRACEPOINT;
	int error;

	e->module = module_folder(w, e);
	error = tracepoint ? attach_tracepoint(e) : attach_function(e);
	if (error == -EPERM || error == -EACCES)
		return refusal_explain(error, "watch the kernel's events");
	if (error) {
		e->plan.presence = ABSENT_REFUSED;
		snprintf(e->plan.reason, sizeof(e->plan.reason),
			"the kernel does not let us watch %s: %s", e->plan.source->name,
			strerror(-error));
	}
	return 0;
}

static int no_events(const struct watch *w)
{
	const struct monitor_event_plan *nearest = NULL;

	for (size_t i = 0; i < w->event_count; i++) {
		const struct monitor_event_plan *p = &w->events[i].plan;

		if (p->reason[0] && (!nearest || monitor_presence_nearness(p->presence) >
							 monitor_presence_nearness(nearest->presence)))
			nearest = p;
	}
	return error_set(-ENOENT, "cannot watch anything of '%s'%s%s", w->monitor->name,
		nearest ? ": " : "", nearest ? nearest->reason : "");
}

static int load_events(struct watch *w, const struct watch_options *options)
{
	bool any = false;
	int error = 0;

	for (size_t i = 0; i < w->event_count && !error; i++)
		if (w->events[i].plan.presence == PRESENT)
			error = load_event(w, options, i);
	for (size_t i = 0; i < w->event_count && !error; i++)
		if (w->events[i].plan.presence == PRESENT)
			error = attach_event(w, &w->events[i]);
	for (size_t i = 0; i < w->event_count; i++)
		any |= w->events[i].link != NULL;
	return error || any ? error : no_events(w);
}

static int open_ring(struct watch *w)
{
	const struct bpf_map *map = w->first->maps.records;
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	int error = ring_open(&w->ring, bpf_map__fd(map), bpf_map__max_entries(map));

	if (error)
		return error;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, bpf_map__fd(map), &edge))
		return error_errno(-errno, "cannot wait for records");
	return 0;
}

static int open_cells(struct watch *w)
{
	int places = bpf_map__fd(w->first->maps.free_places), error = 0;
	void *cells = mmap(NULL, w->cell_count * sizeof(*w->cells), PROT_READ | PROT_WRITE,
		MAP_SHARED, bpf_map__fd(w->first->maps.cells), 0);

	if (cells == MAP_FAILED)
		return error_errno(-errno, "cannot share what is counted with the BPF programs");
	w->cells = cells;
	for (uint32_t i = 0; i < w->cell_count && !error; i++)
		error = bpf_map_update_elem(places, NULL, &i, BPF_ANY);
	return error ? error_errno(error, "cannot make room for what monitors count") : 0;
}

static void set_running(struct watch *w, uint32_t running)
{
	if (w->first && w->first->bss)
		__atomic_store_n(&w->first->bss->running, running, __ATOMIC_SEQ_CST);
}

static int begin(struct watch *w, const struct watch_options *options)
{
	int error = check_kernel(options);

	if (!error)
		error = load_events(w, options);
	if (!error)
		error = open_ring(w);
	if (!error)
		error = open_cells(w);
	if (!error)
		set_running(w, 1);
	return error;
}

int watch_open_plans(const struct watch_options *options, const struct monitor_event_plan *plans,
	const char *root, struct watch **ret)
{
	size_t count = monitor_event_count(options->monitor);
	struct watch *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	*w = (struct watch){.monitor = options->monitor, .event_count = count, .epoll = -1};
	w->events = calloc(count + 1, sizeof(*w->events));
	if (!w->events) {
		watch_close(w);
		return error_errno(-ENOMEM, "cannot load BPF programs");
	}
	for (size_t i = 0; i < count; i++)
		w->events[i].plan = plans[i];
	snprintf(w->root, sizeof(w->root), "%s", root);
	/* Commit dd8657894c11 of Linux 6.7. */
	w->misses_counted = kernel_is_at_least(6, 7);
	libbpf_set_print(say_nothing);
	error = begin(w, options);
	if (error) {
		watch_close(w);
		return error;
	}
	*ret = w;
	return 0;
}

int watch_open(const struct watch_options *options, const struct monitor_kernel *kernel,
	struct watch **ret)
{
	size_t count = monitor_event_count(options->monitor);
	struct monitor_event_plan *plans = calloc(count + 1, sizeof(*plans));
	int error;

	if (!plans)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	for (size_t i = 0; i < count; i++)
		monitor_event_plan(options->monitor, i, kernel, &plans[i]);
	error = watch_open_plans(options, plans, kernel->root ? kernel->root : "", ret);
	free(plans);
	return error;
}

void watch_stop(struct watch *w)
{
	set_running(w, 0);
	for (size_t i = 0; i < w->event_count; i++) {
		/* What the kernel does not take back now it does when the process ends; `running` is off. */
		(void)bpf_link__destroy(w->events[i].link);
		w->events[i].link = NULL;
	}
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	if (w->events)
		watch_stop(w);
	ring_close(&w->ring);
	if (w->cells)
		munmap(w->cells, w->cell_count * sizeof(*w->cells));
	vec_release(&w->forgotten);
	if (w->epoll >= 0)
		close(w->epoll);
	for (size_t i = 0; w->events && i < w->event_count; i++)
		monitor_bpf__destroy(w->events[i].bpf);
	free(w->events);
	free(w);
}

/* ------------------------------------------------------------------ records */

int watch_fd(const struct watch *w)
{
	return w->epoll;
}

static int hand_over(const struct watch_sink *sink, const void *message, size_t size)
{
	const uint32_t *kind = message;

	if (size == sizeof(struct monitor_record) && *kind == MESSAGE_RECORD)
		return sink->record ? sink->record(sink->context, message) : 0;
	if (size == sizeof(struct monitor_span) && *kind == MESSAGE_SPAN)
		return sink->span ? sink->span(sink->context, message) : 0;
	return error_set(-EPROTO, "a record of %zu bytes is none of a monitor's", size);
}

int watch_read(struct watch *w, const struct watch_sink *sink)
{
	struct epoll_event edge;
	const void *message;
	size_t size, taken = 0;
	int error = 0;

	/* From here on another edge is another wake-up. */
	(void)epoll_wait(w->epoll, &edge, 1, 0);
	ring_snapshot(&w->ring);
	while (!error && (message = ring_peek(&w->ring, &size))) {
		error = hand_over(sink, message, size);
		ring_take(&w->ring);
		taken += size;
		if (taken >= RELEASE_BYTES) {
			ring_release(&w->ring);
			taken = 0;
		}
	}
	ring_release(&w->ring);
	return error;
}

/* ------------------------------------------------------------------ state */

static int add_losses(const struct watched *e, struct monitor_losses *ret)
{
	size_t size = (bpf_map__value_size(e->bpf->maps.states) + 7u) & ~7u;
	int cpus = libbpf_num_possible_cpus(), error;
	char *values = calloc((size_t)cpus, size);
	uint32_t zero = 0;

	if (!values)
		return error_errno(-ENOMEM, "cannot read what was lost");
	error = bpf_map_lookup_elem(bpf_map__fd(e->bpf->maps.states), &zero, values);
	for (int cpu = 0; cpu < cpus && !error; cpu++) {
		const struct monitor_losses *l = (const void *)(values + (size_t)cpu * size);

		ret->seen += l->seen;
		ret->records += l->records;
		ret->objects += l->objects;
		ret->cells += l->cells;
		ret->strangers += l->strangers;
		ret->unread += l->unread;
	}
	free(values);
	return error ? error_errno(error, "cannot read what was lost") : 0;
}

static uint64_t count_misses(const struct watched *e)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(e->program), &info, &size))
		return 0;
	return info.recursion_misses;
}

int watch_status(struct watch *w, size_t event, struct watch_event_status *ret)
{
	struct watched *e = &w->events[event];
	struct watch_event_status status = {.plan = &e->plan};
	int error;

	if (e->bpf && e->plan.presence == PRESENT) {
		error = add_losses(e, &status.totals);
		if (error)
			return error;
		e->vanished |= e->module && e->link && module_folder(w, e) != e->module;
		status.attached = e->link;
		status.vanished = e->vanished;
		status.missed = count_misses(e);
		status.missed_known = w->misses_counted;
	}
	*ret = status;
	return 0;
}

/* ------------------------------------------------------------------ cells */

/* A program that found the place before it was forgotten is through with it long before. */
#define REUSE_NS NS_PER_SECOND

int watch_cells(struct watch *w,
	int (*visit)(
		void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell),
	void *context)
{
	int visited = 0;

	for (size_t i = 0; i < w->cell_count && !visited; i++) {
		const struct monitor_cell_place *p = &w->cells[i];

		/* The key was there before the first count. */
		if (__atomic_load_n(&p->cell.count, __ATOMIC_ACQUIRE) &&
			p->key.series != MONITOR_SERIES_FREE)
			visited = visit(context, &p->key, &p->cell);
	}
	return visited;
}

static int reuse_places(struct watch *w)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;
	int error = 0;

	vec_foreach (f, &w->forgotten) {
		if (error || now_ns - f->since_ns < REUSE_NS) {
			w->forgotten.items[kept++] = *f;
			continue;
		}
		memset(&w->cells[f->place].cell, 0, sizeof(w->cells[f->place].cell));
		error = bpf_map_update_elem(
			bpf_map__fd(w->first->maps.free_places), NULL, &f->place, BPF_ANY);
	}
	w->forgotten.count = kept;
	return error;
}

int watch_forget(struct watch *w, const struct monitor_cell_key *key)
{
	int places = bpf_map__fd(w->first->maps.cell_places), error = reuse_places(w);
	struct forgotten f = {.since_ns = clock_now_ns()};

	if (error)
		return error_errno(error, "cannot forget what was counted");
	if (bpf_map_lookup_elem(places, key, &f.place) || f.place >= w->cell_count)
		return 0;
	if (vec_push(&w->forgotten, f))
		return error_errno(-ENOMEM, "cannot forget what was counted");
	error = bpf_map_delete_elem(places, key);
	__atomic_store_n(&w->cells[f.place].key.series, MONITOR_SERIES_FREE, __ATOMIC_RELEASE);
	return error ? error_errno(error, "cannot forget what was counted") : 0;
}

/* ------------------------------------------------------------------ objects and stacks */

/* Entries of a hash map, many at once. A bucket of the kernel's that has more than there is room for is asked for
 * again with more room. */
struct batch {
	int fd;
	uint32_t key_size, value_size;
	uint32_t room, count;
	uint32_t place; /* where the kernel goes on */
	bool begun, ended;
	char *keys, *values;
};

static int batch_grow(struct batch *b, uint32_t room)
{
	char *keys = realloc(b->keys, (size_t)room * b->key_size), *values;

	if (!keys)
		return -ENOMEM;
	b->keys = keys;
	values = realloc(b->values, (size_t)room * b->value_size);
	if (!values)
		return -ENOMEM;
	b->values = values;
	b->room = room;
	return 0;
}

static int batch_next(struct batch *b)
{
	int error;

	do {
		error = b->room ? 0 : batch_grow(b, BATCH);
		if (error)
			return error;
		b->count = b->room;
		error = bpf_map_lookup_batch(b->fd, b->begun ? &b->place : NULL, &b->place, b->keys,
			b->values, &b->count, NULL);
		if (error == -ENOSPC && batch_grow(b, b->room * 2))
			return -ENOMEM;
	} while (error == -ENOSPC || error == -EINTR);
	b->begun = true;
	b->ended = error == -ENOENT;
	return b->ended ? 0 : error;
}

static int each_entry(const struct bpf_map *map,
	int (*visit)(void *context, const void *key, const void *value), void *context)
{
	struct batch b = {
		.fd = bpf_map__fd(map),
		.key_size = bpf_map__key_size(map),
		.value_size = bpf_map__value_size(map),
	};
	int error = 0, visited = 0;

	while (!error && !visited && !b.ended) {
		error = batch_next(&b);
		for (uint32_t i = 0; i < b.count && !error && !visited; i++)
			visited = visit(context, b.keys + (size_t)i * b.key_size,
				b.values + (size_t)i * b.value_size);
	}
	free(b.keys);
	free(b.values);
	return error ? error_errno(error, "cannot read what was counted") : visited;
}

struct object_visit {
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object);
	void *context;
	uint8_t kind;
};

static int visit_object(void *context, const void *key, const void *value)
{
	const struct object_visit *v = context;
	const struct monitor_object_key *k = key;
	const struct monitor_object *object = value;

	/* One that has ended may have kept its place. */
	if (k->kind != v->kind || !object->stage_ns[0])
		return 0;
	return v->visit(v->context, k, object);
}

int watch_objects(struct watch *w, uint8_t kind,
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object),
	void *context)
{
	struct object_visit v = {visit, context, kind};

	return each_entry(w->first->maps.objects, visit_object, &v);
}

size_t watch_stack(struct watch *w, int32_t id, uint64_t ret_addresses[MONITOR_STACK_DEPTH])
{
	uint32_t key = (uint32_t)id;
	size_t count = 0;

	memset(ret_addresses, 0, MONITOR_STACK_DEPTH * sizeof(*ret_addresses));
	if (id < 0 || bpf_map_lookup_elem(bpf_map__fd(w->first->maps.stacks), &key, ret_addresses))
		return 0;
	while (count < MONITOR_STACK_DEPTH && ret_addresses[count])
		count++;
	return count;
}
