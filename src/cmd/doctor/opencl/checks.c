// SPDX-License-Identifier: MIT
/* OpenCL is recorded where its loader knows layers. Most machines have no OpenCL, and lack
 * nothing. */
#include "cmd/doctor/opencl/checks.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "vendor/opencl/opencl.h"

#define VENDORS	      "/etc/OpenCL/vendors"
#define LOADER_BYTES  (16u << 20)
#define DRIVERS_SHOWN 8

/* Its code names the variable, if it reads it. */
static bool knows_layers(const char *path)
{
	struct buf file = BUF_INIT;
	bool knows = !io_read_file(path, LOADER_BYTES, &file) &&
		     memmem(file.data, file.size, OPENCL_LAYERS_VARIABLE,
			     sizeof(OPENCL_LAYERS_VARIABLE) - 1);

	buf_release(&file);
	return knows;
}

static void check_loader(struct doctor *d, struct finding *f)
{
	struct library_probe loader;

	library_probe(OPENCL_LOADER_SONAME, NULL, &loader);
	if (!loader.loaded) {
		finding_is(f, d->gpus[0] ? FINDING_LIMITED : FINDING_OK,
			"no OpenCL loader here: programs that bring none use no OpenCL");
		if (d->gpus[0])
			finding_step(f, "sudo apt install ocl-icd-libopencl1");
	} else if (knows_layers(loader.path)) {
		d->opencl = true;
		finding_is(f, FINDING_OK, "'%s' knows layers: programs that use it are recorded",
			loader.path);
	} else {
		finding_is(f, FINDING_LIMITED, "'%s' knows no layers: OpenCL is not recorded",
			loader.path);
		finding_step(f, "sudo apt install ocl-icd-libopencl1 (2.3.0 or later), or Khronos' "
				"loader of 2021.04.29 or later");
	}
}

static bool is_driver_file(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 4 && !strcmp(entry->d_name + size - 4, ".icd");
}

/* Appends the library that a file names: false when it cannot be read. */
static bool put_driver(const struct doctor *d, const char *name, struct buf *list)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	bool is_read;

	buf_printf(&path, VENDORS "/%s", name);
	is_read = !doctor_read(d, buf_text(&path), &text);
	if (is_read)
		buf_printf(list, "%s%.*s", list->size ? ", " : "",
			(int)strcspn(buf_text(&text), " \t\r\n"), buf_text(&text));
	buf_release(&path);
	buf_release(&text);
	return is_read;
}

static int list_drivers(const struct doctor *d, struct buf *list)
{
	struct buf path = BUF_INIT;
	struct dirent *entry;
	int count = 0;
	DIR *folder;

	buf_printf(&path, "%s" VENDORS, d->root);
	folder = path.failed ? NULL : opendir(buf_text(&path));
	while (folder && count < DRIVERS_SHOWN && (entry = readdir(folder)))
		if (is_driver_file(entry))
			count += put_driver(d, entry->d_name, list);
	if (folder)
		closedir(folder);
	buf_release(&path);
	return count;
}

static bool names_any(const char *list, const char *const *libraries)
{
	while (*libraries && !strstr(list, *libraries))
		libraries++;
	return *libraries;
}

/* What names itself, and for whose GPUs nothing does. */
static void report_drivers(const struct doctor *d, const char *list, struct finding *f)
{
	const char *names = *list ? list : "none names itself";
	struct buf missed = BUF_INIT, steps = BUF_INIT;

	for (const struct doctor_table *const *gpu = d->gpus; *gpu; gpu++) {
		if (names_any(list, (*gpu)->opencl_drivers))
			continue;
		buf_printf(&missed, "%s%s's", missed.size ? " and " : "", (*gpu)->vendor);
		buf_printf(&steps, "%s%s", steps.size ? "; " : "", (*gpu)->opencl_step);
	}
	if (missed.size) {
		finding_is(f, FINDING_LIMITED, VENDORS ": %s; no driver for %s GPU", names,
			buf_text(&missed));
		finding_step(f, "%s", buf_text(&steps));
	} else {
		finding_is(f, FINDING_OK, VENDORS ": %s%s", names,
			*list ? "" : " (one for the CPU: sudo apt install pocl-opencl-icd)");
	}
	buf_release(&missed);
	buf_release(&steps);
}

static int count_driver_files(const char *path)
{
	struct dirent *entry;
	DIR *folder = opendir(path);
	int count = 0;

	while (folder && (entry = readdir(folder)))
		count += is_driver_file(entry);
	if (folder)
		closedir(folder);
	return count;
}

/* A folder of such files, one of them, or a library. Of one that has no folder the loader asks the
 * system's. */
static bool names_drivers(const char *elsewhere)
{
	struct stat st;

	if (stat(elsewhere, &st))
		return !strchr(elsewhere, '/');
	return !S_ISDIR(st.st_mode) || count_driver_files(elsewhere);
}

static void check_elsewhere(struct doctor *d, const char *elsewhere, struct finding *f)
{
	if (names_drivers(elsewhere)) {
		finding_is(f, FINDING_OK, "$OCL_ICD_VENDORS names '%s'", elsewhere);
		return;
	}
	d->opencl = false;
	finding_is(f, FINDING_LIMITED,
		"$OCL_ICD_VENDORS names '%s', where no driver is named: programs find no device",
		elsewhere);
	finding_step(f, "unset OCL_ICD_VENDORS");
}

static void check_drivers(struct doctor *d, struct finding *f)
{
	const char *elsewhere = getenv("OCL_ICD_VENDORS");
	struct buf list = BUF_INIT;

	if (elsewhere && *elsewhere) {
		check_elsewhere(d, elsewhere, f);
		return;
	}
	d->opencl &= list_drivers(d, &list) != 0;
	report_drivers(d, buf_text(&list), f);
	buf_release(&list);
}

static void check_layers(struct doctor *d, struct finding *f)
{
	const char *set = getenv(OPENCL_LAYERS_VARIABLE);

	if (set && *set)
		finding_is(f, FINDING_OK,
			"$" OPENCL_LAYERS_VARIABLE " names '%s', which stays beside ours", set);
	else
		finding_is(f, FINDING_OK, "$" OPENCL_LAYERS_VARIABLE " is free");
}

static const struct doctor_check checks[] = {
	{"opencl_loader", "OpenCL", 0, check_loader},
	{"opencl_drivers", "OpenCL drivers", 0, check_drivers},
	{"opencl_layers", "OpenCL layers", 0, check_layers},
	{NULL},
};

const struct doctor_table opencl_table = {.checks = checks};
