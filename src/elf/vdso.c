// SPDX-License-Identifier: MIT
/* The mapping is copied to a nameless file, so that it can be read as any other ELF file. */
#include "elf/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

static int open_copy(struct elf_file **ret, const void *image, size_t size)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC), error;

	if (fd < 0)
		return error_errno(-errno, "cannot make room for the vdso");
	error = io_write_all(fd, image, size);
	if (error) {
		close(fd);
		return error_errno(error, "cannot copy the vdso");
	}
	return elf_file_open_fd(ret, fd, "the vdso");
}

/* Where the mapping that begins at `start` ends, by our own list of mappings; 0 when there is
 * none. */
static uint64_t mapping_end(uint64_t start)
{
	struct buf maps = BUF_INIT;
	char key[32];
	const char *line;
	uint64_t end = 0;

	snprintf(key, sizeof(key), "%" PRIx64 "-", start);
	if (!io_read_file("/proc/self/maps", (size_t)64 << 20, &maps)) {
		line = strstr(buf_text(&maps), key);
		if (line && sscanf(line + strlen(key), "%" SCNx64, &end) != 1)
			end = 0;
	}
	buf_release(&maps);
	return end;
}

int vdso_open(struct elf_file **ret)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = start ? mapping_end(start) : 0;

	if (end <= start)
		return error_set(-ENOENT, "this process has no vdso");
	return open_copy(ret, (const void *)(uintptr_t)start, end - start);
}
