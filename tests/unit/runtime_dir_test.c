// SPDX-License-Identifier: MIT
/* The folder of a recording: where it is made, what becomes of it, and what is never touched. */
#include "record/runtime_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "tap.h"

#define STRANGER 65534

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

static void make_socket(const struct runtime_dir *d)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/a.sock", d->fd);
	CHECK(!bind(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
}

/* What a recorder leaves that is killed: its path. */
static void leave_one(char path[RUNTIME_DIR_PATH_BYTES])
{
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	pid = fork();
	if (!pid) {
		struct runtime_dir d;

		if (runtime_dir_open(&d, false))
			_exit(1);
		make_socket(&d);
		CHECK(write(ends[1], d.path, sizeof(d.path)) == sizeof(d.path));
		raise(SIGKILL);
	}
	CHECK(read(ends[0], path, RUNTIME_DIR_PATH_BYTES) == RUNTIME_DIR_PATH_BYTES);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

/* Runs it as a user who is not root, in a folder of its own: CHECKs count here, too. */
static void as_user(void (*test)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!geteuid() && (setresgid(STRANGER, STRANGER, STRANGER) ||
					  setresuid(STRANGER, STRANGER, STRANGER)))
			_exit(1);
		strcpy(strrchr(folder, '.'), ".XXXXXX");
		if (!mkdtemp(folder))
			_exit(1);
		setenv("XDG_RUNTIME_DIR", folder, 1);
		test();
		shell("rm -rf \"$PWD\"");
		fflush(stdout);
		_exit(!tap_ok);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void made_and_removed(void)
{
	struct runtime_dir d, other;
	char path[RUNTIME_DIR_PATH_BYTES];

	umask(0077);
	CHECK(!runtime_dir_open(&d, false) && !runtime_dir_open(&other, true));
	CHECK(begins_with(d.path, in_folder("xpuprof/recording-")) && strcmp(d.path, other.path));
	CHECK(mode_of(d.path) == 0700 && mode_of(other.path) == 0711);
	memcpy(path, d.path, sizeof(path));
	runtime_dir_close(&d);
	runtime_dir_close(&d);
	CHECK(!is_there(path) && is_there(other.path) && is_there(in_folder("xpuprof")));
	runtime_dir_close(&other);
}

static void a_folder_is_made_where_the_user_has_such_things_and_removed(void)
{
	as_user(made_and_removed);
}

static void left_and_swept(void)
{
	struct runtime_dir first, second;
	char left[RUNTIME_DIR_PATH_BYTES];

	CHECK(!runtime_dir_open(&first, false));
	make_socket(&first);
	leave_one(left);
	CHECK(is_there(left));
	CHECK(!runtime_dir_open(&second, false));
	CHECK(!is_there(left));
	CHECK(is_there(first.path) && shell("test -S xpuprof/recording-*/a.sock"));
	unlinkat(first.fd, "a.sock", 0);
	runtime_dir_close(&first);
	runtime_dir_close(&second);
}

static void what_a_killed_recorder_left_goes_and_that_of_a_living_one_stays(void)
{
	as_user(left_and_swept);
}

static void left_alone(void)
{
	struct runtime_dir d;

	CHECK(shell("mkdir -m 700 xpuprof precious && cd xpuprof && "
		    "mkdir -m 755 recording-0000000000000001 && "
		    "mkdir -m 700 recording-0000000000000002 recording-0003 "
		    "recordings-0000000000000004 recording-000000000000000g && "
		    ">recording-0000000000000002/file && >recording-0000000000000005 && "
		    "ln -s ../precious recording-0000000000000006 && cd .. && "
		    ">precious/before && find . | sort >precious/before"));
	CHECK(!runtime_dir_open(&d, false));
	runtime_dir_close(&d);
	CHECK(shell("find . | sort | cmp - precious/before"));
}

static void what_is_not_surely_ours_is_left_alone(void)
{
	as_user(left_alone);
}

static void not_private(void)
{
	char left[RUNTIME_DIR_PATH_BYTES];
	struct runtime_dir d;

	chmod(folder, 0770);
	leave_one(left);
	CHECK(begins_with(left, "/tmp/xpuprof-recording-"));
	CHECK(!runtime_dir_open(&d, false));
	CHECK(begins_with(d.path, "/tmp/xpuprof-recording-") && !is_there(left));
	runtime_dir_close(&d);
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	CHECK(!runtime_dir_open(&d, false) && begins_with(d.path, "/tmp/"));
	runtime_dir_close(&d);
	CHECK(!is_there(in_folder("xpuprof")));
}

static void a_folder_that_others_may_write_to_is_not_used(void)
{
	as_user(not_private);
}

static void replaced(void)
{
	struct runtime_dir d;

	CHECK(!runtime_dir_open(&d, false));
	CHECK(shell("mkdir elsewhere && >elsewhere/a.sock && cd xpuprof && name=$(echo *) && "
		    "mv $name moved && ln -s ../elsewhere $name"));
	make_socket(&d);
	CHECK(shell("test -S xpuprof/moved/a.sock"));
	unlinkat(d.fd, "a.sock", 0);
	runtime_dir_close(&d);
	CHECK(shell("test -f elsewhere/a.sock && test -L xpuprof/recording-*"));
}

static void a_link_in_the_place_of_the_folder_leads_nowhere(void)
{
	as_user(replaced);
}

static void root_has_a_folder_that_only_root_can_change(void)
{
	struct runtime_dir d;

	if (geteuid() || access("/run", W_OK))
		return (void)SKIP("needs root and /run");
	setenv("XDG_RUNTIME_DIR", "/tmp", 1);
	umask(0077);
	CHECK(!runtime_dir_open(&d, true));
	CHECK(begins_with(d.path, "/run/xpuprof/recording-"));
	CHECK(mode_of("/run/xpuprof") == 0711 && mode_of(d.path) == 0711);
	runtime_dir_close(&d);
	CHECK(is_there("/run/xpuprof"));
}

static void what_another_user_has_left_is_not_for_root_to_remove(void)
{
	char path[] = "/run/xpuprof/recording-0123456789abcdef";
	struct runtime_dir d;

	if (geteuid() || access("/run", W_OK))
		return (void)SKIP("needs root and /run");
	CHECK(!mkdir(path, 0700) && !lchown(path, STRANGER, STRANGER));
	CHECK(!runtime_dir_open(&d, false));
	runtime_dir_close(&d);
	CHECK(is_there(path));
	rmdir(path);
}

int main(void)
{
	RUN(a_folder_is_made_where_the_user_has_such_things_and_removed);
	RUN(what_a_killed_recorder_left_goes_and_that_of_a_living_one_stays);
	RUN(what_is_not_surely_ours_is_left_alone);
	RUN(a_folder_that_others_may_write_to_is_not_used);
	RUN(a_link_in_the_place_of_the_folder_leads_nowhere);
	RUN(root_has_a_folder_that_only_root_can_change);
	RUN(what_another_user_has_left_is_not_for_root_to_remove);
	return tap_end();
}
