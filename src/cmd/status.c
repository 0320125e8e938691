// SPDX-License-Identifier: MIT
#include "cmd/status.h"

#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "profile/reader.h"

#define ERASE "\r\033[K" /* the line */

static uint64_t sum(const uint64_t *counts, size_t n)
{
	uint64_t total = 0;

	while (n--)
		total += counts[n];
	return total;
}

static uint64_t lost_events(const struct profile_totals *t)
{
	uint64_t lost = t->pending_by_reason[PENDING_FORGOTTEN] + t->works_without_stack -
			t->join_by_reason[JOIN_NO_CPU_SIDE];

	for (unsigned int i = 1; i < LOSS_KINDS; i++)
		if (profile_loss_is_event(i))
			lost += t->losses[i];
	return lost;
}

static const char *gpu_name(const struct profile_totals *t)
{
	return t->simulated ? "simulated GPU" : "GPU";
}

static void write_stderr(const struct buf *b)
{
	(void)cmd_print(STDERR_FILENO, b);
}

static void show_text(const char *text)
{
	struct buf shown = BUF_INIT;

	buf_puts(&shown, ERASE);
	text_fit(&shown, text, text_width(STDERR_FILENO, 80) - 1);
	buf_putc(&shown, '\r');
	if (!shown.failed)
		(void)io_write_all(STDERR_FILENO, shown.data, shown.size);
	buf_release(&shown);
}

static void show_totals(const struct profile_totals *t, uint64_t elapsed_ns, uint64_t outstanding)
{
	char elapsed[TEXT_CELL], gpu[TEXT_CELL], samples[TEXT_CELL], calls[TEXT_CELL],
		count[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "xpuprof %s  %s CPU samples  %s CUDA calls  %s %s",
		text_duration(elapsed, elapsed_ns), text_count(samples, t->samples),
		text_count(calls, t->calls), gpu_name(t), text_duration(gpu, t->gpu_ns));
	buf_printf(&line, "  %s lost", text_count(count, lost_events(t)));
	if (outstanding)
		buf_printf(&line, "  %s running", text_count(count, outstanding));
	show_text(buf_text(&line));
	buf_release(&line);
}

/* A program that reads single keys from the terminal, as editors and shells do, draws there
 * itself. */
static bool is_in_the_way(void)
{
	struct termios t;

	return !tcgetattr(STDERR_FILENO, &t) && !(t.c_lflag & ICANON);
}

static void clear(void)
{
	(void)io_write_all(STDERR_FILENO, ERASE, strlen(ERASE));
}

void status_report(void *context, const struct session_progress *p)
{
	if (!p)
		clear();
	else if (p->text)
		show_text(p->text);
	else if (!is_in_the_way())
		show_totals(p->totals, p->elapsed_ns, p->outstanding);
}

static void add_count(struct buf *b, uint64_t count, const char *text)
{
	char cell[TEXT_CELL];

	if (count)
		buf_printf(b, "%12s %s\n", text_count(cell, count), text);
}

static void add_reasons(struct buf *b, const char *title, const uint64_t *counts,
	unsigned int first, unsigned int end, const char *(*text)(unsigned int))
{
	if (!sum(counts + first, end - first))
		return;
	buf_printf(b, "xpuprof: %s\n", title);
	for (unsigned int i = first; i < end; i++)
		add_count(b, counts[i], text(i));
}

/* Why stacks are incomplete is for the report: those are the same stacks. */
static void add_losses(struct buf *b, const struct profile_totals *t)
{
	bool any = false;

	for (unsigned int i = 1; i < LOSS_KINDS; i++) {
		if (!t->losses[i] || profile_loss_is_reason(i))
			continue;
		if (!any)
			buf_puts(b, "xpuprof: lost or incomplete:\n");
		any = true;
		add_count(b, t->losses[i], profile_loss_text(i, t->losses[i]));
	}
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Stacks are complete, or the number of complete ones is shown. */
static void add_completeness(struct buf *b, const struct profile_totals *t)
{
	uint64_t incomplete = t->losses[LOSS_STACKS_INCOMPLETE];
	char share[TEXT_CELL];

	if (!t->stacks || incomplete > t->stacks || incomplete * 200 <= t->stacks)
		return;
	buf_printf(b, "xpuprof: only %s of the stacks are complete: 'xpuprof report' says why\n",
		text_percent(share, t->stacks - incomplete, t->stacks));
}

static int read_sums(const char *path, struct profile_sums *ret)
{
	struct profile_event e;
	struct profile_reader *r;
	int error = profile_reader_open(&r, path), more = 1;

	if (error)
		return error;
	while (more > 0)
		more = profile_reader_next(r, &e);
	*ret = profile_reader_sums(r);
	profile_reader_close(r);
	return more;
}

void status_rest(const char *profile_path, int fd)
{
	char size[TEXT_CELL], samples[TEXT_CELL], works[TEXT_CELL];
	struct profile_sums sums;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || read_sums(path, &sums))
		return;
	cmd_error("%s has the recording up to there (%s, %s CPU sample%s, %s piece%s of GPU work)",
		profile_path, text_bytes(size, (uint64_t)st.st_size),
		text_count(samples, sums.samples), plural(sums.samples),
		text_count(works, sums.works), plural(sums.works));
}

void status_summary(const struct profile_totals *t, uint64_t elapsed_ns, const char *profile_path)
{
	char elapsed[TEXT_CELL], cpu[TEXT_CELL], gpu[TEXT_CELL], size[TEXT_CELL];
	char samples[TEXT_CELL], works[TEXT_CELL], calls[TEXT_CELL], stalls[TEXT_CELL];
	struct buf b = BUF_INIT;

	buf_printf(&b, "xpuprof: %s, CPU time %s (%s sample%s), ",
		text_duration(elapsed, elapsed_ns), text_duration(cpu, t->cpu_ns),
		text_count(samples, t->samples), plural(t->samples));
	if (t->works || t->calls) {
		buf_printf(&b, "%s time %s (%s piece%s of work, %s CUDA call%s", gpu_name(t),
			text_duration(gpu, t->gpu_ns), text_count(works, t->works),
			plural(t->works), text_count(calls, t->calls), plural(t->calls));
		if (t->window_samples)
			buf_printf(&b, ", %s instruction sample%s",
				text_count(stalls, t->window_samples), plural(t->window_samples));
		buf_putc(&b, ')');
	} else {
		buf_puts(&b, "no GPU work");
	}
	if (t->drivers)
		buf_printf(&b, ", %s driver event%s", text_count(works, t->drivers),
			plural(t->drivers));
	buf_putc(&b, '\n');
	add_completeness(&b, t);
	add_reasons(&b, "CUDA calls without GPU work of their own:", t->pending_by_reason, 1,
		PENDING_REASONS, profile_pending_text);
	add_reasons(&b, "GPU work without a launching stack:", t->join_by_reason, 1, JOIN_REASONS,
		profile_join_text);
	add_losses(&b, t);
	write_stderr(&b);
	if (profile_path)
		cmd_error(
			"wrote %s (recording, %s)", profile_path, text_bytes(size, t->file_bytes));
	buf_release(&b);
}
