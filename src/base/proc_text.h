/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of processes in lines of text (proc(5)). Names in them are chosen by the
 * processes, and may be anything: a process can be called "a) Z 1 1", with a line end in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* /proc/PID/stat */
struct proc_stat {
	char state; /* 'Z': ended, and not reaped yet */
	uint32_t parent, threads;
	uint64_t start_ticks; /* since boot */
};

/* False: this is no such text. */
bool proc_stat_parse(const char *text, struct proc_stat *ret);
/* False: there is no such process. */
bool proc_stat_read(uint32_t pid, struct proc_stat *ret);
uint64_t proc_ticks_ns(uint64_t ticks);

/* /proc/PID/status */
struct proc_status {
	uint32_t uid, gid;  /* the real ones, as we count them */
	uint32_t inner_pid; /* in its innermost namespace; 0: the kernel does not say */
};

/* False: this is no such text. */
bool proc_status_parse(const char *text, struct proc_status *ret);
/* False: there is no such process. */
bool proc_status_read(uint32_t pid, struct proc_status *ret);

/* A line of /proc/PID/maps. */
struct proc_mapping {
	uint64_t start, end, offset;
	bool executable;
	uint32_t major, minor;
	uint64_t inode;
	const char *path; /* in the line, up to its end; empty: of no file */
	size_t path_size;
};

/* False: this is no such line. */
bool proc_mapping_parse(const char *line, size_t size, struct proc_mapping *ret);
