// SPDX-License-Identifier: MIT
/*
 * All of it is text of the kernel and of its package: /proc/modules,
 * lib/modules/RELEASE/modules.dep and modules.builtin, the build's options (which distributions
 * keep in different folders), /proc/kallsyms. The list of symbols has some ten megabytes, which the
 * kernel writes anew for each reader: the names of its functions are kept.
 */
#include "monitor/kernel/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "base/io.h"
#include "monitor/kernel/kept.h"
#include "monitor/kernel/tracefs.h"

#define TEXT_BYTES_MAX (16 << 20)

/* ------------------------------------------------------------------ files */

static bool path_exists(const struct monitor_kernel *k, const char *path)
{
	struct buf full = BUF_INIT;
	bool exists;

	buf_printf(&full, "%s%s", k->root, path);
	exists = !full.failed && !access(full.data, F_OK);
	buf_release(&full);
	return exists;
}

static bool read_text(const struct monitor_kernel *k, const char *path, struct buf *ret)
{
	struct buf full = BUF_INIT;
	bool read;

	buf_printf(&full, "%s%s", k->root, path);
	read = !full.failed && !io_read_file(full.data, TEXT_BYTES_MAX, ret);
	buf_putc(ret, '\n');
	buf_release(&full);
	return read && !ret->failed;
}

/* The kernel's release, "6.12.9-amd64": false when it cannot be read. */
static bool read_release(const struct monitor_kernel *k, char ret[128])
{
	struct buf text = BUF_INIT;
	bool good = read_text(k, "/proc/sys/kernel/osrelease", &text);
	size_t length = good ? strcspn(text.data, "\n") : 0;

	good = good && length && length < 128 && !memchr(text.data, '/', length);
	if (good) {
		memcpy(ret, text.data, length);
		ret[length] = '\0';
	}
	buf_release(&text);
	return good;
}

/* A file of this release; the format has the release in it. */
static bool read_release_file(
	const struct monitor_kernel *k, const char *before, const char *after, struct buf *ret)
{
	char release[128], path[256];

	if (!read_release(k, release))
		return false;
	snprintf(path, sizeof(path), "%s%s%s", before, release, after);
	return read_text(k, path, ret);
}

/* ------------------------------------------------------------------ options */

/* A file that is compressed, or not. */
static bool read_compressed(const struct monitor_kernel *k, const char *path, struct buf *ret)
{
	struct buf full = BUF_INIT;
	char chunk[16384];
	gzFile file;
	int size = -1;

	buf_printf(&full, "%s%s", k->root, path);
	file = full.failed ? NULL : gzopen(full.data, "rbe");
	buf_release(&full);
	if (!file)
		return false;
	while ((size = gzread(file, chunk, sizeof(chunk))) > 0 && ret->size < TEXT_BYTES_MAX)
		buf_append(ret, chunk, (size_t)size);
	if (gzclose(file) != Z_OK)
		size = -1;
	buf_putc(ret, '\n');
	return !size && !ret->failed;
}

static bool read_options(const struct monitor_kernel *k, struct buf *ret)
{
	static const struct {
		const char *before, *after;
	} paths[] = {
		{"/boot/config-", ""},
		{"/lib/modules/", "/config"},
		{"/usr/lib/modules/", "/config"},
		{"/lib/modules/", "/build/.config"},
	};

	if (read_compressed(k, "/proc/config.gz", ret))
		return true;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		buf_reset(ret);
		if (read_release_file(k, paths[i].before, paths[i].after, ret))
			return true;
	}
	return false;
}

/* Whether a line of a text starts so. */
static const char *find_line(const struct buf *text, const char *start)
{
	size_t length = strlen(start);

	for (const char *line = buf_text(text); *line;
		line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, start, length))
			return line + length;
	return NULL;
}

int monitor_kernel_option(const struct monitor_kernel *k, const char *option)
{
	struct buf text = BUF_INIT;
	char start[128];
	const char *value;
	int set = -1;

	snprintf(start, sizeof(start), "%s=", option);
	if (read_options(k, &text)) {
		value = find_line(&text, start);
		set = value && (*value == 'y' || *value == 'm');
	}
	buf_release(&text);
	return set;
}

/* ------------------------------------------------------------------ modules */

/* Compares names up to the end of `module`: where `text` goes on, or NULL. */
static const char *same_module(const char *text, const char *module)
{
	for (; *module; module++, text++)
		if (*text != *module && !(*text == '-' && *module == '_') &&
			!(*text == '_' && *module == '-'))
			return NULL;
	return text;
}

/* Built in, with something to say in sysfs; what was loaded has its state there too. */
static bool is_built_in(const struct monitor_kernel *k, const char *module)
{
	char name[64], path[128];
	size_t length = 0;

	for (; module[length] && length < sizeof(name) - 1; length++)
		name[length] = module[length] == '-' ? '_' : module[length];
	name[length] = '\0';
	snprintf(path, sizeof(path), "/sys/module/%s/initstate", name);
	if (path_exists(k, path))
		return false;
	*strrchr(path, '/') = '\0';
	return path_exists(k, path);
}

static bool is_running(const struct monitor_kernel *k, const char *module)
{
	struct buf text = BUF_INIT;
	bool found = false;

	if (read_text(k, "/proc/modules", &text))
		for (const char *line = buf_text(&text); *line && !found;
			line = strchr(line, '\n') + 1) {
			const char *rest = same_module(line, module);
			const char *live = rest && *rest == ' ' ? strstr(rest, " Live ") : NULL;

			found = live && live < strchr(line, '\n');
		}
	buf_release(&text);
	return found;
}

/* Whether a line of a list of modules names the file of this one:
 * "kernel/drivers/gpu/drm/drm.ko.xz: ...". */
static bool is_listed(const struct buf *list, const char *module)
{
	for (const char *line = buf_text(list); *line; line = strchr(line, '\n') + 1) {
		const char *name = line, *end = line + strcspn(line, ":\n"), *rest;

		for (const char *c = line; c < end; c++)
			if (*c == '/')
				name = c + 1;
		rest = same_module(name, module);
		if (rest && !strncmp(rest, ".ko", 3))
			return true;
	}
	return false;
}

enum monitor_module_state monitor_kernel_module(const struct monitor_kernel *k, const char *module)
{
	struct buf builtin = BUF_INIT, files = BUF_INIT;
	enum monitor_module_state state = MODULE_UNKNOWN;

	if (is_running(k, module) || is_built_in(k, module))
		return MODULE_LOADED;
	if (read_release_file(k, "/lib/modules/", "/modules.builtin", &builtin) &&
		is_listed(&builtin, module))
		state = MODULE_LOADED;
	else if (read_release_file(k, "/lib/modules/", "/modules.dep", &files))
		state = is_listed(&files, module) ? MODULE_ON_DISK : MODULE_ABSENT;
	buf_release(&builtin);
	buf_release(&files);
	return state;
}

bool monitor_kernel_has_module(const struct monitor_kernel *k, const char *module)
{
	return monitor_kernel_module(k, module) == MODULE_LOADED;
}

/* ------------------------------------------------------------------ functions */

/* Appends the name of a line "ADDRESS TYPE NAME\t[MODULE]" when it is a function's. */
static void add_function(char *line, struct buf *ret)
{
	char *type = strchr(line, ' '), *name;

	if (!type || !strchr("tTwW", type[1]) || type[2] != ' ')
		return;
	name = type + 3;
	name[strcspn(name, "\t\n ")] = '\0';
	buf_puts(ret, name);
	buf_putc(ret, '\n');
}

static bool read_functions(const struct monitor_kernel *k, struct buf *ret)
{
	struct buf full = BUF_INIT;
	size_t capacity = 0;
	char *line = NULL;
	FILE *file;

	buf_printf(&full, "%s/proc/kallsyms", k->root);
	file = full.failed ? NULL : fopen(full.data, "re");
	buf_release(&full);
	if (!file)
		return false;
	buf_putc(ret, '\n');
	while (getline(&line, &capacity, file) > 0)
		add_function(line, ret);
	free(line);
	fclose(file);
	if (ret->failed)
		buf_reset(ret);
	return ret->size > 0;
}

static size_t count_functions(const struct buf *functions, const char *function)
{
	struct buf wanted = BUF_INIT;
	size_t count = 0;

	buf_printf(&wanted, "\n%s\n", function);
	for (const char *at = buf_text(functions); !wanted.failed && (at = strstr(at, wanted.data));
		count++)
		at += wanted.size - 1;
	buf_release(&wanted);
	return count;
}

size_t monitor_kernel_functions(const struct monitor_kernel *k, const char *function)
{
	struct buf here = BUF_INIT, *functions = k->kept ? &k->kept->functions : &here;
	size_t count = 0;

	if (functions->size || read_functions(k, functions))
		count = count_functions(functions, function);
	buf_release(&here);
	return count;
}

/* ------------------------------------------------------------------ looking around */

#define CAPABILITY(number) (1ull << (number))
#define MAY_ALL		   CAPABILITY(21)		     /* CAP_SYS_ADMIN */
#define MAY_PROBE	   (CAPABILITY(38) | CAPABILITY(39)) /* CAP_PERFMON, CAP_BPF */

static bool has_rights(const struct monitor_kernel *k)
{
	struct buf text = BUF_INIT;
	unsigned long long mask = 0;
	const char *value = NULL;

	if (read_text(k, "/proc/self/status", &text))
		value = find_line(&text, "CapEff:");
	if (value)
		mask = strtoull(value, NULL, 16);
	buf_release(&text);
	return (mask & MAY_ALL) || (mask & MAY_PROBE) == MAY_PROBE;
}

static void look(
	const char *root, int tracefs_error, const struct buf *tracefs, struct monitor_kernel *ret)
{
	struct monitor_kernel k = {.root = root, .tracefs_error = tracefs_error};

	if (!tracefs_error && tracefs->size >= sizeof(k.tracefs))
		k.tracefs_error = error_set(
			-ENAMETOOLONG, "the path of tracefs is too long: '%s'", tracefs->data);
	if (k.tracefs_error)
		snprintf(k.tracefs_reason, sizeof(k.tracefs_reason), "%s", error_text());
	else
		snprintf(k.tracefs, sizeof(k.tracefs), "%s", buf_text(tracefs));
	k.kprobes = path_exists(&k, "/sys/bus/event_source/devices/kprobe/type");
	k.no_rights = !has_rights(&k);
	k.kept = calloc(1, sizeof(*k.kept));
	*ret = k;
}

void monitor_kernel_look(const char *root, struct monitor_kernel *ret)
{
	struct buf path = BUF_INIT;
	int err = *root ? tracefs_find_below(root, &path) : tracefs_find(&path);

	look(root, err, &path, ret);
	buf_release(&path);
}

void monitor_kernel_release(struct monitor_kernel *k)
{
	if (!k->kept)
		return;
	buf_release(&k->kept->functions);
	types_free(k->kept->types);
	free(k->kept);
	k->kept = NULL;
}
