// SPDX-License-Identifier: MIT
/*
 * Level Zero is recorded where its loader has a tracing layer. Most machines have no Level Zero,
 * and lack nothing. No driver is loaded for this: the GPUs are those that the kernel names.
 */
#include "cmd/doctor/intel/checks.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "vendor/intel/intel.h"

#define LOADER_BYTES  (16u << 20)
#define TRACING_LAYER "ze_tracing_layer"
#define LATE_TRACING  "zelEnableTracingLayer"
#define NODES	      "/sys/class/drm"
#define INTEL	      0x8086
#define GPUS_SHOWN    8

static bool contains(const char *path, const char *word)
{
	struct buf file = BUF_INIT;
	bool found = !io_read_file(path, LOADER_BYTES, &file) &&
		     memmem(file.data, file.size, word, strlen(word));

	buf_release(&file);
	return found;
}

/* Behind the name that programs ask for, "1.8.0": what the link leads to has it in its name. */
static const char *version_of(const char *path, char resolved[static PATH_MAX])
{
	const char *name = realpath(path, resolved) ? strrchr(resolved, '/') : NULL;
	const char *version = name ? strstr(name, ".so.") : NULL;

	return version && strchr(version + 4, '.') ? version + 4 : NULL;
}

/* The tracing layer lies beside its loader, which names it; one that names none may be both. */
static bool has_tracing_layer(const struct library_probe *loader)
{
	char path[PATH_MAX + sizeof(LEVELZERO_TRACING_SONAME)];
	char *name;

	if (!contains(loader->path, TRACING_LAYER))
		return contains(loader->path, "zelTracerCreate");
	snprintf(path, sizeof(path), "%s", loader->path);
	name = strrchr(path, '/');
	if (!name)
		return false;
	strcpy(name + 1, LEVELZERO_TRACING_SONAME);
	return !access(path, R_OK);
}

static void check_loader(struct doctor *d, struct finding *f)
{
	char resolved[PATH_MAX];
	struct library_probe loader;
	const char *version;

	library_probe(LEVELZERO_LOADER_SONAME, NULL, &loader);
	if (!loader.loaded) {
		finding_is(f, FINDING_OK, "no Level Zero here: nothing uses it");
		return;
	}
	version = version_of(loader.path, resolved);
	if (!has_tracing_layer(&loader)) {
		finding_is(f, FINDING_LIMITED,
			"'%s' has no tracing layer beside it: Level Zero is not recorded",
			loader.path);
		finding_step(f, "install all of the loader's package (libze1), with '%s'",
			LEVELZERO_TRACING_SONAME);
		return;
	}
	finding_is(f, FINDING_OK, "'%s'%s%s, %s", loader.path, version ? ", version " : "",
		version ? version : "",
		contains(loader.path, LATE_TRACING)
			? "whose tracing can be switched on at any time"
			: "whose tracing is switched on when a program begins, or not at all");
}

static bool is_node(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "renderD", 7) && strlen(entry->d_name) < 32;
}

/* A file with a number as "0x8086"; -1: there is none. */
static long read_id(const struct doctor *d, const char *node, const char *what)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	long id = -1;

	buf_printf(&path, NODES "/%s/device/%s", node, what);
	if (!path.failed && !doctor_read(d, buf_text(&path), &text))
		id = strtol(buf_text(&text), NULL, 16);
	buf_release(&path);
	buf_release(&text);
	return id;
}

static bool may_use(const struct doctor *d, const char *node)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/dri/%s", d->root, node);
	return !access(path, R_OK | W_OK);
}

struct gpus {
	struct buf list;
	unsigned int count, closed;
};

static void add_gpu(const struct doctor *d, const char *node, struct gpus *g)
{
	bool is_open = may_use(d, node);

	if (read_id(d, node, "vendor") != INTEL)
		return;
	g->closed += !is_open;
	if (g->count++ < GPUS_SHOWN)
		buf_printf(&g->list, "%s%s (device %lx%s)", g->count > 1 ? ", " : "", node,
			(unsigned long)read_id(d, node, "device"),
			is_open ? "" : ", not for this user");
}

static void check_gpus(struct doctor *d, struct finding *f)
{
	struct gpus g = {.list = BUF_INIT};
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s" NODES, d->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (is_node(entry))
			add_gpu(d, entry->d_name, &g);
	if (folder)
		closedir(folder);
	if (!g.count)
		finding_is(f, FINDING_OK, "none in this machine");
	else
		finding_is(f, g.closed ? FINDING_LIMITED : FINDING_OK, "%s", buf_text(&g.list));
	if (g.closed)
		finding_step(f, "add the user to the group of /dev/dri's nodes (render)");
	buf_release(&g.list);
}

const struct doctor_check intel_checks[] = {
	{"levelzero_loader", "Level Zero", 0, check_loader},
	{"intel_gpus", "Intel GPUs", 0, check_gpus},
	{"intel_stalls", "Intel sampling", 0, intel_check_stalls},
	{"intel_probes", "Intel's driver", 0, intel_check_probes},
	{NULL},
};
