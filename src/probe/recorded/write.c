// SPDX-License-Identifier: MIT
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "ebpf/tools/tools.h"
#include "probe/record_text.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"
#include "profile/format.h"

#define MAPS_OF_OBJECT (EBPF_MAPS_MAX + 1)
#define KEPT_MAX_BYTES ((uint64_t)256 << 20) /* of what is written again and again */

static int add_text(struct recorded *r, const char *text, uint32_t *ret)
{
	*ret = 0;
	return text && *text ? profile_add_string(r->writer, text, strlen(text), ret) : 0;
}

static int add_map(struct recorded *r, uint32_t object, uint32_t number, const char *name)
{
	struct profile_probe_map m = {.object = object, .number = number};
	uint32_t id = 0;
	int error = add_text(r, name, &m.name);

	error = error ?: profile_add_probe_map(r->writer, &m, &id);
	return error || !vec_push(&r->maps, id) ? error : error_memory(NULL);
}

/* All of an object have places, those that it has not as well. */
static int add_maps(struct recorded *r, const struct plan_object *o, uint32_t object)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < EBPF_MAPS_MAX; i++)
		if (i < o->object->maps.count)
			error = add_map(r, object, i, o->object->maps.items[i].name);
		else if (vec_push(&r->maps, 0))
			error = error_memory(NULL);
	return error ?: add_map(r, object, PROBE_MAP_PRINTS, NULL);
}

static int add_object(struct recorded *r, const struct plan_object *o)
{
	struct profile_probe_object new = {0};
	uint32_t id = 0;
	int error = add_text(r, o->name, &new.name);

	if (o->object->size > STRING_MAX_BYTES)
		return error_set(-EFBIG,
			"'%s' is too large for a recording: strip its debug "
			"information (llvm-strip -g)",
			o->name);
	error = error ?: add_text(r, o->tool ? o->tool->name : NULL, &new.tool);
	error = error
			?: profile_add_string(r->writer, (const char *)o->object->data,
				   o->object->size, &new.file);
	error = error ?: profile_add_probe_object(r->writer, &new, &id);
	return error ?: add_maps(r, o, id);
}

static int add_switches(struct recorded *r)
{
	struct profile_probe_map m = {.object = 1, .number = PROBE_MAP_SWITCHES};

	return profile_add_probe_map(r->writer, &m, &r->switches);
}

int recorded_begin(struct recorded *r, struct profile_writer *w, struct tasks *t,
	const struct server *s, bool has_turns)
{
	int error = 0;

	*r = (struct recorded){.writer = w, .tasks = t, .server = s, .kept_max = KEPT_MAX_BYTES};
	vec_foreach (o, &s->plan->objects)
		error = error ?: add_object(r, o);
	return error || !has_turns ? error : add_switches(r);
}

void recorded_release(struct recorded *r)
{
	vec_release(&r->maps);
	vec_release(&r->contexts);
	vec_release(&r->entries);
	interner_free(r->written);
	buf_release(&r->name);
	buf_release(&r->values);
}

static int add_context(struct recorded *r, const struct server_arena *a)
{
	struct profile_probe_context context = {0};
	struct profile_device d = {.ordinal = a->device,
		.sm_count = a->sms,
		.memory_bytes = a->memory_bytes,
		.clock_khz = a->clock_khz};
	uint32_t id = 0;
	int error = tasks_process(
		r->tasks, r->server->processes.items[a->process].pid, &context.process);

	memcpy(d.uuid, a->uuid, sizeof(d.uuid));
	error = error ?: add_text(r, a->name, &d.name);
	error = error ?: profile_add_device(r->writer, &d, &context.device);
	error = error ?: profile_add_probe_context(r->writer, &context, &id);
	return error || !vec_push(&r->contexts, id) ? error : error_memory(NULL);
}

int recorded_contexts(struct recorded *r)
{
	int error = r->error;

	while (!error && r->contexts.count < r->server->arenas.count)
		error = add_context(r, &r->server->arenas.items[r->contexts.count]);
	return error;
}

uint32_t recorded_map(const struct recorded *r, uint32_t object, uint32_t map)
{
	return r->maps.items[object * MAPS_OF_OBJECT + (map == PLAN_PRINTS ? EBPF_MAPS_MAX : map)];
}

void recorded_record(void *context, const struct server_record *record)
{
	struct recorded *r = context;
	struct profile_found f = {.time_ns = clock_now_ns(),
		.grid = record->launch,
		.program = record->program + 1u,
		.sm = record->sm + 1,
		.text = record->text,
		.size = record->bytes,
		.bytes = record->data};
	const struct body *body;
	uint32_t object;
	int error = recorded_contexts(r);

	if (!error && record_find(r->server->plan, record, &object, &body)) {
		f.map = recorded_map(r, object, record->ring->map);
		f.context = r->contexts.items[record->arena - r->server->arenas.items];
		error = profile_write_found(r->writer, &f);
	}
	r->error = error;
}

void recorded_switch(void *context, const struct server_switch *s)
{
	struct recorded *r = context;
	uint64_t numbers[SWITCH_NUMBERS] = {[SWITCH_STATE] = htole64(s->state),
		[SWITCH_FROM] = htole64(s->from_ns),
		[SWITCH_TO] = htole64(s->to_ns)};
	struct profile_found f = {.time_ns = clock_now_ns(),
		.map = r->switches,
		.size = sizeof(numbers),
		.bytes = (const uint8_t *)numbers};
	int error = recorded_contexts(r);

	if (!error) {
		f.context = r->contexts.items[s->arena];
		error = profile_write_found(r->writer, &f);
	}
	r->error = error;
}

static int write_kernels(struct recorded *r)
{
	int error = 0;

	vec_foreach (k, &r->server->kernels) {
		struct profile_probe_kernel new = {.hash = k->hash,
			.module = k->module,
			.bound = k->bound,
			.programs = k->bodies,
			.returns = k->returns,
			.accesses = k->accesses,
			.images = k->images,
			.size = {k->with.registers, k->with.local_bytes, k->with.warps,
				k->without.registers, k->without.local_bytes, k->without.warps}};

		error = error ?: add_text(r, k->name, &new.name);
		if (!error && *k->file)
			error = add_text(r, k->file, &new.about);
		error = error ?: profile_add_probe_kernel(r->writer, &new);
	}
	return error;
}

/* Kernels without programs: in the place of the returns is why. */
static int write_unprobed(struct recorded *r)
{
	int error = 0;

	vec_foreach (k, &r->server->unprobed) {
		struct profile_probe_kernel new = {
			.hash = k->hash, .returns = k->why, .images = k->images};

		error = error ?: add_text(r, k->name, &new.name);
		if (!error && *k->reason)
			error = add_text(r, k->reason, &new.about);
		error = error ?: profile_add_probe_kernel(r->writer, &new);
	}
	return error;
}

static int write_lines(struct recorded *r)
{
	int error = 0;

	vec_foreach (l, &r->server->lines) {
		struct profile_probe_line new = {.kernel = l->kernel,
			.insn = l->insn,
			.line = l->line,
			.bytes = l->bytes,
			.kind = l->kind};

		if (!error && l->file)
			error = add_text(
				r, interner_get(r->server->strings, l->file, NULL), &new.file);
		error = error ?: profile_add_probe_line(r->writer, &new);
	}
	return error;
}

static int count(struct recorded *r, enum profile_loss loss, uint64_t n)
{
	return n ? profile_count_loss(r->writer, loss, n) : 0;
}

static int count_losses(struct recorded *r)
{
	const struct server *s = r->server;
	const uint64_t *fates = s->fates;
	struct probe_losses l;
	int error;

	losses_read(&l, s);
	error = count(r, LOSS_PROBE_BOUNDS, l.arena[ARENA_LOSS_BOUNDS]);
	error = error ?: count(r, LOSS_PROBE_FUEL, l.arena[ARENA_LOSS_FUEL]);
	error = error ?: count(r, LOSS_PROBE_FULL, l.arena[ARENA_LOSS_FULL]);
	error = error ?: count(r, LOSS_PROBE_THREADS, l.arena[ARENA_LOSS_THREADS]);
	error = error ?: count(r, LOSS_PROBE_SITES, s->sites_beyond);
	error = error ?: count(r, LOSS_PROBE_DROPPED, l.dropped);
	error = error ?: count(r, LOSS_PROBE_UNREAD, l.unread);
	error = error ?: count(r, LOSS_PROBE_CUT, r->cut);
	error = error ?: count(r, LOSS_PROBE_LATE, r->late);
	error = error ?: count(r, LOSS_PROBE_AT_END, r->not_kept_most);
	error = error ?: count(r, LOSS_PROBE_CONTEXTS, l.too_many + fates[PROBE_FATE_NO_MEMORY]);
	error = error ?: count(r, LOSS_PROBE_NEVER_READ, l.never);
	error = error ?: count(r, LOSS_PROBE_OLD, l.cut);
	error = error ?: count(r, LOSS_PROBE_NO_TEXT, fates[PROBE_FATE_NO_TEXT]);
	error = error ?: count(r, LOSS_PROBE_UNREADABLE, fates[PROBE_FATE_UNREADABLE]);
	error = error ?: count(r, LOSS_PROBE_NO_NAMES, fates[PROBE_FATE_NO_NAMES]);
	error = error ?: count(r, LOSS_PROBE_REFUSED, fates[PROBE_FATE_REFUSED]);
	error = error ?: count(r, LOSS_PROBE_SMALLER, fates[PROBE_FATE_SMALLER]);
	error = error ?: count(r, LOSS_PROBE_NOT_ON, fates[PROBE_FATE_NO_WORD]);
	error = error ?: count(r, LOSS_PROBE_SLOW, fates[PROBE_FATE_SLOW_WORD]);
	error = error ?: count(r, LOSS_PROBE_PARAMETERS, fates[PROBE_FATE_NO_PARAMETER]);
	error = error
			?: count(r, LOSS_PROBE_UNSEEN,
				   fates[PROBE_FATE_UNSEEN_ACCESSES] +
					   fates[PROBE_FATE_UNSEEN_EXITS]);
	error = error ?: count(r, LOSS_PROBE_PROCESSES, s->processes_refused);
	return error ?: count(r, LOSS_PROBE_NOTES, l.notes);
}

/* Why images and contexts ran without programs. */
static int describe_refusals(struct recorded *r)
{
	struct buf text = BUF_INIT;
	int error = 0;

	for (int i = 0; i < PROBE_FATE_COUNT; i++)
		buf_puts(&text, buf_text(&r->server->fate_texts[i]));
	if (text.size)
		error = text.failed
				? error_memory(NULL)
				: profile_set_meta(r->writer, META_PROBES_REFUSED, buf_text(&text));
	buf_release(&text);
	return error;
}

int recorded_finish(struct recorded *r)
{
	int error = recorded_contexts(r);

	r->is_last = true;
	error = error ?: recorded_write_maps(r);
	error = error ?: write_kernels(r);
	error = error ?: write_unprobed(r);
	error = error ?: write_lines(r);
	error = error ?: count_losses(r);
	return error ?: describe_refusals(r);
}
