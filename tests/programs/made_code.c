// SPDX-License-Identifier: MIT
/*
 * made_code HOW: makes two functions at run time, the outer of which calls the inner one, runs them
 * for half a second of CPU time, and names them as HOW says:
 *
 *	none      not at all
 *	map       in a perf map, in the forms of several compilers
 *	dump      in a jitdump in the present folder, with lines
 *	replaced  so too; halfway other code comes to the place of the inner one
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

/* --- a jitdump: tools/perf/Documentation/jitdump-specification.txt in Linux ------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static FILE *begin_dump(void)
{
	const uint32_t head[6] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	const uint64_t rest[2] = {now_ns(), 0};
	char path[64];
	FILE *dump;

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+e");
	if (!dump)
		err(1, "%s", path);
	fwrite(head, sizeof(head), 1, dump);
	fwrite(rest, sizeof(rest), 1, dump);
	fflush(dump);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		err(1, "mmap of %s", path);
	return dump;
}

static void put_record(FILE *dump, uint32_t kind, const void *data, size_t size)
{
	const uint32_t head[2] = {kind, (uint32_t)(16 + size)};
	const uint64_t time_ns = now_ns();

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&time_ns, sizeof(time_ns), 1, dump);
	fwrite(data, size, 1, dump);
	fflush(dump);
}

static void put_load(FILE *dump, const char *name, const uint8_t *code, size_t size)
{
	static uint64_t number;
	const uint64_t address = (uintptr_t)code;
	const uint64_t head[5] = {(uint64_t)(uint32_t)getpid() << 32 | (uint32_t)getpid(), address,
		address, size, number++};
	uint8_t record[256];
	size_t length = strlen(name) + 1;

	memcpy(record, head, sizeof(head));
	memcpy(record + sizeof(head), name, length);
	memcpy(record + sizeof(head) + length, code, size);
	put_record(dump, 0, record, sizeof(head) + length + size);
}

/* One line for all of it. */
static void put_lines(FILE *dump, const uint8_t *code, const char *file, uint32_t line)
{
	const uint64_t head[4] = {(uintptr_t)code, 1, (uintptr_t)code, line};
	uint8_t record[128];
	size_t length = strlen(file) + 1;

	memcpy(record, head, sizeof(head));
	memcpy(record + sizeof(head), file, length);
	put_record(dump, 2, record, sizeof(head) + length);
}

static FILE *write_dump(const uint8_t *code)
{
	FILE *dump = begin_dump();

	put_load(dump, "outer_of_dump", code, sizeof(outer));
	put_lines(dump, code + INNER_AT, "inner.js", 42);
	put_load(dump, "inner_of_dump", code + INNER_AT, sizeof(inner));
	return dump;
}

static void run_until(const uint8_t *code, clock_t end)
{
	while (clock() < end)
		((void (*)(void))(uintptr_t)code)();
}

int main(int argc, char **argv)
{
	FILE *dump = NULL;
	uint8_t *code = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *how = argc > 1 ? argv[1] : "none";

	if (code == MAP_FAILED)
		err(1, "mmap");
	memcpy(code, outer, sizeof(outer));
	memcpy(code + INNER_AT, inner, sizeof(inner));
	if (!strcmp(how, "map"))
		write_map(code);
	if (!strcmp(how, "dump") || !strcmp(how, "replaced"))
		dump = write_dump(code);
	run_until(code, CLOCKS_PER_SEC / 2);
	if (!strcmp(how, "replaced")) {
		put_load(dump, "inner_of_later", code + INNER_AT, sizeof(inner));
		run_until(code, CLOCKS_PER_SEC);
	}
	return 0;
}
