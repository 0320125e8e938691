// SPDX-License-Identifier: MIT
/*
 * Each event has an opened copy of the generic program (bpf/monitor.bpf.c) with one entry of it
 * loaded, its plan in read-only data and the offsets of its fields in the program's instructions
 * (bpf/monitor_fields.h). The first copy makes the maps that all share.
 *
 * A tracepoint's program is attached through a perf event on one CPU; the kernel runs it on all of
 * them (perf_trace_run_bpf_submit). As long as it is open, the module that has the tracepoint
 * cannot be unloaded (perf_trace_event_init takes a reference); one that has a probed function can
 * be, and the probe is gone then, also when the module comes back. That is seen by its folder in
 * /sys/module, which is another then.
 */
#include "monitor/watch_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "bpf/monitor.skel.h"
#include "bpfload/refusal.h"

#define OBJECTS_DEFAULT 65536
#define CELLS_DEFAULT	8192
#define CELLS_PER_CPU	512 /* where there are many CPUs */
#define CELLS_MAX	32768
#define STACKS_DEFAULT	16384
#define RING_BYTES	(8 << 20)

#define MAX_STACK_PATH "/proc/sys/kernel/perf_event_max_stack"

/* ------------------------------------------------------------------ instructions */

static void make_zero(struct bpf_insn *insn)
{
	insn->code = BPF_ALU64 | BPF_MOV | BPF_K;
	insn->src_reg = 0;
	insn->off = 0;
	insn->imm = 0;
}

/* A load of the field, or of nothing where it is not to be loaded. False: no instruction could do
 * it. */
static bool place_load(struct bpf_insn *insn, const struct monitor_field_plan *field)
{
	static const uint8_t sizes[9] = {[1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW};

	if (field->read == READ_NOTHING || field->read == READ_CHARS ||
		field->read == READ_THREAD) {
		make_zero(insn);
		return true;
	}
	if (!field->size || field->size > 8 || (!sizes[field->size] && field->size != 4) ||
		field->offset % field->size || field->offset + field->size > MONITOR_EVENT_BYTES)
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
	unsigned int set = 0, words = 0;
	int error = 0;

	if (!insns)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	memcpy(insns, bpf_program__insns(e->program), count * sizeof(*insns));
	for (size_t i = 0; i < count && !error; i++) {
		const struct monitor_field_plan *f;

		if (is_load(&insns[i], BPF_DW, MONITOR_LOADS, MONITOR_FIELDS * 8, &at)) {
			f = &fields[at / 8];
			set |= 1u << at / 8;
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
	if (!error && (set != (1u << MONITOR_FIELDS) - 1 ||
			      words != MONITOR_FIELDS * MONITOR_NAME_BYTES / sizeof(uint32_t)))
		error = error_set(-EINVAL, "the BPF program does not read every field once");
	error = error ?: bpf_program__set_insns(e->program, insns, count);
	free(insns);
	return error;
}

/* ------------------------------------------------------------------ loading */

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

static int size_cells(struct watch *w)
{
	struct bpf_map *const maps[] = {
		w->first->maps.cells, w->first->maps.cell_slots, w->first->maps.free_slots};
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
			objects |= watch_act_opens(&w->events[i].plan.plan.act[n]);
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
		error = bpf_map__set_max_entries(w->first->maps.stacks,
			(uint32_t)(options->stacks_max ? options->stacks_max : STACKS_DEFAULT));
	error = error
			?: bpf_map__set_value_size(w->first->maps.stacks,
				   stack_depth() * (uint32_t)sizeof(uint64_t));
	error = error
			?: bpf_map__set_max_entries(w->first->maps.records,
				   (uint32_t)(options->ring_bytes ? options->ring_bytes
								  : RING_BYTES));
	return error;
}

/* The first copy's maps, once they are there. */
static int share_maps(const struct monitor_bpf *first, struct monitor_bpf *copy)
{
	struct bpf_map *const from[] = {first->maps.objects, first->maps.stopwatches,
		first->maps.cells, first->maps.cell_slots, first->maps.free_slots,
		first->maps.stacks, first->maps.records, first->maps.bss};
	struct bpf_map *const to[] = {copy->maps.objects, copy->maps.stopwatches, copy->maps.cells,
		copy->maps.cell_slots, copy->maps.free_slots, copy->maps.stacks, copy->maps.records,
		copy->maps.bss};

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

static void place_plan(const struct watch *w, const struct watch_options *options, size_t event)
{
	const struct monitor_bpf *bpf = w->events[event].bpf;
	struct monitor_plan plan;
	struct monitor_plan_counts counts;

	watch_plan(w, options, event, bpf_map__max_entries(bpf->maps.records), &plan, &counts);
	memcpy((void *)&bpf->rodata->plan, &plan, sizeof(plan));
	memcpy((void *)&bpf->rodata->plan_counts, &counts, sizeof(counts));
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
	place_plan(w, options, event);
	return e->plan.source->kind == SOURCE_TRACEPOINT ? place_loads(e) : 0;
}

/* A copy that was refused cannot be loaded a second time. */
static void drop_copy(struct watch *w, struct watched *e)
{
	if (w->first == e->bpf)
		w->first = NULL;
	monitor_bpf__destroy(e->bpf);
	e->bpf = NULL;
}

/* Another copy asks for the reason. */
static int explain_refusal(
	struct watch *w, const struct watch_options *options, size_t event, int error)
{
	struct watched *e = &w->events[event];
	struct buf why = BUF_INIT;

	drop_copy(w, e);
	if (error != -EPERM && error != -EAGAIN && !open_copy(w, options, event))
		refusal_find(e->bpf->obj, &why);
	error = why.size ? error_set(error, "cannot load BPF programs: the kernel does not take %s",
				   buf_text(&why))
			 : refusal_explain(error, "load BPF programs");
	buf_release(&why);
	return error;
}

static int load_event(struct watch *w, const struct watch_options *options, size_t event)
{
	int tries = 0, error;

	do {
		drop_copy(w, &w->events[event]);
		error = open_copy(w, options, event);
		if (error)
			return error;
		error = monitor_bpf__load(w->events[event].bpf);
	} while (refusal_was_interruption(error, ++tries));
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

ino_t watch_module_folder(const struct watch *w, const struct watched *e)
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

/* One event that cannot be watched leaves the others, with the reason in its plan; without rights
 * there is nothing. */
static int attach_event(const struct watch *w, struct watched *e)
{
	bool tracepoint = e->plan.source->kind == SOURCE_TRACEPOINT;
	int error;

	e->module = watch_module_folder(w, e);
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

		if (p->reason[0] &&
			(!nearest || monitor_presence_nearness(p->presence) >
					     monitor_presence_nearness(nearest->presence)))
			nearest = p;
	}
	return error_set(-ENOENT, "cannot watch anything of '%s'%s%s", w->monitor->name,
		nearest ? ": " : "", nearest ? nearest->reason : "");
}

int watch_load(struct watch *w, const struct watch_options *options)
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
