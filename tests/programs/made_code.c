// SPDX-License-Identifier: MIT
/*
 * made_code HOW: makes two functions at run time, the outer of which calls the inner one, runs them
 * for half a second of CPU time, and names them as HOW says:
 *
 *	none      not at all
 *	map       in a perf map, in the forms of several compilers
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 *	push %rbp; mov %rsp,%rbp
 *	call inner                      at 64, by its distance from the next instruction
 *	pop %rbp; ret
 */
static const uint8_t outer[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 64 - 9, 0, 0, 0, 0x5d, 0xc3};
/* push %rbp; mov %rsp,%rbp; mov $100000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const uint8_t inner[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0xa0, 0x86, 1, 0, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

#define INNER_AT 64
#define PAGE	 4096

static void write_map(const uint8_t *code)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		err(1, "%s", path);
	/* .NET's form, without 0x and with spaces; then LuaJIT's. */
	fprintf(map, "%016lX %zx void [app] Work::Outer(int32,class [mscorlib] T)[Tier1]\n",
		(unsigned long)code, sizeof(outer));
	fprintf(map, "%lx %x TRACE_7::inner.lua:12\n", (unsigned long)(code + INNER_AT),
		(unsigned int)sizeof(inner));
	fclose(map);
}

int main(int argc, char **argv)
{
	uint8_t *code = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *how = argc > 1 ? argv[1] : "none";

	if (code == MAP_FAILED)
		err(1, "mmap");
	memcpy(code, outer, sizeof(outer));
	memcpy(code + INNER_AT, inner, sizeof(inner));
	if (!strcmp(how, "map"))
		write_map(code);
	while (clock() < CLOCKS_PER_SEC / 2)
		((void (*)(void))code)();
	return 0;
}
