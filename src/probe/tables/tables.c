// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/error.h"
#include "base/text.h"
#include "ebpf/tools/tools.h"
#include "probe/tables/table.h"
#include "probe/typed.h"
#include "probe/variables.h"

#define BAR_COLUMNS 40

// clang-format off
static const struct table tables[] = {
	{"blocktime", "time of threads in kernels", put_blocktime},
	{"blocks", "blocks of each kernel", put_blocks, read_blocks},
	{"smload", "load of each multiprocessor", put_smload},
	{"coalesce", "lines of 128 bytes for each access of a warp", put_coalesce},
	{"divergence", "lanes of a warp that access memory together", put_divergence},
	{"memtrace", "accesses to memory", put_memtrace},
	{"memheat", "bytes accessed, by page of 64 KiB and time", put_memheat},
	{"threadhist", "how often threads ran", put_threadhist},
	{"threadscheduling", "where threads ran", put_threadscheduling},
	{"kernelretsnoop", "ends of the threads of each launch", put_kernelretsnoop, read_kernelretsnoop},
	{"kernel_trace", "starts of launches", put_kernel_trace, read_kernel_trace},
	{"launchlate", "launches whose first block began; recordings say how late", put_kernel_trace, read_kernel_trace},
	{"cudagraph", "runs of each kernel", put_kernel_runs},
};
// clang-format on

static const struct table *table_of(const struct plan *plan, uint32_t object)
{
	const struct ebpf_tool *tool = plan->objects.items[object].tool;

	for (size_t i = 0; tool && i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(tables[i].tool, tool->name))
			return &tables[i];
	return NULL;
}

int table_values(const struct show *show, const char *map, struct values *ret)
{
	const struct ebpf_object *o = show->server->plan->objects.items[show->object].object;

	*ret = (struct values){0};
	for (uint32_t i = 0; i < o->maps.count; i++)
		if (!strcmp(o->maps.items[i].name, map))
			return values_read(ret, show->server, show->object, i, show->device);
	return error_set(-ENOENT, "a tool has no map '%s'", map);
}

void table_bar(struct buf *out, uint64_t part, uint64_t most)
{
	unsigned int n = most ? (unsigned int)((double)part / (double)most * BAR_COLUMNS + 0.5) : 0;

	if (part && !n)
		n = 1;
	while (n--)
		buf_putc(out, '#');
}

void table_kernel(const struct show *show, uint64_t hash)
{
	const struct server_kernel *k = server_kernel(show->server, hash);
	struct buf readable = BUF_INIT;

	if (!k) {
		buf_printf(show->out, "kernel 0x%016" PRIx64, hash);
		return;
	}
	demangle(k->name, &readable);
	text_fit(show->out, readable.size ? buf_text(&readable) : k->name, 0);
	buf_release_for(&readable, show->out);
	if (server_kernel_has_double(show->server, k)) {
		buf_puts(show->out, " (");
		table_module(show->out, show->server, k, 0);
		buf_putc(show->out, ')');
	}
}

void table_module(struct buf *out, const struct server *s, const struct server_kernel *k,
	unsigned int columns)
{
	struct buf name = BUF_INIT;

	server_kernel_module(s, k, &name);
	text_fit(out, name.size ? buf_text(&name) : "-", columns);
	buf_release_for(&name, out);
}

/* qsort has no context. */
static _Thread_local struct {
	const struct values *values;
	uint32_t offset;
} sorting;

static int by_number(const void *a, const void *b)
{
	uint64_t x = values_number(sorting.values, a, sorting.offset);
	uint64_t y = values_number(sorting.values, b, sorting.offset);

	return x < y ? 1 : x > y ? -1 : 0;
}

void table_sort(struct values *v, uint32_t offset)
{
	sorting.values = v;
	sorting.offset = offset;
	if (v->entries.count)
		qsort(v->entries.items, v->entries.count, sizeof(*v->entries.items), by_number);
}

void table_none(struct buf *out)
{
	buf_puts(out, "  nothing\n");
}

void table_rest(const struct show *show, size_t count)
{
	if (count > show->rows)
		buf_printf(show->out, "  ... and %zu more\n", count - show->rows);
}

static void put_where(struct buf *out, const struct show *show, const struct value_entry *e)
{
	if (e->arena != VALUES_ANY && show->server->arenas.count > 1)
		buf_printf(out, "context %u ", e->arena);
	if (e->sm != VALUES_ANY)
		buf_printf(out, "SM %u ", e->sm);
	if (e->thread != UINT64_MAX)
		buf_printf(out, "thread %" PRIu64 " ", e->thread);
}

/* A map that we know nothing of but its types. */
static int put_map(const struct show *show, uint32_t map)
{
	const struct plan_object *o = &show->server->plan->objects.items[show->object];
	const struct ebpf_map *m = &o->object->maps.items[map];
	struct values v;
	int error = values_read(&v, show->server, show->object, map, show->device);
	size_t n = 0;

	if (error || !v.place->is_used || v.place->shape == EBPF_RING || m->is_readonly) {
		values_release(&v);
		return error;
	}
	buf_printf(show->out, "  %s (%s)\n", m->name, m->is_section ? "variables" : m->kind->name);
	if (!v.entries.count)
		buf_puts(show->out, "    nothing\n");
	vec_foreach (e, &v.entries) {
		if (n++ == show->rows)
			break;
		buf_puts(show->out, "    ");
		put_where(show->out, show, e);
		if (!m->is_section) {
			typed_text(show->out, &o->object->btf, m->key_type, values_key(&v, e),
				m->key_size);
			buf_puts(show->out, ": ");
		}
		variables_text(show->out, o->object, m, values_value(&v, e));
		buf_putc(show->out, '\n');
	}
	table_rest(show, v.entries.count);
	values_release(&v);
	return 0;
}

static int put_maps(const struct show *show)
{
	const struct plan_object *o = &show->server->plan->objects.items[show->object];
	int error = 0;

	for (uint32_t i = 0; !error && i < o->object->maps.count; i++)
		error = put_map(show, i);
	return error;
}

int table_put(const struct show *show)
{
	const struct table *t = table_of(show->server->plan, show->object);
	const struct plan_object *o = &show->server->plan->objects.items[show->object];

	buf_printf(show->out, "%s%s%s", o->name, t ? ": " : "", t ? t->title : "");
	if (show->device != VALUES_ANY)
		buf_printf(show->out, ", device %u", show->device);
	buf_putc(show->out, '\n');
	return t ? t->put(show) : put_maps(show);
}

bool tally_add(
	struct tally *t, const struct plan *plan, const struct server_record *r, int *ret_error)
{
	const struct table *table = table_of(plan, r->ring->object);
	struct tally_item item;

	*ret_error = 0;
	if (!table || !table->read || r->ring->map == PLAN_PRINTS)
		return false;
	if (table->read(r, &item))
		*ret_error = tally_item_add(t, r, &item);
	return true;
}
