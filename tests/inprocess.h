/* SPDX-License-Identifier: MIT */
/*
 * The injected library's own code in a test program or benchmark, with the other end of its ring:
 * what is mapped here is sent as a recorder would send it.
 */
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/library.h"
#include "inject/stack_end.h"
#include "inject/space.h"
#include "inject/stacks.h"
#include "own_image.h"

#define INPROCESS_SLOTS 65536u

struct inprocess {
	struct own_image image;
	int recorder; /* its end of the socket */
	struct ring_reader reader;
};

static inline bool inprocess_send_chunk(int fd, uint32_t index, int chunk)
{
	struct wire_chunk message = {.magic = WIRE_MAGIC, .index = index};
	struct iovec part = {&message, sizeof(message)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &chunk, sizeof(chunk));
	return sendmsg(fd, &m, 0) == sizeof(message);
}

/* Sends the mappings of p->image as they are now. */
static inline void inprocess_send_space(struct inprocess *p)
{
	struct wire_space *list = ring_space(&library.ring);

	__atomic_store_n(&list->sequence, list->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	list->count = p->image.mapping_count;
	memcpy(list->mappings, p->image.mappings, list->count * sizeof(list->mappings[0]));
	__atomic_store_n(&list->sequence, list->sequence + 1, __ATOMIC_RELEASE);
	space_update();
}

static inline bool inprocess_connect(struct inprocess *p)
{
	struct stat st;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ||
		fstat(pair[0], &st))
		return false;
	p->recorder = pair[1];
	library.connection = (struct connection){.socket = {pair[0], st.st_dev, st.st_ino}};
	return true;
}

/* Makes all tables, in chunks, and hands them over. */
static inline bool inprocess_load(struct inprocess *p)
{
	size_t bytes = OWN_WORDS_MAX * 4;
	int fd = memfd_create("tables", MFD_CLOEXEC);
	uint32_t *words;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return false;
	words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED || !own_image_load(&p->image, words))
		return false;
	close(fd);
	for (uint32_t index = 0; index < OWN_WORDS_MAX / WALK_CHUNK_WORDS; index++) {
		int chunk = memfd_create("chunk", MFD_CLOEXEC);

		if (chunk < 0 ||
			write(chunk, words + index * WALK_CHUNK_WORDS, WALK_CHUNK_BYTES) !=
				WALK_CHUNK_BYTES ||
			!inprocess_send_chunk(p->recorder, index, chunk))
			return false;
		close(chunk);
	}
	return true;
}

/* For the present thread. */
static inline void inprocess_settle(void)
{
	stack_end_of((uintptr_t)__builtin_frame_address(0));
	stack_end_answer();
	stack_end_of((uintptr_t)__builtin_frame_address(0));
}

static inline bool inprocess_begin(struct inprocess *p)
{
	size_t bytes = ring_bytes(INPROCESS_SLOTS);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	library.guard = calloc(1, sizeof(*library.guard));
	if (memory == MAP_FAILED || !library.guard || stacks_init() || !inprocess_connect(p) ||
		!inprocess_load(p))
		return false;
	library.guard->alive = library.guard->recording = 1;
	library.ring = ring_at(memory, INPROCESS_SLOTS);
	library.ring.control->slots = INPROCESS_SLOTS;
	library.walk = true;
	library.pid = getpid();
	ring_reader_init(&p->reader, memory, INPROCESS_SLOTS);
	inprocess_send_space(p);
	inprocess_settle();
	return true;
}
