// SPDX-License-Identifier: MIT
#include "cmd/doctor/library_probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "vendor/vendor.h"

#define TIMEOUT_MS 5000

/* Exported by the simulated driver and nobody else. */
#define SIMULATOR_SYMBOL "xpuprof_sim_tools"

static void look(const char *name, const char *version_function, struct library_probe *ret)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;
	int (*version)(int *);

	if (!library) {
		snprintf(ret->problem, sizeof(ret->problem), "%s", dlerror());
		return;
	}
	ret->loaded = true;
	if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
		snprintf(ret->path, sizeof(ret->path), "%s", map->l_name);
	ret->simulated = dlsym(library, SIMULATOR_SYMBOL) != NULL;
	*(void **)&version = version_function ? dlsym(library, version_function) : NULL;
	if (version && version(&ret->version))
		ret->version = 0;
}

/* The child: quiet, and gone with us. */
static _Noreturn void run_child(int fd, const char *name, const char *version_function)
{
	static struct library_probe result;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (null >= 0)
		for (int i = 0; i < 3; i++)
			dup2(null, i);
	vendors_foreach(v) if ((*v)->injection_variable) unsetenv((*v)->injection_variable);
	look(name, version_function, &result);
	_exit(io_write_all(fd, &result, sizeof(result)) ? 1 : 0);
}

/* Reads the whole result before the time is up: true when it came. */
static bool receive(int fd, struct library_probe *ret)
{
	uint64_t end_ns = clock_now_ns() + TIMEOUT_MS * NS_PER_MS;
	size_t got = 0;

	while (got < sizeof(*ret)) {
		uint64_t now_ns = clock_now_ns();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (now_ns >= end_ns)
			return false;
		if (poll(&p, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			continue;
		n = read(fd, (char *)ret + got, sizeof(*ret) - got);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static void await(pid_t child, int fd, const char *name, struct library_probe *ret)
{
	bool received = receive(fd, ret);
	int status = 0;

	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (received)
		return;
	*ret = (struct library_probe){0};
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		snprintf(ret->problem, sizeof(ret->problem), "loading '%s' crashes: %s", name,
			strsignal(WTERMSIG(status)));
	else
		snprintf(ret->problem, sizeof(ret->problem), "loading '%s' does not end", name);
}

void library_probe(const char *name, const char *version_function, struct library_probe *ret)
{
	int ends[2];
	pid_t child;

	*ret = (struct library_probe){0};
	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(ret->problem, sizeof(ret->problem), "not looked for: %s", strerror(errno));
		return;
	}
	child = fork();
	if (!child)
		run_child(ends[1], name, version_function);
	close(ends[1]);
	if (child < 0)
		snprintf(ret->problem, sizeof(ret->problem), "not looked for: %s", strerror(errno));
	else
		await(child, ends[0], name, ret);
	close(ends[0]);
}
