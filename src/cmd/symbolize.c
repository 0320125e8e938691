// SPDX-License-Identifier: MIT
/*
 * xpuprof symbolize: names for a recording that is finished, or was cut short.
 *
 * The names are appended to a copy beside the file, which replaces the file when it is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/place.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/status.h"
#include "record/signals.h"
#include "elf/kernel_id.h"
#include "profile/reader.h"
#include "symbolize/fetch.h"
#include "symbolize/symbolize.h"

#define DEFAULT_FILE	 "profile.xpu"
#define SERVERS_LIMIT_NS (1800 * NS_PER_SECOND)
#define DWARF_LIMIT_NS	 (600 * NS_PER_SECOND)
/* Maps are written a little after the code they list. */
#define MAP_DELAY_NS	 (2 * NS_PER_SECOND)
#define ABSENT_SHOWN_MAX 20

/* A file, and how many locations in it have no name. */
struct nameless {
	char *path;
	uint64_t locations;
};

struct symbolizing {
	const char *path, *output;
	struct vec(const char *) folders;
	bool inlines;
	struct signals signals;
	struct status status;
	struct vec(struct nameless) absent, stripped;
	struct profile_reader *reader;
	uint64_t last_ns;   /* of the events */
	struct user user;   /* who we are */
	int kernel_symbols; /* opened as who we were; -1: they cannot be had */
	struct place target, temporary;
};

static const struct option_usage usage = {
	.command = "symbolize",
	.operands = "FILE",
	.synopsis = "[options] [FILE]",
	.summary = "Names the code of a recording that has no name yet: later, on another machine, "
		   "with\n"
		   "debug files that were not there, or after a recording was cut short. FILE "
		   "is\n" DEFAULT_FILE " unless given; it is replaced by a named one.",
};

static int add_folder(void *target, const char *value)
{
	struct symbolizing *s = target;
	struct stat st;

	if (stat(value, &st))
		return error_set(-1, "cannot look in '%s': %s", value, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return error_set(-1, "takes a folder, not '%s'", value);
	return vec_push(&s->folders, value) ? error_set(-1, "out of memory") : 0;
}

static bool was_stopped(void *context)
{
	struct symbolizing *s = context;
	bool alone;
	int number;

	while ((number = signals_next(&s->signals, &alone)))
		if (number != SIGCHLD)
			return true;
	return false;
}

static void show_progress(void *context, const char *what)
{
	struct symbolizing *s = context;
	struct session_progress p = {.text = what};

	status_report(&s->status, &p);
}

static void note_stripped(void *context, const char *path, uint64_t locations)
{
	struct symbolizing *s = context;
	struct nameless a = {.path = strdup(path), .locations = locations};

	if (!a.path || vec_push(&s->stripped, a))
		free(a.path);
}

static void note_absent(void *context, const char *path, uint64_t locations)
{
	struct symbolizing *s = context;
	struct nameless a = {.path = strdup(path), .locations = locations};

	/* Without memory it is missing from a list. */
	if (!a.path || vec_push(&s->absent, a))
		free(a.path);
}

static uint64_t time_of(const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return e->sample.time_ns;
	case EVENT_CALL:
		return e->call.start_ns + e->call.duration_ns;
	case EVENT_WORK:
		return e->work.start_ns + e->work.duration_ns;
	case EVENT_PENDING:
		return e->pending.start_ns;
	case EVENT_STALL:
		break;
	case EVENT_COUNT:
		return e->count.start_ns + e->count.duration_ns;
	case EVENT_DRIVER:
		return e->driver.start_ns + e->driver.duration_ns;
	case EVENT_WAIT:
		return e->wait.start_ns + e->wait.duration_ns;
	case EVENT_LIFE:
		return e->life.start_ns + e->life.duration_ns;
	case EVENT_SYNC:
		return e->sync.start_ns + e->sync.duration_ns;
	case EVENT_MARKER:
		return e->marker.start_ns + e->marker.duration_ns;
	case EVENT_FOUND:
		return e->found.time_ns;
	}
	return 0;
}

/* A recorder keeps a lock on what it writes. */
static int check_idle(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
	struct stat st;

	if (fd < 0)
		return error_errno(-errno, "cannot open '%s'", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		error = error_set(-EINVAL, "cannot name '%s': it is not a regular file", path);
	else if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		error = error_set(-EBUSY, "cannot name '%s': it is still being recorded", path);
	close(fd);
	return error;
}

static int read_profile(struct symbolizing *s)
{
	struct profile_event e;
	int error = check_idle(s->path), got = 0;

	error = error ?: profile_reader_open(&s->reader, s->path);
	while (!error && (got = profile_reader_next(s->reader, &e)) > 0)
		if (time_of(&e) > s->last_ns)
			s->last_ns = time_of(&e);
	return error ?: got;
}

static bool is_of_this_boot(const struct profile_reader *r)
{
	const char *recorded = profile_meta(r, META_BOOT_ID);
	char present[40];

	kernel_boot_id(present);
	return recorded && *present && !strcmp(recorded, present);
}

static struct symbolize_options options_of(struct symbolizing *s)
{
	uint64_t real_ns = profile_meta_number(s->reader, META_REALTIME_NS, 0);
	uint64_t start_ns = profile_meta_number(s->reader, META_START_NS, 0);
	struct symbolize_options o = {
		.folders = s->folders.items,
		.folder_count = s->folders.count,
		.inlines = s->inlines,
		.servers_limit_ns = SERVERS_LIMIT_NS,
		.dwarf_limit_ns = DWARF_LIMIT_NS,
		.kernel_symbols = s->kernel_symbols,
		.user = &s->user,
		.stopped = was_stopped,
		.progress = show_progress,
		.absent = note_absent,
		.stripped = note_stripped,
		.context = s,
	};

	if (!real_ns || !start_ns || !is_of_this_boot(s->reader))
		return o;
	o.same_boot = true;
	o.unchanged_since_ns = o.maps_from_ns = real_ns + start_ns;
	o.maps_to_ns = real_ns + s->last_ns + MAP_DELAY_NS;
	return o;
}

static int cannot_write(const struct symbolizing *s, int error)
{
	return place_error(&s->user, error, "write", s->output);
}

/* The copy is beside what it replaces, a link followed, and as private as the source. */
static int open_copy(struct symbolizing *s)
{
	struct stat st;
	int fd, error = place_find(&s->target, &s->user, s->output, "write");

	if (error)
		return error;
	fd = place_temporary(&s->target, 0600, &s->temporary);
	if (fd < 0)
		return cannot_write(s, fd);
	/* When these fail the file stays private, and is still written. */
	if (!stat(s->path, &st)) {
		(void)!fchown(fd, st.st_uid, st.st_gid);
		(void)fchmod(fd, st.st_mode & 0777);
	}
	return fd;
}

static int name_copy(struct symbolizing *s, int fd, struct symbolize_stats *stats)
{
	const struct symbolize_options o = options_of(s);
	struct profile_writer *w;
	int error = profile_writer_continue(&w, s->output, fd, s->reader);

	if (error)
		return error;
	error = symbolize_profile(w, &o, stats);
	show_progress(s, "");
	if (!error && stats->stopped)
		error = error_set(-EINTR, "interrupted: '%s' is as it was", s->path);
	if (error) {
		profile_writer_abort(w);
		return error;
	}
	return profile_writer_close(w);
}

/* Names it, and has the copy on the disk before it replaces the file. */
static int write_copy(struct symbolizing *s, int fd, struct symbolize_stats *stats)
{
	int to_sync = fcntl(fd, F_DUPFD_CLOEXEC, 0), error;

	error = name_copy(s, fd, stats);
	if (!error && (to_sync < 0 || (fsync(to_sync) && errno != EINVAL)))
		error = cannot_write(s, -errno);
	if (to_sync >= 0)
		close(to_sync);
	if (error)
		return error;
	error = place_rename(&s->temporary, &s->target);
	return error ? cannot_write(s, error) : 0;
}

/* Nothing is replaced there. */
static int write_to_standard_output(struct symbolizing *s, struct symbolize_stats *stats)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? cannot_write(s, -errno) : name_copy(s, fd, stats);
}

static bool is_standard_output(const struct symbolizing *s)
{
	return !strcmp(s->output, "-");
}

static int replace(struct symbolizing *s, struct symbolize_stats *stats)
{
	int fd = open_copy(s), error = fd < 0 ? fd : write_copy(s, fd, stats);

	if (error && fd >= 0)
		(void)place_remove(&s->temporary);
	place_release(&s->target);
	return error;
}

static int by_locations(const void *left, const void *right)
{
	const struct nameless *a = left, *b = right;

	return a->locations < b->locations   ? 1
	       : a->locations > b->locations ? -1
					     : strcmp(a->path, b->path);
}

/* Places without a name by file, most first. */
static void print_nameless(const char *title, struct nameless *files, size_t count)
{
	size_t shown = count < ABSENT_SHOWN_MAX ? count : ABSENT_SHOWN_MAX;

	if (!count)
		return;
	qsort(files, count, sizeof(*files), by_locations);
	cmd_say("%s:", title);
	for (size_t i = 0; i < shown; i++)
		cmd_say("  %8" PRIu64 "  %s", files[i].locations, files[i].path);
	if (shown < count)
		cmd_say("  and %zu more", count - shown);
}

static void print_result(struct symbolizing *s, const struct symbolize_stats *stats)
{
	cmd_say("%s: named %" PRIu64 " of %" PRIu64 " places in code", s->output, stats->named,
		stats->locations);
	if (s->inlines)
		cmd_say("found the source lines of %" PRIu64, stats->with_lines);
	if (stats->fetched)
		cmd_say("servers had %" PRIu64 " debug file%s", stats->fetched,
			stats->fetched == 1 ? "" : "s");
	if (stats->dwarf_failed)
		cmd_say("gave up reading the lines of %" PRIu64 " file%s: damaged, or too large",
			stats->dwarf_failed, stats->dwarf_failed == 1 ? "" : "s");
	print_nameless("not found, or not the same any more", s->absent.items, s->absent.count);
	print_nameless("without a table of symbols, and no debug file was found", s->stripped.items,
		s->stripped.count);
	if (s->stripped.count && !fetch_wanted())
		cmd_say("their debug packages (-dbgsym, -debuginfo) or DEBUGINFOD_URLS would name "
			"them");
	if (profile_reader_incomplete(s->reader))
		cmd_error("warning: '%s' is not whole: it %s", s->path,
			profile_reader_incomplete(s->reader));
}

static int run(struct symbolizing *s)
{
	struct symbolize_stats stats = {0};
	int error = signals_open(&s->signals);

	s->kernel_symbols = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	error = error ?: cmd_become_caller(&s->user, s->path);
	error = error ?: read_profile(s);
	if (!error && is_standard_output(s))
		error = write_to_standard_output(s, &stats);
	else if (!error)
		error = replace(s, &stats);
	if (!error && !is_standard_output(s))
		print_result(s, &stats);
	profile_reader_close(s->reader);
	vec_foreach (a, &s->absent)
		free(a->path);
	vec_foreach (a, &s->stripped)
		free(a->path);
	vec_release(&s->absent);
	vec_release(&s->stripped);
	if (s->kernel_symbols >= 0)
		close(s->kernel_symbols);
	user_release(&s->user);
	signals_close(&s->signals);
	return error;
}

int cmd_symbolize(int argc, char **argv)
{
	struct symbolizing s = {.signals = SIGNALS_INIT, .target = PLACE_NONE};
	const struct option_spec specs[] = {
		OPTION_STRING('o', "output", "FILE", &s.output,
			"write to FILE ('-': standard output), and leave the other as it is"),
		OPTION_FLAG(0, "inline", &s.inlines,
			"also find source lines and inlined functions (takes longer)"),
		OPTION_CALL(0, "debug-dir", "DIR", add_folder, &s,
			"look for programs and debug files in DIR, too (any number)"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv), status = EXIT_OK;

	if (first < 0)
		status = options_status(first);
	else if (argc - first > 1)
		status = options_wrong(&usage, "one file at a time, not '%s' too", argv[first + 1]);
	else if (s.output && cmd_is_terminal(s.output))
		status = options_wrong(&usage,
			"a recording is no text for a terminal: give '-o' a file or a pipe");
	if (first >= 0 && !status) {
		s.path = first < argc ? argv[first] : DEFAULT_FILE;
		s.output = s.output ? s.output : s.path;
		status_begin(&s.status, false, 0, false);
		status = run(&s) ? cmd_failed() : EXIT_OK;
	}
	vec_release(&s.folders);
	return status;
}
