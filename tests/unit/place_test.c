// SPDX-License-Identifier: MIT
/* Files that are opened, renamed and removed with the rights of a user, in places that are held. */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/output_file.h"
#include "folder.h"
#include "tap.h"

#define STRANGER 4242

/* No account has it: only the numbers count. */
static gid_t strangers_groups[] = {STRANGER, STRANGER + 1};
static struct user stranger = {.switched = true,
	.uid = STRANGER,
	.gid = STRANGER,
	.name = "a stranger",
	.groups = strangers_groups,
	.group_count = 2};

static bool is_root(void)
{
	if (geteuid())
		SKIP("needs root");
	return !geteuid();
}

struct identity {
	uid_t uid;
	gid_t gid, groups[8];
	int group_count;
};

static int identify(void *context, int *ret_fd)
{
	struct identity *i = context;

	i->uid = (uid_t)syscall(SYS_geteuid);
	i->gid = (gid_t)syscall(SYS_getegid);
	i->group_count = (int)syscall(SYS_getgroups, 8, i->groups);
	*ret_fd = open("/dev/null", O_RDONLY);
	return 0;
}

static void a_call_runs_as_the_user_with_its_groups_and_passes_a_descriptor(void)
{
	struct identity i = {0};
	struct stat st;
	int fd = -1;

	if (!is_root())
		return;
	CHECK(!user_run(&stranger, identify, &i, sizeof(i), &fd));
	CHECK(i.uid == STRANGER && i.gid == STRANGER && i.group_count == 2 &&
		i.groups[0] == STRANGER && i.groups[1] == STRANGER + 1);
	CHECK(!fstat(fd, &st) && S_ISCHR(st.st_mode));
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(!geteuid());
	close(fd);
}

static int fail_after_opening(void *context, int *ret_fd)
{
	(void)context;
	*ret_fd = open("/dev/null", O_RDONLY);
	return -ESTALE;
}

static int stop_itself(void *context, int *ret_fd)
{
	(void)context;
	(void)ret_fd;
	kill((pid_t)syscall(SYS_getpid), SIGSTOP);
	return 0;
}

static int die(void *context, int *ret_fd)
{
	(void)context;
	(void)ret_fd;
	kill((pid_t)syscall(SYS_getpid), SIGKILL);
	return 0;
}

static void a_call_that_fails_says_why_and_leaves_no_descriptor(void)
{
	int before = open("/dev/null", O_RDONLY), after, fd = -1;

	CHECK(user_run(NULL, fail_after_opening, NULL, 0, &fd) == -ESTALE && fd == -1);
	if (!geteuid()) {
		CHECK(user_run(&stranger, fail_after_opening, NULL, 0, &fd) == -ESTALE && fd == -1);
		CHECK(user_run(&stranger, die, NULL, 0, &fd) == -ECANCELED && fd == -1);
	}
	close(before);
	after = open("/dev/null", O_RDONLY);
	CHECK(after == before);
	close(after);
}

static void a_signal_ends_the_wait_for_a_child_that_the_user_stopped(void)
{
	sigset_t term, before;
	int number;

	if (!is_root())
		return;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	raise(SIGTERM);
	CHECK(user_run(&stranger, stop_itself, NULL, 0, NULL) == -EINTR);
	CHECK(!sigwait(&term, &number) && number == SIGTERM);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool exists(const char *name)
{
	return !access(in_folder(name), F_OK);
}

static int make(const struct place *p)
{
	int fd = place_open(p, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void a_place_stays_in_its_folder_whatever_takes_its_name(void)
{
	struct place p, other;

	CHECK(shell("mkdir a b"));
	CHECK(!place_find(&p, NULL, in_folder("a/file"), "write"));
	CHECK(shell("mv a held && ln -s b a"));
	CHECK(!make(&p) && exists("held/file"));
	CHECK(make(&p) == -EEXIST);
	CHECK(!place_beside(&p, ".old", &other) && !place_rename(&p, &other));
	CHECK(exists("held/file.old") && !exists("held/file"));
	CHECK(!place_remove(&other) && !exists("held/file.old"));
	place_release(&p);
	CHECK(shell("rmdir held b && rm a"));
}

static int find_and_make(const struct user *u, const char *name)
{
	struct place p;
	int error = place_find(&p, u, in_folder(name), "write");

	error = error ?: make(&p);
	place_release(&p);
	return error;
}

static void links_are_followed_to_their_end(void)
{
	CHECK(shell("mkdir d && ln -s ../d/../last d/link && ln -s d/./link first && ln -s loop "
		    "loop"));
	CHECK(!find_and_make(NULL, "first") && exists("last"));
	CHECK(find_and_make(NULL, "first") == -EEXIST);
	CHECK(find_and_make(NULL, "loop") == -ELOOP);
	CHECK(find_and_make(NULL, "loop/x") == -ELOOP);
	CHECK(find_and_make(NULL, "last/x") == -ENOTDIR);
	CHECK(find_and_make(NULL, "nowhere/x") == -ENOENT);
	CHECK(find_and_make(NULL, "d/") == -EISDIR);
	CHECK(find_and_make(NULL, "d/..") == -EISDIR);
	CHECK(shell("rm -r d first last loop"));
}

static void root_follows_no_link_of_another_user(void)
{
	if (!is_root())
		return;
	CHECK(shell("mkdir theirs ours && chown 4242 theirs && chmod 755 . ours && "
		    "ln -s $PWD/ours/a theirs/link && ln -s $PWD/ours theirs/folder && "
		    "ln -s theirs ours/theirs && ln -s ours mine && ln -s ours given && "
		    "chown -h 4242 given"));
	CHECK(find_and_make(NULL, "theirs/link") == -ELOOP && !exists("ours/a"));
	CHECK(strstr(error_text(), "a link that another user may have made"));
	CHECK(find_and_make(NULL, "theirs/folder/a") == -ELOOP && !exists("ours/a"));
	CHECK(find_and_make(NULL, "given/a") == -ELOOP && !exists("ours/a"));
	CHECK(!find_and_make(NULL, "mine/a") && exists("ours/a"));
	CHECK(!find_and_make(NULL, "theirs/b") && exists("theirs/b"));
	CHECK(find_and_make(&stranger, "theirs/link") == -EEXIST);
	CHECK(find_and_make(&stranger, "theirs/folder/c") == -EACCES && !exists("ours/c"));
	CHECK(shell("rm -r theirs ours mine given"));
}

static int open_present(const struct user *u, const char *name)
{
	struct place p;
	struct stat st;
	int fd = place_find(&p, u, in_folder(name), "write");

	fd = fd ?: place_stat(&p, &st);
	fd = fd ?: place_open_present(&p, &st, O_WRONLY);
	if (fd >= 0)
		close(fd);
	place_release(&p);
	return fd < 0 ? fd : 0;
}

static void root_overwrites_in_folders_of_others_only_what_is_its_own(void)
{
	if (!is_root())
		return;
	CHECK(shell("mkdir theirs && chown 4242 theirs && touch precious theirs/ours theirs/theirs "
		    "&& chown 4242 theirs/theirs && ln precious theirs/second"));
	CHECK(!open_present(NULL, "theirs/ours"));
	CHECK(open_present(NULL, "theirs/theirs") == -EMLINK);
	CHECK(open_present(NULL, "theirs/second") == -EMLINK);
	CHECK(open_present(&stranger, "theirs/second") == -EACCES);
	CHECK(!open_present(&stranger, "theirs/theirs"));
	CHECK(shell("rm -r theirs precious"));
}

static void descriptors_are_written_only_if_they_were_opened_for_that(void)
{
	char name[32];
	int file = open(in_folder("file"), O_RDONLY | O_CREAT, 0600), again;

	snprintf(name, sizeof(name), "/dev/fd/%d", file);
	CHECK(place_descriptor(name) == file);
	CHECK(place_descriptor("/dev/stdout") == 1 && place_descriptor("/proc/self/fd/2") == 2);
	CHECK(place_descriptor("/dev/fd/") == -1 && place_descriptor("/dev/fd/1/x") == -1);
	CHECK(place_descriptor("/dev/fd/-1") == -1 && place_descriptor("/dev/null") == -1);
	CHECK(place_reopen(file) == -EACCES);
	close(file);
	CHECK(place_reopen(file) == -EBADF);
	file = open(in_folder("file"), O_WRONLY | O_APPEND);
	again = place_reopen(file);
	CHECK(again >= 0 && !(fcntl(again, F_GETFL) & O_APPEND));
	close(again);
	close(file);
	CHECK(shell("rm file"));
}

/* --- profiles --------------------------------------------------------------------------------- */

static bool holds(const char *name, const char *text)
{
	char command[128];

	snprintf(command, sizeof(command), "test \"$(head -c 64 %s | tr -d '\\0')\" = '%s'", name,
		text);
	return shell(command);
}

static int begin(struct output_file *f, const char *name)
{
	int error = output_file_open(f, NULL, name, true);

	return error ?: output_file_begin(f);
}

/* What is kept for longer than the paths of in_folder() are. */
static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s", in_folder(name));
	return path;
}

static int make_profile(const char *name, const char *text)
{
	struct output_file f;
	int error = begin(&f, path_of(name));

	if (!error && (write(f.fd, "XPUPROF", 8) != 8 || write(f.fd, text, strlen(text)) < 0))
		error = -EIO;
	(void)output_file_close(&f);
	return error;
}

static void an_earlier_profile_is_kept_when_the_new_one_begins(void)
{
	struct output_file f;

	CHECK(!make_profile("p", "1") && !exists("p.old"));
	CHECK(!output_file_open(&f, NULL, path_of("p"), true));
	CHECK(holds("p", "XPUPROF1") && !exists("p.old"));
	CHECK(!output_file_begin(&f) && holds("p", "") && holds("p.old", "XPUPROF1"));
	CHECK(!output_file_close(&f));
	CHECK(shell("rm p") && !make_profile("p", "2") && !make_profile("p", "3"));
	CHECK(holds("p", "XPUPROF3") && holds("p.old", "XPUPROF2"));
	CHECK(shell("test $(stat -c %a p) = 600 && rm p p.old"));
}

static void a_profile_that_is_given_up_leaves_the_earlier_one_in_its_place(void)
{
	struct output_file f;

	CHECK(!begin(&f, path_of("p")));
	output_file_remove(&f);
	CHECK(!output_file_close(&f) && !exists("p"));
	CHECK(!make_profile("p", "1"));
	CHECK(!output_file_open(&f, NULL, path_of("p"), true));
	output_file_remove(&f);
	CHECK(!output_file_close(&f) && holds("p", "XPUPROF1"));
	CHECK(!begin(&f, path_of("p")) && exists("p.old"));
	output_file_remove(&f);
	CHECK(!output_file_close(&f) && holds("p", "XPUPROF1") && !exists("p.old"));
	CHECK(shell("rm p"));
}

static void nothing_but_a_profile_is_kept_or_replaced(void)
{
	CHECK(shell("echo text >p") && !make_profile("p", "1") && !exists("p.old"));
	CHECK(shell("echo text >p.old") && make_profile("p", "2") == -EEXIST);
	CHECK(strstr(error_text(), "/p.old' is no profile"));
	CHECK(holds("p", "XPUPROF1") && holds("p.old", "text"));
	CHECK(shell("rm p.old && mkdir p.old") && make_profile("p", "2") == -EEXIST);
	CHECK(shell("rmdir p.old && ln -s text p.old") && make_profile("p", "2") == -EEXIST);
	CHECK(shell("rm p.old && mkfifo p.old") && make_profile("p", "2") == -EEXIST);
	CHECK(holds("p", "XPUPROF1"));
	CHECK(shell("rm p.old && touch p.old") && !make_profile("p", "2"));
	CHECK(shell("rm p p.old"));
}

static void who_writes_a_profile_is_alone(void)
{
	struct output_file first, second;

	CHECK(!output_file_open(&first, NULL, path_of("p"), true));
	CHECK(output_file_open(&second, NULL, path_of("p"), true) == -EBUSY);
	CHECK(strstr(error_text(), "another recorder is writing it") && exists("p"));
	CHECK(!output_file_begin(&first));
	CHECK(output_file_open(&second, NULL, path_of("p"), true) == -EBUSY);
	CHECK(write(first.fd, "XPUPROF", 8) == 8 && !output_file_close(&first));
	CHECK(!output_file_open(&first, NULL, path_of("p"), true));
	CHECK(output_file_open(&second, NULL, path_of("p"), true) == -EBUSY);
	CHECK(!output_file_begin(&first) && exists("p.old"));
	CHECK(output_file_open(&second, NULL, path_of("p"), true) == -EBUSY);
	CHECK(!output_file_close(&first) && !begin(&second, path_of("p")));
	CHECK(!output_file_close(&second));
	CHECK(!output_file_open(&first, NULL, "/dev/null", true) &&
		!output_file_open(&second, NULL, "/dev/null", true));
	CHECK(!output_file_close(&first) && !output_file_close(&second));
	CHECK(shell("rm p p.old"));
}

static void a_profile_that_is_no_longer_there_is_not_renamed(void)
{
	struct output_file f;

	CHECK(!make_profile("p", "1") && !output_file_open(&f, NULL, path_of("p"), true));
	CHECK(shell("rm p && echo other >p") && output_file_begin(&f) == -EBUSY);
	CHECK(!output_file_close(&f) && holds("p", "other") && !exists("p.old"));
	CHECK(shell("rm p"));
}

static void a_user_keeps_what_it_may_rename_and_overwrites_what_it_may_write(void)
{
	struct output_file f;

	if (!is_root())
		return;
	CHECK(shell("chmod 755 . && mkdir theirs && chown 4242 theirs") &&
		!make_profile("theirs/p", "1"));
	CHECK(!output_file_open(&f, &stranger, path_of("theirs/p"), true) &&
		!output_file_begin(&f) && !output_file_close(&f));
	CHECK(shell("test $(stat -c %u theirs/p) = 4242 && test $(stat -c %u theirs/p.old) = 0"));
	CHECK(shell("chown 0 theirs && printf 'XPUPROF\\0two' >theirs/p"));
	CHECK(!output_file_open(&f, &stranger, path_of("theirs/p"), true) &&
		!output_file_begin(&f) && !output_file_close(&f));
	CHECK(holds("theirs/p", "") && holds("theirs/p.old", "XPUPROF1"));
	CHECK(shell("chown 0 theirs/p"));
	CHECK(!output_file_open(&f, &stranger, path_of("theirs/p"), true) &&
		output_file_begin(&f) == -EACCES && !output_file_close(&f));
	CHECK(strstr(error_text(), "as a stranger, who called sudo: Permission denied"));
	CHECK(shell("rm -r theirs"));
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_call_runs_as_the_user_with_its_groups_and_passes_a_descriptor);
	RUN(a_call_that_fails_says_why_and_leaves_no_descriptor);
	RUN(a_signal_ends_the_wait_for_a_child_that_the_user_stopped);
	RUN(a_place_stays_in_its_folder_whatever_takes_its_name);
	RUN(links_are_followed_to_their_end);
	RUN(root_follows_no_link_of_another_user);
	RUN(root_overwrites_in_folders_of_others_only_what_is_its_own);
	RUN(descriptors_are_written_only_if_they_were_opened_for_that);
	RUN(an_earlier_profile_is_kept_when_the_new_one_begins);
	RUN(a_profile_that_is_given_up_leaves_the_earlier_one_in_its_place);
	RUN(nothing_but_a_profile_is_kept_or_replaced);
	RUN(who_writes_a_profile_is_alone);
	RUN(a_profile_that_is_no_longer_there_is_not_renamed);
	RUN(a_user_keeps_what_it_may_rename_and_overwrites_what_it_may_write);
	rmdir(folder);
	return tap_end();
}
