// SPDX-License-Identifier: MIT
/* The command table and the dispatch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/completion.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary; /* NULL: not for people */
};

// clang-format off
static const struct command commands[] = {
	{"record", cmd_record, "run a command and record its CPU and GPU work"},
	{"flame", cmd_flame, "draw a recording as an interactive flame graph (SVG)"},
	{"view", cmd_view, "show a recording in the browser, on a time axis"},
	{"top", cmd_top, "show live what runs on CPUs and GPUs, and why GPUs are idle"},
	{"report", cmd_report, "print where the time of a recording went"},
	{"annotate", cmd_annotate, "show where and why a kernel waits, by source line and instruction"},
	{"export", cmd_export, "write a recording in another tool's format"},
	{"symbolize", cmd_symbolize, "name the code of a recording that has no name yet"},
	{"probe", cmd_probe, "run eBPF programs inside GPU kernels"},
	{"monitor", cmd_monitor, "watch what the kernel's GPU drivers do, live and in numbers"},
	{"doctor", cmd_doctor, "say what this machine can record, and what would change it"},
	{"gpu-helper", cmd_gpu_helper, NULL},
	{"sandbox", cmd_sandbox, NULL},
};
// clang-format on

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *to)
{
	fprintf(to, "usage: xpuprof COMMAND [options] ...\n\n"
		    "Shows which code asked for which GPU work, and where the time went.\n\n"
		    "commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary)
			fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\nTry 'xpuprof record -- COMMAND', then 'xpuprof flame -o out.svg'.\n"
		    "'xpuprof COMMAND --help' and 'man xpuprof-COMMAND' tell more.\n");
}

/* What was printed has to arrive, too. */
static int finish_output(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	cmd_error("cannot write to standard output: %s", strerror(errno));
	return status ? status : EXIT_FAILED;
}

/* "xpuprof completion bash": for `make install`, not for people. */
static int print_completion(char *shell)
{
	struct completion_command shown[COMMAND_COUNT + 1] = {{NULL, NULL}};
	char option[64], *argv[] = {NULL, option, NULL};
	size_t count = 0;

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary)
			shown[count++] =
				(struct completion_command){commands[i].name, commands[i].summary};
	if (!completion_begin(shell, shown)) {
		cmd_error("completions are for bash, zsh or fish, not '%s'", shell);
		return EXIT_USAGE;
	}
	snprintf(option, sizeof(option), "--" COMPLETION_OPTION "=%s", shell);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (commands[i].summary) {
			argv[0] = (char *)commands[i].name;
			commands[i].run(2, argv);
		}
	completion_end(shell);
	return EXIT_OK;
}

static int run_command(int argc, char **argv)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc, argv);
	cmd_error("unknown command '%s' (see 'xpuprof --help')", argv[0]);
	return EXIT_USAGE;
}

/* "xpuprof help record", as other programs have it. */
static int help_of(char *name)
{
	char option[] = "--help", *argv[] = {name, option, NULL};

	return run_command(2, argv);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2)
		return help_of(argv[2]);
	if (!strcmp(argv[1], "completion") && argc == 3)
		return print_completion(argv[2]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("xpuprof %s\n", XPUPROF_VERSION);
		return EXIT_OK;
	}
	return run_command(argc - 1, argv + 1);
}

/* Where a standard stream is closed, its number must not become that of something else we open:
 * what is written there fails, as it should. */
static void keep_standard_numbers(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	keep_standard_numbers();
	if (geteuid() != getuid() || getegid() != getgid()) {
		cmd_error("set-user-ID is not for this program, which runs what its user names: "
			  "capabilities are (docs/security.md)");
		return EXIT_FAILED;
	}
	return finish_output(dispatch(argc, argv));
}
