/* SPDX-License-Identifier: MIT */
/*
 * What the libraries inside of programs may make the recorder keep, and do at once. The programs
 * are not trusted, so each thing that they can make grow has a row here. The limits are generous
 * for what programs really do; the reason stands with each.
 *
 * Beyond a budget events are recorded with less known of them: under a name that says so, without
 * their shape, with a part of their stack. What is left out is counted, by a cause of its own.
 * Budgets in bytes are charged with what a record adds to the profile's tables: a name that is
 * there already costs nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "gpu/backend.h"

/* Connections at once. A GPU serves some 60 processes (MPS), and a machine has up to 16. */
#define INSTANCES_MAX 1024u
/* The same of one process. It has one library, and another after each exec. */
#define OF_ONE_PROCESS_MAX 64u
/* Connections that have not sent their hello. Libraries send it at once. */
#define GREETINGS_MAX 64u
/* Connections that are accepted before sockets are read again: a part of GREETINGS_MAX, so that who
 * has sent a hello is not the oldest before it is read. */
#define ACCEPTED_AT_ONCE 16
/* Of all rings. One has at most an eighth of what is left, so the first 57 have the usual 4 MiB,
 * and when nearly nothing is left they have the smallest. */
#define RINGS_MAX_BYTES ((uint64_t)256 << 20)
/* Messages that are read in one round of the loop, of all connections, and of one before it is
 * another's turn. A library sends an image now and then, and one byte when its ring fills. */
#define MESSAGES_AT_ONCE 2048
#define MESSAGES_IN_TURN 64
/* Messages that are read of a library that will send no more. A socket's buffer has room for
 * 300. */
#define MESSAGES_AT_END 1024
/* How long the loop waits for the process that receives descriptors (0.2 ms on a machine at rest),
 * for how long if that would run but gets no CPU, and how often it may be held up. Connections then
 * end that pass any. */
#define PASSED_LIMIT_NS (100 * NS_PER_MS)
#define PASSED_MAX_NS	NS_PER_SECOND
#define HELD_UP_MAX	3
#define PASSED_COST	64 /* messages that could be read in the same time */
/* Connections that wait for our exit to be closed. Then no more are accepted. */
#define UNCLOSED_MAX 64
/* How long one drain may take, of all rings. What is left is read in the next, where another ring
 * comes first. A full ring of ordinary records takes 20 ms. */
#define DRAIN_MAX_NS (50 * NS_PER_MS)
/* The same for a process that ends or executes another program, whose stacks cannot be resolved
 * later. */
#define LEAVE_MAX_NS (200 * NS_PER_MS)
/* The same for the last drain of all. */
#define FINISH_MAX_NS (10 * NS_PER_SECOND)
/* Places of code in a GPU's memory: CODE_PLACES_MAX of all instances, CODE_PLACES_INSTANCE_MAX of
 * one, ended ones too as long as samples of them may come (gpu/code_places.h). PyTorch has
 * thousands of kernels. */

/* Distinct devices of a recording. */
#define DEVICES_MAX 1024u
/* In one process, as threads of containers are looked up: how long at once, and one part in so many
 * of the time from then on. Reading the numbers of 500 threads takes 10 ms. */
#define THREAD_SCAN_BURST_NS (50 * NS_PER_MS)
#define THREAD_SCAN_SHARE    20
#define THREAD_SCAN_MAX_NS   (10 * NS_PER_MS) /* one look */
#define THREAD_COST_BYTES    256u

struct instance;
struct injected;

enum budget {
	/* names of kernels and devices; operations. PyTorch has thousands of kernels with names of
	 * some hundred bytes, JITs make tens of thousands: 10 to 30 MiB. */
	BUDGET_NAMES,
	/* what stacks of launches add: places, functions of Python, nodes. A node takes 30 bytes,
	 * and stacks share most of theirs: a million nodes. */
	BUDGET_STACKS,
	/* frames of stacks, kept in case code is mapped over other code */
	BUDGET_KEPT_STACKS,
	/* numbers of threads, found or not: 65,536 in a process */
	BUDGET_THREADS,
	/* of instruction samples: functions, reasons, instructions. A sampled instruction takes 50
	 * bytes: 600,000. */
	BUDGET_STALLS,
	BUDGETS
};

/* Whether a library may add more. */
bool budget_has_room(const struct instance *i, enum budget b);
/* The same for what replaces things beyond the budget, such as an operation without its shape. */
bool budget_has_reserve(const struct instance *i, enum budget b);
void budget_charge(struct instance *i, enum budget b, uint64_t bytes);
/* An instance has ended: what only it kept is free for others. */
void budget_return(struct instance *i, enum budget b);
/* The bytes of the profile's tables, for budget_charge_growth. */
uint64_t budget_tables(const struct instance *i);
/* Charges what the tables have grown since they had `before` bytes. */
void budget_charge_growth(struct instance *i, enum budget b, uint64_t before);
/* The id of a text. Beyond the budget a text that is new becomes NAME_LEFT_OUT, and is counted. 0
 * or -errno. */
int budget_string(
	struct instance *i, enum budget b, const char *text, size_t size, uint32_t *ret_id);
/* Counts what is left out. */
void budget_refuse(struct instance *i, enum budget b);
