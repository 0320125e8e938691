// SPDX-License-Identifier: MIT
/*
 * A zebin of 10 MB, made in memory: 3,000 kernels with code, lines and a relocation of these.
 * Prints how long it takes to open it, to read its lines with the first question, and to ask for
 * the source of every instruction.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "gpucode/intel/zebin.h"

#define KERNELS	   3000u
#define CODE_BYTES 2560u
#define STEP_BYTES 16u

enum { SECTION_NAMES = 1, SYMBOLS, STRINGS, LINES, LINE_RELOCATIONS, FIRST_CODE };

struct parts {
	struct buf image, section_names, strings, symbols, lines, relocations;
	Elf64_Shdr headers[FIRST_CODE + KERNELS];
};

static const uint8_t line_header[] = {
	4, 0,		       /* version */
	28, 0, 0, 0,	       /* bytes of header from here on */
	1, 1, 1, 0xfb, 14, 13, /* steps of 1, line_base -5, line_range 14, opcode_base 13 */
	0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, /* operands */
	0,				    /* no folders */
	'a', '.', 'c', 'l', 0, 0, 0, 0, 0,  /* a file; no more */
};

/* A program of each kernel's, as the compiler writes them. */
static void put_lines(struct parts *p, uint64_t symbol)
{
	static const char set_address[] = {0, 9, 2}, step[] = {1, 2, STEP_BYTES, 3, 1},
			  end[] = {0, 1, 1};
	Elf64_Rela r = {.r_info = ELF64_R_INFO(symbol, 1)};
	size_t start = p->lines.size;
	uint64_t nowhere = 0;
	uint32_t size = 0;

	buf_append(&p->lines, &size, sizeof(size));
	buf_append(&p->lines, line_header, sizeof(line_header));
	buf_append(&p->lines, set_address, sizeof(set_address));
	r.r_offset = p->lines.size;
	buf_append(&p->relocations, &r, sizeof(r));
	buf_append(&p->lines, &nowhere, sizeof(nowhere));
	for (unsigned int at = 0; at < CODE_BYTES; at += STEP_BYTES)
		buf_append(&p->lines, step, sizeof(step));
	buf_append(&p->lines, end, sizeof(end));
	size = (uint32_t)(p->lines.size - start - sizeof(size));
	if (!p->lines.failed)
		memcpy(p->lines.data + start, &size, sizeof(size));
}

/* The kernel's own, and that of its lines: in another section, by the name of the kernel's. */
static void put_symbols(struct parts *p, uint32_t i)
{
	Elf64_Sym s = {.st_name = (uint32_t)p->strings.size + 6,
		.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		.st_shndx = (uint16_t)(FIRST_CODE + i),
		.st_size = CODE_BYTES};

	buf_printf(&p->strings, ".text._ZTSN7library6kernelILi%uEEE", i);
	buf_append(&p->strings, "", 1);
	buf_append(&p->symbols, &s, sizeof(s));
	s.st_name -= 6;
	s.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
	s.st_shndx = LINES;
	buf_append(&p->symbols, &s, sizeof(s));
}

static void put_section(
	struct parts *p, size_t i, const char *name, uint32_t type, const void *data, size_t size)
{
	p->headers[i] = (Elf64_Shdr){.sh_name = (uint32_t)p->section_names.size,
		.sh_type = type,
		.sh_offset = p->image.size,
		.sh_size = size};
	buf_append(&p->section_names, name, strlen(name) + 1);
	buf_append(&p->image, data, size);
}

static void put_kernel(struct parts *p, uint32_t i)
{
	static const uint8_t code[CODE_BYTES];
	char name[64];

	snprintf(name, sizeof(name), ".text._ZTSN7library6kernelILi%uEEE", i);
	put_section(p, FIRST_CODE + i, name, SHT_PROGBITS, code, sizeof(code));
	p->headers[FIRST_CODE + i].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	put_symbols(p, i);
	put_lines(p, 2 * i + 2);
}

static void make_image(struct parts *p)
{
	static const Elf64_Sym none;
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_machine = 205,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = FIRST_CODE + KERNELS,
		.e_shstrndx = SECTION_NAMES,
	};

	buf_append(&p->image, &h, sizeof(h));
	buf_append(&p->strings, "", 1);
	buf_append(&p->section_names, "", 1);
	buf_append(&p->symbols, &none, sizeof(none));
	for (uint32_t i = 0; i < KERNELS; i++)
		put_kernel(p, i);
	put_section(p, SYMBOLS, ".symtab", SHT_SYMTAB, p->symbols.data, p->symbols.size);
	p->headers[SYMBOLS].sh_link = STRINGS;
	put_section(p, STRINGS, ".strtab", SHT_STRTAB, p->strings.data, p->strings.size);
	put_section(p, LINES, ".debug_line", SHT_PROGBITS, p->lines.data, p->lines.size);
	put_section(p, LINE_RELOCATIONS, ".rela.debug_line", SHT_RELA, p->relocations.data,
		p->relocations.size);
	p->headers[LINE_RELOCATIONS].sh_info = LINES;
	put_section(p, SECTION_NAMES, ".shstrtab", SHT_STRTAB, "", 1);
	p->headers[SECTION_NAMES].sh_offset = p->image.size;
	p->headers[SECTION_NAMES].sh_size = p->section_names.size;
	buf_append(&p->image, p->section_names.data, p->section_names.size);
	h.e_shoff = p->image.size;
	memcpy(p->image.data, &h, sizeof(h));
	buf_append(&p->image, p->headers, sizeof(p->headers));
}

static uint64_t print_step(const char *what, uint64_t since)
{
	printf("%-36s %8.1f ms\n", what, (double)(clock_now_ns() - since) / 1e6);
	return clock_now_ns();
}

static int measure(const struct buf *image)
{
	uint64_t start, known = 0, asked = 0;
	struct zebin_frame frame;
	struct zebin *z;
	bool called;

	printf("a zebin of %.1f MB, %u kernels\n", (double)image->size / 1e6, KERNELS);
	start = clock_now_ns();
	if (zebin_open(image->data, image->size, &z)) {
		fprintf(stderr, "%s\n", error_text());
		return 1;
	}
	start = print_step("to open it", start);
	(void)zebin_source(z, zebin_function(z, 0), 0, &frame, &called);
	start = print_step("the first place", start);
	for (size_t i = 0; i < zebin_function_count(z); i++)
		for (uint64_t at = 0; at < CODE_BYTES; at += STEP_BYTES, asked++)
			known += zebin_source(z, zebin_function(z, i), at, &frame, &called) &&
				 frame.line;
	print_step("all places", start);
	printf("%-36s %8llu of %llu\n", "places with a line", (unsigned long long)known,
		(unsigned long long)asked);
	zebin_close(z);
	return known != asked;
}

int main(void)
{
	static struct parts p;

	make_image(&p);
	return p.image.failed ? 1 : measure(&p.image);
}
