/* SPDX-License-Identifier: MIT */
/*
 * Small ELF files, made in memory: one segment of code without contents, and sections that hold
 * what a test gives.
 */
#pragma once

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "elf/elf_file.h"

#define ELF_IMAGE_SECTIONS_MAX 4

struct elf_image_section {
	const char *name;
	const void *data;
	size_t size;
	uint64_t vaddr;
	bool compressed; /* data begins with an Elf64_Chdr */
};

struct elf_image {
	uint16_t machine; /* 0: EM_X86_64 */
	bool narrow;	  /* says that it is a file of 32 bits */
	uint64_t code;
	uint64_t code_size;
	uint64_t entry;
	struct elf_image_section sections[ELF_IMAGE_SECTIONS_MAX];
	size_t section_count;
};

static inline void elf_image_add_header(
	const struct elf_image *image, uint32_t name, uint64_t offset, size_t i, Elf64_Shdr *ret)
{
	const struct elf_image_section *s = &image->sections[i];

	*ret = (Elf64_Shdr){
		.sh_name = name,
		.sh_type = SHT_PROGBITS,
		.sh_flags = s->compressed ? SHF_COMPRESSED : SHF_ALLOC,
		.sh_addr = s->vaddr,
		.sh_offset = offset,
		.sh_size = s->size,
		.sh_addralign = 1,
	};
}

/* Headers first, then the sections' contents, their names, and their headers. */
static inline void elf_image_write(const struct elf_image *image, struct buf *out)
{
	Elf64_Shdr headers[ELF_IMAGE_SECTIONS_MAX + 2] = {0};
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', image->narrow ? ELFCLASS32 : ELFCLASS64,
			ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = image->machine ? image->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = image->entry,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(image->section_count + 2),
		.e_shstrndx = (uint16_t)(image->section_count + 1),
	};
	Elf64_Phdr code = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = image->code,
		.p_filesz = image->code_size,
		.p_memsz = image->code_size,
		.p_align = 4096,
	};
	uint64_t offset = sizeof(h) + sizeof(code), names = 1;

	for (size_t i = 0; i < image->section_count; i++) {
		elf_image_add_header(image, (uint32_t)names, offset, i, &headers[i + 1]);
		offset += image->sections[i].size;
		names += strlen(image->sections[i].name) + 1;
	}
	headers[image->section_count + 1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offset, .sh_size = names, .sh_addralign = 1};
	h.e_shoff = (offset + names + 7) & ~7ull;
	buf_reset(out);
	buf_append(out, &h, sizeof(h));
	buf_append(out, &code, sizeof(code));
	for (size_t i = 0; i < image->section_count; i++)
		buf_append(out, image->sections[i].data, image->sections[i].size);
	buf_append(out, "", 1);
	for (size_t i = 0; i < image->section_count; i++)
		buf_append(out, image->sections[i].name, strlen(image->sections[i].name) + 1);
	while (out->size < h.e_shoff)
		buf_append(out, "", 1);
	buf_append(out, headers, (image->section_count + 2) * sizeof(headers[0]));
}

/* Opens a file with these bytes: 0 or -errno. */
static inline int elf_image_open_bytes(const void *bytes, size_t size, struct elf_file **ret)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	error = io_write_all(fd, bytes, size);
	if (error) {
		close(fd);
		return error;
	}
	return elf_file_open_fd(ret, fd, "an image");
}

static inline int elf_image_open(const struct elf_image *image, struct elf_file **ret)
{
	struct buf bytes = BUF_INIT;
	int error;

	elf_image_write(image, &bytes);
	error = bytes.failed ? -ENOMEM : elf_image_open_bytes(bytes.data, bytes.size, ret);
	buf_release(&bytes);
	return error;
}
