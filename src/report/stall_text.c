// SPDX-License-Identifier: MIT
#include "report/stall_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/stalls/lost.h"

static void put_reason(const struct kernel_stalls *k, uint32_t reason, bool words, struct buf *b)
{
	const struct stall_name *name = &k->reasons.items[reason].name;

	if (name->reason && words)
		buf_printf(b, "%s (%s)", name->reason->words, name->reason->name);
	else if (name->reason)
		buf_puts(b, name->reason->name);
	else
		text_fit(b, *name->name ? name->name : "(reason without a name)", 0);
}

static bool fits(const struct buf *b, unsigned int columns)
{
	return !columns || text_columns(buf_text(b)) <= columns;
}

void stall_text_reason(
	const struct kernel_stalls *k, uint32_t reason, unsigned int columns, struct buf *b)
{
	struct buf text = BUF_INIT;

	put_reason(k, reason, true, &text);
	if (!fits(&text, columns)) {
		buf_reset(&text);
		put_reason(k, reason, false, &text);
	}
	text_fit(b, buf_text(&text), columns);
	buf_release_for(&text, b);
}

static void put_leading(const struct kernel_stalls *k, const struct stall_count *at,
	uint64_t samples, bool words, struct buf *b)
{
	char share[TEXT_CELL];

	buf_printf(b, "%s ", text_percent(share, at->samples, samples));
	put_reason(k, at->reason, words, b);
}

/* The first in words or not, and those after it that fit: how many in all. */
static size_t put_fitting(const struct kernel_stalls *k, const struct stall_count *counts,
	size_t count, uint64_t samples, bool words, unsigned int columns, struct buf *b)
{
	size_t shown = 1;

	put_leading(k, counts, samples, words, b);
	for (; shown < count && fits(b, columns); shown++) {
		size_t whole = b->size;

		buf_puts(b, ", ");
		put_leading(k, &counts[shown], samples, words && !columns, b);
		if (fits(b, columns))
			continue;
		b->data[b->size = whole] = '\0';
		break;
	}
	return shown;
}

void stall_text_leading(const struct kernel_stalls *k, const struct stall_count *counts,
	size_t count, uint64_t samples, size_t limit, unsigned int columns, struct buf *b)
{
	struct buf text = BUF_INIT;
	size_t worthwhile = 0, shown;

	while (worthwhile < count && worthwhile < limit && counts[worthwhile].samples &&
		(!worthwhile || counts[worthwhile].samples >= samples / 100))
		worthwhile++;
	if (!worthwhile)
		return;
	shown = put_fitting(k, counts, worthwhile, samples, true, columns, &text);
	/* Words are worth less than a second reason of weight. */
	if (!fits(&text, columns) ||
		(shown == 1 && worthwhile > 1 && counts[1].samples >= samples / 10)) {
		buf_reset(&text);
		put_fitting(k, counts, worthwhile, samples, false, columns, &text);
	}
	text_fit(b, buf_text(&text), columns);
	buf_release_for(&text, b);
}

void stall_text_offset(uint32_t offset, struct buf *b)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%04x", offset);
	buf_printf(b, "%-7s ", text);
}

const char *stall_text_instruction(const struct profile_reader *r, uint32_t instruction)
{
	const struct profile_instruction *i = profile_instruction(r, instruction);

	return i && i->text ? profile_string(r, i->text, NULL) : "(not decoded)";
}

static void put_period(const struct kernel_windows *w, struct buf *b)
{
	char least[TEXT_CELL], most[TEXT_CELL];

	if (!w->period_min)
		return;
	buf_printf(b, ", each SM one every %s", text_count(least, w->period_min));
	if (w->period_max != w->period_min)
		buf_printf(b, " to %s", text_count(most, w->period_max));
	buf_puts(b, " cycles");
}

static void put_how_many(const struct kernel_stalls *k, struct buf *b)
{
	const struct kernel_windows *w = &k->windows;
	char count[TEXT_CELL], share[TEXT_CELL], dropped[TEXT_CELL], due[TEXT_CELL];

	buf_printf(b, "%s samples", text_count(count, w->samples ? w->samples : k->samples));
	if (k->due && k->due >= w->samples)
		buf_printf(b, " of %s due at most", text_count(due, k->due));
	put_period(w, b);
	if (w->exact)
		buf_puts(b, ", which name their launches");
	if (w->dropped || !profile_loss_count(k->reader, LOSS_STALLS_OVERFLOWS))
		buf_printf(b, "; %s dropped by the GPU", text_count(dropped, w->dropped));
	if (w->without_code)
		buf_printf(b, "; %s in code that the driver does not identify",
			text_percent(share, w->without_code, w->samples));
}

static void put_not_sampled(const struct kernel_stalls *k, struct buf *b)
{
	char count[TEXT_CELL], time[TEXT_CELL], due[TEXT_CELL];
	uint64_t sum = 0;

	vec_foreach (kernel, &k->not_sampled)
		sum += kernel->due;
	buf_printf(b, "no samples of %s other kernel%s, %s in all",
		text_count(count, k->not_sampled.count), k->not_sampled.count == 1 ? "" : "s",
		text_duration(time, k->not_sampled_ns));
	if (sum)
		buf_printf(b, ": %s were due at most", text_count(due, sum));
}

static bool is_first_of_vendor(const struct kernel_stalls *k, size_t reason)
{
	const struct stall_names *names = k->reasons.items[reason].name.names;

	for (size_t i = 0; i < reason; i++)
		if (k->reasons.items[i].name.names == names)
			return false;
	return names;
}

/* Once for each vendor. */
static void put_samples(
	const struct kernel_stalls *k, void (*put)(void *to, const char *sentence), void *to)
{
	for (size_t i = 0; i < k->reasons.count; i++)
		if (is_first_of_vendor(k, i) && k->reasons.items[i].name.names->sample)
			put(to, k->reasons.items[i].name.names->sample);
}

static void put_decoded(const struct kernel_stalls *k, const char *decoded, struct buf *b)
{
	bool any = false;

	buf_printf(b,
		"%sinstructions are without operands: ", strcmp(decoded, "decoded") ? "some " : "");
	for (size_t i = 0; i < k->reasons.count; i++) {
		const struct stall_names *names = k->reasons.items[i].name.names;

		if (!is_first_of_vendor(k, i) || !names->disassembler)
			continue;
		buf_printf(b, "%s%s", any ? " or " : "", names->disassembler);
		any = true;
	}
	buf_printf(b, "%s was not there, or did not know them",
		any ? "" : "the vendor's disassembler");
}

struct lost_to {
	void (*put)(void *to, const char *sentence);
	void *to;
};

static int put_lost(void *to, const char *sentence)
{
	const struct lost_to *l = to;

	l->put(l->to, sentence);
	return 0;
}

void stall_text_remarks(
	const struct kernel_stalls *k, void (*put)(void *to, const char *sentence), void *to)
{
	const char *decoded = profile_meta(k->reader, META_GPU_TEXT);
	char share[TEXT_CELL];
	struct buf b = BUF_INIT;

	put_how_many(k, &b);
	put(to, buf_text(&b));
	put_samples(k, put, to);
	stalls_each_lost(k->reader, put_lost, &(struct lost_to){put, to});
	if (k->latency) {
		buf_reset(&b);
		buf_printf(&b, "in the cycles of %s of them the scheduler issued nothing at all",
			text_percent(share, k->latency, k->samples));
		put(to, buf_text(&b));
	}
	if (k->apportioned) {
		buf_reset(&b);
		buf_printf(&b,
			"%s may be of more than one launch stack of their kernel: flame graphs "
			"apportion "
			"them, sums by kernel need not",
			text_percent(share, k->apportioned, k->samples));
		put(to, buf_text(&b));
	}
	if (decoded && strstr(decoded, "decoded")) {
		buf_reset(&b);
		put_decoded(k, decoded, &b);
		put(to, buf_text(&b));
	}
	if (k->not_sampled.count) {
		buf_reset(&b);
		put_not_sampled(k, &b);
		put(to, buf_text(&b));
	}
	buf_release(&b);
}

static void keep(void *to, const char *sentence)
{
	struct stall_remarks *r = to;

	if (r->count < STALL_REMARKS_MAX && (r->items[r->count] = strdup(sentence)))
		r->count++;
}

void stall_remarks_keep(struct stall_remarks *r, const struct kernel_stalls *k, const char *range)
{
	struct buf part = BUF_INIT;

	*r = (struct stall_remarks){0};
	if (range) {
		buf_printf(&part, "only a part is shown: %s", range);
		keep(r, buf_text(&part));
		buf_release(&part);
	}
	stall_text_remarks(k, keep, r);
}

void stall_remarks_release(struct stall_remarks *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i]);
}
