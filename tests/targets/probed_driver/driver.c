// SPDX-License-Identifier: MIT
/*
 * Probes are notes of the layout that sys/sdt.h of SystemTap has (version 3), with counters.
 *
 * The image for debuggers is linked, as Intel's runtime links it: sections of code and
 * their symbols have the addresses that they are loaded at, and relocations are done. The zebins
 * are those of tests: their sizes are trusted.
 */
#include "driver.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../sim/xe/stalls.h"

#define EXPORT __attribute__((visibility("default")))
#define HEAP   0x800000000000ull
#define AREA   (HEAP + 0xffbe0000ull)
#define HIGH   0xffff000000000000ull /* bits that repeat the highest of an address */

/* While they are not 0, somebody reads the probes. */
#define COUNTER __attribute__((section(".probes"), used, visibility("hidden"))) volatile uint16_t
COUNTER launch_counter, image_counter;

#define NOTE(counter, name, arguments)                                                             \
	"1:	nop\n"                                                                                 \
	"	.pushsection .note.stapsdt, \"\", \"note\"\n"                                            \
	"	.balign 4\n"                                                                             \
	"	.4byte 3f - 2f, 5f - 4f, 3\n"                                                            \
	"2:	.asciz \"stapsdt\"\n"                                                                  \
	"3:	.balign 4\n"                                                                           \
	"4:	.8byte 1b, _.stapsdt.base, " counter "\n"                                          \
	"	.asciz \"level_zero\", \"" name "\", \"" arguments "\"\n"                          \
	"5:	.balign 4\n"                                                                           \
	"	.popsection\n"

__asm__("	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	"	.weak _.stapsdt.base\n"
	"	.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	"	.popsection\n");

struct code {
	const char *name;
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
};

static struct code kernels[16];
static int kernel_count;
static uint8_t *image;

int EXPORT driver_is_probed(int patience_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int n = 0; n < patience_ms && !launch_counter; n++)
		nanosleep(&pause, NULL);
	return launch_counter && image_counter;
}

/* --- images ----------------------------------------------------------------------------------- */

static Elf64_Shdr *sections_of(uint8_t *elf)
{
	return (Elf64_Shdr *)(elf + ((Elf64_Ehdr *)elf)->e_shoff);
}

static const char *name_of(uint8_t *elf, const Elf64_Shdr *s)
{
	return (const char *)elf + sections_of(elf)[((Elf64_Ehdr *)elf)->e_shstrndx].sh_offset +
	       s->sh_name;
}

static Elf64_Shdr *section_named(uint8_t *elf, const char *name)
{
	for (int i = 0; i < ((Elf64_Ehdr *)elf)->e_shnum; i++)
		if (!strcmp(name_of(elf, &sections_of(elf)[i]), name))
			return &sections_of(elf)[i];
	return NULL;
}

static void place_code(uint8_t *elf)
{
	uint64_t address = AREA;

	kernel_count = 0;
	for (int i = 0; i < ((Elf64_Ehdr *)elf)->e_shnum; i++) {
		Elf64_Shdr *s = &sections_of(elf)[i];

		if (strncmp(name_of(elf, s), ".text.", 6))
			continue;
		s->sh_addr = address;
		kernels[kernel_count++] =
			(struct code){name_of(elf, s) + 6, address, elf + s->sh_offset, s->sh_size};
		address += (s->sh_size + 63) & ~63ull;
	}
}

/* A symbol's place: of those that are named like a section, that one's. */
static uint64_t address_of(uint8_t *elf, const Elf64_Shdr *strings, const Elf64_Sym *s)
{
	const Elf64_Shdr *in = &sections_of(elf)[s->st_shndx];
	const Elf64_Shdr *like =
		section_named(elf, (const char *)elf + strings->sh_offset + s->st_name);

	if (s->st_shndx >= ((Elf64_Ehdr *)elf)->e_shnum)
		return 0;
	return like && like->sh_addr ? like->sh_addr : in->sh_addr;
}

static void place_symbols(uint8_t *elf, const Elf64_Shdr *table)
{
	Elf64_Sym *symbols = (Elf64_Sym *)(elf + table->sh_offset);

	for (size_t i = 1; i < table->sh_size / sizeof(*symbols); i++)
		symbols[i].st_value +=
			address_of(elf, &sections_of(elf)[table->sh_link], &symbols[i]);
}

static void relocate(uint8_t *elf, const Elf64_Shdr *table, const Elf64_Sym *symbols)
{
	const Elf64_Rela *all = (const Elf64_Rela *)(elf + table->sh_offset);
	uint8_t *target = elf + sections_of(elf)[table->sh_info].sh_offset;

	for (size_t i = 0; i < table->sh_size / sizeof(*all); i++) {
		uint64_t value =
			symbols[ELF64_R_SYM(all[i].r_info)].st_value + (uint64_t)all[i].r_addend;
		uint64_t type = ELF64_R_TYPE(all[i].r_info);

		if (type == 1 || type == 2)
			memcpy(target + all[i].r_offset, &value, type == 1 ? 8 : 4);
	}
}

static void link_image(uint8_t *elf)
{
	const Elf64_Shdr *symbols = section_named(elf, ".symtab");

	((Elf64_Ehdr *)elf)->e_type = ET_EXEC;
	place_code(elf);
	place_symbols(elf, symbols);
	for (int i = 0; i < ((Elf64_Ehdr *)elf)->e_shnum; i++)
		if (sections_of(elf)[i].sh_type == SHT_RELA)
			relocate(elf, &sections_of(elf)[i],
				(const Elf64_Sym *)(elf + symbols->sh_offset));
}

static void say_image(const char *path)
{
	if (image_counter)
		__asm__ volatile(NOTE("image_counter", "compile_kernel", "8@%0")::"nor"(path));
}

void EXPORT driver_load(const uint8_t *zebin, size_t size, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	image = malloc(size);
	memcpy(image, zebin, size);
	link_image(image);
	if (fd < 0 || write(fd, image, size) != (ssize_t)size)
		abort();
	close(fd);
	say_image(path);
}

void EXPORT driver_lie(const char *path)
{
	say_image(path);
}

/* --- launches --------------------------------------------------------------------------------- */

/* A pointer in memory, as an object that owns it would be. */
struct owned {
	const char *text;
};

static void say_launch(const struct code *k)
{
	struct owned name = {k->name};
	uint64_t address = k->address | HIGH;

	if (launch_counter)
		__asm__ volatile(
			NOTE("launch_counter", "launch_kernel", "8@%0 8@%1 8@%2 8@%3")::"nor"(HEAP),
			"nor"(address), "nor"(k->size), "m"(name));
}

/* From an array, with a size of 32 bits in a register. */
static void say_launch_oddly(const struct code *k)
{
	volatile uint64_t words[4] = {HEAP, k->address, k->size, (uintptr_t)k->name};
	register uint64_t third __asm__("r13") = 3;
	register const volatile uint64_t *base __asm__("rbx") = words;
	register uint32_t size __asm__("r14") = (uint32_t)k->size;

	if (launch_counter)
		__asm__ volatile(NOTE("launch_counter", "launch_kernel",
					 "8@$0 8@8(%%rbx) -4@%%r14d 8@(%%rbx,%%r13,8)")::"r"(third),
			"r"(base), "r"(size), "m"(words));
}

#ifdef UNREADABLE
/* Nobody can read it from outside. */
__attribute__((used)) static void say_launch_unreadably(void)
{
	__asm__ volatile(NOTE("launch_counter", "launch_kernel",
		"8@$0 8@launch_counter(%%rip) 8@$64 8@%0")::"r"(0));
}
#endif

int EXPORT driver_launch(const char *name, int oddly)
{
	for (int i = 0; i < kernel_count; i++) {
		if (strcmp(kernels[i].name, name))
			continue;
		if (oddly)
			say_launch_oddly(&kernels[i]);
		else
			say_launch(&kernels[i]);
		sim_stalls_run(0, SIM_STALL_ACTIVE_XE2, kernels[i].address, kernels[i].bytes,
			kernels[i].size);
		return 0;
	}
	return -1;
}

void EXPORT driver_say_launch(void)
{
	const struct code *k = kernels;

	__asm__("" : "+r"(k)); /* so that the probe's arguments are not variables by their names */
	say_launch(k);
}
