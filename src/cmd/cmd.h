/* SPDX-License-Identifier: MIT */
/*
 * Commands: one file under src/cmd/ and one row in the table of src/main.c each
 * (docs/howto-add-a-command.md). Commands are the only code that prints or decides the exit status.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/user.h"

/* Exit statuses of xpuprof itself; `record` passes on the status of its command instead. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was tried and did not work */
	EXIT_USAGE = 2,	 /* the command line is wrong */
	EXIT_GREW = 3,	 /* report --diff: something grew beyond its threshold */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* argv[0] is the command's name. Each returns the exit status. */
int cmd_record(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
/* What `probe -o` does: `record` with these programs, which become its own. The command ends with a
 * NULL. */
struct programs;
struct record_probes {
	const char *output; /* as record's */
	double seconds;	    /* 0: until the command ends */
	double interval;    /* at which maps are written, too; 0: at the end only */
	bool as_root;
	bool only_times; /* of GPU work: no stacks, and nothing is said of the recording */
	/* NULL: we end as the command ended; else how we are to (cmd_end_like), or 0. */
	int *ret_wait_status;
};
int cmd_record_probes(const struct programs *p, const struct record_probes *how, char **command);
/* `report --probes` of a recording that is not kept, with so many rows in each table. */
int cmd_report_probes(const char *path, size_t rows, bool json);
/* Not for people: processes of a recording's, which executes this program for them. */
int cmd_gpu_helper(int argc, char **argv);
int cmd_sandbox(int argc, char **argv);

/*
 * All that is printed is made printable here once more (base/printable.h), so that no name gets
 * past that a command forgot.
 *
 * cmd_error prints "xpuprof: <text>" on stderr, cmd_say a line on stdout, each in one write; the
 * text has no line end. cmd_print prints prepared lines: 0 or -errno, also -ENOMEM where memory was
 * short for them.
 */
void cmd_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cmd_print(int fd, const struct buf *lines);
/*
 * For commands that only read: under sudo this process becomes its caller, for good, so that what a
 * profile or a path leads to counts with the caller's rights. `path` is what will be read, as the
 * user wrote it; -EACCES: the caller may not; -ENOENT: it is a recording that is not there. 0 or
 * -errno with error_text; *ret is to be released in either case.
 */
int cmd_become_caller(struct user *ret, const char *path);
/* The latter half, of one more file. */
int cmd_check_file(const struct user *user, const char *path);
/* Whether what is written to a path ("/dev/stdout") goes to a terminal, which is no place for files
 * that are not text. */
bool cmd_is_terminal(const char *path);
/* As cmd_error with the text of the last error; returns EXIT_FAILED. */
int cmd_failed(void);
/* Ends this process as another ended: by the same exit status or the same signal. */
void cmd_end_like(int wait_status) __attribute__((noreturn));
