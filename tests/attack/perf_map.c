// SPDX-License-Identifier: MIT
/*
 * perf_map KIND [PATH]: runs code that it made itself, as a compiler at run time does, and leaves
 * in the place of /tmp/perf-PID.map, which should name it:
 *
 *	huge        a file of 10 GiB without content
 *	growing     a file that grows until we are killed
 *	overlapping 600,000 lines that all cover the code
 *	pipe        a pipe that nobody writes to
 *	link        a link to PATH
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES 600000

static void write_lines(FILE *file, void *code, int count)
{
	for (int i = 0; i < count; i++)
		fprintf(file, "%lx 1000 made_code_%d\n", (unsigned long)code, i);
	fflush(file);
}

static FILE *create(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		err(1, "%s", path);
	return file;
}

static void leave(const char *kind, const char *path, const char *other, void *code)
{
	if (!strcmp(kind, "pipe") && mkfifo(path, 0644))
		err(1, "mkfifo");
	if (!strcmp(kind, "link") && symlink(other, path))
		err(1, "symlink");
	if (!strcmp(kind, "huge") && ftruncate(fileno(create(path)), 10ll << 30))
		err(1, "ftruncate");
	if (!strcmp(kind, "overlapping"))
		write_lines(create(path), code, LINES);
	if (!strcmp(kind, "growing") && !fork()) {
		FILE *file = create(path);

		for (int i = 0; i < 2000; i++, usleep(1000)) /* 2 s, 80 MB */
			write_lines(file, code, 1500);
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	unsigned char *code = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	if (code == MAP_FAILED || argc < 2)
		err(1, "usage: perf_map KIND [PATH]");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	leave(argv[1], path, argv[2], code);
	memset(code, 0x90, 4096); /* nop */
	code[4094] = 0xeb;	  /* jmp -128 */
	code[4095] = 0x80;
	((void (*)(void))code)();
	return 0;
}
