/* SPDX-License-Identifier: MIT */
/*
 * Changes to processes, in order of time: fork, exec, exit, names, mappings. They
 * come from many buffers (one BPF ring, one perf buffer for each CPU). They are gathered here,
 * sorted, and applied before a sample or launch of a later time is handled.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "bpf/events.h"
#include "capture/modules.h"

enum change_kind {
	/* 1 to TASK_EXIT: enum bpf_task_event_kind */
	CHANGE_MAP = 16, /* `text` was mapped */
	CHANGE_IMAGE,	 /* exec: the old image is gone, mappings that follow are of the new one */
	/* thread `tid` has ended, or may not be watched any more; where nothing reports the ends of
	 * processes */
	CHANGE_THREAD_END,
	CHANGE_THREAD_RAN, /* run_ns on one CPU; it has ended */
};

struct change {
	uint64_t time_ns;
	uint64_t sequence; /* of arrival, for equal times */
	uint32_t kind;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent;
	uint64_t run_ns; /* TASK_EXEC, TASK_ACCOUNT, CHANGE_THREAD_RAN */
	/* TASK_ACCOUNT, as in struct bpf_account_event */
	uint64_t process, process_ended_ns, ended_ns;
	bool last;
	char comm[BPF_COMM_SIZE]; /* NUL-terminated */
	char *text;		  /* path, or arguments joined by blanks; owned; NULL: none */
	struct mapped_file map;
};

struct changes {
	struct vec(struct change) queue;
	size_t next; /* the first that is not yet applied */
	uint64_t arrived;
	bool sorted;
};

void changes_release(struct changes *c);
/* Adds `change` and owns its text, also on failure: 0 or -ENOMEM. */
int changes_add(struct changes *c, struct change change);
/* The earliest change, if it is not later than `until_ns`, or NULL; valid until changes_add. Drop
 * it with changes_drop. */
struct change *changes_peek(struct changes *c, uint64_t until_ns);
void changes_drop(struct changes *c);
