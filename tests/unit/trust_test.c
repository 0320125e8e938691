// SPDX-License-Identifier: MIT
/* Which files only root can have put where they are. The folder is in /run: nothing in /tmp is. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trust.h"
#include "tap.h"

static char folder[] = "/run/xpuprof-test.XXXXXX";
static bool is_ready; /* we are root and have the folder */

static bool shell(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	return system(line) == 0;
}

/* Of a file there. */
static int trust(const char *name)
{
	struct buf path = BUF_INIT, found = BUF_INIT;
	int result;

	buf_printf(&path, "%s/%s", folder, name);
	result = trust_file(buf_text(&path), &found);
	buf_release(&path);
	buf_release(&found);
	return result;
}

/* The path that it returns, below the folder; valid until the next call. */
static const char *path_of(const char *name)
{
	static struct buf found;
	struct buf path = BUF_INIT;

	buf_reset(&found);
	buf_printf(&path, "%s/%s", folder, name);
	if (trust_file(buf_text(&path), &found))
		buf_puts(&found, "none");
	buf_release(&path);
	return found.size > strlen(folder) ? found.data + strlen(folder) + 1 : buf_text(&found);
}

#define NEEDS_ROOT()                                                                               \
	if (!is_ready) {                                                                           \
		SKIP("needs root, and /run");                                                      \
		return;                                                                            \
	}

static void a_file_of_the_system_is_trusted(void)
{
	struct buf path = BUF_INIT;

	CHECK(!trust_file("/etc/passwd", &path));
	CHECK_TEXT(buf_text(&path), "/etc/passwd");
	buf_release(&path);
}

static void no_other_kinds_of_files_are(void)
{
	struct buf path = BUF_INIT;

	CHECK(trust_file("/etc", &path) == -EINVAL);
	CHECK(trust_file("/", &path) == -EINVAL);
	CHECK(trust_file("etc/passwd", &path) == -EINVAL);
	CHECK(trust_file("", &path) == -EINVAL);
	CHECK(trust_file("/dev/null", &path) < 0);
	CHECK(trust_file("/etc/xpuprof-nowhere", &path) == -ENOENT);
	CHECK(trust_file("/etc/passwd/x", &path) == -ENOTDIR);
	CHECK(!path.size);
	buf_release(&path);
}

static void what_others_may_write_is_not_trusted(void)
{
	NEEDS_ROOT();
	CHECK(shell("mkdir -p a/b && touch a/b/f"));
	CHECK(!trust("a/b/f"));
	CHECK(shell("chmod g+w a/b/f") && trust("a/b/f") == -EPERM);
	CHECK(shell("chmod 602 a/b/f") && trust("a/b/f") == -EPERM);
	CHECK(shell("chmod 644 a/b/f; chown 4242 a/b/f") && trust("a/b/f") == -EPERM);
	CHECK(shell("chown 0 a/b/f") && !trust("a/b/f"));
}

static void so_is_nothing_below_a_folder_that_others_may_write(void)
{
	NEEDS_ROOT();
	CHECK(shell("mkdir -p a/b && touch a/b/f && chmod 644 a/b/f && chmod 775 a"));
	CHECK(trust("a/b/f") == -EPERM);
	CHECK(shell("chmod 1777 a") && trust("a/b/f") == -EPERM);
	CHECK(shell("chmod 755 a; chown 4242 a") && trust("a/b/f") == -EPERM);
	CHECK(shell("chown 0 a; chmod 777 a/b") && trust("a/b/f") == -EPERM);
	CHECK(shell("chmod 755 a/b") && !trust("a/b/f"));
	CHECK(trust("a/b/../../a/b/f") == 0);
}

static void links_are_resolved_and_what_they_lead_through_counts(void)
{
	NEEDS_ROOT();
	CHECK(shell("mkdir -p a/b own users && touch a/b/f users/f && chown 4242 users"));
	CHECK(shell("ln -s ../a/b own/relative && ln -s $PWD/a/b/f own/absolute && ln -s f a/b/g"));
	CHECK_TEXT(path_of("own/relative/f"), "a/b/f");
	CHECK_TEXT(path_of("own/relative/g"), "a/b/f");
	CHECK_TEXT(path_of("own/absolute"), "a/b/f");
	CHECK_TEXT(path_of("own//./relative/../../a/b/f"), "a/b/f");
	CHECK(shell("ln -s ../users/f own/theirs && ln -s $PWD/users own/folder"));
	CHECK(trust("own/theirs") == -EPERM);
	CHECK(trust("own/folder/f") == -EPERM);
	CHECK(shell("ln -s ../a/b/f users/back") && trust("users/back") == -EPERM);
	CHECK(trust("users/../a/b/f") == -EPERM);
}

static void links_in_a_circle_end(void)
{
	NEEDS_ROOT();
	CHECK(shell("ln -s c2 c1 && ln -s c1 c2 && ln -s deep/deep deep"));
	CHECK(trust("c1") == -ELOOP);
	CHECK(trust("deep") == -ELOOP || trust("deep") == -ENAMETOOLONG);
}

int main(void)
{
	is_ready = !geteuid() && mkdtemp(folder) && !chmod(folder, 0755);
	RUN(a_file_of_the_system_is_trusted);
	RUN(no_other_kinds_of_files_are);
	RUN(what_others_may_write_is_not_trusted);
	RUN(so_is_nothing_below_a_folder_that_others_may_write);
	RUN(links_are_resolved_and_what_they_lead_through_counts);
	RUN(links_in_a_circle_end);
	if (is_ready)
		shell("rm -rf $PWD");
	return tap_end();
}
