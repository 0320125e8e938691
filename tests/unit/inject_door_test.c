// SPDX-License-Identifier: MIT
/* The library's side of a door (inject/door.h): who is let in, and what is not. Both sides are
 * this process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/door.h"
#include "join/copy.h"
#include "join/wake.h"
#include "tap.h"

#define WAIT_NS (5 * NS_PER_SECOND)

static volatile struct door_page *page;
static int door_fd = -1, library = -1;

/* Before it is sealed it is still being made: too short, and at another number. */
static bool is_door(int fd)
{
	char path[64], target[64];
	ssize_t size;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & DOOR_SEALS) != DOOR_SEALS)
		return false;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = readlink(path, target, sizeof(target) - 1);
	target[size < 0 ? 0 : size] = '\0';
	return !strncmp(target, "/memfd:" DOOR_FILE " ", strlen("/memfd:" DOOR_FILE " "));
}

static void find_door(void)
{
	for (int fd = 0; fd < 1024 && door_fd < 0; fd++)
		if (is_door(fd))
			door_fd = fd;
	if (door_fd >= 0 && !page)
		page = mmap(NULL, DOOR_BYTES, PROT_READ, MAP_SHARED, door_fd, 0);
}

static bool becomes(uint32_t state)
{
	uint64_t deadline_ns = clock_now_ns() + WAIT_NS;

	while ((!page || page->state != state) && clock_now_ns() < deadline_ns) {
		find_door();
		usleep(1000);
	}
	return page && page->state == state;
}

/* The socket that is offered to who knocks, as a duplicate. */
static int knock(void)
{
	uint32_t before = page->answers;
	uint64_t deadline_ns = clock_now_ns() + WAIT_NS;

	while (page->answers == before && clock_now_ns() < deadline_ns) {
		syscall(SYS_futex, &page->knock, FUTEX_WAKE, 1, NULL, NULL, 0);
		usleep(1000);
	}
	return fcntl(page->socket, F_DUPFD_CLOEXEC, 0);
}

static int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void send_letter(int socket, const struct door_letter *letter, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec part = {(void *)(uintptr_t)letter, sizeof(*letter)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = fd < 0 ? NULL : &control,
		.msg_controllen = fd < 0 ? 0 : sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	CHECK(sendmsg(socket, &m, MSG_NOSIGNAL) == sizeof(*letter));
}

/* What comes back: 0 of bytes where it hangs up. */
static ssize_t answer_to(const struct door_letter *letter, int fd, struct door_reply *ret)
{
	int socket = knock();
	ssize_t size;

	send_letter(socket, letter, fd);
	size = recv(socket, ret, sizeof(*ret), 0);
	close(socket);
	return size;
}

static struct door_letter letter_for(const char *entry)
{
	struct door_letter letter = {.magic = DOOR_MAGIC, .version = DOOR_VERSION};

	snprintf(letter.entry, sizeof(letter.entry), "%s", entry);
	return letter;
}

static void the_page_is_the_libraries_alone(void)
{
	struct stat st;

	door_keep();
	CHECK(becomes(DOOR_ASLEEP));
	CHECK(page->magic == DOOR_MAGIC && page->version == DOOR_VERSION && !page->knock);
	CHECK(page->pid == (uint32_t)getpid() && page->owner == DOOR_OF_PROGRAM);
	CHECK(mmap(NULL, DOOR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, door_fd, 0) == MAP_FAILED);
	CHECK(pwrite(door_fd, "x", 1, 0) < 0 && ftruncate(door_fd, 0) < 0);
	CHECK(fcntl(door_fd, F_GETFD) == FD_CLOEXEC);
	CHECK(!fstat(door_fd, &st) && st.st_size == DOOR_BYTES);
}

static void another_copy_in_the_program_finds_the_page(void)
{
	struct door_page *found;

	CHECK(becomes(DOOR_ASLEEP));
	found = door_of_program();
	CHECK(found && found->pid == (uint32_t)getpid() && found->owner == DOOR_OF_PROGRAM);
	CHECK(found && found->armed.state == DOOR_UNARMED);
	if (!found)
		return;
	found->armed.subject = 7;
	CHECK(page->armed.subject == 7);
	found->armed.subject = 0;
}

static void no_child_finds_the_page_of_its_parent(void)
{
	pid_t child = fork();
	int status = 1;

	if (!child)
		_exit(door_of_program() ? 1 : 0);
	CHECK(waitpid(child, &status, 0) == child && !status);
}

static void a_library_is_loaded_run_and_left_again(void)
{
	struct join_options options = {
		.pid = (uint32_t)getpid(), .library = library, .entry = "joined_entry"};
	struct join_result result = {.socket = -1};
	int before = descriptors();
	char text[64] = "", wanted[64];

	for (int n = 0; n < 3; n++) {
		CHECK(!wake(&options, &result) && result.woken && result.copy);
		CHECK(join_has_left(options.pid, result.copy) == JOIN_NOT_LEFT);
		CHECK(page->state == DOOR_BUSY && wake(&options, &(struct join_result){0}));
		memset(text, 0, sizeof(text));
		CHECK(recv(result.socket, text, sizeof(text) - 1, 0) > 0);
		snprintf(wanted, sizeof(wanted), "hello %d %u", (int)getpid(), page->tid);
		CHECK_TEXT(text, wanted);
		close(result.socket);
		CHECK(becomes(DOOR_ASLEEP));
		CHECK(join_has_left(options.pid, result.copy) == JOIN_LEFT);
	}
	CHECK(descriptors() == before);
}

static void who_brings_nothing_is_not_waited_for(void)
{
	int before = descriptors(), socket = knock();
	char byte;

	CHECK(page->state == DOOR_BUSY);
	CHECK(becomes(DOOR_ASLEEP));
	CHECK(!recv(socket, &byte, 1, 0));
	close(socket);
	CHECK(descriptors() == before);
}

static void letters_that_are_wrong_are_not_answered(void)
{
	struct door_letter good = letter_for("joined_entry"), bad;
	struct door_reply reply;
	int before = descriptors(), copy, open_copy = memfd_create("open", MFD_ALLOW_SEALING);

	CHECK(!copy_make(library, &copy));
	CHECK(answer_to(&good, -1, &reply) == 0);
	CHECK(answer_to(&good, open_copy, &reply) == 0);
	CHECK(answer_to(&good, library, &reply) == 0);
	bad = good;
	bad.magic++;
	CHECK(answer_to(&bad, copy, &reply) == 0);
	bad = good;
	bad.version++;
	CHECK(answer_to(&bad, copy, &reply) == 0);
	close(copy);
	close(open_copy);
	CHECK(becomes(DOOR_ASLEEP));
	CHECK(descriptors() == before);
}

static void a_library_that_cannot_be_loaded_is_refused(void)
{
	struct door_letter letter = letter_for("nothing of this name");
	struct door_reply reply = {0};
	int before = descriptors(), copy;

	CHECK(!copy_make(library, &copy));
	CHECK(answer_to(&letter, copy, &reply) == sizeof(reply) && reply.error == -ELIBACC);
	close(copy);
	memset(letter.entry, 'x', sizeof(letter.entry)); /* without an end */
	copy = memfd_create("none", MFD_ALLOW_SEALING);
	CHECK(!fcntl(copy, F_ADD_SEALS, DOOR_LIBRARY_SEALS));
	CHECK(answer_to(&letter, copy, &reply) == sizeof(reply) && reply.error == -ELIBACC);
	close(copy);
	CHECK(becomes(DOOR_ASLEEP));
	CHECK(descriptors() == before);
}

/* It has the descriptor, but is neither root nor of our user. */
static void another_user_is_not_let_in(void)
{
	struct door_letter letter = letter_for("joined_entry");
	int status = 0, socket, copy;
	pid_t child;

	if (geteuid()) {
		SKIP("needs root");
		return;
	}
	CHECK(!copy_make(library, &copy));
	socket = knock();
	child = fork();
	if (!child) {
		struct door_reply reply;

		for (int fd = 3; fd < 1024; fd++)
			if (fd != socket && fd != copy)
				close(fd); /* the library's end among them */
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		send_letter(socket, &letter, copy);
		_exit(recv(socket, &reply, sizeof(reply), 0) != 0);
	}
	close(socket);
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	close(copy);
	CHECK(becomes(DOOR_ASLEEP));
}

/* A child of a fork has the descriptor and the page, and is not this program. */
static void a_child_is_not_taken_for_its_parent(void)
{
	struct join_options options = {.library = library, .entry = "joined_entry"};
	struct join_result result = {.socket = -1};
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	options.pid = (uint32_t)child;
	CHECK(wake(&options, &result) < 0 && result.socket == -1);
	CHECK(page->state == DOOR_ASLEEP);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	char path[4096], *slash;

	snprintf(path, sizeof(path), "%s", argv[0]);
	slash = strstr(path, "/tests/unit/");
	if (slash)
		snprintf(slash, sizeof(path) - (size_t)(slash - path), "/tests/targets/joined.so");
	library = open(path, O_RDONLY | O_CLOEXEC);
	RUN(the_page_is_the_libraries_alone);
	RUN(another_copy_in_the_program_finds_the_page);
	RUN(no_child_finds_the_page_of_its_parent);
	RUN(a_library_is_loaded_run_and_left_again);
	RUN(who_brings_nothing_is_not_waited_for);
	RUN(letters_that_are_wrong_are_not_answered);
	RUN(a_library_that_cannot_be_loaded_is_refused);
	RUN(another_user_is_not_let_in);
	RUN(a_child_is_not_taken_for_its_parent);
	return tap_end();
}
