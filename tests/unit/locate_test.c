// SPDX-License-Identifier: MIT
/* The search for the injected library, around copies of a program that only searches. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "record/locate.h"
#include "tap.h"

static char folder[] = "/tmp/locate_test.XXXXXX";
static char output[4096];

/* Runs a shell command in the test's folder and keeps what it prints; its exit status. */
static int shell(const char *command)
{
	char line[1024];
	FILE *pipe;
	size_t size;

	snprintf(line, sizeof(line), "cd %s && %s", folder, command);
	pipe = popen(line, "r");
	if (!pipe)
		return -1;
	size = fread(output, 1, sizeof(output) - 1, pipe);
	output[size] = '\0';
	return WEXITSTATUS(pclose(pipe));
}

static bool prints_path_of(const char *file)
{
	char expected[256];

	snprintf(expected, sizeof(expected), "%s/%s", folder, file);
	return !strcmp(output, expected);
}

static void a_library_that_is_nowhere_is_reported_with_the_folders(void)
{
	CHECK(shell("bin/search") == ENOENT);
	CHECK(strstr(output, "cannot find 'libxpuprof-inject.so'"));
	CHECK(strstr(output, "/bin/'"));
	CHECK(strstr(output, "/bin/../lib/xpuprof/'"));
	CHECK(strstr(output, "$XPUPROF_LIBRARY (not set)"));
	CHECK(shell("XPUPROF_LIBRARY=/nonexistent bin/search") == ENOENT);
	CHECK(strstr(output, "$XPUPROF_LIBRARY ('/nonexistent')"));
}

static void the_environment_is_the_last_resort(void)
{
	CHECK(shell("touch own.so && XPUPROF_LIBRARY=own.so bin/search") == 0);
	CHECK(prints_path_of("own.so"));
}

static void the_installed_folder_is_found_from_the_program(void)
{
	CHECK(shell("mkdir -p lib/xpuprof && touch lib/xpuprof/libxpuprof-inject.so && "
		    "XPUPROF_LIBRARY=own.so bin/search") == 0);
	CHECK(prints_path_of("lib/xpuprof/libxpuprof-inject.so"));
}

static void the_programs_own_folder_comes_first(void)
{
	CHECK(shell("touch bin/libxpuprof-inject.so && bin/search") == 0);
	CHECK(prints_path_of("bin/libxpuprof-inject.so"));
}

/* As `search`, this program prints what it finds or the error. */
static int search(void)
{
	struct buf path = BUF_INIT;
	int error = locate_library(&path);

	fputs(error ? error_text() : buf_text(&path), stdout);
	buf_release(&path);
	return -error;
}

int main(int argc, char **argv)
{
	char copy[64];

	if (strstr(argv[0], "search"))
		return search();
	unsetenv(LOCATE_LIBRARY_ENV);
	if (!mkdtemp(folder))
		return 1;
	shell("mkdir bin");
	snprintf(copy, sizeof(copy), "cp /proc/%d/exe bin/search", (int)getpid());
	shell(copy);
	RUN(a_library_that_is_nowhere_is_reported_with_the_folders);
	RUN(the_environment_is_the_last_resort);
	RUN(the_installed_folder_is_found_from_the_program);
	RUN(the_programs_own_folder_comes_first);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
