// SPDX-License-Identifier: MIT
#include "cmd/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"

void status_duration(struct buf *b, uint64_t ns)
{
	if (ns >= 10 * NS_PER_SECOND)
		buf_printf(b, "%.1f s", (double)ns / 1e9);
	else if (ns >= NS_PER_SECOND)
		buf_printf(b, "%.2f s", (double)ns / 1e9);
	else if (ns >= NS_PER_MS)
		buf_printf(b, "%.1f ms", (double)ns / 1e6);
	else
		buf_printf(b, "%.1f us", (double)ns / 1e3);
}

static uint64_t sum(const uint64_t *counts, size_t n)
{
	uint64_t total = 0;

	while (n--)
		total += counts[n];
	return total;
}

/* Incomplete stacks are worth knowing but are not lost events. */
static uint64_t lost_events(const struct profile_totals *t)
{
	return sum(t->losses, LOSS_KINDS) - t->losses[LOSS_STACKS_INCOMPLETE] +
		t->pending_by_reason[PENDING_FORGOTTEN] + t->works_without_stack -
		t->join_by_reason[JOIN_NO_CPU_SIDE];
}

static void write_stderr(const struct buf *b)
{
	if (!b->failed)
		(void)io_write_all(STDERR_FILENO, buf_text(b), b->size);
}

static size_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20 ? 80 : size.ws_col;
}

void status_show(const struct profile_totals *t, uint64_t elapsed_ns, uint64_t outstanding)
{
	struct buf line = BUF_INIT, shown = BUF_INIT;
	size_t columns = terminal_columns();

	buf_puts(&line, "xpuprof ");
	status_duration(&line, elapsed_ns);
	buf_printf(&line, "  %" PRIu64 " CPU samples  %" PRIu64 " launches  %s ", t->samples, t->calls,
		t->simulated ? "simulated GPU" : "GPU");
	status_duration(&line, t->gpu_ns);
	buf_printf(&line, "  %" PRIu64 " lost", lost_events(t));
	if (outstanding)
		buf_printf(&line, "  %" PRIu64 " running", outstanding);
	buf_printf(&shown, "\r\033[K%.*s\r", (int)columns - 1, buf_text(&line));
	write_stderr(&shown);
	buf_release(&line);
	buf_release(&shown);
}

void status_clear(void)
{
	static const char erase[] = "\r\033[K";

	(void)io_write_all(STDERR_FILENO, erase, sizeof(erase) - 1);
}

static void add_count(struct buf *b, uint64_t count, const char *text)
{
	if (count)
		buf_printf(b, "  %10" PRIu64 "  %s\n", count, text);
}

static void add_reasons(struct buf *b, const char *title, const uint64_t *counts, unsigned int first,
	unsigned int end, const char *(*text)(unsigned int))
{
	if (!sum(counts + first, end - first))
		return;
	buf_printf(b, "%s\n", title);
	for (unsigned int i = first; i < end; i++)
		add_count(b, counts[i], text(i));
}

void status_summary(const struct profile_totals *t, uint64_t elapsed_ns, const char *profile_path)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "xpuprof: ");
	status_duration(&b, elapsed_ns);
	buf_puts(&b, ", CPU time ");
	status_duration(&b, t->cpu_ns);
	buf_printf(&b, " (%" PRIu64 " samples), %s time ", t->samples,
		t->simulated ? "simulated GPU" : "GPU");
	status_duration(&b, t->gpu_ns);
	buf_printf(&b, " (%" PRIu64 " pieces of work, %" PRIu64 " CUDA calls)\n", t->works, t->calls);
	add_reasons(&b, "CUDA calls without GPU work of their own:", t->pending_by_reason,
		1, PENDING_REASONS, profile_pending_text);
	add_reasons(&b, "GPU work without a launching stack:", t->join_by_reason, 1, JOIN_REASONS,
		profile_join_text);
	add_reasons(&b, "lost or incomplete:", t->losses, 1, LOSS_KINDS, profile_loss_text);
	if (profile_path)
		buf_printf(&b, "xpuprof: wrote %s (%.1f MB)\n", profile_path, (double)t->file_bytes / 1e6);
	write_stderr(&b);
	buf_release(&b);
}
