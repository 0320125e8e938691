/* SPDX-License-Identifier: MIT */
/* The budgets of the processes that deal with what is strangers', and of waiting for them. */
#pragma once

#include "base/clock.h"

/* --- the opener */

#define OPEN_LIMIT_NS	  NS_PER_SECOND /* opening blocks on file systems that strangers serve */
#define OPEN_COPY_BYTES	  ((size_t)256 << 20) /* files of such file systems are copied */
#define OPEN_COPIES_BYTES ((size_t)1 << 30)   /* all copies of a recording */
#define OPENER_DATA_BYTES ((size_t)64 << 20)
/* It has a few. But what it sends counts, until it is received, with what all others send who have
 * its user, root mostly. */
#define OPENER_DESCRIPTORS 65536

/* --- the reader */

/* What one file may take. Of it 256 MiB are kept at most (elf/limits.h); the table made of that is
 * the rest. */
#define INSPECT_LIMIT_NS   (5 * NS_PER_SECOND)
#define TABLE_LIMIT_NS	   (60 * NS_PER_SECOND)
#define NAMES_LIMIT_NS	   (20 * NS_PER_SECOND) /* 8,000 places of the largest library: 2 s */
#define READER_DATA_BYTES  ((size_t)512 << 20)	/* private memory that is written to */
#define LINES_DATA_BYTES   ((size_t)192 << 20)	/* of it, while libdw reads */
#define READER_DESCRIPTORS 32

/* --- what reads memory */

#define MEMORY_LIMIT_NS	   NS_PER_SECOND /* for a request */
#define MEMORY_DATA_BYTES  ((size_t)64 << 20)
#define MEMORY_DESCRIPTORS 16
/* A request is that old when its process, twice in a row, is found asleep: it is held up. */
#define MEMORY_HELD_NS	(100 * NS_PER_MS)
#define MEMORY_LEFT_MAX 16 /* processes that are held up; then no more memory is read */

/* --- the recorder */

#define HELLO_LIMIT_NS (10 * NS_PER_SECOND) /* for a process to begin */

/* How long the loop waits for answers, which take a quarter of a millisecond each on a machine at
 * rest: so long at once, and then one part in ANSWER_WAIT_PARTS of the time. One that comes later
 * is used then. */
#define ANSWER_WAIT_NS	  (100 * NS_PER_MS)
#define ANSWER_WAIT_PARTS 3

/* What may be lost, in sum, on files that never answer when names are looked for: a request gets
 * half of what is left at most. */
#define NAMES_OPEN_LOST_NS (4 * NS_PER_SECOND)
#define NAMES_READ_LOST_NS (40 * NS_PER_SECOND)
/* Also what is not lost: a dump is read from its begin to its end for each 4,000 places. */
#define DUMPS_READ_NS (60 * NS_PER_SECOND)
#define LINES_LOST_NS (120 * NS_PER_SECOND)
/* Of the second, for a monitor's few stacks. */
#define STACKS_READ_LOST_NS (10 * NS_PER_SECOND)

#define QUEUE_MAX     32768		 /* requests that wait for a process */
#define WAITING_BYTES ((size_t)64 << 20) /* of questions of a recording that are not answered */
#define OPEN_BACKLOG  256		 /* files are not opened while so many wait to be read */
#define REQUEST_BYTES 65536
#define REPLY_BYTES   ((size_t)160 << 20) /* an unwind table is the largest */
/* After each death in a row one more, before a process begins anew. */
#define DEATH_PAUSE_NS	(20 * NS_PER_MS)
#define DEATH_PAUSE_MAX 25
