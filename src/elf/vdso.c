// SPDX-License-Identifier: MIT
/* The mapping is copied to a nameless file, so that it can be read as any other ELF file. */
#include "elf/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

/* They have a few pages. */
#define VDSO_MAX_BYTES ((uint64_t)1 << 20)

/* Appends what the process has mapped there. */
static int read_memory(uint32_t pid, uint64_t start, uint64_t size, struct buf *ret)
{
	char path[32];
	ssize_t got = -EFBIG;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(-errno, "cannot open '%s'", path);
	if (size <= VDSO_MAX_BYTES && buf_reserve(ret, size)) {
		got = io_pread_full(fd, ret->data, size, (off_t)start);
		ret->size = got > 0 ? (size_t)got : 0;
	}
	close(fd);
	return got < 0 ? error_errno((int)got, "cannot read '%s'", path) : 0;
}

static int open_copy(struct elf_file **ret, const struct buf *image)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	char path[64];
	int error;

	if (fd < 0)
		return error_errno(-errno, "cannot make room for the vdso");
	error = io_write_all(fd, image->data, image->size);
	if (error)
		error_errno(error, "cannot copy the vdso");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!error)
		error = elf_file_open(ret, path);
	close(fd);
	return error;
}

int vdso_open(struct elf_file **ret, uint32_t pid, uint64_t start, uint64_t end)
{
	struct buf image = BUF_INIT;
	int error = read_memory(pid, start, end > start ? end - start : 0, &image);

	if (!error)
		error = open_copy(ret, &image);
	buf_release(&image);
	return error;
}

/* Where the mapping that begins at `start` ends, by our own list of mappings; 0 when there is none. */
static uint64_t own_mapping_end(uint64_t start)
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

int vdso_open_own(struct elf_file **ret)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = start ? own_mapping_end(start) : 0;

	if (!end)
		return error_set(-ENOENT, "this process has no vdso");
	return vdso_open(ret, (uint32_t)getpid(), start, end);
}
