// SPDX-License-Identifier: MIT
/*
 * A module is at the lowest free place of an area of 4 GiB, so the next one made after it is
 * destroyed is at the same address. The zebins are those of tests: their sizes are trusted.
 *
 * Records are those of Xe2: the address in units of 8 bytes in bits 0 to 28; threads that wait for
 * the answer to a message in 77 to 84, that go on in 101 to 108. The first launch waits until
 * somebody reads the pipe, $XPUPROF_SIM_XE_PATIENCE_MS at most: what ran before could not be seen.
 */
#include "code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AREA	     0x8000ffbe0000ull
#define PLACES	     64
#define PLACE_BYTES  0x10000u
#define RECORD_BYTES 64
#define SBID_BIT     77
#define ACTIVE_BIT   101
#define PATIENCE_MS  20000

struct sim_module {
	uint32_t place, driver;
	size_t size;
	uint8_t image[];
};

static bool taken[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int32_t sim_module_make(const uint8_t *image, size_t size, uint32_t driver, void **ret)
{
	struct sim_module *m = calloc(1, sizeof(*m) + size);

	if (!m)
		return 0x70000002;
	m->size = size;
	m->driver = driver;
	memcpy(m->image, image, size);
	pthread_mutex_lock(&lock);
	while (m->place < PLACES - 1 && taken[m->place])
		m->place++;
	taken[m->place] = true;
	pthread_mutex_unlock(&lock);
	*ret = m;
	return 0;
}

int32_t sim_module_free(void *module)
{
	pthread_mutex_lock(&lock);
	taken[((struct sim_module *)module)->place] = false;
	pthread_mutex_unlock(&lock);
	free(module);
	return 0;
}

int32_t sim_module_image(const struct sim_module *m, size_t *size, uint8_t *ret)
{
	if (ret)
		memcpy(ret, m->image, *size < m->size ? *size : m->size);
	*size = m->size;
	return 0;
}

void sim_code_find(const struct sim_module *m, const char *name, struct sim_code *ret)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)m->image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(m->image + h->e_shoff);
	const char *names = (const char *)m->image + sections[h->e_shstrndx].sh_offset;
	uint64_t address = AREA + (uint64_t)m->place * PLACE_BYTES;

	for (int i = 0; i < h->e_shnum; i++) {
		const char *section = names + sections[i].sh_name;

		if (strncmp(section, ".text.", 6))
			continue;
		if (!strcmp(section + 6, name))
			*ret = (struct sim_code){address, m->image + sections[i].sh_offset,
				sections[i].sh_size, m->driver};
		address += sections[i].sh_size;
	}
}

/* --- records */

static void put_byte(uint8_t *record, unsigned int bit, unsigned int value)
{
	value <<= bit % 8;
	record[bit / 8] |= (uint8_t)value;
	record[bit / 8 + 1] |= (uint8_t)(value >> 8);
}

/* One at a message waits for its answer, any other goes on, as do three of the former's. */
static void put_record(uint8_t *record, uint64_t address, bool waits)
{
	uint32_t ip = (uint32_t)(address >> 3) & 0x1fffffff;

	memset(record, 0, RECORD_BYTES);
	memcpy(record, &ip, sizeof(ip));
	put_byte(record, SBID_BIT, waits ? SIM_CODE_SAMPLES - 1 : 0);
	put_byte(record, ACTIVE_BIT, waits ? 1 : SIM_CODE_SAMPLES);
}

/* The pipe, once somebody reads it; -1: there is none. */
static int open_pipe(void)
{
	const char *path = getenv("XPUPROF_SIM_XE"),
		   *patience = getenv("XPUPROF_SIM_XE_PATIENCE_MS");
	int limit_ms = patience ? atoi(patience) : PATIENCE_MS, fd = -1;

	for (int n = 0; path && fd < 0 && n < limit_ms; n++) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return fd;
}

static void write_some(int fd, const uint8_t *bytes, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	while (write(fd, bytes, size) < 0 && (errno == EAGAIN || errno == EINTR))
		if (poll(&p, 1, PATIENCE_MS) <= 0)
			return;
}

/* Waits for room; a reader that is gone gets nothing, and the program no signal. */
static void write_all(int fd, const uint8_t *bytes, size_t size)
{
	const struct timespec now = {0};
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	errno = 0;
	write_some(fd, bytes, size);
	if (errno == EPIPE)
		sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sim_code_run(const struct sim_code *code)
{
	static int fd = -2;
	uint8_t records[SIM_CODE_RECORDS][RECORD_BYTES];
	size_t at = 0;

	if (!code->address)
		return;
	pthread_mutex_lock(&lock);
	if (fd == -2)
		fd = open_pipe();
	pthread_mutex_unlock(&lock);
	if (fd < 0)
		return;
	for (int n = 0; n < SIM_CODE_RECORDS; n++) {
		const uint8_t *instruction = code->bytes + at;

		put_record(records[n], code->address + at, (*instruction & 0x7f) == 0x31);
		at += instruction[3] & 0x20 ? 8 : 16;
	}
	write_all(fd, (const uint8_t *)records, sizeof(records));
}
