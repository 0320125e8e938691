// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a jitdump, and what it answers, cut or changed, as an answer. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/jitdump.h"
#include "elf/limits.h"
#include "fuzz.h"

#define PLACES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *context, size_t n, const struct jit_name *name)
{
	require(n < PLACES && name->name_length && name->name_length <= ELF_NAME_MAX_BYTES);
	require(!name->file == !name->file_length);
	*(size_t *)context += (size_t)name->name[0] + (name->file ? (size_t)name->file[0] : 0);
	return 0;
}

static struct jit_place place_of(size_t i)
{
	return (struct jit_place){i < 48 ? 0x1000 + i * 8 : (uint64_t)1 << i, i % 3 * 100};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t sum = 0, flipped;
	const struct jitdump_reader r = {PLACES, visit, &sum};
	struct jit_place places[PLACES];
	struct buf answer = BUF_INIT;
	bool cut = false;
	int fd = memfd_create("dump", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	for (size_t i = 0; i < PLACES; i++)
		places[i] = place_of(i);
	if (!jitdump_write(fd, places, PLACES, &answer)) {
		require(!jitdump_read(&r, answer.data, answer.size, &cut));
		flipped = size ? data[size - 1] % answer.size : 0;
		answer.data[flipped] ^= 1;
		(void)jitdump_read(&r, answer.data, answer.size - flipped % 3, &cut);
	}
	(void)jitdump_read(&r, data, size, &cut);
	buf_release(&answer);
	close(fd);
	return 0;
}
