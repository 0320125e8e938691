// SPDX-License-Identifier: MIT
/* Tables of sums: by kind of access, by multiprocessor, by kernel. */
#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "probe/tables/table.h"

enum { KINDS = 3, SIZES = 64 };

struct traced {
	uint64_t accesses[KINDS], bytes[KINDS];
};

/* By size, as ebpf/tools/memtrace.bpf.c has it. */
static int add_sizes(const struct show *show, struct traced *t)
{
	struct values v;
	int error = table_values(show, "by_size", &v);

	if (error)
		return error;
	vec_foreach (e, &v.entries) {
		uint64_t key = values_key_number(&v, e, 0), n = values_number(&v, e, 0);

		if (key / SIZES < KINDS) {
			t->accesses[key / SIZES] += n;
			t->bytes[key / SIZES] += n * (key % SIZES);
		} else if (key % SIZES < KINDS) {
			t->bytes[key % SIZES] += n;
		}
	}
	values_release(&v);
	return 0;
}

/* A number for each kind, which older recordings have. */
static int add_kinds(const struct show *show, const char *map, uint64_t sums[KINDS])
{
	struct values v;
	int error = table_values(show, map, &v);

	if (error)
		return error;
	vec_foreach (e, &v.entries)
		if (values_key_number(&v, e, 0) < KINDS)
			sums[values_key_number(&v, e, 0)] = values_number(&v, e, 0);
	values_release(&v);
	return 0;
}

int put_memtrace(const struct show *show)
{
	static const char *const names[KINDS] = {"loads", "stores", "atomics"};
	char cell[TEXT_CELL], size[TEXT_CELL];
	struct traced t = {0};
	int error = add_sizes(show, &t);

	if (error == -ENOENT)
		error = add_kinds(show, "accesses", t.accesses)
				?: add_kinds(show, "bytes", t.bytes);
	if (error)
		return error;
	buf_puts(show->out, "             by threads       bytes\n");
	for (int i = 0; i < KINDS; i++)
		buf_printf(show->out, "  %-7s  %12s  %10s\n", names[i],
			text_count(cell, t.accesses[i]), text_bytes(size, t.bytes[i]));
	return 0;
}

struct sm_load {
	uint64_t threads, warps, ns;
};

static unsigned int read_load(const struct values *v, struct sm_load *loads)
{
	unsigned int busy = 0;

	vec_foreach (e, &v->entries) {
		struct sm_load *l = &loads[e->sm % ARENA_SMS];
		uint64_t *const sums[] = {&l->threads, &l->warps, &l->ns};
		uint64_t key = values_key_number(v, e, 0);

		if (key < sizeof(sums) / sizeof(*sums))
			*sums[key] += values_number(v, e, 0);
	}
	for (unsigned int i = 0; i < ARENA_SMS; i++)
		busy += loads[i].warps != 0;
	return busy;
}

/* The fullest against the mean of those that the device has. */
static void put_imbalance(const struct show *show, const struct sm_load *loads, unsigned int busy)
{
	uint64_t most = 0, all = 0;
	unsigned int count = 0;

	for (unsigned int i = 0; i < ARENA_SMS; i++) {
		all += loads[i].ns;
		most = loads[i].ns > most ? loads[i].ns : most;
	}
	vec_foreach (a, &show->server->arenas)
		if ((show->device == VALUES_ANY || a->device == show->device) && a->sms > count)
			count = a->sms;
	if (count < busy)
		count = busy;
	if (all)
		buf_printf(show->out,
			"  %u of %u multiprocessors had work; the busiest %.2f times the mean\n",
			busy, count, (double)most * count / (double)all);
}

int put_smload(const struct show *show)
{
	struct sm_load loads[ARENA_SMS] = {0};
	uint64_t most = 0;
	char threads[TEXT_CELL], warps[TEXT_CELL], time[TEXT_CELL];
	struct values v;
	int error = table_values(show, "load", &v);
	unsigned int busy = read_load(&v, loads);

	values_release(&v);
	if (error)
		return error;
	if (!busy) {
		table_none(show->out);
		return 0;
	}
	for (unsigned int i = 0; i < ARENA_SMS; i++)
		most = loads[i].ns > most ? loads[i].ns : most;
	buf_puts(show->out, "   SM       threads       warps  time of warps\n");
	for (unsigned int i = 0; i < ARENA_SMS; i++) {
		if (!loads[i].warps)
			continue;
		buf_printf(show->out, "  %3u  %12s  %10s     %10s  ", i,
			text_count(threads, loads[i].threads), text_count(warps, loads[i].warps),
			text_duration(time, loads[i].ns));
		table_bar(show->out, loads[i].ns, most);
		buf_putc(show->out, '\n');
	}
	put_imbalance(show, loads, busy);
	return 0;
}

int put_threadscheduling(const struct show *show)
{
	uint64_t threads[ARENA_SMS] = {0}, slots[ARENA_SMS] = {0}, most = 0, all = 0;
	char cell[TEXT_CELL];
	struct values v;
	int error = table_values(show, "threads", &v);

	vec_foreach (e, &v.entries) {
		uint32_t sm = (uint32_t)values_key_number(&v, e, 0) % ARENA_SMS;

		threads[sm] += values_number(&v, e, 0);
		slots[sm]++;
	}
	values_release(&v);
	if (error)
		return error;
	for (unsigned int i = 0; i < ARENA_SMS; i++) {
		all += threads[i];
		most = threads[i] > most ? threads[i] : most;
	}
	if (!all) {
		table_none(show->out);
		return 0;
	}
	buf_puts(show->out, "   SM  slots of warps       threads\n");
	for (unsigned int i = 0; i < ARENA_SMS; i++) {
		if (!slots[i])
			continue;
		buf_printf(show->out, "  %3u  %14" PRIu64 "  %12s  ", i, slots[i],
			text_count(cell, threads[i]));
		table_bar(show->out, threads[i], most);
		buf_putc(show->out, '\n');
	}
	buf_printf(show->out, "  %s threads\n", text_count(cell, all));
	return 0;
}

int put_kernel_runs(const struct show *show)
{
	char count[TEXT_CELL], mean[TEXT_CELL];
	struct values v;
	int error = table_values(show, "runs", &v);
	size_t n = 0;

	if (!error && !v.entries.count)
		table_none(show->out);
	if (!error && v.entries.count)
		buf_puts(show->out, "          runs  first block, mean  kernel\n");
	table_sort(&v, 0);
	vec_foreach (e, &v.entries) {
		uint64_t runs = values_number(&v, e, 0);

		if (n++ == show->rows)
			break;
		buf_printf(show->out, "  %12s         %10s  ", text_count(count, runs),
			runs ? text_duration(mean, values_number(&v, e, 8) / runs) : "-");
		table_kernel(show, values_key_number(&v, e, 0));
		buf_putc(show->out, '\n');
	}
	table_rest(show, v.entries.count);
	values_release(&v);
	return error;
}
