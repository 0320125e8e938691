// SPDX-License-Identifier: MIT
/* What `xpuprof probe` prints. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/probe/probe.h"
#include "probe/typed.h"
#include "probe/values.h"

#define RECORDS_BYTES ((size_t)256 << 20) /* of JSON */

/* The program that sent it, or NULL. */
static const struct body *body_of(const struct plan_object *o, uint16_t program)
{
	uint32_t n = program - o->first_program;

	return program >= o->first_program && n < o->bodies.items.count ? &o->bodies.items.items[n]
									: NULL;
}

/* Texts of all objects come through one ring. */
static const struct plan_object *object_of(const struct plan *plan, const struct server_record *r)
{
	if (r->ring->map != PLAN_PRINTS)
		return &plan->objects.items[r->ring->object];
	vec_foreach (o, &plan->objects)
		if (body_of(o, r->program))
			return o;
	return NULL;
}

static void put_printed(struct buf *out, const struct body *b, const struct server_record *r)
{
	struct arena_print p = {0};

	if (r->text >= b->text_count)
		return;
	memcpy(&p, r->data, r->bytes < sizeof(p) ? r->bytes : sizeof(p));
	typed_print(out, b->texts[r->text], p.arguments);
}

static void put_line(struct probe_output *o, const struct plan_object *object, const struct body *b,
	const struct server_record *r)
{
	if (r->ring->map == PLAN_PRINTS) {
		buf_printf(&o->lines, "%s: ", b->program->name);
		put_printed(&o->lines, b, r);
	} else {
		const struct ebpf_map *m = &object->object->maps.items[r->ring->map];

		buf_printf(&o->lines, "%s: ", m->name);
		typed_text(&o->lines, &object->object->btf,
			ebpf_btf_size(&object->object->btf, m->value_type) <= r->bytes
				? m->value_type
				: 0,
			r->data, r->bytes);
	}
	buf_putc(&o->lines, '\n');
}

static void put_json_record(struct probe_output *o, const struct plan_object *object,
	const struct body *b, const struct server_record *r)
{
	const struct ebpf_btf *btf = &object->object->btf;
	struct json_writer w = {.out = &o->records, .comma = o->records.size > 0};

	if (o->records.size > RECORDS_BYTES) {
		o->left_out++;
		return;
	}
	json_begin(&w, NULL, '{');
	json_text(&w, "program", b->program->name);
	json_number(&w, "device", r->arena->device);
	json_number(&w, "sm", r->sm);
	json_number(&w, "launch", r->launch);
	if (r->ring->map == PLAN_PRINTS) {
		struct buf text = BUF_INIT;

		put_printed(&text, b, r);
		json_text(&w, "text", buf_text(&text));
		buf_release_for(&text, &o->records);
	} else {
		const struct ebpf_map *m = &object->object->maps.items[r->ring->map];

		json_text(&w, "map", m->name);
		typed_json(&w, "value", btf,
			ebpf_btf_size(btf, m->value_type) <= r->bytes ? m->value_type : 0, r->data,
			r->bytes);
	}
	json_end(&w, '}');
}

void output_record(void *context, const struct server_record *r)
{
	struct probe_output *o = context;
	const struct plan_object *object = object_of(o->server->plan, r);
	const struct body *b = object ? body_of(object, r->program) : NULL;
	int error = 0;

	if (!b)
		return;
	if (o->request->json)
		put_json_record(o, object, b, r);
	else if (!tally_add(&o->tally, o->server->plan, r, &error))
		put_line(o, object, b, r);
	o->failed |= error != 0;
}

int output_lines(struct probe_output *o)
{
	int error;

	if (!o->lines.size && !o->lines.failed)
		return 0;
	error = cmd_print(STDOUT_FILENO, &o->lines);
	buf_reset(&o->lines);
	return error ? error_errno(error, "cannot print") : 0;
}

/* The devices that there are, each once; at most one: nothing to tell apart. */
static size_t devices_of(const struct server *s, uint32_t *ret, size_t room)
{
	size_t count = 0;

	vec_foreach (a, &s->arenas) {
		size_t i = 0;

		while (i < count && ret[i] != a->device)
			i++;
		if (i == count && count < room)
			ret[count++] = a->device;
	}
	return count;
}

static int put_object(const struct probe_output *o, uint32_t object, struct buf *out)
{
	struct show show = {.out = out,
		.server = o->server,
		.tally = &o->tally,
		.object = object,
		.device = VALUES_ANY,
		.rows = (unsigned int)o->request->rows};
	uint32_t devices[64];
	size_t count = devices_of(o->server, devices, sizeof(devices) / sizeof(*devices));
	int error = table_put(&show);

	for (size_t i = 0; !error && count > 1 && i < count; i++) {
		show.device = devices[i];
		error = table_put(&show);
	}
	return error;
}

static void put_kernels(const struct probe_output *o, struct buf *out)
{
	size_t n = 0;

	buf_puts(out, "kernels with programs\n");
	if (o->server->kernels.count)
		buf_puts(out, "  programs  returns  accesses  images  kernel\n");
	vec_foreach (k, &o->server->kernels) {
		struct buf readable = BUF_INIT;

		n++;
		demangle(k->name, &readable);
		buf_printf(out, "  %8u  %7u  %8u  %6u  %s\n", k->bodies, k->returns, k->accesses,
			k->images, readable.size ? buf_text(&readable) : k->name);
		buf_release_for(&readable, out);
	}
	if (!n)
		buf_puts(out, "  none\n");
}

int output_tables(struct probe_output *o, bool is_last)
{
	struct buf out = BUF_INIT;
	int error = 0;

	for (uint32_t i = 0; !error && i < o->server->plan->objects.count; i++) {
		if (i)
			buf_putc(&out, '\n');
		error = put_object(o, i, &out);
	}
	if (!error && is_last && o->request->kernels) {
		buf_putc(&out, '\n');
		put_kernels(o, &out);
	}
	if (!error && !is_last)
		buf_putc(&out, '\n');
	if (!error)
		error = cmd_print(STDOUT_FILENO, &out);
	if (error && error != -ENOENT)
		error_errno(error, "cannot print");
	buf_release(&out);
	return error;
}

/* A map: {"name", "kind", "entries": [{"key", "value", ...}]}. */
static int json_map(
	const struct probe_output *o, uint32_t object, uint32_t map, struct json_writer *w)
{
	const struct plan_object *of = &o->server->plan->objects.items[object];
	const struct ebpf_map *m = &of->object->maps.items[map];
	const struct ebpf_btf *btf = &of->object->btf;
	struct values v;
	int error = values_read(&v, o->server, object, map, VALUES_ANY);

	if (error || !v.place->is_used || v.place->shape == EBPF_RING) {
		values_release(&v);
		return error;
	}
	json_begin(w, NULL, '{');
	json_text(w, "name", m->name);
	json_text(w, "kind", m->is_section ? "section" : m->kind->name);
	json_bool(w, "added_up", v.place->sum_bytes != 0);
	json_begin(w, "entries", '[');
	vec_foreach (e, &v.entries) {
		json_begin(w, NULL, '{');
		if (e->arena != VALUES_ANY)
			json_number(w, "context", e->arena);
		if (e->sm != VALUES_ANY)
			json_number(w, "sm", e->sm);
		if (e->thread != UINT64_MAX)
			json_number(w, "thread", e->thread);
		typed_json(w, "key", btf, m->key_type, values_key(&v, e), m->key_size);
		typed_json(w, "value", btf, m->value_type, values_value(&v, e), m->value_size);
		json_end(w, '}');
	}
	json_end(w, ']');
	json_end(w, '}');
	values_release(&v);
	return 0;
}

static int json_objects(const struct probe_output *o, struct json_writer *w)
{
	int error = 0;

	json_begin(w, "objects", '[');
	for (uint32_t i = 0; !error && i < o->server->plan->objects.count; i++) {
		const struct plan_object *object = &o->server->plan->objects.items[i];

		json_begin(w, NULL, '{');
		json_text(w, "name", object->name);
		json_begin(w, "maps", '[');
		for (uint32_t map = 0; !error && map < object->object->maps.count; map++)
			error = json_map(o, i, map, w);
		json_end(w, ']');
		json_end(w, '}');
	}
	json_end(w, ']');
	return error;
}

static void json_contexts(const struct probe_output *o, struct json_writer *w)
{
	json_begin(w, "contexts", '[');
	vec_foreach (a, &o->server->arenas) {
		json_begin(w, NULL, '{');
		json_number(w, "pid", o->server->processes.items[a->process].pid);
		json_number(w, "device", a->device);
		json_text(w, "name", a->name);
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void json_kernels(const struct probe_output *o, struct json_writer *w)
{
	json_begin(w, "kernels", '[');
	vec_foreach (k, &o->server->kernels) {
		json_begin(w, NULL, '{');
		json_text(w, "name", k->name);
		json_number(w, "hash", k->hash);
		json_number(w, "programs", k->bodies);
		json_number(w, "accesses", k->accesses);
		json_number(w, "images", k->images);
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void json_losses(const struct probe_output *o, struct json_writer *w)
{
	const struct server *s = o->server;
	struct probe_losses l;

	losses_read(&l, s);
	json_begin(w, "losses", '{');
	json_number(w, "outside_of_values", l.arena[ARENA_LOSS_BOUNDS]);
	json_number(w, "loops_too_long", l.arena[ARENA_LOSS_FUEL]);
	json_number(w, "hash_full", l.arena[ARENA_LOSS_FULL]);
	json_number(w, "threads_without_place", l.arena[ARENA_LOSS_THREADS]);
	json_number(w, "records_dropped", l.dropped);
	json_number(w, "records_unread", l.unread);
	json_number(w, "records_left_out", o->left_out);
	json_number(w, "contexts_never_read", l.never);
	json_number(w, "contexts_cut", l.cut);
	json_number(w, "contexts_without_programs", s->arenas_lost);
	json_number(w, "images_of_machine_code", s->fates[PROBE_FATE_NO_TEXT]);
	json_number(w, "images_unreadable", s->fates[PROBE_FATE_UNREADABLE]);
	json_number(w, "images_refused", s->fates[PROBE_FATE_REFUSED]);
	json_number(w, "images_of_smaller_blocks", s->fates[PROBE_FATE_SMALLER]);
	json_number(w, "unseen_accesses", s->fates[PROBE_FATE_UNSEEN_ACCESSES]);
	json_number(w, "unseen_exits", s->fates[PROBE_FATE_UNSEEN_EXITS]);
	json_number(w, "notes_lost", s->notes_lost);
	json_number(w, "processes_refused", s->processes_refused);
	json_end(w, '}');
}

int output_json(struct probe_output *o)
{
	struct buf out = BUF_INIT;
	struct json_writer w = {.out = &out};
	int error;

	json_begin(&w, NULL, '{');
	error = json_objects(o, &w);
	json_key(&w, "records");
	buf_printf(&out, "[%s]", buf_text(&o->records));
	json_contexts(o, &w);
	json_kernels(o, &w);
	json_losses(o, &w);
	json_end(&w, '}');
	buf_putc(&out, '\n');
	out.failed |= o->records.failed;
	error = error ?: cmd_print(STDOUT_FILENO, &out);
	buf_release(&out);
	return error ? error_errno(error, "cannot print") : 0;
}

void output_release(struct probe_output *o)
{
	tally_release(&o->tally);
	buf_release(&o->lines);
	buf_release(&o->records);
}

static void lost(struct buf *out, uint64_t n, const char *what)
{
	char cell[TEXT_CELL];

	if (n)
		buf_printf(out, "xpuprof: %s %s\n", text_count(cell, n), what);
}

/* What a process said of images, with its reasons. */
static void lost_images(
	struct buf *out, const struct server *s, enum probe_fate fate, const char *what)
{
	const char *text = buf_text(&s->fate_texts[fate]);

	lost(out, s->fates[fate], what);
	for (size_t length; (length = strcspn(text, "\n")); text += length + (text[length] == '\n'))
		buf_printf(out, "xpuprof:   %.*s\n", (int)length, text);
}

void output_losses(struct buf *out, const struct server *s)
{
	struct probe_losses l;

	losses_read(&l, s);
	if (!s->processes.count)
		buf_puts(out, "xpuprof: no process of the command loaded code for a GPU\n");
	else if (!s->kernels.count)
		buf_puts(out, "xpuprof: no kernel was loaded that the programs are for\n");
	lost(out, l.arena[ARENA_LOSS_BOUNDS],
		"accesses were outside of values, or not aligned: they read 0 or were not made");
	lost(out, l.arena[ARENA_LOSS_FUEL],
		"runs of programs were ended in loops that took too long");
	lost(out, l.arena[ARENA_LOSS_FULL], "times an entry found no place in a hash");
	lost(out, l.arena[ARENA_LOSS_THREADS],
		"times a thread had no place in a per-thread array (--threads)");
	lost(out, l.dropped, "records were dropped: the ring was full");
	lost(out, l.unread, "records were not read: the program ended while they were written");
	lost(out, l.never, "contexts ended before their maps could be read");
	lost(out, l.cut, "contexts ended without a word: their values are up to a second older");
	lost_images(out, s, PROBE_FATE_NO_MEMORY, "contexts ran without programs");
	lost(out, s->fates[PROBE_FATE_NO_TEXT],
		"images have machine code only, no PTX: their kernels ran without programs");
	lost_images(out, s, PROBE_FATE_UNREADABLE, "images could not be read, and ran as they are");
	lost_images(out, s, PROBE_FATE_REFUSED,
		"images with programs were refused by the driver, and ran as they are");
	lost(out, s->fates[PROBE_FATE_SMALLER],
		"images with programs could not have run in blocks as large as before, and ran as "
		"they are");
	lost(out, s->fates[PROBE_FATE_NO_WORD],
		"times programs could not be switched on in a module");
	lost(out, s->fates[PROBE_FATE_UNSEEN_ACCESSES],
		"accesses are in functions that kernels call: not seen");
	lost(out, s->fates[PROBE_FATE_UNSEEN_EXITS],
		"places where threads end are in functions that kernels call: not seen");
	lost(out, s->fates[PROBE_FATE_SLOW_WORD],
		"modules have no constant memory left: programs cost more there");
	lost(out, s->notes_lost, "messages of processes were lost");
	lost(out, s->processes_refused, "processes could not connect: no programs run in them");
}
