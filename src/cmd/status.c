// SPDX-License-Identifier: MIT
#include "cmd/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "profile/reader.h"

#define ERASE	"\r\033[K" /* the line */
#define SAVE	"\0337"	   /* the cursor, with its colours */
#define RESTORE "\0338"

/* On a terminal with less rows than that none is given away. */
#define STATUS_ROWS_MIN 4

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

static void write_buf(struct buf *b)
{
	if (!b->failed)
		(void)io_write_all(STDERR_FILENO, b->data, b->size);
	buf_release(b);
}

/* Rows of the terminal; 0: not known. */
static unsigned int rows(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

static bool moves_cursor(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* ------------------------------------------------------------------ the last row */

/* Gives the last row back to what scrolls. */
static void release_row(struct status *s)
{
	struct buf b = BUF_INIT;

	if (!s->row)
		return;
	buf_printf(&b, SAVE "\033[r\033[0m\033[%u;1H\033[K" RESTORE, s->row);
	write_buf(&b);
	s->row = 0;
}

/* Has everything scroll above the last row. What is in that row moves up with the cursor: ESC D
 * scrolls at the end of the screen and keeps the column. */
static void claim_row(struct status *s, unsigned int row)
{
	struct buf b = BUF_INIT;

	release_row(s);
	buf_printf(&b, "\033D\033[1A" SAVE "\033[1;%ur" RESTORE, row - 1);
	write_buf(&b);
	s->row = row;
}

static void show_row(struct status *s, const char *text)
{
	unsigned int row = rows();
	struct buf b = BUF_INIT;

	if (row < STATUS_ROWS_MIN)
		return;
	if (row != s->row)
		claim_row(s, row);
	buf_printf(&b, SAVE "\033[0m\033[%u;1H\033[K", row);
	text_fit(&b, text, text_width(STDERR_FILENO, 80) - 1);
	buf_puts(&b, RESTORE);
	write_buf(&b);
}

/* ------------------------------------------------------------------ all forms */

static void show_line(const char *text)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, ERASE);
	text_fit(&b, text, text_width(STDERR_FILENO, 80) - 1);
	buf_putc(&b, '\r');
	write_buf(&b);
}

static void show_text(struct status *s, const char *text)
{
	if (s->form == STATUS_ROW)
		show_row(s, text);
	else if (s->form == STATUS_LINE)
		show_line(text);
}

static void show_totals(struct status *s, const struct session_progress *p)
{
	const struct profile_totals *t = p->totals;
	char elapsed[TEXT_CELL], gpu[TEXT_CELL], samples[TEXT_CELL], calls[TEXT_CELL],
		count[TEXT_CELL];
	struct buf line = BUF_INIT;

	buf_printf(&line, "xpuprof %s  %s CPU samples  %s API calls  %s %s",
		text_duration(elapsed, p->elapsed_ns), text_count(samples, t->samples),
		text_count(calls, t->calls), gpu_name(t), text_duration(gpu, t->gpu_ns));
	buf_printf(&line, "  %s lost", text_count(count, lost_events(t)));
	if (p->outstanding)
		buf_printf(&line, "  %s running", text_count(count, p->outstanding));
	show_text(s, buf_text(&line));
	buf_release(&line);
}

/* A program that reads single keys from the terminal, as editors and shells do, draws there
 * itself. */
static bool is_in_the_way(void)
{
	struct termios t;

	return !tcgetattr(STDERR_FILENO, &t) && !(t.c_lflag & ICANON);
}

/* What keeps the user waiting is said in any form; where others write meanwhile, once. */
static void show_waiting(struct status *s, const struct session_progress *p)
{
	if (!p->running || s->form != STATUS_NONE) {
		show_text(s, p->text);
	} else if (!s->said) {
		status_fresh_line(s);
		cmd_error("%s", p->text);
		s->said = true;
	}
}

static void clear(struct status *s)
{
	if (s->form == STATUS_LINE)
		(void)io_write_all(STDERR_FILENO, ERASE, strlen(ERASE));
	release_row(s);
}

void status_report(void *context, const struct session_progress *p)
{
	struct status *s = context;

	if (!p)
		clear(s);
	else if (p->text)
		show_waiting(s, p);
	else if (!is_in_the_way())
		show_totals(s, p);
	else
		release_row(s);
}

/* So many blanks as a line has columns end at its last one if they begin at its first, and else in
 * the next line. */
void status_fresh_line(const struct status *s)
{
	struct buf b = BUF_INIT;

	if (!s->shared || !moves_cursor())
		return;
	buf_printf(&b, "%*s" ERASE, (int)text_width(STDERR_FILENO, 80), "");
	write_buf(&b);
}

void status_program_ended(struct status *s)
{
	clear(s);
	status_fresh_line(s);
	s->form = moves_cursor() ? STATUS_LINE : STATUS_NONE;
	s->shared = false;
}

/* Whether a process has our terminal as one of its outputs; also where it is not known. */
static bool prints_here(pid_t pid)
{
	struct stat here, there;

	if (fstat(STDERR_FILENO, &here))
		return false;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		char path[48];

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		if (stat(path, &there) ? errno != ENOENT
				       : S_ISCHR(there.st_mode) && there.st_rdev == here.st_rdev)
			return true;
	}
	return false;
}

bool status_is_possible(void)
{
	return moves_cursor() && rows() >= STATUS_ROWS_MIN;
}

void status_begin(struct status *s, bool has_command, pid_t pid, bool wanted)
{
	*s = (struct status){.shared = has_command || (pid && prints_here(pid))};
	if (wanted && s->shared)
		s->form = STATUS_ROW;
	else if (moves_cursor() && !s->shared)
		s->form = STATUS_LINE;
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

	buf_printf(&b, "xpuprof: %s, ", text_duration(elapsed, elapsed_ns));
	if (t->samples || t->sampled || t->account_ns)
		buf_printf(&b, "CPU time %s (%s sample%s), ",
			t->account_ns ? text_duration(cpu, t->account_ns)
				      : text_sampled_duration(cpu, t->cpu_ns, t->samples),
			text_count(samples, t->samples), plural(t->samples));
	else
		buf_puts(&b, "CPU time not sampled, ");
	if (t->works || t->calls) {
		buf_printf(&b, "%s time %s (%s piece%s of work, %s API call%s", gpu_name(t),
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
	add_reasons(&b, "API calls without GPU work of their own:", t->pending_by_reason, 1,
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
