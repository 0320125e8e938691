// SPDX-License-Identifier: MIT
#include "cmd/stall_text.h"

#include <string.h>

#include "cmd/name.h"
#include "cmd/text.h"
#include "view/kernel_name.h"

void stall_text_reason(const struct kernel_stalls *k, uint32_t reason, struct buf *b)
{
	const struct kernel_reason *r = &k->reasons.items[reason];

	if (r->name.reason)
		buf_printf(b, "%s (%s)", r->name.reason->words, r->name.reason->name);
	else
		text_fit(b, *r->name.name ? r->name.name : "(reason without a name)", 0);
}

void stall_text_leading(const struct kernel_stalls *k, const struct stall_count *counts,
	size_t count, uint64_t samples, size_t limit, bool words, struct buf *b)
{
	char share[TEXT_CELL];

	for (size_t i = 0; i < count && i < limit && counts[i].samples; i++) {
		if (i && counts[i].samples < samples / 100)
			break;
		buf_printf(
			b, "%s%s ", i ? ", " : "", text_percent(share, counts[i].samples, samples));
		if (words || !k->reasons.items[counts[i].reason].name.reason)
			stall_text_reason(k, counts[i].reason, b);
		else
			buf_puts(b, k->reasons.items[counts[i].reason].name.reason->name);
	}
}

void stall_text_line(const struct profile_reader *r, uint32_t file, uint32_t line, struct buf *b)
{
	const char *path = profile_string(r, file, NULL), *slash = strrchr(path, '/');

	if (!file || !line) {
		buf_puts(b, "(line not known)");
		return;
	}
	text_fit(b, slash && slash[1] ? slash + 1 : path, 0);
	buf_printf(b, ":%u", line);
}

void stall_text_place(const struct annotation *a, const struct annotation_place *p, struct buf *b)
{
	const struct profile_reader *r = a->stalls->reader;
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	size_t count = annotation_chain(r, p->inlined, chain);
	struct buf readable = BUF_INIT;

	/* From the innermost outwards, each with the place of its call, which of functions that
	 * were not inlined is not known. */
	for (size_t i = count; i--;) {
		buf_reset(&readable);
		kernel_readable(r, chain[i]->name, &readable);
		buf_puts(b, i + 1 < count ? ", in " : "");
		name_plain(b, buf_text(&readable));
		buf_puts(b, i || p->call_line ? ", inlined at " : ", called");
		if (i)
			stall_text_line(r, chain[i - 1]->file, chain[i - 1]->line, b);
		else if (p->call_line)
			stall_text_line(r, p->call_file, p->call_line, b);
	}
	b->failed |= readable.failed;
	buf_release(&readable);
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
	char count[TEXT_CELL], share[TEXT_CELL], dropped[TEXT_CELL];

	buf_printf(b, "%s samples", text_count(count, w->samples ? w->samples : k->samples));
	put_period(w, b);
	if (w->exact)
		buf_puts(b, ", of kernels that ran one at a time");
	buf_printf(b, "; %s dropped by the GPU", text_count(dropped, w->dropped));
	if (w->without_code)
		buf_printf(b, "; %s in code that the driver does not tell",
			text_percent(share, w->without_code, w->samples));
}

void stall_text_remarks(
	const struct kernel_stalls *k, void (*put)(void *to, const char *sentence), void *to)
{
	char share[TEXT_CELL], time[TEXT_CELL], count[TEXT_CELL];
	struct buf b = BUF_INIT;

	put_how_many(k, &b);
	put(to, buf_text(&b));
	if (k->latency) {
		buf_reset(&b);
		buf_printf(&b, "in the cycles of %s of them the scheduler issued nothing at all",
			text_percent(share, k->latency, k->samples));
		put(to, buf_text(&b));
	}
	if (k->several_stacks) {
		buf_reset(&b);
		buf_printf(&b,
			"%s are of kernels launched from several places: not divided here, "
			"apportioned in "
			"flame graphs",
			text_percent(share, k->several_stacks, k->samples));
		put(to, buf_text(&b));
	}
	if (k->not_sampled.count) {
		buf_reset(&b);
		buf_printf(&b, "no samples of %s other kernel%s, %s in all",
			text_count(count, k->not_sampled.count),
			k->not_sampled.count == 1 ? "" : "s",
			text_duration(time, k->not_sampled_ns));
		put(to, buf_text(&b));
	}
	buf_release(&b);
}
