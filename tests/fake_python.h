/* SPDX-License-Identifier: MIT */
/*
 * Python frames in a test program or benchmark, as the interpreter (from 3.13 on) keeps them, but
 * without one: what is sent to the library of them fits these.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "inprocess.h"

struct python_frame {
	const void *code;
	struct python_frame *previous;
	uint64_t unused[5];
	const void *at;
	uint16_t stack_top;
	uint8_t return_offset[4];
	uint8_t owner;
	uint8_t pad;
};

#define PYTHON_ENTRY 3 /* owner of a frame that is a loop's, on the machine's stack */

static struct {
	struct python_frame *frame;
} python_thread;
static struct {
	uint32_t is_initialized;
	pthread_key_t key;
} python_key;

static const struct walk_python python = {
	.layout = WALK_PYTHON_CURRENT,
	.version = 0x030d,
	.frame_size = sizeof(struct python_frame),
	.frame_code = offsetof(struct python_frame, code),
	.frame_at = offsetof(struct python_frame, at),
	.frame_at_size = 8,
	.frame_previous = offsetof(struct python_frame, previous),
	.frame_owner = offsetof(struct python_frame, owner),
	.owner_entry = PYTHON_ENTRY,
};

static inline bool begin_python(struct inprocess *p)
{
	struct wire_space *list = ring_space(&library.ring);

	python_key.is_initialized = 1;
	if (pthread_key_create(&python_key.key, NULL) ||
		pthread_setspecific(python_key.key, &python_thread))
		return false;
	list->python = python;
	list->python.runtime = list->python.tss_address = (uintptr_t)&python_key;
	inprocess_send_space(p);
	return true;
}
