// SPDX-License-Identifier: MIT
/*
 * An image as large as those of the large libraries, made in memory: 10,000 kernels of 512
 * instructions, a row for each of them, and a chain of three inlined calls at each fourth. Prints
 * how long it takes to open it, to read its line table with the first question, and to ask for a
 * million frames.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "gpucode/nvidia/cubin.h"

#define KERNELS	     10000u
#define INSTRUCTIONS 512u
#define CODE_BYTES   16u
#define PADDING	     2000 /* bytes of other sections for each kernel: constants, frames */
#define QUESTIONS    1000000u

enum { SECTION_NAMES = 1, SYMBOLS, STRINGS, LINES, LINE_RELOCATIONS, NAMES, OTHER, FIRST_CODE };

struct parts {
	struct buf image, section_names, strings, symbols, lines, relocations;
	Elf64_Shdr *headers;
};

static const uint8_t line_header[] = {
	2, 0,			   /* version */
	26, 0, 0, 0,		   /* bytes of header from here on */
	1, 1, 0xfb, 14, 10,	   /* steps of 1, line_base -5, line_range 14, opcode_base 10 */
	0, 1, 1, 1, 1, 0, 0, 0, 1, /* operands */
	0,			   /* no folders */
	'a', '.', 'c', 'u', 0, 0, 0, 0, 0, /* a file; no more; */
	0, 0, 0, 0,			   /* what to add to names */
};

static void put_instruction(struct buf *lines, unsigned int i)
{
	static const char inlined[] = {1, 0, 3, (char)0x90, 1, 0, 3, 1, 1, 0, 3, (char)0x90, 2, 0,
		3, 1, 1, 0, 3, (char)0x90, 3, 0};
	static const char back[] = {0, 3, (char)0x90, 0, 0};
	static const char step[] = {2, 16, 3, 1, 1};

	if (i % 4 == 1)
		buf_append(lines, inlined, sizeof(inlined));
	if (i % 4 == 2)
		buf_append(lines, back, sizeof(back));
	buf_append(lines, step, sizeof(step));
}

static void put_sequence(struct parts *p, uint64_t kernel)
{
	static const char set_address[] = {0, 9, 2}, end[] = {2, 16, 0, 1, 1};
	uint64_t nowhere = 0;
	Elf64_Rela r = {.r_info = ELF64_R_INFO(kernel + 1, 2)};

	buf_append(&p->lines, set_address, sizeof(set_address));
	r.r_offset = p->lines.size;
	buf_append(&p->relocations, &r, sizeof(r));
	buf_append(&p->lines, &nowhere, sizeof(nowhere));
	for (unsigned int i = 0; i < INSTRUCTIONS; i++)
		put_instruction(&p->lines, i);
	buf_append(&p->lines, end, sizeof(end));
}

static void put_kernel(struct parts *p, uint64_t i)
{
	uint64_t size = INSTRUCTIONS * CODE_BYTES;
	Elf64_Sym s = {
		.st_name = (uint32_t)p->strings.size,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_other = 0x10,
		.st_shndx = (uint16_t)(FIRST_CODE + i),
		.st_size = size,
	};

	buf_printf(&p->strings, "_ZN7library6kernelILi%lluEEEvPfi", (unsigned long long)i);
	buf_append(&p->strings, "", 1);
	buf_append(&p->symbols, &s, sizeof(s));
	p->headers[FIRST_CODE + i] = (Elf64_Shdr){
		.sh_name = (uint32_t)p->section_names.size,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_offset = p->image.size,
		.sh_size = size,
	};
	buf_printf(
		&p->section_names, ".text._ZN7library6kernelILi%lluEEEvPfi", (unsigned long long)i);
	buf_append(&p->section_names, "", 1);
	if (buf_reserve(&p->image, size)) {
		memset(p->image.data + p->image.size, 0, size);
		p->image.size += size;
	}
	put_sequence(p, i);
}

static void put_section(
	struct parts *p, size_t i, const char *name, uint32_t type, const void *data, size_t size)
{
	p->headers[i] = (Elf64_Shdr){
		.sh_name = (uint32_t)p->section_names.size,
		.sh_type = type,
		.sh_offset = p->image.size,
		.sh_size = size,
	};
	buf_append(&p->section_names, name, strlen(name) + 1);
	buf_append(&p->image, data, size);
}

static void make_image(struct parts *p)
{
	static const Elf64_Sym none;
	static char other[KERNELS][PADDING];
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x41, 8},
		.e_machine = 190,
		.e_flags = 90 << 8,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = FIRST_CODE + KERNELS,
		.e_shstrndx = SECTION_NAMES,
	};
	uint32_t size;

	buf_append(&p->image, &h, sizeof(h));
	buf_append(&p->lines, &size, sizeof(size));
	buf_append(&p->lines, line_header, sizeof(line_header));
	buf_append(&p->strings, "", 1);
	buf_append(&p->section_names, "", 1);
	buf_append(&p->symbols, &none, sizeof(none));
	for (uint64_t i = 0; i < KERNELS; i++)
		put_kernel(p, i);
	size = (uint32_t)(p->lines.size - sizeof(size));
	memcpy(p->lines.data, &size, sizeof(size));
	put_section(p, SYMBOLS, ".symtab", SHT_SYMTAB, p->symbols.data, p->symbols.size);
	p->headers[SYMBOLS].sh_link = STRINGS;
	put_section(p, STRINGS, ".strtab", SHT_STRTAB, p->strings.data, p->strings.size);
	put_section(p, LINES, ".debug_line", SHT_PROGBITS, p->lines.data, p->lines.size);
	put_section(p, LINE_RELOCATIONS, ".rela.debug_line", SHT_RELA, p->relocations.data,
		p->relocations.size);
	p->headers[LINE_RELOCATIONS].sh_info = LINES;
	put_section(p, NAMES, ".debug_str", SHT_PROGBITS, "_Z5innerf", 10);
	put_section(p, OTHER, ".nv.info", SHT_PROGBITS, other, sizeof(other));
	put_section(p, SECTION_NAMES, ".shstrtab", SHT_STRTAB, "", 1);
	p->headers[SECTION_NAMES].sh_offset = p->image.size;
	p->headers[SECTION_NAMES].sh_size = p->section_names.size;
	buf_append(&p->image, p->section_names.data, p->section_names.size);
	h.e_shoff = p->image.size;
	memcpy(p->image.data, &h, sizeof(h));
	buf_append(&p->image, p->headers, (FIRST_CODE + KERNELS) * sizeof(*p->headers));
}

static double memory_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1e3;
}

static uint64_t print_step(const char *what, uint64_t since)
{
	uint64_t now = clock_now_ns();

	printf("%-36s %8.1f ms, %.0f MB in memory\n", what, (double)(now - since) / 1e6,
		memory_mb());
	return clock_now_ns();
}

static int measure(const struct buf *image)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	uint64_t start, chain = 0, random = 1;
	struct cubin *c;

	printf("an image of %.0f MB, %u kernels\n", (double)image->size / 1e6, KERNELS);
	start = print_step("(made)", clock_now_ns());
	if (cubin_open(image->data, image->size, &c)) {
		fprintf(stderr, "%s\n", error_text());
		return 1;
	}
	start = print_step("to open it", start);
	(void)cubin_frames(c, cubin_function(c, 0), 0, frames, NULL);
	start = print_step("the first place", start);
	for (uint32_t i = 0; i < QUESTIONS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		chain += cubin_frames(c, cubin_function(c, (random >> 33) % KERNELS),
			(random >> 20) % INSTRUCTIONS * CODE_BYTES, frames, NULL);
	}
	print_step("a million places, in any order", start);
	printf("%-36s %8.2f\n", "functions at a place, on average", (double)chain / QUESTIONS);
	cubin_close(c);
	return 0;
}

int main(void)
{
	static struct parts p;

	p.headers = calloc(FIRST_CODE + KERNELS, sizeof(*p.headers));
	if (!p.headers)
		return 1;
	make_image(&p);
	return p.image.failed ? 1 : measure(&p.image);
}
