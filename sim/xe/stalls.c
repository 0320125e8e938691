// SPDX-License-Identifier: MIT
/*
 * Records have the address in units of 8 bytes in bits 0 to 28, in Xe3p 0 to 60; threads that wait
 * for the answer to a message in 77 to 84, in Xe3p 109 to 116; those that go on in 8 bits
 * elsewhere. The first launch waits until somebody reads the pipe, $XPUPROF_SIM_XE_PATIENCE_MS at
 * most: what ran before could not be seen.
 */
#include "stalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#define RECORD_BYTES 64
#define SBID_BIT     77
#define SBID_XE3P    109
#define PATIENCE_MS  20000
#define TILES	     8	  /* of any simulated device, at most */
#define OPCODE	     0x7f /* of the first byte */
#define SEND	     0x31
#define COMPACTED    0x20 /* of the fourth */
#define LAST	     0x04 /* of the fifth of a message: it ends the thread */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put_byte(uint8_t *record, unsigned int bit, unsigned int value)
{
	value <<= bit % 8;
	record[bit / 8] |= (uint8_t)value;
	record[bit / 8 + 1] |= (uint8_t)(value >> 8);
}

/* One at a message waits for its answer, any other goes on, as do three of the former's. */
static void put_record(uint8_t *record, unsigned int active_bit, uint64_t address, bool waits)
{
	bool is_xe3p = active_bit == SIM_STALL_ACTIVE_XE3P;
	uint64_t ip = address >> 3 & (is_xe3p ? (1ull << 61) - 1 : (1ull << 29) - 1);

	memset(record, 0, RECORD_BYTES);
	memcpy(record, &ip, sizeof(ip));
	put_byte(record, is_xe3p ? SBID_XE3P : SBID_BIT, waits ? SIM_STALL_SAMPLES - 1 : 0);
	put_byte(record, active_bit, waits ? 1 : SIM_STALL_SAMPLES);
}

static int patience_ms(void)
{
	const char *patience = getenv("XPUPROF_SIM_XE_PATIENCE_MS");

	return patience ? atoi(patience) : PATIENCE_MS;
}

const char *sim_stalls_path(unsigned int tile, char *ret, size_t room)
{
	const char *path = getenv("XPUPROF_SIM_XE");

	if (tile)
		snprintf(ret, room, "%s.%u", path ? path : "", tile);
	else
		snprintf(ret, room, "%s", path ? path : "");
	return path ? ret : NULL;
}

/* The pipe, once somebody reads it; -1: there is none. */
static int open_pipe(unsigned int tile)
{
	char path[PATH_MAX];
	bool is_wanted = sim_stalls_path(tile, path, sizeof(path));
	int limit_ms = patience_ms(), fd = -1;

	for (int n = 0; is_wanted && fd < 0 && n <= limit_ms; n++) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && n < limit_ms)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return fd;
}

/* The file beside the pipe that says so. */
static const char *name_of_drops(char *ret, size_t room)
{
	const char *path = getenv("XPUPROF_SIM_XE");

	snprintf(ret, room, "%s.dropped", path ? path : "");
	return path ? ret : NULL;
}

static void note_drop(void)
{
	char path[PATH_MAX];
	int fd = name_of_drops(path, sizeof(path))
			 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)
			 : -1;

	if (fd >= 0)
		close(fd);
}

bool sim_stalls_dropped(void)
{
	char path[PATH_MAX];

	return name_of_drops(path, sizeof(path)) && !unlink(path);
}

/* All of them, which a pipe takes in one piece, or none. */
static void write_some(int fd, const uint8_t *bytes, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	while (write(fd, bytes, size) < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (poll(&p, 1, patience_ms()) > 0)
			continue;
		note_drop();
		return;
	}
}

/* Waits for room; a reader that is gone gets nothing, and the program no signal. False: it is. */
static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	const struct timespec now = {0};
	sigset_t set, before;
	bool is_read;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	errno = 0;
	write_some(fd, bytes, size);
	is_read = errno != EPIPE;
	if (!is_read)
		sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_read;
}

static bool is_to_drop(void)
{
	static atomic_uint kernels;

	return has_fault("drop") && ++kernels % 3 == 0;
}

void sim_stalls_run(unsigned int tile, unsigned int active_bit, uint64_t address,
	const uint8_t *code, size_t size)
{
	static int opened[TILES]; /* 0: not yet */
	int *pipe = &opened[tile % TILES];
	uint8_t records[SIM_STALL_RECORDS][RECORD_BYTES];
	size_t at = 0;
	int fd;

	pthread_mutex_lock(&lock);
	if (!*pipe || (*pipe < 0 && !patience_ms()))
		*pipe = open_pipe(tile);
	fd = *pipe;
	pthread_mutex_unlock(&lock);
	if (fd < 0)
		return;
	if (is_to_drop()) {
		note_drop();
		return;
	}
	for (int n = 0; n < SIM_STALL_RECORDS; n++) {
		const uint8_t *i = code + at;
		size_t bytes = i[3] & COMPACTED ? 8 : 16;
		bool is_send = (i[0] & OPCODE) == SEND;

		put_record(records[n], active_bit, address + at, is_send);
		at += bytes;
		if ((is_send && bytes == 16 && i[4] & LAST) || size - at < 16)
			at = 0;
	}
	if (write_all(fd, (const uint8_t *)records, sizeof(records)) || patience_ms())
		return;
	pthread_mutex_lock(&lock);
	close(fd);
	*pipe = 0;
	pthread_mutex_unlock(&lock);
}
