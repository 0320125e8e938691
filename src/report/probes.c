// SPDX-License-Identifier: MIT
#include "report/probes.h"

#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "probe/record_text.h"
#include "report/sections.h"

#define SUBJECT	  "what probes found"
#define JSON_ROWS 65536 /* records that JSON has at most */

static uint64_t grid_key(uint32_t process, uint32_t device, uint64_t grid)
{
	return hash_combine((uint64_t)process << 32 | device, grid);
}

static void count_grid(struct report_probes *p, const struct server_record *r)
{
	uint32_t id = (uint32_t)(r->arena - p->found.server.arenas.items) + 1;
	const struct profile_probe_context *c = profile_probe_context(p->reader, id);
	uint64_t key = grid_key(c->process, c->device, r->launch), *n;

	n = map_get(&p->grids, key);
	if (n)
		++*n;
	else
		p->failed |= map_put(&p->grids, key, 1) != 0;
}

static void keep(struct report_probes *p, const struct server_record *r)
{
	struct json_writer w = {.out = &p->json, .comma = p->json.size > 0};

	if (p->kept++ >= p->rows)
		return;
	buf_printf(&p->lines, "  launch %" PRIu64 " SM %u ", r->launch, r->sm);
	record_text(&p->lines, &p->found.plan, r);
	buf_putc(&p->lines, '\n');
	json_begin(&w, NULL, '{');
	record_json(&w, &p->found.plan, r);
	json_end(&w, '}');
}

static void on_record(void *context, const struct server_record *r)
{
	struct report_probes *p = context;
	int error = 0;

	p->records++;
	count_grid(p, r);
	if (!tally_add(&p->tally, &p->found.plan, r, &error))
		keep(p, r);
	p->failed |= error != 0;
}

/* A node of a graph has one id in all its runs. */
static void join(struct report_probes *p, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(p->reader, w->op);
	uint64_t n;

	if (op && map_remove(&p->grids, grid_key(op->process, op->device, w->grid), &n)) {
		p->joined_grids++;
		p->joined_records += n;
	}
}

/* Work comes behind what its kernel found as well as before. */
static int join_all(struct report_probes *p)
{
	struct profile_reader *reader = NULL;
	struct profile_event e;
	int error = profile_reader_open_again(&reader, p->reader), got = 0;

	while (!error && (got = profile_reader_next(reader, &e)) > 0)
		if (e.kind == EVENT_WORK && e.work.grid)
			join(p, &e.work);
	profile_reader_close(reader);
	return error ? error : got;
}

int report_probes_read(struct report_probes *p, const struct profile_reader *r, size_t rows)
{
	int error;

	*p = (struct report_probes){.reader = r, .rows = rows ? rows : JSON_ROWS};
	error = recorded_read(&p->found, r, on_record, p);
	if (!error && p->records)
		error = join_all(p);
	error = error ?: late_read(&p->late, r);
	error = error ?: cost_read(&p->cost, &p->found, r);
	if (!error && (p->failed || p->lines.failed || p->json.failed))
		error = error_memory(SUBJECT);
	return error;
}

void report_probes_release(struct report_probes *p)
{
	recorded_reading_release(&p->found);
	late_release(&p->late);
	cost_release(&p->cost);
	tally_release(&p->tally);
	buf_release(&p->lines);
	buf_release(&p->json);
	map_release(&p->grids);
}

/* ------------------------------------------------------------------ text */

static void put_records(const struct report_probes *p, struct buf *out)
{
	char records[TEXT_CELL], grids[TEXT_CELL], others[TEXT_CELL];

	if (p->kept)
		buf_printf(out, "\nrecords\n%s", buf_text(&p->lines));
	if (p->kept > p->rows)
		buf_printf(out, "  ... and %" PRIu64 " more\n", p->kept - p->rows);
	if (!p->records)
		return;
	buf_printf(out, "\n%s records of %s grids are of GPU work that was recorded",
		text_count(records, p->joined_records), text_count(grids, p->joined_grids));
	if (p->records > p->joined_records)
		buf_printf(out, ", %s of other work",
			text_count(others, p->records - p->joined_records));
	buf_putc(out, '\n');
}

static void put_late_kernel(const struct report *r, const struct late_kernel *k, struct buf *out)
{
	const char *name = profile_string(r->reader, k->name, NULL);
	char least[TEXT_CELL], mean[TEXT_CELL], most[TEXT_CELL], count[TEXT_CELL];
	struct buf readable = BUF_INIT;

	demangle(name, &readable);
	buf_printf(out, "  %12s  %10s  %10s  %10s  ", text_count(count, k->count),
		text_duration(least, k->least_ns),
		text_duration(mean, (uint64_t)(k->sum_ns / (double)k->count)),
		text_duration(most, k->most_ns));
	text_fit(out, readable.size ? buf_text(&readable) : name, 0);
	buf_putc(out, '\n');
	buf_release_for(&readable, out);
}

static void put_late(const struct report *r, struct buf *out)
{
	const struct late *l = &r->probes->late;
	size_t shown = report_rows_shown(r, l->kernels.count);
	char cell[TEXT_CELL];

	if (!l->kernels.count && !l->unknown)
		return;
	report_title(out, "From the call to the first block", shown, l->kernels.count);
	buf_puts(out, "      launches    shortest        mean     longest  kernel\n");
	for (size_t i = 0; i < shown; i++)
		put_late_kernel(r, &l->kernels.items[i], out);
	buf_printf(out, "  or up to %s more, by as much as is not known of the GPU's clock\n",
		text_duration(cell, l->error_ns));
	if (l->unknown)
		buf_printf(out, "  of %s first blocks the call is not known\n",
			text_count(cell, l->unknown));
}

static void put_refusals(const struct report *r, struct buf *out)
{
	if (report_meta(r, META_PROBES_REFUSED))
		buf_puts(out, "\nKernels ran without probes:\n");
	report_lines(out, "  ", "  ", report_meta(r, META_PROBES_REFUSED));
}

void report_probes_text(const struct report *r, struct buf *out)
{
	const struct report_probes *p = r->probes;
	const struct server *s = &p->found.server;

	if (!profile_counts(r->reader).probe_objects) {
		buf_puts(out, "\nNo programs ran inside GPU kernels in this recording: 'xpuprof "
			      "record --probe' runs them.\n");
		return;
	}
	buf_putc(out, '\n');
	if (!s->kernels.count)
		buf_puts(out, "No kernel was loaded that the programs are for.\n");
	else if (tables_put(out, s, &p->tally, r->top ? (unsigned int)r->top : UINT32_MAX))
		out->failed = true;
	if (s->kernels.count) {
		buf_putc(out, '\n');
		tables_kernels_put(out, s, r->top ? (unsigned int)r->top : UINT32_MAX);
		tables_bounded_put(out, s, "  ", r->top ? (unsigned int)r->top : UINT32_MAX);
	}
	tables_unprobed_put(out, s, r->top ? (unsigned int)r->top : UINT32_MAX);
	put_late(r, out);
	report_cost_text(r, out);
	put_records(p, out);
	if (p->found.unreadable)
		buf_printf(out, "%" PRIu64 " records and entries are not what their objects say.\n",
			p->found.unreadable);
	put_refusals(r, out);
	report_losses_text(r, out);
}

/* ------------------------------------------------------------------ JSON */

static void late_json(const struct report *r, struct json_writer *w)
{
	const struct late *l = &r->probes->late;

	json_begin(w, "first_blocks", '{');
	json_begin(w, "kernels", '[');
	vec_foreach (k, &l->kernels) {
		json_begin(w, NULL, '{');
		json_text(w, "name", profile_string(r->reader, k->name, NULL));
		json_number(w, "count", k->count);
		json_number(w, "min_ns", k->least_ns);
		json_number(w, "mean_ns", (uint64_t)(k->sum_ns / (double)k->count));
		json_number(w, "max_ns", k->most_ns);
		json_end(w, '}');
	}
	json_end(w, ']');
	json_number(w, "error_ns", l->error_ns);
	json_number(w, "unknown", l->unknown);
	json_end(w, '}');
}

void report_probes_json(const struct report *r, struct json_writer *w)
{
	const struct report_probes *p = r->probes;

	json_begin(w, "probes", '{');
	if (tables_json(w, &p->found.server))
		w->out->failed = true;
	tables_kernels_json(w, &p->found.server);
	tables_unprobed_json(w, &p->found.server);
	json_key(w, "records");
	buf_printf(w->out, "[%s]", buf_text(&p->json));
	json_number(w, "records_found", p->records);
	json_number(w, "records_joined", p->joined_records);
	json_number(w, "grids", p->joined_grids);
	json_number(w, "unreadable", p->found.unreadable);
	late_json(r, w);
	report_cost_json(r, w);
	json_end(w, '}');
}
