// SPDX-License-Identifier: MIT
#include "gpu/nvidia/counter_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/trust.h"
#include "base/vec.h"
#include "gpu/nvidia/counter_sampler.h"
#include "gpu/nvidia/nvidia.h"
#include "vendor/nvidia/cupti_paths.h"
#include "vendor/nvidia/environment.h"

#define VALUE_MAX 4096

/* What a value may consist of that NVIDIA's libraries read as root: numbers and UUIDs. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_,/.";

/* Loaded into the program for its own sake. */
static const char *const preloads[] = {"LD_PRELOAD", "LD_AUDIT", NVIDIA_INJECTION_VARIABLE, NULL};

struct environment {
	struct vec(char *) variables; /* NULL-terminated once complete */
};

static void environment_release(struct environment *e)
{
	vec_foreach (variable, &e->variables)
		free(*variable);
	vec_release(&e->variables);
}

static int add(struct environment *e, const char *prefix, const char *variable)
{
	char *copy;

	if (asprintf(&copy, "%s%s", prefix, variable) < 0)
		return -ENOMEM;
	if (!vec_push(&e->variables, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

/* Whether an assignment is to one of these variables. */
static bool is_one_of(const char *variable, const char *const *names)
{
	for (; *names; names++)
		if (!strncmp(variable, *names, strlen(*names)) && variable[strlen(*names)] == '=')
			return true;
	return false;
}

static bool is_searched(const char *variable, const struct cupti_path *paths)
{
	for (; paths->what; paths++)
		if (paths->env && is_one_of(variable, (const char *const[]){paths->env, NULL}))
			return true;
	return false;
}

static bool is_plain(const char *variable)
{
	const char *value = strchr(variable, '=') + 1;

	return strlen(value) <= VALUE_MAX && !value[strspn(value, plain)];
}

/* Whether a sampler gets the variable as it is. */
static bool is_kept(const char *variable, bool trusting)
{
	static const char *const device[] = {NVIDIA_DEVICE_VARIABLES, NULL};

	if (trusting)
		return !is_one_of(variable, preloads);
	return !strncmp(variable, NVIDIA_SIMULATION_PREFIX, strlen(NVIDIA_SIMULATION_PREFIX)) ||
	       (is_one_of(variable, device) && is_plain(variable));
}

static int make_environment(struct environment *e, const struct counter_process_options *o)
{
	static const char *const library_path[] = {"LD_LIBRARY_PATH", NULL};
	bool trusting = o->user || !trust_is_due();
	int error = 0;

	for (char **v = o->environment ? o->environment : environ; !error && *v; v++) {
		if (is_one_of(*v, library_path) || is_searched(*v, cupti_toolkit_paths) ||
			is_searched(*v, cupti_package_paths))
			error = add(e, COUNTER_SEARCH_PREFIX, *v);
		if (!error && is_kept(*v, trusting))
			error = add(e, "", *v);
	}
	return error ?: vec_push(&e->variables, NULL);
}

/* The child: system calls only, as other threads of the recorder may have held locks. */
static _Noreturn void execute(
	const struct user *user, char **arguments, char **environment, int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (user && user_become_plain(user))
		_exit(1);
	for (int fd = 0; null >= 0 && fd < COUNTER_SOCKET; fd++)
		dup2(null, fd);
	if (socket == COUNTER_SOCKET ? !fcntl(socket, F_SETFD, 0)
				     : dup2(socket, COUNTER_SOCKET) >= 0) {
		close_range(COUNTER_SOCKET + 1, ~0u, 0);
		execve("/proc/self/exe", arguments, environment);
	}
	_exit(1);
}

static int start(const struct counter_process_options *o, char **environment, pid_t *ret_pid,
	int *ret_socket)
{
	char interval[24], *arguments[] = {"xpuprof", "gpu-helper",
				   (char *)(uintptr_t)nvidia_backend.name, interval, NULL};
	int ends[2], error;
	pid_t child;

	snprintf(interval, sizeof(interval), "%" PRIu64, o->interval_ns);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return error_errno(-errno, "cannot make a socket for hardware counters");
	child = fork();
	if (!child)
		execute(o->user, arguments, environment, ends[1]);
	error = child < 0 ? error_errno(-errno, "cannot start a process for hardware counters") : 0;
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return error;
	}
	*ret_pid = child;
	*ret_socket = ends[0];
	return 0;
}

int counter_process_start(const struct counter_process_options *o, pid_t *ret_pid, int *ret_socket)
{
	struct environment e = {0};
	int error = make_environment(&e, o);

	error = error ? error_memory(NULL) : start(o, e.variables.items, ret_pid, ret_socket);
	environment_release(&e);
	return error;
}
