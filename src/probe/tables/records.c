// SPDX-License-Identifier: MIT
/* Tables of records: they are added up as they come, by kernel or by launch. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "probe/tables/table.h"

#define ROWS_MAX 65536

void tally_release(struct tally *t)
{
	vec_release(&t->rows);
	map_release(&t->by_key);
}

static uint64_t key_of(const struct tally_row *row)
{
	return hash_combine(hash_combine(row->object, row->device), row->key);
}

static void add(struct tally_row *row, const struct tally_item *item, uint32_t sm)
{
	uint64_t time = item->end > item->begin ? item->end - item->begin : 0;

	row->first = !row->count || item->begin < row->first ? item->begin : row->first;
	row->last = item->end > row->last ? item->end : row->last;
	row->least = !row->count || time < row->least ? time : row->least;
	row->most = time > row->most ? time : row->most;
	row->sum += time;
	row->sms[sm / 64] |= 1ull << sm % 64;
	row->count++;
}

int tally_item_add(struct tally *t, const struct server_record *r, const struct tally_item *item)
{
	struct tally_row row = {
		.object = r->ring->object, .device = r->arena->device, .key = item->key};
	const uint64_t *at = map_get(&t->by_key, key_of(&row));

	if (!at && t->rows.count == ROWS_MAX) {
		t->left_out++;
		return 0;
	}
	if (at) {
		add(&t->rows.items[*at], item, r->sm);
		return 0;
	}
	add(&row, item, r->sm);
	if (vec_push(&t->rows, row) || map_put(&t->by_key, key_of(&row), t->rows.count - 1))
		return error_memory("records of programs");
	return 0;
}

static uint64_t number(const struct server_record *r, uint32_t offset)
{
	uint64_t n = 0;

	if (offset + sizeof(n) <= r->bytes)
		memcpy(&n, r->data + offset, sizeof(n));
	return n;
}

bool read_blocks(const struct server_record *r, struct tally_item *ret)
{
	*ret = (struct tally_item){number(r, 24), number(r, 0), number(r, 8)};
	return r->bytes >= 40;
}

bool read_kernelretsnoop(const struct server_record *r, struct tally_item *ret)
{
	*ret = (struct tally_item){r->launch, number(r, 0), number(r, 0)};
	return r->bytes >= 32;
}

bool read_kernel_trace(const struct server_record *r, struct tally_item *ret)
{
	*ret = (struct tally_item){number(r, 8), number(r, 0), number(r, 0)};
	return r->bytes >= 16;
}

static bool is_shown(const struct show *show, const struct tally_row *row)
{
	return row->object == show->object &&
	       (show->device == VALUES_ANY || row->device == show->device);
}

static unsigned int count_sms(const struct tally_row *row)
{
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(row->sms) / sizeof(*row->sms); i++)
		n += (unsigned int)__builtin_popcountll(row->sms[i]);
	return n;
}

/* Records of several devices are not added up: each has a clock of its own. */
static bool has_several_devices(const struct show *show)
{
	const struct tally_row *first = NULL;

	vec_foreach (row, &show->tally->rows) {
		if (!is_shown(show, row))
			continue;
		if (first && row->device != first->device)
			return true;
		first = row;
	}
	return false;
}

/* Headings, and each row that is shown. */
static int put_rows(const struct show *show, const char *headings,
	void (*put)(const struct show *show, const struct tally_row *row))
{
	bool several = has_several_devices(show);
	size_t count = 0;

	vec_foreach (row, &show->tally->rows) {
		if (!is_shown(show, row))
			continue;
		if (!count)
			buf_puts(show->out, headings);
		if (count++ >= show->rows)
			continue;
		put(show, row);
		if (several)
			buf_printf(show->out, ", device %u", row->device);
		buf_putc(show->out, '\n');
	}
	if (!count)
		table_none(show->out);
	table_rest(show, count);
	if (show->tally->left_out)
		buf_printf(show->out, "  %" PRIu64 " records are not in it: too many kinds\n",
			show->tally->left_out);
	return 0;
}

static void put_block_row(const struct show *show, const struct tally_row *row)
{
	char count[TEXT_CELL], least[TEXT_CELL], mean[TEXT_CELL], most[TEXT_CELL];

	buf_printf(show->out, "  %12s  %4u  %10s  %10s  %10s  ", text_count(count, row->count),
		count_sms(row), text_duration(least, row->least),
		text_duration(mean, row->sum / row->count), text_duration(most, row->most));
	table_kernel(show, row->key);
}

int put_blocks(const struct show *show)
{
	return put_rows(show, "        blocks   SMs    shortest        mean     longest  kernel\n",
		put_block_row);
}

static void put_thread_row(const struct show *show, const struct tally_row *row)
{
	char count[TEXT_CELL], time[TEXT_CELL];

	buf_printf(show->out, "  %12s  %4u  %18s  %" PRIu64, text_count(count, row->count),
		count_sms(row), text_duration(time, row->last - row->first), row->key);
}

int put_kernelretsnoop(const struct show *show)
{
	return put_rows(show, "       threads   SMs  first to last end  launch\n", put_thread_row);
}

static void put_launch_row(const struct show *show, const struct tally_row *row)
{
	char count[TEXT_CELL], time[TEXT_CELL];

	buf_printf(show->out, "  %12s     %15s  ", text_count(count, row->count),
		text_duration(time, row->last - row->first));
	table_kernel(show, row->key);
}

int put_kernel_trace(const struct show *show)
{
	return put_rows(show, "      launches  first to last start  kernel\n", put_launch_row);
}
