// SPDX-License-Identifier: MIT
/*
 * jitdump KIND PATH: runs code that it made itself for ever, as a compiler at run time does, and
 * maps jit-PID.dump in the present folder, which should name it:
 *
 *	endless     four million records that say nothing, and 10 GiB without content behind them
 *	overlapping 300,000 records that all cover all of the code
 *	lines       entries of lines, as many as one record may have, all for each place
 *	growing     a file that grows until we are killed
 *	changing    a file that is cut off and written anew all the time
 *	pipe        by now a pipe that nobody writes to has its name, and it is not mapped any more
 *	link        by now a link to PATH has its name, likewise
 *	foreign     that of somebody else, PATH, instead
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_BYTES 65536
#define LOADS	   300000
#define LINES	   65000

static char path[64];
static uint8_t *code;

static void put(FILE *file, const void *data, size_t size)
{
	if (fwrite(data, size, 1, file) != 1)
		err(1, "%s", path);
}

static FILE *create(const char *name)
{
	const uint32_t head[10] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	FILE *file = fopen(name, "w");

	if (!file)
		err(1, "%s", name);
	put(file, head, sizeof(head));
	fflush(file);
	return file;
}

static void put_head(FILE *file, uint32_t kind, size_t size)
{
	const uint32_t head[4] = {kind, (uint32_t)(16 + size)};

	put(file, head, sizeof(head));
}

static void put_loads(FILE *file, int count)
{
	for (int i = 0; i < count; i++) {
		const uint64_t load[6] = {
			1, (uintptr_t)code, (uintptr_t)code, CODE_BYTES, (uint64_t)i, 'a'};

		put_head(file, 0, sizeof(load));
		put(file, load, sizeof(load));
	}
}

static void put_lines(FILE *file)
{
	const uint64_t head[2] = {(uintptr_t)code, LINES};
	const uint64_t entry[2] = {(uintptr_t)code, 1};

	put_head(file, 2, sizeof(head) + LINES * (sizeof(entry) + 2));
	put(file, head, sizeof(head));
	for (int i = 0; i < LINES; i++) {
		put(file, entry, sizeof(entry));
		put(file, "a", 2);
	}
}

static void put_nothings(FILE *file)
{
	uint32_t nothings[4 * 4096];

	for (size_t i = 0; i < 4 * 4096; i++)
		nothings[i] = i % 4 == 1 ? 16 : i % 4 ? 0 : 99;
	for (int i = 0; i < 1024; i++)
		put(file, nothings, sizeof(nothings));
}

static void rewrite(bool grows)
{
	for (;; usleep(grows ? 1000 : 0)) {
		FILE *file = grows ? fopen(path, "a") : create(path);

		put_loads(file, grows ? 1500 : 20);
		fclose(file);
	}
}

static void write_content(const char *kind, FILE *file)
{
	if (!strcmp(kind, "lines"))
		put_lines(file);
	put_loads(file, !strcmp(kind, "overlapping") ? LOADS : 1);
	if (!strcmp(kind, "endless"))
		put_nothings(file);
	fflush(file);
	if (!strcmp(kind, "endless") && ftruncate(fileno(file), 10ll << 30))
		err(1, "%s", path);
	if ((!strcmp(kind, "growing") || !strcmp(kind, "changing")) && !fork())
		rewrite(*kind == 'g');
}

/* Returns with the file mapped, or another one at its place by now. */
static void leave(const char *kind, const char *other)
{
	const char *name = !strcmp(kind, "foreign") ? other : path;
	bool is_pipe = !strcmp(kind, "pipe"), is_link = !strcmp(kind, "link");
	void *mapped;

	if (name == path)
		write_content(kind, create(path));
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		open(name, O_RDONLY | O_CLOEXEC), 0);
	if (mapped == MAP_FAILED)
		err(1, "%s", name);
	if ((is_pipe || is_link) && (munmap(mapped, 4096) || remove(path)))
		err(1, "%s", path);
	if ((is_pipe && mkfifo(path, 0644)) || (is_link && symlink(other, path)))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || argc < 3)
		err(1, "usage: jitdump KIND PATH");
	memset(code, 0x90, CODE_BYTES); /* nop */
	code[CODE_BYTES - 1] = 0xc3;	/* ret */
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	leave(argv[1], argv[2]);
	for (;;)
		((void (*)(void))(uintptr_t)code)();
	return 0;
}
