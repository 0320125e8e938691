// SPDX-License-Identifier: MIT
/* The mapping is copied to a nameless file, so that it can be read as any other ELF file. */
#include "elf/vdso.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Of the kernel's own image, which may end with its code or with its section headers. */
static size_t image_size(const Elf64_Ehdr *image)
{
	const Elf64_Phdr *segments =
		(const Elf64_Phdr *)((uintptr_t)image + (uintptr_t)image->e_phoff);
	size_t end = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;

	for (int i = 0; i < image->e_phnum; i++) {
		size_t segment_end = segments[i].p_offset + segments[i].p_filesz;

		end = end > segment_end ? end : segment_end;
	}
	return end;
}

int vdso_open(struct elf_file **ret)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)(uintptr_t)start;

	if (!start)
		return error_set(-ENOENT, "this process has no vdso");
	return open_copy(ret, image, image_size(image));
}
