// SPDX-License-Identifier: MIT
/* The kernels that have programs, and what they take with these and without. */
#include <stdio.h>

#include "base/demangle.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "probe/tables/table.h"

#define MODULE_COLUMNS 24
#define REGISTERS_UNIT 8 /* that compilers may leave unused below a bound */

static bool is_slower(const struct server_kernel *k)
{
	return k->with.registers && k->without.registers &&
	       ((k->with.warps && k->with.warps < k->without.warps) ||
		       k->with.local_bytes > k->without.local_bytes);
}

/* Whether its launch bounds are why. */
static bool is_bounded(const struct server_kernel *k)
{
	return is_slower(k) && k->bound && k->with.registers + REGISTERS_UNIT >= k->bound;
}

static void put_bounded(struct buf *out, const struct server_kernel *k)
{
	struct buf readable = BUF_INIT;

	demangle(k->name, &readable);
	buf_puts(out, "launch bounds of ");
	text_fit(out, readable.size ? buf_text(&readable) : k->name, 0);
	buf_printf(out,
		" leave %u registers, too few for the programs in it: local memory of a thread %u "
		"> %u "
		"bytes, warps at once %u > %u\n",
		k->bound, k->without.local_bytes, k->with.local_bytes, k->without.warps,
		k->with.warps);
	buf_release_for(&readable, out);
}

void tables_bounded_put(
	struct buf *out, const struct server *s, const char *before, unsigned int rows)
{
	unsigned int n = 0;

	vec_foreach (k, &s->kernels)
		if (is_bounded(k) && n++ < rows) {
			buf_puts(out, before);
			put_bounded(out, k);
		}
	if (n > rows)
		buf_printf(out, "%s... and of %u more\n", before, n - rows);
}

uint64_t tables_kernels_slower(const struct server *s)
{
	uint64_t count = 0;

	vec_foreach (k, &s->kernels)
		count += is_slower(k);
	return count;
}

static bool are_measured(const struct server *s)
{
	vec_foreach (k, &s->kernels)
		if (k->with.registers)
			return true;
	return false;
}

/* "12 > 14"; "12" where it is the same, or not known without. */
static void put_both(struct buf *out, int width, uint32_t without, uint32_t with, bool both)
{
	char cell[32];

	if (both && without != with)
		snprintf(cell, sizeof(cell), "%u > %u", without, with);
	else
		snprintf(cell, sizeof(cell), "%u", with);
	buf_printf(out, "  %*s", width, cell);
}

static void put_sizes(struct buf *out, const struct server_kernel *k)
{
	bool both = k->without.registers;

	if (!k->with.registers) {
		buf_printf(out, "  %9s  %11s  %9s", "?", "?", "?");
		return;
	}
	put_both(out, 9, k->without.registers, k->with.registers, both);
	put_both(out, 11, k->without.local_bytes, k->with.local_bytes, both);
	if (k->with.warps)
		put_both(out, 9, k->without.warps, k->with.warps, both && k->without.warps);
	else
		buf_printf(out, "  %9s", "?");
}

static void put_module(struct buf *out, const struct server *s, const struct server_kernel *k)
{
	struct buf cell = BUF_INIT;

	table_module(&cell, s, k, MODULE_COLUMNS);
	buf_printf(out, "  %s%*s", buf_text(&cell),
		(int)(MODULE_COLUMNS - text_columns(buf_text(&cell))), "");
	buf_release_for(&cell, out);
}

static void put_name(struct buf *out, const char *name, const char *behind)
{
	struct buf readable = BUF_INIT;

	demangle(name, &readable);
	buf_puts(out, "  ");
	text_fit(out, readable.size ? buf_text(&readable) : name, 0);
	if (*behind) {
		buf_puts(out, " (");
		text_fit(out, behind, 0);
		buf_putc(out, ')');
	}
	buf_putc(out, '\n');
	buf_release_for(&readable, out);
}

void tables_kernels_put(struct buf *out, const struct server *s, unsigned int rows)
{
	bool measured = are_measured(s);
	size_t n = 0;

	buf_puts(out, "kernels with programs\n");
	if (s->kernels.count)
		buf_printf(out, "  programs  returns  accesses  images%s  %-*s  kernel\n",
			measured ? "  registers  local bytes      warps" : "", MODULE_COLUMNS,
			"module");
	else
		buf_puts(out, "  none\n");
	vec_foreach (k, &s->kernels) {
		if (n++ == rows)
			break;
		buf_printf(
			out, "  %8u  %7u  %8u  %6u", k->bodies, k->returns, k->accesses, k->images);
		if (measured)
			put_sizes(out, k);
		put_module(out, s, k);
		put_name(out, k->name, "");
	}
	if (s->kernels.count > rows)
		buf_printf(out, "  ... and %zu more\n", s->kernels.count - rows);
}

/* Why a kernel runs without programs. */
static const char *reason(enum probe_fate why)
{
	switch (why) {
	case PROBE_FATE_NO_TEXT:
		return "machine code only";
	case PROBE_FATE_REFUSED:
		return "refused by the driver";
	case PROBE_FATE_SMALLER:
		return "smaller blocks";
	case PROBE_FATE_NOT_PATCHED:
		return "could not be patched";
	default:
		return "not readable";
	}
}

void tables_unprobed_put(struct buf *out, const struct server *s, unsigned int rows)
{
	size_t n = 0;

	if (!s->unprobed.count)
		return;
	buf_puts(out, "\nkernels without programs\n  images  why                    kernel\n");
	vec_foreach (k, &s->unprobed) {
		if (n++ == rows)
			break;
		buf_printf(out, "  %6u  %-21s", k->images, reason(k->why));
		put_name(out, k->name, k->reason);
	}
	if (s->unprobed.count > rows)
		buf_printf(out, "  ... and %zu more\n", s->unprobed.count - rows);
}

void tables_unprobed_json(struct json_writer *w, const struct server *s)
{
	json_begin(w, "kernels_without_programs", '[');
	vec_foreach (k, &s->unprobed) {
		json_begin(w, NULL, '{');
		json_text(w, "name", k->name);
		json_text(w, "why", reason(k->why));
		json_text(w, "reason", k->reason);
		json_number(w, "images", k->images);
		json_end(w, '}');
	}
	json_end(w, ']');
}

static void json_size(struct json_writer *w, const char *name, const struct probe_size *size)
{
	if (!size->registers)
		return;
	json_begin(w, name, '{');
	json_number(w, "registers", size->registers);
	json_number(w, "local_bytes", size->local_bytes);
	json_number(w, "warps", size->warps);
	json_end(w, '}');
}

void tables_kernels_json(struct json_writer *w, const struct server *s)
{
	json_begin(w, "kernels", '[');
	vec_foreach (k, &s->kernels) {
		json_begin(w, NULL, '{');
		json_text(w, "name", k->name);
		json_number(w, "hash", k->hash);
		json_number(w, "module", k->module);
		json_text(w, "file", k->file);
		json_number(w, "programs", k->bodies);
		json_number(w, "accesses", k->accesses);
		json_number(w, "images", k->images);
		json_number(w, "launch_bounds_registers", k->bound);
		json_size(w, "with", &k->with);
		json_size(w, "without", &k->without);
		json_end(w, '}');
	}
	json_end(w, ']');
}
