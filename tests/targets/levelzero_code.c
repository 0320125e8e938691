// SPDX-License-Identifier: MIT
/*
 * A program whose kernels have code: modules are made of a zebin, the second argument. The first
 * says what it does:
 *
 *	kernels		launches "tiny" and "busy", each from a function of its own
 *	reuse		launches "tiny", destroys its module, makes another one, whose "busy" lies where
 *			nothing else does any more, and launches that
 *	drivers		makes the same module and kernels for the last driver, too, which cannot tell where they are, and
 *			does as `kernels`
 *	descriptors	makes many modules with a kernel each, while its recorder is stopped, and prints how many images
 *			it has open then
 *
 *	tiles		launches "tiny" on the first tile of the device and "busy" on the second
 *
 * The others print how often they launched each. A third argument is a tile, counted from 0, that
 * is used in the place of the device.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "levelzero.h"

#define STEP	 __attribute__((noinline, used))
#define FILE_MAX (1u << 20)

static void *driver, *device, *context, *list;
static uint8_t image[FILE_MAX];
static size_t image_size;

static void check(const char *what, int32_t result)
{
	if (!result)
		return;
	fprintf(stderr, "%s: error %#x\n", what, (unsigned int)result);
	exit(1);
}

static void use_tile(uint32_t number)
{
	uint32_t count = 4;
	void *parts[4];

	check("tiles", zeDeviceGetSubDevices(device, &count, parts));
	check("tile", number < count ? 0 : -1);
	device = parts[number];
	check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
}

static void begin(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint32_t one = 1;

	image_size = f ? fread(image, 1, sizeof(image), f) : 0;
	check("image", image_size ? 0 : -1);
	fclose(f);
	check("zeInit", zeInit(0));
	check("driver", zeDriverGet(&one, &driver));
	check("device", zeDeviceGet(driver, &one, &device));
	check("context", zeContextCreate(driver, NULL, &context));
	check("list", zeCommandListCreateImmediate(context, device, NULL, &list));
}

static void *make_module(void)
{
	const struct sim_module_desc desc = {
		.stype = 0x1b, .format = 1, .size = image_size, .input = image};
	void *module;

	check("module", zeModuleCreate(context, device, &desc, &module, NULL));
	return module;
}

static void *make_kernel(void *module, const char *name)
{
	const struct levelzero_kernel_desc desc = {.stype = 0x1d, .name = name};
	void *kernel;

	check("kernel", zeKernelCreate(module, &desc, &kernel));
	return kernel;
}

static int launch(void *kernel, uint32_t groups)
{
	const struct levelzero_group_count count = {{groups, 1, 1}};

	check("launch", zeCommandListAppendLaunchKernel(list, kernel, &count, NULL, 0, NULL));
	check("wait", zeCommandListHostSynchronize(list, UINT64_MAX));
	return 1;
}

STEP static int launch_tiny(void *kernel)
{
	return launch(kernel, 10) + 1;
}

STEP static int launch_busy(void *kernel)
{
	return launch(kernel, 1000) + 2;
}

static void run_kernels(void)
{
	void *module = make_module();
	void *tiny = make_kernel(module, "tiny"), *busy = make_kernel(module, "busy");

	for (int n = 0; n < 40; n++) {
		launch_tiny(tiny);
		launch_busy(busy);
	}
	printf("tiny 40\nbusy 40\n");
}

static void run_tiles(void)
{
	void *whole = device;

	for (uint32_t tile = 0; tile < 2; tile++) {
		void *kernel;

		device = whole;
		use_tile(tile);
		kernel = make_kernel(make_module(), tile ? "busy" : "tiny");
		for (int n = 0; n < 40; n++)
			tile ? launch_busy(kernel) : launch_tiny(kernel);
	}
	printf("tiny 40\nbusy 40\n");
}

static void run_reuse(void)
{
	for (int round = 0; round < 20; round++) {
		void *module = make_module();
		void *kernel = make_kernel(module, round % 2 ? "busy" : "tiny");

		for (int n = 0; n < 5; n++)
			round % 2 ? launch_busy(kernel) : launch_tiny(kernel);
		check("destroy", zeModuleDestroy(module));
	}
	printf("tiny 50\nbusy 50\n");
}

static void use_drivers(void)
{
	void *first = device, *drivers[4];
	uint32_t count = 4, one = 1;

	check("drivers", zeDriverGet(&count, drivers));
	check("device", zeDeviceGet(drivers[count - 1], &one, &device));
	make_kernel(make_module(), "busy");
	device = first;
}

static int open_images(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *e;
	char file[512];
	int count = 0;

	check("descriptors", folder ? 0 : -1);
	while ((e = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), e->d_name, file, sizeof(file) - 1);

		file[n > 0 ? n : 0] = '\0';
		count += strstr(file, "xpuprof-image") != NULL;
	}
	closedir(folder);
	return count;
}

/* One may be on its way. */
static void count_descriptors(void)
{
	enum { MODULES = 400 };
	int count;

	kill(getppid(), SIGSTOP);
	for (int n = 0; n < MODULES; n++)
		make_kernel(make_module(), "tiny");
	count = open_images();
	kill(getppid(), SIGCONT);
	printf("%s\n", count <= 1 ? "none" : "many");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	begin(argv[2]);
	if (argc > 3)
		use_tile((uint32_t)atoi(argv[3]));
	if (!strcmp(argv[1], "drivers"))
		use_drivers();
	if (!strcmp(argv[1], "descriptors"))
		count_descriptors();
	else if (!strcmp(argv[1], "tiles"))
		run_tiles();
	else if (argv[1][0] == 'r')
		run_reuse();
	else
		run_kernels();
	return 0;
}
