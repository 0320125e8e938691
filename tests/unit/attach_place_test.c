// SPDX-License-Identifier: MIT
/* Places of uprobes: what they name is found in a file that was opened once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user.h"
#include "elf/elf_file.h"
#include "folder.h"
#include "probe/attach_place.h"
#include "tap.h"

static void a_function_is_found_and_bytes_are_added(void)
{
	struct attach_place at, further;
	struct elf_file *f = NULL;
	struct stat here, there;
	uint64_t offset = 0;
	struct user u;

	user_self(&u);
	CHECK(!elf_file_open(&f, "/proc/self/exe"));
	CHECK(!elf_file_find_function(f, "main", &offset) && offset);
	elf_file_close(f);
	CHECK(!attach_place_open(&at, &u, "/proc/self/exe:main"));
	CHECK(!attach_place_open(&further, &u, "/proc/self/exe:main+0x10"));
	CHECK(at.offset == offset && further.offset == offset + 16);
	CHECK(!stat("/proc/self/exe", &here) && !stat(at.path, &there));
	CHECK(here.st_ino == there.st_ino && here.st_dev == there.st_dev);
	attach_place_close(&at);
	attach_place_close(&further);
	user_release(&u);
}

static void a_path_that_becomes_another_file_is_still_the_first(void)
{
	struct attach_place at;
	struct stat before, after;
	struct user u;
	char text[256];

	user_self(&u);
	CHECK(!symlink("/proc/self/exe", in_folder("link")));
	snprintf(text, sizeof(text), "%s:main", in_folder("link"));
	CHECK(!attach_place_open(&at, &u, text));
	CHECK(!stat("/proc/self/exe", &before) && !unlink(in_folder("link")));
	CHECK(!symlink("/bin/sh", in_folder("link")));
	CHECK(!stat(at.path, &after) && before.st_ino == after.st_ino);
	attach_place_close(&at);
	user_release(&u);
}

static void what_is_no_place_is_refused(void)
{
	struct attach_place at;
	struct user u;
	char text[256];

	user_self(&u);
	CHECK(!mkfifo(in_folder("fifo"), 0600));
	snprintf(text, sizeof(text), "%s:main", in_folder("fifo"));
	CHECK(attach_place_open(&at, &u, text) == -EACCES);
	CHECK(attach_place_open(&at, &u, "/no/such/file:main") == -ENOENT);
	CHECK(attach_place_open(&at, &u, "/proc/self/exe:there is none") == -ENOENT);
	CHECK(attach_place_open(&at, &u, "/proc/self/exe:main+") == -EINVAL);
	CHECK(attach_place_open(&at, &u, "/proc/self/exe:main+0x") == -EINVAL);
	CHECK(attach_place_open(&at, &u, "/proc/self/exe") == -EINVAL);
	CHECK(attach_place_open(&at, &u, ":main") == -EINVAL);
	CHECK(attach_place_open(&at, &u, "/proc/self/exe:") == -EINVAL);
	user_release(&u);
}

static void a_section_may_name_a_place(void)
{
	const char *place = attach_place_of_section("uprobe//usr/lib/libc.so.6:malloc");

	CHECK(place && !strcmp(place, "/usr/lib/libc.so.6:malloc"));
	place = attach_place_of_section("uretprobe.s//bin/sh:main+4");
	CHECK(place && !strcmp(place, "/bin/sh:main+4"));
	CHECK(!attach_place_of_section("uprobe"));
	CHECK(!attach_place_of_section("uprobe/libc.so.6:malloc"));
	CHECK(!attach_place_of_section("uprobe.multi//bin/sh:m*"));
	CHECK(!attach_place_of_section("usdt//bin/sh:a:b"));
	CHECK(!attach_place_of_section("tracepoint/sched/sched_switch"));
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_function_is_found_and_bytes_are_added);
	RUN(a_path_that_becomes_another_file_is_still_the_first);
	RUN(what_is_no_place_is_refused);
	RUN(a_section_may_name_a_place);
	unlink(in_folder("fifo"));
	unlink(in_folder("link"));
	rmdir(folder);
	return tap_end();
}
