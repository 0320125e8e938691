// SPDX-License-Identifier: MIT
#include "record/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"

#define FILE_BYTES ((size_t)256 << 20)
#define PATH_BYTES 4096

struct metric {
	uint32_t counter;
	uint64_t time_ns;
	double value;
};

struct metrics {
	struct profile_writer *w;
	const struct metrics_source *source;
	struct vec(struct metric) items;
	uint64_t lines, wrong, first_wrong, outside;
};

static int open_regular(void *context, int *ret_fd)
{
	struct stat st;

	*ret_fd = io_open_regular(context, &st);
	return *ret_fd < 0 ? *ret_fd : 0;
}

/* As the user, who may name any file. */
static int open_file(const struct metrics_source *s, int *ret_fd)
{
	char path[PATH_BYTES];
	int error;

	*ret_fd = -1;
	if (strlen(s->path) >= sizeof(path))
		return error_errno(-ENAMETOOLONG, "cannot read '%s'", s->path);
	strcpy(path, s->path);
	error = user_run(s->user, open_regular, path, sizeof(path), ret_fd);
	return error ? error_errno(error, "cannot read '%s'", s->path) : 0;
}

static int read_file(const struct metrics_source *s, struct buf *b)
{
	int fd, error = open_file(s, &fd);

	if (error)
		return error;
	error = io_read_rest(fd, FILE_BYTES, b);
	close(fd);
	return error ? error_errno(error, "cannot read '%s'", s->path) : 0;
}

/* "1700000000.25" in nanoseconds, exactly: a double has too few digits. */
static bool parse_time(const char **p, uint64_t *ret_ns)
{
	char *end;
	uint64_t seconds, unit = NS_PER_SECOND / 10;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	seconds = strtoull(*p, &end, 10);
	if (errno || seconds > UINT64_MAX / NS_PER_SECOND - 1)
		return false;
	*ret_ns = seconds * NS_PER_SECOND;
	if (*end == '.' || *end == ',')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			*ret_ns += (uint64_t)(*end - '0') * unit;
	*p = end + strspn(end, " \t");
	return *p > end;
}

static int keep(struct metrics *m, const char *name, size_t size, uint64_t time_ns, double value)
{
	const struct metrics_source *s = m->source;
	struct profile_counter counter = {0};
	struct metric metric = {.time_ns = time_ns - s->realtime_ns, .value = value};
	int error;

	if (time_ns < s->realtime_ns || metric.time_ns < s->start_ns ||
		metric.time_ns > s->end_ns) {
		m->outside++;
		return 0;
	}
	error = profile_add_string(m->w, name, size, &counter.name);
	error = error ?: profile_add_counter(m->w, &counter, &metric.counter);
	if (!error && vec_push(&m->items, metric))
		error = error_memory(NULL);
	return error;
}

/* False: it is none. */
static bool parse_line(struct metrics *m, const char *line, int *ret_error)
{
	const char *name;
	char *end;
	size_t size;
	uint64_t time_ns;
	double value;

	line += strspn(line, " \t\r");
	if (!*line || *line == '#')
		return true;
	if (!parse_time(&line, &time_ns))
		return false;
	name = line;
	size = strcspn(name, " \t");
	value = strtod(name + size, &end);
	if (!size || end == name + size || end[strspn(end, " \t\r")] || !isfinite(value))
		return false;
	*ret_error = keep(m, name, size, time_ns, value);
	return true;
}

static int parse(struct metrics *m, char *text)
{
	char *rest = text, *line;
	int error = 0;

	while (!error && (line = strsep(&rest, "\n")) && (rest || *line)) {
		m->lines++;
		if (!parse_line(m, line, &error) && !m->wrong++)
			m->first_wrong = m->lines;
	}
	return error;
}

static int by_counter(const void *left, const void *right)
{
	const struct metric *a = left, *b = right;

	if (a->counter != b->counter)
		return a->counter < b->counter ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static int write_all(struct metrics *m)
{
	int error = 0;

	if (m->items.count)
		qsort(m->items.items, m->items.count, sizeof(*m->items.items), by_counter);
	for (size_t i = 0; !error && i < m->items.count; i++) {
		const struct metric *item = &m->items.items[i], *next = item + 1;
		bool is_last = i + 1 == m->items.count || next->counter != item->counter;
		uint64_t end_ns = is_last ? m->source->end_ns : next->time_ns;

		error = profile_write_count(m->w, &(struct profile_count){.start_ns = item->time_ns,
							  .duration_ns = end_ns - item->time_ns,
							  .counter = item->counter,
							  .value = item->value});
	}
	return error;
}

static void describe(const struct metrics *m, struct buf *lines)
{
	if (m->wrong)
		buf_printf(lines,
			"%" PRIu64 " of %" PRIu64
			" lines of '%s' are no metrics, the first is line %" PRIu64
			": each is 'SECONDS NAME VALUE'\n",
			m->wrong, m->lines, m->source->path, m->first_wrong);
	if (m->outside)
		buf_printf(lines,
			"left out of '%s', as not of the time of the recording: %" PRIu64
			"; times are "
			"seconds since 1970, as 'date +%%s.%%N' prints them\n",
			m->source->path, m->outside);
}

int metrics_take_in(struct profile_writer *w, const struct metrics_source *s, struct buf *lines)
{
	struct metrics m = {.w = w, .source = s};
	struct buf text = BUF_INIT;
	int error = read_file(s, &text);

	buf_putc(&text, '\0');
	if (!error && text.failed)
		error = error_memory(NULL);
	error = error ?: parse(&m, text.data);
	error = error ?: write_all(&m);
	if (!error)
		describe(&m, lines);
	vec_release(&m.items);
	buf_release(&text);
	return error;
}
