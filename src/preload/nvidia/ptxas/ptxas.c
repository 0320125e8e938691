// SPDX-License-Identifier: MIT
/*
 * xpuprof-ptxas: is run by Triton in place of its ptxas, puts the programs into the text, and runs
 * that ptxas. So kernels that are compiled before they are loaded have the programs in their
 * machine code, with all options that their compiler was given. Whatever does not succeed is done
 * again without us: then it is as if Triton had run its own.
 *
 * Triton keeps what it has compiled, by the version that its ptxas prints, among others. So a line
 * that names the programs is added to that.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "preload/file.h"
#include "preload/link.h"
#include "preload/nvidia/compiled.h"
#include "preload/nvidia/probes.h"
#include "preload/nvidia/ptxas/theirs.h"
#include "ptx/splice.h"

#define PATH_BYTES 4096
#define LOG_BYTES  1024
#define FAILED	   127

extern char **environ;

/* What one run is to do. */
struct job {
	const char *theirs;
	char **arguments;
	int input; /* which of them; 0: none, or several */
	const char *output;
};

static bool ends_with(const char *text, const char *ending)
{
	size_t size = strlen(text), end = strlen(ending);

	return size > end && !strcmp(text + size - end, ending);
}

static void find_files(struct job *j)
{
	bool several = false;

	for (int i = 1; j->arguments[i]; i++) {
		if ((!strcmp(j->arguments[i], "-o") || !strcmp(j->arguments[i], "--output-file")) &&
			j->arguments[i + 1]) {
			j->output = j->arguments[++i];
		} else if (j->arguments[i][0] != '-' && ends_with(j->arguments[i], ".ptx")) {
			several |= j->input != 0;
			j->input = i;
		}
	}
	if (several)
		j->input = 0;
}

/* Its exit status. What it prints as errors goes to a file of ours. */
static int run(const struct job *j, char **arguments, int errors)
{
	posix_spawn_file_actions_t actions;
	int status, error;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions))
		return FAILED;
	error = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	if (!error)
		error = posix_spawn(&pid, j->theirs, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return FAILED;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

/* What the compiler has said, to whoever asked for it; or why it has failed, to xpuprof. */
static void pass_on(int errors, int status)
{
	char text[LOG_BYTES] = "";
	ssize_t n;

	if (status) {
		if (pread(errors, text, sizeof(text) - 1, 0) < 0)
			text[0] = 0;
		link_send_fate(PROBE_FATE_REFUSED, (uint64_t)status, text);
		return;
	}
	if (lseek(errors, 0, SEEK_SET))
		return;
	while ((n = read(errors, text, sizeof(text))) > 0)
		if (write(STDERR_FILENO, text, (size_t)n) != n)
			return;
}

static bool compile(const struct job *j, const char *input)
{
	int errors = memfd_create("ptxas", MFD_CLOEXEC), status, count = 0;
	char **arguments;

	while (j->arguments[count])
		count++;
	arguments = calloc((size_t)count + 1, sizeof(*arguments));
	if (errors < 0 || !arguments) {
		free(arguments);
		return false;
	}
	memcpy(arguments, j->arguments, (size_t)count * sizeof(*arguments));
	arguments[0] = (char *)(uintptr_t)j->theirs;
	arguments[j->input] = (char *)(uintptr_t)input;
	status = run(j, arguments, errors);
	pass_on(errors, status);
	close(errors);
	free(arguments);
	return !status;
}

/* The driver cannot be asked how large blocks can be once the text is compiled. */
static bool blocks_stay(const struct ptx_spliced *s)
{
	vec_foreach (k, &s->kernels)
		if (!k->bounds_block) {
			link_send_fate(PROBE_FATE_UNREADABLE, 1,
				"it is compiled before it is loaded, and a kernel does not say how "
				"large its blocks can be");
			return false;
		}
	return true;
}

static bool keep(const struct job *j, const struct buf *text, const struct ptx_spliced *s)
{
	struct buf image = BUF_INIT;
	bool kept = file_read(j->output, 0, &image) &&
		    compiled_keep(&image, text, ptx_hash(buf_text(&s->text), s->text.size));

	if (!kept)
		link_send_fate(PROBE_FATE_UNREADABLE, 1,
			"what was compiled with programs cannot be noted");
	buf_release(&image);
	return kept;
}

static bool compile_spliced(const struct job *j, const struct ptx_spliced *s)
{
	const char *original = j->arguments[j->input];
	char path[PATH_BYTES];
	bool done;

	if (s->is_as_before)
		return compile(j, original);
	if (snprintf(path, sizeof(path), "%s.probed.ptx", original) >= (int)sizeof(path))
		return false;
	done = file_write(path, &s->text) && compile(j, path);
	unlink(path);
	return done;
}

static bool compile_with_programs(const struct job *j, const struct buf *text)
{
	struct ptx_spliced spliced = {0};
	int error = ptx_splice(buf_text(text), text->size, probes(), &spliced);
	bool done = false;

	if (error && error != -ENOENT)
		link_send_fate(PROBE_FATE_UNREADABLE, 1, error_text());
	if (!error && (spliced.is_as_before || blocks_stay(&spliced)))
		done = compile_spliced(j, &spliced) && keep(j, text, &spliced);
	ptx_spliced_release(&spliced);
	return done;
}

static bool is_connected(void)
{
	link_to_xpuprof.role = PROBE_COMPILER;
	return link_open();
}

static bool is_done(const struct job *j)
{
	struct buf text = BUF_INIT;
	bool done;

	if (!j->input || !j->output || !compiled_is_kept())
		return false;
	done = is_connected() && file_read(j->arguments[j->input], 0, &text) &&
	       compile_with_programs(j, &text);
	buf_release(&text);
	return done;
}

/* A line behind what theirs prints. */
static void print_version(const struct job *j)
{
	pid_t pid;
	int status;

	if (posix_spawn(&pid, j->theirs, NULL, NULL, j->arguments, environ) ||
		waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		exit(FAILED);
	if (!WEXITSTATUS(status) && is_connected())
		printf("with programs of %s\n", getenv(PROBE_ENV_COMPILED));
	exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	struct job j = {.arguments = argv};
	char path[PATH_BYTES];

	if (argc < 1)
		return FAILED;
	j.theirs = theirs_find(argv[0], path, sizeof(path));
	if (!j.theirs) {
		fprintf(stderr, "xpuprof-ptxas: cannot find the ptxas to run\n");
		return FAILED;
	}
	if (argc == 2 && !strcmp(argv[1], "--version") && compiled_is_kept())
		print_version(&j);
	find_files(&j);
	if (is_done(&j))
		return 0;
	argv[0] = (char *)(uintptr_t)j.theirs;
	execv(j.theirs, argv);
	fprintf(stderr, "xpuprof-ptxas: cannot run '%s': %s\n", j.theirs, strerror(errno));
	return FAILED;
}
