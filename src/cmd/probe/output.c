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
#include "probe/record_text.h"
#include "probe/values.h"

#define RECORDS_BYTES ((size_t)256 << 20) /* of JSON */
#define BOUNDED_ROWS  8
#define BY_LIBRARY                                                                                 \
	"by the Sanitizer library, and slower for it (see --sanitizer in 'man xpuprof-probe')"

static void put_json_record(struct probe_output *o, const struct server_record *r)
{
	struct json_writer w = {.out = &o->records, .comma = o->records.size > 0};

	if (o->records.size > RECORDS_BYTES) {
		o->left_out++;
		return;
	}
	json_begin(&w, NULL, '{');
	record_json(&w, o->server->plan, r);
	json_end(&w, '}');
}

void output_record(void *context, const struct server_record *r)
{
	struct probe_output *o = context;
	const struct body *b;
	uint32_t object;
	int error = 0;

	if (!record_find(o->server->plan, r, &object, &b))
		return;
	if (o->request->json) {
		put_json_record(o, r);
	} else if (!tally_add(&o->tally, o->server->plan, r, &error)) {
		record_text(&o->lines, o->server->plan, r);
		buf_putc(&o->lines, '\n');
	}
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

int output_tables(struct probe_output *o, bool is_last)
{
	struct buf out = BUF_INIT;
	int error = tables_put(&out, o->server, &o->tally, (unsigned int)o->request->rows);

	if (!error && is_last && o->request->kernels) {
		buf_putc(&out, '\n');
		tables_kernels_put(&out, o->server, UINT32_MAX);
		tables_unprobed_put(&out, o->server, UINT32_MAX);
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
	json_number(w, "accesses_without_place", s->sites_beyond);
	json_number(w, "records_dropped", l.dropped);
	json_number(w, "records_unread", l.unread);
	json_number(w, "records_left_out", o->left_out);
	json_number(w, "contexts_never_read", l.never);
	json_number(w, "contexts_cut", l.cut);
	json_number(w, "contexts_without_programs", l.too_many + s->fates[PROBE_FATE_NO_MEMORY]);
	json_number(w, "images_of_machine_code", s->fates[PROBE_FATE_NO_TEXT]);
	json_number(w, "images_without_names", s->fates[PROBE_FATE_NO_NAMES]);
	json_number(w, "images_unreadable", s->fates[PROBE_FATE_UNREADABLE]);
	json_number(w, "images_refused", s->fates[PROBE_FATE_REFUSED]);
	json_number(w, "images_of_smaller_blocks", s->fates[PROBE_FATE_SMALLER]);
	json_number(w, "images_not_patched", s->fates[PROBE_FATE_NOT_PATCHED]);
	json_number(w, "unseen_accesses", s->fates[PROBE_FATE_UNSEEN_ACCESSES]);
	json_number(w, "unseen_exits", s->fates[PROBE_FATE_UNSEEN_EXITS]);
	json_number(w, "modules_not_switched_on", s->fates[PROBE_FATE_NO_WORD]);
	json_number(w, "modules_without_constant_memory", s->fates[PROBE_FATE_SLOW_WORD]);
	json_number(w, "kernels_without_a_parameter", s->fates[PROBE_FATE_NO_PARAMETER]);
	json_number(w, "notes_lost", l.notes);
	json_number(w, "processes_refused", s->processes_refused);
	json_end(w, '}');
}

int output_json(struct probe_output *o)
{
	struct buf out = BUF_INIT;
	struct json_writer w = {.out = &out};
	int error;

	json_begin(&w, NULL, '{');
	error = tables_json(&w, o->server);
	json_key(&w, "records");
	buf_printf(&out, "[%s]", buf_text(&o->records));
	json_contexts(o, &w);
	tables_kernels_json(&w, o->server);
	tables_unprobed_json(&w, o->server);
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

/* "12 places are not seen", "1 place is not seen". */
static void lost(struct buf *out, uint64_t n, const char *one, const char *several)
{
	char cell[TEXT_CELL];

	if (n)
		buf_printf(out, "xpuprof: %s %s\n", text_count(cell, n), n == 1 ? one : several);
}

/* What a process said of images, with its reasons. */
static void lost_images(struct buf *out, const struct server *s, enum probe_fate fate,
	const char *one, const char *several)
{
	const char *text = buf_text(&s->fate_texts[fate]);

	lost(out, s->fates[fate], one, several);
	for (size_t length; (length = strcspn(text, "\n")); text += length + (text[length] == '\n'))
		buf_printf(out, "xpuprof:   %.*s\n", (int)length, text);
}

static bool any_program(const struct server *s)
{
	vec_foreach (p, &s->processes)
		if (!p->is_compiler)
			return true;
	return false;
}

static void lost_values(struct buf *out, const struct probe_output *o, const struct probe_losses *l)
{
	lost(out, l->arena[ARENA_LOSS_BOUNDS],
		"access was outside of values, or not aligned: it read 0 or was not made",
		"accesses were outside of values, or not aligned: they read 0 or were not made");
	lost(out, l->arena[ARENA_LOSS_FUEL],
		"run of a program was ended in a loop that took too long",
		"runs of programs were ended in loops that took too long");
	lost(out, l->arena[ARENA_LOSS_FULL], "time an entry found no place in a hash",
		"times an entry found no place in a hash");
	lost(out, l->arena[ARENA_LOSS_THREADS],
		"time a thread had no place in a per-thread array (--threads)",
		"times a thread had no place in a per-thread array (--threads)");
	lost(out, o->server->sites_beyond,
		"access in a kernel had no place in an array by access (--accesses)",
		"accesses in kernels had no place in an array by access (--accesses)");
	lost(out, l->dropped, "record was dropped: the ring was full",
		"records were dropped: the ring was full");
	lost(out, o->left_out, "record is not in the JSON: there were too many",
		"records are not in the JSON: there were too many");
	lost(out, l->unread, "record was not read: the program ended while it was written",
		"records were not read: the program ended while they were written");
	lost(out, l->never, "context ended before its maps could be read",
		"contexts ended before their maps could be read");
	lost(out, l->cut, "context ended without a word: its values are up to a second older",
		"contexts ended without a word: their values are up to a second older");
	lost(out, l->too_many, "context ran without programs: there were too many",
		"contexts ran without programs: there were too many");
}

static void lost_kernels(struct buf *out, const struct server *s)
{
	lost_images(out, s, PROBE_FATE_NO_MEMORY, "context or module ran without programs",
		"contexts or modules ran without programs");
	lost(out, s->fates[PROBE_FATE_NO_TEXT],
		"image has machine code only, no PTX: its kernels ran without programs",
		"images have machine code only, no PTX: their kernels ran without programs");
	lost(out, s->fates[PROBE_FATE_PATCHED], "kernel of machine code was patched " BY_LIBRARY,
		"kernels of machine code were patched " BY_LIBRARY);
	lost_images(out, s, PROBE_FATE_NOT_PATCHED,
		"kernel or image of machine code could not be patched, and ran without programs",
		"kernels or images of machine code could not be patched, and ran without programs");
	lost(out, s->unprobed.count,
		"kernel that the programs are for ran without them (--kernels lists it)",
		"kernels that the programs are for ran without them (--kernels lists them)");
	lost(out, s->fates[PROBE_FATE_NO_NAMES],
		"image ran without programs, and the names of its kernels were not all read",
		"images ran without programs, and the names of their kernels were not all read");
	lost_images(out, s, PROBE_FATE_UNREADABLE,
		"image could not be given programs, and ran as it is",
		"images could not be given programs, and ran as they are");
	lost_images(out, s, PROBE_FATE_REFUSED,
		"image with programs was refused by the driver, and ran as it is",
		"images with programs were refused by the driver, and ran as they are");
	lost(out, s->fates[PROBE_FATE_SMALLER],
		"image with programs could not have run in blocks as large as before, and ran as "
		"it is",
		"images with programs could not have run in blocks as large as before, and ran as "
		"they are");
	lost(out, s->fates[PROBE_FATE_NO_WORD],
		"time programs could not be switched on in a module",
		"times programs could not be switched on in a module");
}

static void lost_places(struct buf *out, const struct server *s)
{
	lost(out, s->fates[PROBE_FATE_UNSEEN_ACCESSES],
		"access is in a function that kernels call: not seen",
		"accesses are in functions that kernels call: not seen");
	lost(out, s->fates[PROBE_FATE_UNSEEN_EXITS],
		"place where threads end is not seen: in a function that kernels call, or right "
		"behind a loop in which threads wait, where it is not known in front which of "
		"them leave",
		"places where threads end are not seen: in functions that kernels call, or right "
		"behind a loop in which threads wait, where it is not known in front which of "
		"them leave");
	lost(out, s->fates[PROBE_FATE_NO_PARAMETER],
		"kernel has fewer parameters than programs read of it: those are 0",
		"kernels have fewer parameters than programs read of them: those are 0");
}

void output_losses(struct buf *out, const struct probe_output *o)
{
	const struct server *s = o->server;
	struct probe_losses l;

	losses_read(&l, s);
	if (!any_program(s))
		buf_puts(out, "xpuprof: no process of the command loaded code for a GPU\n");
	else if (!s->kernels.count)
		buf_puts(out, "xpuprof: no kernel was loaded that the programs are for\n");
	lost_values(out, o, &l);
	lost_kernels(out, s);
	lost_places(out, s);
	if (o->request->kernels)
		lost(out, tables_kernels_slower(s),
			"kernel has fewer warps at once, or more memory of threads, with programs "
			"in it (see above)",
			"kernels have fewer warps at once, or more memory of threads, with "
			"programs in them (see above)");
	tables_bounded_put(out, s, "xpuprof: ", BOUNDED_ROWS);
	lost(out, s->fates[PROBE_FATE_SLOW_WORD],
		"module has no constant memory left: programs cost more there",
		"modules have no constant memory left: programs cost more there");
	lost(out, l.notes, "message of a process was lost", "messages of processes were lost");
	lost(out, s->processes_refused, "process could not connect: no programs run in it",
		"processes could not connect: no programs run in them");
}
