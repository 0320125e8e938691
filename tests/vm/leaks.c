// SPDX-License-Identifier: MIT
/*
 * Makes buffers through a stand-in for a driver (tests/vm/modules/), under known functions, and
 * frees some of them:
 *
 *	keep_textures   makes 5 of 2 pages, frees 2
 *	keep_meshes     makes 2 of 1 page
 *	keep_none       makes 4 of 3 pages, frees all
 *
 * usage: leaks i915|amdgpu NUMBER [DEPTH]    NUMBER: other programs have other buffers
 *
 * With DEPTH it makes one buffer instead at the end of each of 2^DEPTH ways through go_left and
 * go_right.
 *
 * Says "made" when that is done, and lives until its standard input ends. A line from there is a
 * program that it goes on as (exec).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAY __attribute__((noinline, noclone))

struct driver {
	const char *name;
	const char *make;  /* of a number and pages */
	unsigned int unit; /* of a size */
	const char *release;
};

// clang-format off
static const struct driver drivers[] = {
	{"i915", "i915_gem_object_create obj=%#lx size=%u", 4096, "i915_gem_object_destroy obj=%#lx"},
	{"amdgpu", "amdgpu_bo_create bo=%#lx pages=%u type=2", 1, "amdgpu_bo_release_notify bo=%#lx"},
};
// clang-format on

static const struct driver *driver;
static int device;
static unsigned long next;

static void fail(const char *what)
{
	fprintf(stderr, "leaks: %s: %s\n", what, strerror(errno));
	exit(1);
}

static WAY void tell_driver(const char *line, int size)
{
	if (write(device, line, (size_t)size) != size)
		fail(line);
	__asm__ volatile("");
}

static WAY unsigned long make_buffer(unsigned int pages)
{
	unsigned long buffer = next;
	char line[128];

	next += 0x1000;
	tell_driver(line, snprintf(line, sizeof(line), driver->make, buffer, pages * driver->unit));
	return buffer;
}

static WAY void free_buffer(unsigned long buffer)
{
	char line[128];

	tell_driver(line, snprintf(line, sizeof(line), driver->release, buffer));
}

static WAY void keep_textures(void)
{
	unsigned long buffers[5];

	for (int n = 0; n < 5; n++)
		buffers[n] = make_buffer(2);
	free_buffer(buffers[1]);
	free_buffer(buffers[3]);
}

static WAY void keep_meshes(void)
{
	for (volatile int n = 0; n < 2; n++) /* one call, not one each */
		make_buffer(1);
}

static WAY void keep_none(void)
{
	unsigned long buffers[4];

	for (int n = 0; n < 4; n++)
		buffers[n] = make_buffer(3);
	for (int n = 0; n < 4; n++)
		free_buffer(buffers[n]);
}

/* ------------------------------------------------------------------ many ways */

static WAY void go_left(unsigned int depth);
static WAY void go_right(unsigned int depth);

static WAY void go(unsigned int depth)
{
	if (depth) {
		go_left(depth - 1);
		go_right(depth - 1);
	} else {
		make_buffer(1);
	}
	__asm__ volatile("");
}

static WAY void go_left(unsigned int depth)
{
	go(depth);
	__asm__ volatile("");
}

static WAY void go_right(unsigned int depth)
{
	go(depth);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	char path[64], line[256];

	for (size_t n = 0; (argc == 3 || argc == 4) && n < sizeof(drivers) / sizeof(drivers[0]);
		n++)
		if (!strcmp(drivers[n].name, argv[1]))
			driver = &drivers[n];
	if (!driver) {
		fprintf(stderr, "usage: leaks i915|amdgpu NUMBER [DEPTH]\n");
		return 2;
	}
	next = strtoul(argv[2], NULL, 10) << 32 | 0x1000;
	snprintf(path, sizeof(path), "/dev/xpuprof_%s", driver->name);
	device = open(path, O_RDWR);
	if (device < 0)
		fail(path);
	if (argc == 4) {
		go((unsigned int)strtoul(argv[3], NULL, 10));
	} else {
		keep_textures();
		keep_meshes();
		keep_none();
	}
	puts("made");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		execl(line, line, (char *)NULL);
		fail(line);
	}
	return 0;
}
