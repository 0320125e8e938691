// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as an ELF file; by the last one, with a terabyte of zeros behind them. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "elf/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct elf_file *f)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t vaddr, back, start;

	(void)elf_file_build_id(f, id);
	(void)elf_file_has_symtab(f);
	(void)elf_file_dwarf_fd(f);
	(void)elf_file_is_debug_file(f);
	(void)elf_file_find_function(f, "main", &start);
	for (uint64_t offset = 0; offset < 65536; offset += 257) {
		if (elf_file_offset_to_vaddr(f, offset, &vaddr))
			vaddr = offset;
		(void)elf_file_vaddr_to_offset(f, vaddr, &back);
		if (elf_file_function_at(f, vaddr, &start) && start > vaddr)
			__builtin_trap();
		if (!elf_file_function_start(f, vaddr, &start) && start > vaddr)
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_file *f;
	char path[64];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (io_write_all(fd, data, size) ||
		(size && data[size - 1] & 1 && ftruncate(fd, (off_t)1 << 40))) {
		close(fd);
		return 0;
	}
	if (!elf_file_open(&f, path)) {
		use(f);
		elf_file_close(f);
	}
	close(fd);
	return 0;
}
