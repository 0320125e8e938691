// SPDX-License-Identifier: MIT
#include "sandbox/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "elf/perf_map.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"

#define COPY_BYTES 65536

/* --- whose rights count ----------------------------------------------------------------------- */

/* A process as its user sees it. */
struct person {
	uint32_t uid, gid;
	uint32_t inner_pid; /* in its innermost namespace */
};

static const struct person nobody = {OPEN_NOBODY, OPEN_NOBODY, 0};

static int find_person(uint32_t pid, struct person *ret)
{
	struct proc_status status;

	if (!proc_status_read(pid, &status))
		return -ESRCH;
	*ret = (struct person){status.uid, status.gid, status.inner_pid ? status.inner_pid : pid};
	return 0;
}

/* From here on paths are opened with this user's rights, if we are root. */
static void become(const struct person *p)
{
	if (geteuid())
		return;
	setfsgid(p->gid);
	setfsuid(p->uid);
}

static void become_root(void)
{
	if (geteuid())
		return;
	setfsuid(0);
	setfsgid(0);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_below(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Who has no more rights than the user who serves the file system needs no protection from that.
 * One that cannot say what it is is served by somebody, too. */
static bool may_be_held_up(int fd)
{
	struct statfs fs;
	bool has_rights = !geteuid() || getauxval(AT_SECURE);

	return has_rights && (fstatfs(fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC);
}

static int copy(int from, int to, size_t most)
{
	static char piece[COPY_BYTES];
	size_t at = 0;
	ssize_t got = 1;
	int error = 0;

	while (!error && got > 0) {
		got = io_pread_full(from, piece, sizeof(piece), (off_t)at);
		if (got < 0)
			return (int)got;
		at += (size_t)got;
		error = at > most ? -EFBIG : io_write_all(to, piece, (size_t)got);
	}
	return error;
}

/* Puts a copy in the place of a descriptor. */
static int replace_by_copy(int *fd, size_t most)
{
	int memory = memfd_create("xpuprof-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (memory < 0)
		return -errno;
	error = copy(*fd, memory, most);
	close(error ? memory : *fd);
	if (!error)
		*fd = memory;
	return error;
}

/* What an O_PATH descriptor stands for, if it is a regular file. It is closed in any case. */
static int open_regular(int path_fd, uint64_t copy_bytes, struct opened *ret, int *ret_fd)
{
	struct stat st;
	int fd = io_open_named(path_fd, &st), error = 0;

	if (fd < 0)
		return fd;
	*ret = (struct opened){.identity = file_identity_of(&st)};
	if (copy_bytes && (uint64_t)st.st_size > copy_bytes) {
		error = -EFBIG;
	} else if (copy_bytes || may_be_held_up(fd)) {
		error = replace_by_copy(&fd, copy_bytes ?: OPEN_COPY_BYTES);
		ret->copied = true;
	}
	if (error)
		close(fd);
	else
		*ret_fd = fd;
	return error;
}

static bool is_wanted(const struct open_mapped *r, const struct opened *o)
{
	return !r->inode || (r->inode == o->identity.inode && r->device == o->identity.device);
}

/* Closes what was opened, if it is not the file that is wanted. */
static int check(const struct open_mapped *r, const struct opened *opened, int *fd)
{
	if (is_wanted(r, opened))
		return 0;
	close(*fd);
	*fd = -1;
	return -ESTALE;
}

static int open_mapping(const struct open_mapped *r, struct opened *ret, int *ret_fd)
{
	char path[64];
	int fd, error;

	if (!r->end)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", r->pid,
		(unsigned long long)r->start, (unsigned long long)r->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	error = fd < 0 ? -errno : open_regular(fd, r->copy_bytes, ret, ret_fd);
	return error ?: check(r, ret, ret_fd);
}

int opener_open_program(const struct open_program *r, struct opened *ret, int *ret_fd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", r->pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : open_regular(fd, 0, ret, ret_fd);
}

/* Below a root folder, with a user's rights. `resolve`: more of openat2's RESOLVE_ flags. */
static int open_path_copied(int root, const struct person *person, const char *path,
	uint64_t resolve, uint64_t copy_bytes, struct opened *ret, int *ret_fd)
{
	int fd, error;

	if (root < 0)
		return root;
	become(person);
	fd = open_below(root, path, resolve);
	error = fd < 0 ? fd : open_regular(fd, copy_bytes, ret, ret_fd);
	become_root();
	return error;
}

static int open_path(int root, const struct person *person, const char *path, uint64_t resolve,
	struct opened *ret, int *ret_fd)
{
	return open_path_copied(root, person, path, resolve, 0, ret, ret_fd);
}

/* A process's, and ours: descriptors, or -errno. */
static void open_roots(uint32_t pid, int ret[2])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	ret[0] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret[1] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void close_roots(const int roots[2])
{
	for (int i = 0; i < 2; i++)
		if (roots[i] >= 0)
			close(roots[i]);
}

int opener_open_mapped(
	const struct open_mapped *r, const char *path, struct opened *ret, int *ret_fd)
{
	struct person person;
	int roots[2], error = open_mapping(r, ret, ret_fd);

	if (!error)
		return 0;
	if (find_person(r->pid, &person))
		person = (struct person){r->if_gone.uid, r->if_gone.gid, 0};
	open_roots(r->pid, roots);
	/* Whether a file that nobody has mapped is the right one, only its root says. */
	for (int i = 0; error && i < (r->copy_bytes && roots[0] >= 0 ? 1 : 2); i++) {
		error = open_path_copied(
			roots[i], &person, path, RESOLVE_NO_SYMLINKS, r->copy_bytes, ret, ret_fd);
		error = error ?: check(r, ret, ret_fd);
	}
	close_roots(roots);
	return error;
}

static int open_map_of(const struct person *person, int root, struct opened *ret, int *ret_fd)
{
	struct stat st;
	int fd;

	become(person);
	fd = root < 0 ? -ESRCH : perf_map_open(root, person->inner_pid, person->uid);
	become_root();
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || may_be_held_up(fd)) {
		close(fd);
		return -EACCES;
	}
	*ret = (struct opened){.identity = file_identity_of(&st)};
	*ret_fd = fd;
	return 0;
}

int opener_open_map(const struct open_map *r, struct opened *ret, int *ret_fd)
{
	struct person person;
	int error = find_person(r->pid, &person), roots[2];

	if (error)
		return error;
	open_roots(r->pid, roots);
	error = open_map_of(&person, roots[0], ret, ret_fd);
	close_roots(roots);
	return error;
}

/* --- of processes that may be gone ------------------------------------------------------------ */

static int open_our_root(void)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int opener_open_later(const struct open_later *r, int root, struct opened *ret, int *ret_fd)
{
	const struct person person = {r->rights.uid, r->rights.gid, r->inner_pid};
	int ours = root < 0 ? open_our_root() : -1;
	int error = open_map_of(&person, root < 0 ? ours : root, ret, ret_fd);

	if (ours >= 0)
		close(ours);
	return error;
}

int opener_open_listed(const struct open_listed *r, int root, const char *paths, size_t size,
	struct opened_listed *ret, int *ret_fd)
{
	const struct person person = {r->rights.uid, r->rights.gid, 0};
	const char *path = paths, *end = paths + size;
	int ours = open_our_root(), error = -ENOENT;

	*ret = (struct opened_listed){0};
	while (error && path < end && memchr(path, '\0', (size_t)(end - path))) {
		int from = *path == OPEN_BELOW && root >= 0 ? root : ours;

		error = *path ? open_path(from, &person, path + 1, 0, &ret->opened, ret_fd)
			      : -EINVAL;
		ret->index += error != 0;
		path += strlen(path) + 1;
	}
	if (ours >= 0)
		close(ours);
	return error;
}

/* --- debug files ------------------------------------------------------------------------------ */

#define DEBUG_FOLDER "/usr/lib/debug"
#define DEBUG_PLACES 4

/* The n-th place: false when nothing can be there. */
static bool debug_path(const struct open_debug *r, const char *path, int n, struct buf *ret)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) : 0;

	buf_reset(ret);
	if (n == 0) {
		if (r->build_id_size < 2)
			return false;
		buf_printf(ret, DEBUG_FOLDER "/.build-id/%02x/", r->build_id[0]);
		for (uint32_t i = 1; i < r->build_id_size; i++)
			buf_printf(ret, "%02x", r->build_id[i]);
		buf_puts(ret, ".debug");
	} else if (r->link[0]) {
		buf_printf(ret, "%s%.*s/%s%s", n == 3 ? DEBUG_FOLDER : "", folder, path,
			n == 2 ? ".debug/" : "", r->link);
	}
	return ret->size && !ret->failed;
}

static int open_debug_below(int root, const struct person *person, const struct open_debug *r,
	const char *path, struct opened *ret, int *ret_fd)
{
	struct buf place = BUF_INIT;
	int error = -ENOENT;

	for (int n = 0; error && n < DEBUG_PLACES; n++)
		if (debug_path(r, path, n, &place))
			error = open_path(root, person, buf_text(&place), 0, ret, ret_fd);
	buf_release(&place);
	return error;
}

int opener_open_debug(const struct open_debug *r, const char *path, struct opened *ret, int *ret_fd)
{
	struct person person;
	int roots[2], error = -ENOENT;

	if (find_person(r->pid, &person))
		person = nobody;
	open_roots(r->pid, roots);
	for (int i = 0; error && i < 2; i++)
		error = open_debug_below(roots[i], &person, r, path, ret, ret_fd);
	close_roots(roots);
	return error;
}

/* --- the process ------------------------------------------------------------------------------ */

/* The path follows the request, and has an end. */
static int handle_mapped(struct buf *request, struct opened *ret, int *ret_fd)
{
	struct open_mapped r;
	const char *path = request->data + sizeof(r);

	if (request->size < sizeof(r) + 2)
		return -EINVAL;
	request->data[request->size - 1] = '\0';
	memcpy(&r, request->data, sizeof(r));
	return opener_open_mapped(&r, path, ret, ret_fd);
}

static bool is_plain_name(const char *name)
{
	return !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static int handle_debug(struct buf *request, struct opened *ret, int *ret_fd)
{
	struct open_debug r;

	if (request->size < sizeof(r) + 2)
		return -EINVAL;
	request->data[request->size - 1] = '\0';
	memcpy(&r, request->data, sizeof(r));
	r.link[sizeof(r.link) - 1] = '\0';
	if (r.build_id_size > ELF_BUILD_ID_MAX || !is_plain_name(r.link))
		return -EINVAL;
	return opener_open_debug(&r, request->data + sizeof(r), ret, ret_fd);
}

static int handle_map(const struct buf *request, struct opened *ret, int *ret_fd)
{
	struct open_map r;

	if (request->size != sizeof(r))
		return -EINVAL;
	memcpy(&r, request->data, sizeof(r));
	return opener_open_map(&r, ret, ret_fd);
}

static int handle_program(const struct buf *request, struct opened *ret, int *ret_fd)
{
	struct open_program r;

	if (request->size != sizeof(r))
		return -EINVAL;
	memcpy(&r, request->data, sizeof(r));
	return opener_open_program(&r, ret, ret_fd);
}

static int handle_later(const struct buf *request, int root, struct opened *ret, int *ret_fd)
{
	struct open_later r;

	if (request->size != sizeof(r))
		return -EINVAL;
	memcpy(&r, request->data, sizeof(r));
	return opener_open_later(&r, root, ret, ret_fd);
}

static int handle_listed(
	const struct buf *request, int root, struct opened_listed *ret, int *ret_fd)
{
	struct open_listed r;

	if (request->size < sizeof(r))
		return -EINVAL;
	memcpy(&r, request->data, sizeof(r));
	return opener_open_listed(
		&r, root, request->data + sizeof(r), request->size - sizeof(r), ret, ret_fd);
}

static int handle(int kind, struct buf *request, int root, struct opened *ret, int *ret_fd)
{
	if (kind == REQUEST_HELLO)
		return 0;
	if (kind == OPENER_OPEN_LATER)
		return handle_later(request, root, ret, ret_fd);
	if (kind == OPENER_OPEN_MAPPED)
		return handle_mapped(request, ret, ret_fd);
	if (kind == OPENER_OPEN_MAP)
		return handle_map(request, ret, ret_fd);
	if (kind == OPENER_OPEN_PROGRAM)
		return handle_program(request, ret, ret_fd);
	if (kind == OPENER_OPEN_DEBUG)
		return handle_debug(request, ret, ret_fd);
	return -EINVAL;
}

/* When others have sent too many that nobody has received yet, this one is not sent. */
static int answer(int socket, int result, const void *data, size_t size, const int fds[MESSAGE_FDS])
{
	static const int none[MESSAGE_FDS] = {-1, -1};
	int error = sandbox_send(socket, result, data, size, fds);

	return error == -ETOOMANYREFS ? sandbox_send(socket, error, NULL, 0, none) : error;
}

int opener_run(int socket)
{
	struct buf request = BUF_INIT;
	int kind, fds[MESSAGE_FDS], error = 0;

	/* They are not those of whom it becomes. */
	if (!geteuid())
		(void)setgroups(0, NULL);
	while (!error && !(error = sandbox_receive(socket, &request, REQUEST_BYTES, &kind, fds))) {
		struct opened_listed opened = {0};
		int reply[MESSAGE_FDS] = {-1, -1}, result;
		bool listed = kind == OPENER_OPEN_LISTED;

		result = listed ? handle_listed(&request, fds[0], &opened, &reply[0])
				: handle(kind, &request, fds[0], &opened.opened, &reply[0]);
		sandbox_close(fds);
		error = answer(socket, result, &opened,
			listed ? sizeof(opened) : sizeof(opened.opened), reply);
		sandbox_close(reply);
	}
	buf_release(&request);
	return error == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
