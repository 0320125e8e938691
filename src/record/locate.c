// SPDX-License-Identifier: MIT
#include "record/locate.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Relative to the folder of this program, in the order they are tried. */
static const char *const folders[] = {"", "../lib/xpuprof/"};

#define FOLDER_COUNT (sizeof(folders) / sizeof(folders[0]))

/* The folder of this program, with a slash at its end. */
static int program_folder(struct buf *b)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
	const char *slash;

	if (length < 0)
		return error_errno(-errno, "cannot read the link '/proc/self/exe'");
	slash = memrchr(path, '/', (size_t)length);
	if (!slash)
		return error_set(-ENOENT, "the program of '/proc/self/exe' has no folder");
	buf_append(b, path, (size_t)(slash + 1 - path));
	return 0;
}

/* Appends the absolute path of `path` when it is a readable file. */
static bool take(const char *path, struct buf *ret_path)
{
	char *absolute = access(path, R_OK) ? NULL : realpath(path, NULL);

	if (!absolute)
		return false;
	buf_puts(ret_path, absolute);
	free(absolute);
	return true;
}

static int search(const char *folder, const char *name, struct buf *ret_path)
{
	const char *named = secure_getenv(LOCATE_LIBRARY_ENV);
	bool found = false;

	for (size_t i = 0; !found && i < FOLDER_COUNT; i++) {
		struct buf path = BUF_INIT;

		buf_printf(&path, "%s%s%s", folder, folders[i], name);
		found = !path.failed && take(buf_text(&path), ret_path);
		buf_release(&path);
	}
	if (!found && named && *named && !strcmp(name, LOCATE_LIBRARY_NAME))
		found = take(named, ret_path);
	if (found)
		return ret_path->failed ? error_errno(-ENOMEM, "cannot note a path") : 0;
	if (strcmp(name, LOCATE_LIBRARY_NAME) != 0)
		return error_set(-ENOENT,
			"cannot find '%s': looked in '%s' and '%s../lib/xpuprof/'", name, folder,
			folder);
	return error_set(-ENOENT,
		"cannot find '" LOCATE_LIBRARY_NAME "': looked in '%s', '%s../lib/xpuprof/' and "
		"$" LOCATE_LIBRARY_ENV "%s%s%s",
		folder, folder, named ? " ('" : " (not set)", named ? named : "",
		named ? "')" : "");
}

static int locate(const char *name, struct buf *ret_path)
{
	struct buf folder = BUF_INIT;
	int error = program_folder(&folder);

	error = error ?: search(buf_text(&folder), name, ret_path);
	buf_release(&folder);
	return error;
}

int locate_beside_libraries(const char *name, struct buf *ret_path)
{
	struct buf folder = BUF_INIT;
	int error = program_folder(&folder);

	for (size_t i = 0; !error && i < FOLDER_COUNT; i++) {
		ret_path->size = 0;
		buf_printf(ret_path, "%s%s%s", buf_text(&folder), folders[i], name);
		if (ret_path->failed)
			error = error_memory(NULL);
		else if (!access(buf_text(ret_path), R_OK))
			break;
		else if (i + 1 == FOLDER_COUNT)
			error = error_set(-ENOENT, "cannot find '%s' beside '%s'", name,
				LOCATE_PROBE_LIBRARY_NAME);
	}
	buf_release(&folder);
	return error;
}

int locate_library(struct buf *ret_path)
{
	return locate(LOCATE_LIBRARY_NAME, ret_path);
}

int locate_probe_library(struct buf *ret_path)
{
	return locate(LOCATE_PROBE_LIBRARY_NAME, ret_path);
}
