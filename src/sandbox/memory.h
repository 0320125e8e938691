/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of other processes: where a Python interpreter is, what its code is called, and
 * the stacks of threads that sleep. Such memory can lie in a file system of a stranger's (FUSE),
 * and then whoever reads it waits in the kernel until that file system answers, or for ever; not
 * even SIGKILL ends the wait.
 *
 * The process has CAP_SYS_PTRACE, if the recorder has, and nothing else: it is not root, opens
 * nothing, and follows the structures of interpreters by itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "python/interpreter.h"

/* A request begins with the pid, as a struct memory_request. */
#define MEMORY_FIND	1 /* a struct memory_place follows; the reply is a struct memory_found */
#define MEMORY_CODE	2 /* a request of python/code_reader.h follows; the reply is of there */
#define MEMORY_SLEEPERS 3 /* so too, of sleepers.h */

struct memory_request {
	uint32_t pid;
	uint32_t reserved;
};

struct memory_place {
	struct python_file file;
	uint64_t bias;
};

struct memory_found {
	uint32_t found; /* enum python_found */
	uint32_t reserved;
	struct walk_python python;
};

/* Whether such a process can read what this one can: not where only an ancestor may (Yama) and
 * there is no CAP_SYS_PTRACE. */
bool memory_can_be_read_apart(void);

/* 0 or -errno, and what is to be replied. Runs in the process, and in tests. */
int memory_read(int kind, const void *request, size_t size, struct buf *reply);
/* Whether what came from there can be used: every number is within its bounds. */
bool memory_found_is_sound(const struct memory_found *found);

/* The process: answers until nobody asks any more. The exit status. */
int memory_run(int socket);
