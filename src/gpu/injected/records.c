// SPDX-License-Identifier: MIT
/*
 * From ring records to events: the library's ids become ids of the profile, and everything is
 * checked on the way.
 *
 * Two kinds of error are distinguished. A record that the library could never have sent (an id out
 * of its sequence, a length that does not fit) proves that the memory was scribbled over: -EPROTO,
 * and the ring is given up. A record of something impossible (work that ends before it begins, or
 * long before the recording) may come from the tracer itself: it is counted as invalid and left
 * out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "gpu/injected/instance.h"
#include "profile/due.h"

#define ENDS_DESCRIBED 8 /* processes; one line stands for all others */
#define MESSAGE_MAX    4096u
#define SLACK_NS       NS_PER_SECOND	     /* of times against the recording's own */
#define PERIOD_MAX_NS  (100 * NS_PER_SECOND) /* of bursts: the library's are shorter */

_Static_assert(
	(int)WIRE_CALL_LAUNCH == (int)CALL_LAUNCH && (int)WIRE_CALL_COPY == (int)CALL_COPY &&
		(int)WIRE_CALL_SET == (int)CALL_SET && (int)WIRE_CALL_GRAPH == (int)CALL_GRAPH &&
		(int)WIRE_CALL_SYNC == (int)CALL_SYNC && (int)WIRE_CALL_NODE == (int)CALL_NODE,
	"kinds of calls are numbered alike on both sides");
_Static_assert((int)WIRE_FLAG_CAPTURED == (int)GPU_CALL_CAPTURED &&
		       (int)WIRE_FLAG_EMPTY == (int)GPU_CALL_EMPTY &&
		       (int)WIRE_FLAG_UNMARKED == (int)GPU_CALL_UNMARKED,
	"calls have the same flags on both sides");
_Static_assert((int)WIRE_SYNC_STREAM == (int)SYNC_STREAM &&
		       (int)WIRE_SYNC_EVENT == (int)SYNC_EVENT &&
		       (int)WIRE_SYNC_CONTEXT == (int)SYNC_CONTEXT,
	"what calls wait for is numbered alike on both sides");
_Static_assert((int)WIRE_NODE_CREATED == (int)GPU_NODE_CREATED &&
		       (int)WIRE_NODE_CLONED == (int)GPU_NODE_CLONED &&
		       (int)WIRE_NODE_DESTROYED == (int)GPU_NODE_DESTROYED,
	"changes of nodes are numbered alike on both sides");
_Static_assert((int)WIRE_WORK_KERNEL == (int)OP_KERNEL && (int)WIRE_WORK_COPY == (int)OP_COPY &&
		       (int)WIRE_WORK_SET == (int)OP_SET,
	"kinds of work are numbered alike on both sides");

void record_count_loss(struct instance *i, enum profile_loss loss, uint64_t count)
{
	if (count)
		profile_count_loss(i->injected->shared->writer, loss, count);
}

static int invalid(struct instance *i)
{
	record_count_loss(i, LOSS_GPU_INVALID, 1);
	return 0;
}

bool record_is_plausible(
	const struct instance *i, uint64_t start_ns, uint64_t end_ns, uint64_t now_ns)
{
	return start_ns && start_ns <= end_ns && start_ns + SLACK_NS >= i->injected->start_ns &&
	       end_ns <= now_ns + SLACK_NS;
}

/* One that was not looked up before. What is found is kept, and also that nothing was found.
 * *ret_thread is 0 then, and where there was no time to look. */
static int look_up_thread(struct instance *i, uint32_t tid, uint32_t *ret_thread)
{
	struct injected *s = i->injected;
	uint32_t outer = tid, thread = 0;
	int error = 0;

	*ret_thread = 0;
	if (!budget_has_room(i, BUDGET_THREADS))
		return 0;
	if (i->namespaced)
		error = namespace_outer_tid(&i->numbers, i->pid, tid, &outer);
	if (error)
		return error == -EAGAIN ? 0 : error_memory(NULL);
	if (outer)
		error = tasks_thread_of(s->shared->tasks, i->process, outer, NULL, &thread);
	if (!error && map_put(&i->threads, tid, thread))
		error = error_memory(NULL);
	budget_charge(i, BUDGET_THREADS, THREAD_COST_BYTES);
	*ret_thread = thread;
	return error;
}

int record_find_thread(struct instance *i, uint32_t tid, uint32_t *ret_thread)
{
	const uint64_t *found;
	int error = 0;

	if (tid == i->last_tid && i->last_thread) {
		*ret_thread = i->last_thread;
		return 0;
	}
	found = map_get(&i->threads, tid);
	if (found)
		*ret_thread = (uint32_t)*found;
	else
		error = look_up_thread(i, tid, ret_thread);
	if (error)
		return error;
	if (!*ret_thread)
		budget_refuse(i, BUDGET_THREADS);
	i->last_tid = tid;
	i->last_thread = *ret_thread;
	return 0;
}

/* The string id of a call's name; 0: the call has no name. */
static int find_call(struct injected *s, uint32_t call, uint32_t *ret_id)
{
	uint32_t number = call >> WIRE_API_SHIFT, index, *id;
	const struct injected_api *api;
	const char *name;
	int error = 0;

	*ret_id = 0;
	if (number >= WIRE_APIS)
		return 0;
	api = s->apis[number];
	index = api->call_index(call & ((1u << WIRE_API_SHIFT) - 1));
	if (index >= api->call_count)
		return 0;
	name = api->call_names[index];
	id = &s->call_names[number][index];
	if (name && !*id)
		error = profile_add_string(s->shared->writer, name, strlen(name), id);
	*ret_id = *id;
	return error;
}

/* Of a context that has had work; else 0. */
static uint32_t device_of_context(const struct instance *i, uint32_t context)
{
	const uint64_t *number = map_get(&i->context_numbers, context);

	return number ? i->contexts.items[*number - 1].device : 0;
}

static struct gpu_wait_target waits_for(const struct instance *i, const struct wire_call *c)
{
	struct gpu_wait_target target = {.kind = c->waits_for};

	if (!target.kind)
		return target;
	target.device = device_of_context(i, c->context);
	target.context = c->context;
	target.stream = c->stream;
	target.event = c->event;
	return target;
}

static int decode_call(struct instance *i, const struct wire_call *c, uint64_t now_ns)
{
	struct injected *s = i->injected;
	struct gpu_call event = {
		.instance = i->number,
		.correlation = c->correlation,
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
		.kind = c->kind,
		.result = c->result,
		.flags = c->flags,
		.waits_for = waits_for(i, c),
	};
	int error = find_call(s, c->api, &event.api);

	if (!error &&
		(!event.api || !c->kind || c->kind >= CALL_KINDS || c->waits_for >= SYNC_KINDS ||
			(c->waits_for && c->kind != CALL_SYNC && c->kind != CALL_COPY) ||
			!record_is_plausible(i, c->start_ns, c->end_ns, now_ns)))
		return invalid(i);
	if (c->kind == CALL_GRAPH) {
		event.graph_context = c->context;
		event.graph_stream = c->stream;
	}
	error = error ?: record_find_thread(i, c->tid, &event.thread);
	return error ?: s->shared->events.call(s->shared->events.context, &event);
}

static uint64_t grid_of(const struct wire_work *w)
{
	if (!(w->flags & WIRE_WORK_HAS_GRID))
		return 0;
	return (uint64_t)(w->flags >> WIRE_WORK_GRID_SHIFT) << 32 | w->grid;
}

static int decode_work(struct instance *i, const struct wire_work *w, uint64_t now_ns)
{
	const struct gpu_events *events = &i->injected->shared->events;
	const struct instance_op *op;
	struct gpu_work event = {
		.instance = i->number,
		.correlation = w->correlation,
		.start_ns = w->start_ns,
		.end_ns = w->end_ns,
		.graph_node = w->graph_node,
		.stands_for = w->flags & WIRE_WORK_HAS_GRID ? 0 : w->stands_for,
		.not_timed = w->flags & WIRE_WORK_NOT_TIMED,
	};

	if (!w->op || w->op > i->ops.count)
		return -EPROTO;
	op = &i->ops.items[w->op - 1];
	if (op->kind != w->kind)
		return -EPROTO;
	if (event.stands_for > i->injected->options.times_one_in ||
		(w->flags & WIRE_WORK_NOT_TIMED && !i->injected->options.times_one_in))
		return invalid(i);
	if (!record_is_plausible(i, w->start_ns, w->end_ns, now_ns))
		return invalid(i);
	event.op = op->id;
	if (op->kind == OP_KERNEL) {
		due_add_work(i, op, w);
		event.queued_ns = w->queued_ns;
		event.submitted_ns = w->submitted_ns;
		if (i->injected->options.grids)
			event.grid = grid_of(w);
	} else {
		event.bytes = w->bytes;
	}
	return events->work(events->context, &event);
}

static int decode_node(struct instance *i, const struct wire_node *n)
{
	const struct gpu_events *events = &i->injected->shared->events;
	struct gpu_node event = {
		.instance = i->number,
		.change = n->change,
		.correlation = n->correlation,
		.node = n->node,
		.original = n->original,
	};

	if (n->change < GPU_NODE_CREATED || n->change > GPU_NODE_DESTROYED || !n->node)
		return invalid(i);
	return events->node(events->context, &event);
}

static int note_context(struct instance *i, uint32_t context, uint32_t device, uint32_t *ret_number)
{
	int error;

	*ret_number = 0;
	if (!device)
		return 0;
	error = due_find_context(i, context, ret_number);
	if (*ret_number)
		i->contexts.items[*ret_number - 1].device = device;
	return error;
}

static int decode_event_record(
	struct instance *i, const struct wire_event_record *e, uint64_t now_ns)
{
	const struct gpu_events *events = &i->injected->shared->events;
	struct gpu_event_record event = {
		.instance = i->number,
		.device = device_of_context(i, e->context),
		.context = e->context,
		.stream = e->stream,
		.event = e->event,
		.time_ns = e->time_ns,
	};

	if (!record_is_plausible(i, e->time_ns, e->time_ns, now_ns))
		return invalid(i);
	return events->event_record ? events->event_record(events->context, &event) : 0;
}

/* Notes which of the process's threads is the library's. */
static int decode_thread(struct instance *i, const struct wire_thread *t)
{
	uint32_t thread;
	int error;

	if (i->introduced)
		return -EPROTO;
	i->introduced = true;
	error = record_find_thread(i, t->tid, &thread);
	return error || !thread ? error : tasks_set_profiler(i->injected->shared->tasks, thread);
}

static int write_burst(struct instance *i, const struct wire_burst *b)
{
	struct profile_burst burst = {.process = i->process,
		.instance = i->number,
		.since_ns = b->since_ns,
		.until_ns = b->until_ns,
		.start_ns = b->start_ns,
		.end_ns = b->end_ns};

	return b->until_ns ? profile_add_burst(i->injected->shared->writer, &burst) : 0;
}

static bool burst_makes_sense(const struct instance *i, const struct wire_burst *b, uint64_t now_ns)
{
	return i->injected->options.overhead && b->since_ns >= i->burst.end_ns &&
	       b->start_ns >= b->since_ns && b->end_ns >= b->start_ns && b->until_ns >= b->end_ns &&
	       b->until_ns - b->end_ns <= PERIOD_MAX_NS &&
	       record_is_plausible(i, b->since_ns, b->end_ns, now_ns);
}

/* It comes when it is over, and its period is not: that ends with what comes next. */
static int decode_burst(struct instance *i, const struct wire_burst *b, uint64_t now_ns)
{
	int error;

	if (!burst_makes_sense(i, b, now_ns))
		return invalid(i);
	if (i->burst.until_ns > b->since_ns)
		i->burst.until_ns = b->since_ns;
	error = write_burst(i, &i->burst);
	i->burst = *b;
	return error;
}

int record_last_burst(struct instance *i, bool was_told)
{
	uint64_t now_ns = clock_now_ns();
	struct wire_burst rest = {.since_ns = i->burst.until_ns,
		.until_ns = now_ns,
		.start_ns = now_ns,
		.end_ns = now_ns};
	int error;

	if (i->burst.until_ns > now_ns)
		i->burst.until_ns = now_ns;
	error = write_burst(i, &i->burst);
	if (error || was_told || !rest.since_ns || rest.since_ns >= now_ns)
		return error;
	return write_burst(i, &rest);
}

static int decode_string(struct instance *i, const void *record, size_t size)
{
	struct wire_string s;
	uint32_t id;
	int error;

	memcpy(&s, record, sizeof(s));
	if (s.id != i->strings.count + 1 || s.id > WIRE_STRINGS || s.size > size - sizeof(s))
		return -EPROTO;
	error = budget_string(i, BUDGET_NAMES, (const char *)record + sizeof(s), s.size, &id);
	if (!error && vec_push(&i->strings, id))
		error = error_memory(NULL);
	return error;
}

/* Programs whose shapes never repeat come here: their kernels keep their names. */
static int add_plain_op(struct instance *i, const struct profile_op *op, uint32_t *ret_id)
{
	struct profile_writer *w = i->injected->shared->writer;
	struct profile_op plain = {.kind = op->kind,
		.process = op->process,
		.device = op->device,
		.name = op->name,
		.copy_kind = op->copy_kind,
		.source_memory = op->source_memory,
		.target_memory = op->target_memory};
	int error = 0;

	budget_refuse(i, BUDGET_NAMES);
	if (plain.name && !budget_has_reserve(i, BUDGET_NAMES))
		error = profile_add_string(w, NAME_LEFT_OUT, strlen(NAME_LEFT_OUT), &plain.name);
	return error ?: profile_add_op(w, &plain, ret_id);
}

static int add_op(struct instance *i, const struct profile_op *op, uint32_t *ret_id)
{
	struct profile_writer *w = i->injected->shared->writer;
	uint64_t before = budget_tables(i);
	int error;

	*ret_id = profile_find_op(w, op);
	if (*ret_id)
		return 0;
	error = budget_has_room(i, BUDGET_NAMES) ? profile_add_op(w, op, ret_id)
						 : add_plain_op(i, op, ret_id);
	budget_charge_growth(i, BUDGET_NAMES, before);
	return error;
}

static int decode_op(struct instance *i, const void *record, size_t size)
{
	struct instance_device device = {0};
	struct profile_op op = {0};
	struct instance_op mine;
	struct wire_op w;
	int error;

	if (size < sizeof(w))
		return -EPROTO;
	memcpy(&w, record, sizeof(w));
	if (w.id != i->ops.count + 1 || w.id > WIRE_OPS || w.name > i->strings.count ||
		w.kind < OP_KERNEL || w.kind > OP_SET)
		return -EPROTO;
	op.kind = w.kind;
	op.process = i->process;
	if (w.device < WIRE_DEVICES)
		device = i->devices[w.device];
	op.device = device.id;
	op.context = w.context;
	op.stream = w.stream;
	op.name = w.name ? i->strings.items[w.name - 1] : 0;
	memcpy(op.grid, w.grid, sizeof(op.grid));
	memcpy(op.block, w.block, sizeof(op.block));
	op.registers = w.registers;
	op.shared_static_bytes = w.shared_static_bytes;
	op.shared_dynamic_bytes = w.shared_dynamic_bytes;
	op.copy_kind = w.copy_kind < COPY_KINDS ? w.copy_kind : COPY_UNKNOWN;
	op.source_memory = w.source_memory < MEMORY_KINDS ? w.source_memory : MEMORY_UNKNOWN;
	op.target_memory = w.target_memory < MEMORY_KINDS ? w.target_memory : MEMORY_UNKNOWN;
	error = add_op(i, &op, &mine.id);
	error = error ?: note_context(i, op.context, op.device, &mine.context);
	if (error)
		return error;
	mine.kind = w.kind;
	mine.cycles_per_ns = due_cycles_per_ns(op.grid, device.sm_count, device.clock_khz);
	return vec_push(&i->ops, mine) ? error_memory(NULL) : 0;
}

static int add_device(struct instance *i, const struct wire_device *d, const char *name)
{
	struct injected *s = i->injected;
	struct profile_device device = {
		.ordinal = d->number % WIRE_API_DEVICES,
		.sm_count = d->sm_count,
		.memory_bytes = d->memory_bytes,
		.clock_khz = d->clock_khz,
	};
	struct instance_device *mine = &i->devices[d->number];
	int error;

	if (s->latest_device >= DEVICES_MAX) {
		budget_refuse(i, BUDGET_NAMES);
		return 0;
	}
	memcpy(device.uuid, d->uuid, sizeof(device.uuid));
	error = budget_string(i, BUDGET_NAMES, name, d->name_size, &device.name);
	error = error ?: profile_add_device(s->shared->writer, &device, &mine->id);
	if (error)
		return error;
	mine->sm_count = d->sm_count;
	mine->clock_khz = d->clock_khz;
	if (s->latest_device < mine->id)
		s->latest_device = mine->id;
	return s->shared->device_used
		       ? s->shared->device_used(s->shared->context, d->uuid, mine->id)
		       : 0;
}

/* A device is what it was described as first: once in a process. */
static int decode_device(struct instance *i, const void *record, size_t size)
{
	static const char simulated[] = "Simulated GPU";
	const char *name = (const char *)record + sizeof(struct wire_device);
	struct wire_device d;
	int error;

	memcpy(&d, record, sizeof(d));
	if (d.number >= WIRE_DEVICES || d.name_size > size - sizeof(d))
		return -EPROTO;
	if (i->devices[d.number].id)
		return 0;
	error = add_device(i, &d, name);
	if (error || i->injected->simulated || d.name_size < sizeof(simulated) - 1 ||
		memcmp(name, simulated, sizeof(simulated) - 1))
		return error;
	i->injected->simulated = true;
	return profile_set_meta(i->injected->shared->writer, META_SIMULATED, "1");
}

/* True when the text has this line. */
static bool has_line(const char *text, const char *line)
{
	size_t size = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += size)
		if ((at == text || at[-1] == '\n') && (!at[size] || at[size] == '\n'))
			return true;
	return false;
}

static void describe_tracer(
	struct instance *i, const struct wire_tracer *t, const char *path, struct buf *line)
{
	i->injected->apis[t->api]->describe_tracer(t, line);
	for (uint32_t n = 0; n < t->path_size; n++)
		buf_putc(line, path[n] == '\n' || !path[n] ? '?' : path[n]);
}

/* Of one that could not begin, too: there is nothing that is missing. */
static int note_api(struct instance *i, const struct wire_tracer *t)
{
	uint64_t *state = map_get(&i->injected->connected, i->process);

	if (state)
		*state |= (uint64_t)PROCESS_REPORTS << t->api;
	if (t->state != WIRE_TRACER_FAILED)
		return 0;
	return map_put(
		&i->injected->failures, (uint64_t)i->process << 8 | t->api, (uint32_t)t->result);
}

/* Once it has reported where its work runs: no samples will come of that. */
static int note_no_stalls(struct instance *i, uint32_t api)
{
	struct injected *s = i->injected;
	struct buf *lines = &s->refusal_lines;
	const char *line = s->apis[api]->no_stalls;

	if (!s->options.stalls || !line || has_line(buf_text(lines), line))
		return 0;
	buf_printf(lines, "%s%s", lines->size ? "\n" : "", line);
	return profile_set_meta(s->shared->writer, META_STALLS_REFUSED, buf_text(lines));
}

static int decode_tracer(struct instance *i, const void *record, size_t size)
{
	struct buf line = BUF_INIT, *lines = &i->injected->tracer_lines;
	struct wire_tracer c;
	int error;

	memcpy(&c, record, sizeof(c));
	if (c.path_size > size - sizeof(c) || c.path_size > 4096 || c.api >= WIRE_APIS)
		return -EPROTO;
	error = note_api(i, &c);
	if (error || c.state != WIRE_TRACER_REPORTS)
		return error;
	describe_tracer(i, &c, (const char *)record + sizeof(c), &line);
	if (line.size && !has_line(buf_text(lines), buf_text(&line)) && lines->size < 65536) {
		if (lines->size)
			buf_putc(lines, '\n');
		buf_puts(lines, buf_text(&line));
		error = profile_set_meta(i->injected->shared->writer, META_TRACER, buf_text(lines));
	}
	if (!error && line.size)
		error = note_no_stalls(i, c.api);
	buf_release(&line);
	return error;
}

static int decode_clock(struct instance *i, const struct wire_clock *c)
{
	char text[32];

	if (c->method == WIRE_CLOCK_OURS || c->error_ns <= i->injected->clock_error_ns)
		return 0;
	i->injected->clock_error_ns = c->error_ns;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)c->error_ns);
	return profile_set_meta(i->injected->shared->writer, META_CLOCK_ERROR, text);
}

static void describe_end(struct instance *i, const struct wire_tracer_ended *e, const char *message)
{
	uint64_t start_ns = i->injected->start_ns,
		 after_ns = e->since_ns > start_ns ? e->since_ns - start_ns : 0;
	const char *tracer = injected_sampled(i->injected)->tracer;
	struct buf *lines = &i->injected->ended_lines;

	if (lines->size)
		buf_putc(lines, '\n');
	if (i->injected->ended > ENDS_DESCRIBED) {
		buf_printf(lines, "%s ended in more processes", tracer);
		return;
	}
	buf_printf(lines,
		"%s ended in process %u, %llu.%02llu s after the recording began: its GPU work "
		"from then on is missing, and some from shortly before (%s error %d",
		tracer, i->pid, (unsigned long long)(after_ns / NS_PER_SECOND),
		(unsigned long long)(after_ns % NS_PER_SECOND / (NS_PER_SECOND / 100)), tracer,
		(int)e->result);
	if (e->message_size)
		buf_puts(lines, ": ");
	printable_put(lines, message, e->message_size);
	buf_putc(lines, ')');
}

/* Once for each instance. */
static int decode_end(struct instance *i, const void *record, size_t size)
{
	struct injected *s = i->injected;
	struct wire_tracer_ended e;

	memcpy(&e, record, sizeof(e));
	if (e.message_size > size - sizeof(e) || e.message_size > MESSAGE_MAX)
		return -EPROTO;
	if (i->broken)
		return 0;
	i->broken = true;
	record_count_loss(i, LOSS_GPU_TRACER_ENDED, 1);
	if (++s->ended > ENDS_DESCRIBED + 1)
		return 0;
	describe_end(i, &e, (const char *)record + sizeof(e));
	return profile_set_meta(s->shared->writer, META_TRACER_ENDED, buf_text(&s->ended_lines));
}

static int forget(struct instance *i)
{
	i->strings.count = 0;
	i->ops.count = 0;
	return 0;
}

int record_decode(struct instance *i, const void *record, size_t size, uint64_t now_ns)
{
	i->injected->records++;
	switch (*(const uint8_t *)record) {
	case WIRE_CALL:
		return decode_call(i, record, now_ns);
	case WIRE_WORK:
		return decode_work(i, record, now_ns);
	case WIRE_NODE:
		return decode_node(i, record);
	case WIRE_STRING:
		return decode_string(i, record, size);
	case WIRE_OP:
		return decode_op(i, record, size);
	case WIRE_DEVICE:
		return decode_device(i, record, size);
	case WIRE_FORGET:
		return forget(i);
	case WIRE_TRACER:
		return decode_tracer(i, record, size);
	case WIRE_CLOCK:
		return decode_clock(i, record);
	case WIRE_LAUNCH:
		return walked_decode_launch(i, record, now_ns);
	case WIRE_STACK:
		return walked_decode_stack(i, record, size, now_ns);
	case WIRE_STALL_REASON:
		return stalls_decode_reason(i, record, size);
	case WIRE_FUNCTION:
		return stalls_decode_function(i, record, size);
	case WIRE_CODE:
		return stalls_decode_code(i, record, size, now_ns);
	case WIRE_WINDOW:
		return stalls_decode_window(i, record, now_ns);
	case WIRE_STALLS:
		return stalls_decode_rows(i, record, size);
	case WIRE_STALLS_REFUSED:
		return stalls_decode_refusal(i, record);
	case WIRE_STALLS_HELD:
		return stalls_decode_held(i, record);
	case WIRE_TRACER_ENDED:
		return decode_end(i, record, size);
	case WIRE_EVENT_RECORD:
		return decode_event_record(i, record, now_ns);
	case WIRE_THREAD:
		return decode_thread(i, record);
	case WIRE_BURST:
		return decode_burst(i, record, now_ns);
	case WIRE_MARKER:
		return markers_decode(i, record, now_ns);
	default:
		return -EPROTO;
	}
}
