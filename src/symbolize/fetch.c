// SPDX-License-Identifier: MIT
/*
 * A result in the pipe: u32 item's number, u32 size, the path with a NUL.
 *
 * The functions are those of debuginfod_find_debuginfo(3). The library brings a whole HTTP client
 * with it, whose threads and locks stay in the worker; when its time is over the worker is killed,
 * and the library later cleans a half-written file from its cache. What servers send has a bound:
 * the cache lies in somebody's home.
 */
#include "symbolize/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define PATH_MAX_BYTES	8192
#define FILES_MAX_BYTES ((rlim_t)8 << 30) /* of all files of a request */

struct debuginfod_client;
typedef int (*find_function)(
	struct debuginfod_client *client, const unsigned char *id, int id_size, char **path);

struct library {
	struct debuginfod_client *client;
	find_function find_debuginfo, find_executable;
};

bool fetch_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

static bool load(struct library *l)
{
	void *library = dlopen(FETCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct debuginfod_client *(*begin)(void);

	if (!library)
		return false;
	begin = (struct debuginfod_client * (*)(void)) dlsym(library, "debuginfod_begin");
	l->find_debuginfo = (find_function)dlsym(library, "debuginfod_find_debuginfo");
	l->find_executable = (find_function)dlsym(library, "debuginfod_find_executable");
	l->client = begin ? begin() : NULL;
	return l->client && l->find_debuginfo && l->find_executable;
}

/* A server may send without an end. The library gives up a file that cannot be written. */
static void limit_size(rlim_t left)
{
	struct rlimit limit = {left, FILES_MAX_BYTES};

	(void)setrlimit(RLIMIT_FSIZE, &limit);
}

static rlim_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (rlim_t)st.st_size;
}

static int write_result(int out, uint32_t n, const char *path)
{
	uint32_t head[2] = {n, (uint32_t)strlen(path) + 1};
	int error =
		head[1] > PATH_MAX_BYTES ? -ENAMETOOLONG : io_write_all(out, head, sizeof(head));

	return error ?: io_write_all(out, path, head[1]);
}

static int ask_all(void *context, int out)
{
	const struct fetch_request *r = context;
	rlim_t left = FILES_MAX_BYTES;
	struct library l;
	int error = 0;

	if (r->user && r->user->home)
		setenv("HOME", r->user->home, 1);
	if (!load(&l))
		return write_result(out, UINT32_MAX, "");
	signal(SIGXFSZ, SIG_IGN); /* writing fails instead */
	for (size_t i = 0; !error && i < r->count; i++) {
		const struct fetch_item *item = &r->items[i];
		find_function find = item->program ? l.find_executable : l.find_debuginfo;
		char *path = NULL;
		int fd;

		limit_size(left);
		fd = find(l.client, item->build_id, (int)item->build_id_size, &path);

		if (fd >= 0 && path)
			error = write_result(out, (uint32_t)i, path);
		if (fd >= 0) {
			left -= size_of(fd) < left ? size_of(fd) : left;
			close(fd);
		}
		free(path);
	}
	return error != 0;
}

long fetch_handle(void *context, const char *data, size_t size)
{
	const struct fetch_request *r = context;
	size_t at = 0;
	uint32_t head[2];

	while (size - at >= sizeof(head)) {
		const char *path = data + at + sizeof(head);
		int error;

		memcpy(head, data + at, sizeof(head));
		if (!head[1] || head[1] > PATH_MAX_BYTES)
			return -EIO;
		if (size - at - sizeof(head) < head[1])
			break;
		if (path[head[1] - 1])
			return -EIO;
		if (head[0] >= r->count)
			return head[0] == UINT32_MAX ? -ENOSYS : -EIO;
		error = r->visit(r->context, head[0], path);
		if (error)
			return error;
		at += sizeof(head) + head[1];
	}
	return (long)at;
}

int fetch_files(const struct fetch_request *r)
{
	struct worker w = {ask_all, fetch_handle, (void *)(uintptr_t)r, r->limits, r->user};

	return worker_run(&w);
}
