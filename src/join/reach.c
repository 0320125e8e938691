// SPDX-License-Identifier: MIT
/*
 * Its /proc is right if the program has itself there, under the number that it has for itself. That
 * folder has to be procfs. The process there counts itself with one number only, so that it is of
 * the pid namespace that the procfs shows; and this namespace is the program's. Then the equal
 * number makes it the same process.
 *
 * Paths of the program's may lead to file systems that a user serves, who can hold up whoever looks
 * a name up. So a child of ours does it, and is killed when it takes too long.
 */
#include "join/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"

#define LOOK_SECONDS	 5
#define STATUS_BYTES_MAX 65536
#define NAMESPACE_BYTES	 64 /* "pid:[4026531836]" */
#define NOEXEC_ENFORCED	 2  /* Documentation/admin-guide/sysctl/vm.rst, since Linux 6.3 */
#define FIRST_FD	 3

/* What the child finds, as its exit status. */
enum view {
	VIEW_NOT_REFUSED,
	VIEW_NO_PROC,
	VIEW_OTHER_PROC,
	VIEW_HELD_UP, /* it has none */
};

/* --- the child -------------------------------------------------------------------------------- */

static int open_in(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static bool is_procfs(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* How many numbers a process has in the text of its status; 0: it does not say. */
static int count_numbers(const char *status)
{
	static const char key[] = "\nNSpid:";
	const char *at = strstr(status, key);
	int count = 0;

	if (!at)
		return 0;
	for (at += sizeof(key) - 1; *at == '\t'; count++)
		at += 1 + strspn(at + 1, "0123456789");
	return count;
}

static int count_numbers_of(int process)
{
	struct buf status = BUF_INIT;
	int fd = open_in(process, "status", O_RDONLY, RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	int count = 0;

	if (fd < 0)
		return 0;
	if (is_procfs(fd) && !io_read_rest(fd, STATUS_BYTES_MAX, &status))
		count = count_numbers(buf_text(&status));
	buf_release(&status);
	close(fd);
	return count;
}

/* False, with errno: it cannot be read. */
static bool read_namespace(int folder, const char *path, char *ret)
{
	ssize_t size = readlinkat(folder, path, ret, NAMESPACE_BYTES - 1);

	ret[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* A process that we may not ask is not the one that we may trace. */
static enum view compare(uint32_t pid, int process)
{
	char path[32], here[NAMESPACE_BYTES], there[NAMESPACE_BYTES];
	int count = count_numbers_of(process);

	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	if (!count || !read_namespace(AT_FDCWD, path, here))
		return VIEW_NOT_REFUSED;
	if (count > 1)
		return VIEW_OTHER_PROC;
	if (!read_namespace(process, "ns/pid", there))
		return errno == EACCES || errno == EPERM ? VIEW_OTHER_PROC : VIEW_NOT_REFUSED;
	return strcmp(here, there) ? VIEW_OTHER_PROC : VIEW_NOT_REFUSED;
}

/* It has no such number there. */
static enum view look_without(int root)
{
	int fd = open_in(root, "proc", O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT);

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? VIEW_NO_PROC : VIEW_NOT_REFUSED;
	return is_procfs(fd) ? VIEW_OTHER_PROC : VIEW_NO_PROC;
}

static enum view look(uint32_t pid)
{
	struct proc_status status;
	char path[32];
	int root, process;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !proc_status_read(pid, &status) || !status.inner_pid)
		return VIEW_NOT_REFUSED;
	snprintf(path, sizeof(path), "proc/%u", status.inner_pid);
	process = open_in(root, path, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT);
	if (process == -ENOENT || process == -ENOTDIR)
		return look_without(root);
	if (process < 0)
		return VIEW_NOT_REFUSED;
	return is_procfs(process) ? compare(pid, process) : VIEW_NO_PROC;
}

/* --- what it means ---------------------------------------------------------------------------- */

static int ask_child(uint32_t pid)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		alarm(LOOK_SECONDS);
		syscall(SYS_close_range, FIRST_FD, ~0u, 0);
		_exit(look(pid));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		return VIEW_NOT_REFUSED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : VIEW_HELD_UP;
}

int reach_refuse_memory(void)
{
	return error_set(-EACCES,
		"its kernel lets it make no memory that can be executed (vm.memfd_noexec=2)");
}

/*
 * The value is one of each pid namespace, and who reads it reads that of his own. Whom we may trace
 * is in ours or below it, and there the value is not less (Linux 6.6; in 6.3 to 6.5 it is what ours
 * was when that was made).
 */
static bool is_memory_refused(void)
{
	struct buf value = BUF_INIT;
	bool refused = !io_read_file("/proc/sys/vm/memfd_noexec", 16, &value) &&
		       strtol(buf_text(&value), NULL, 10) == NOEXEC_ENFORCED;

	buf_release(&value);
	return refused;
}

int reach_check(uint32_t pid)
{
	if (is_memory_refused())
		return reach_refuse_memory();
	switch (ask_child(pid)) {
	case VIEW_NO_PROC:
		return error_set(-ENOTSUP,
			"it has no /proc mounted, which its loader needs to find the library");
	case VIEW_OTHER_PROC:
		return error_set(-ENOTSUP,
			"its /proc is that of another pid namespace, and its loader needs it to "
			"find the library");
	case VIEW_HELD_UP:
		return error_set(-ETIMEDOUT,
			"its /proc, which its loader needs to find the library, does not answer");
	}
	return 0;
}
