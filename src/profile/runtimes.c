// SPDX-License-Identifier: MIT
#include "profile/runtimes.h"

#include <string.h>

/* By Node.js's and OpenJDK 17's own help; Microsoft's "Investigate performance counters"; LuaJIT's
 * Makefile. */
static const struct runtime runtimes[] = {
	[RUNTIME_UNKNOWN] = {"a program",
		"have whatever makes it write a perf map (/tmp/perf-PID.map) or a jitdump"},
	[RUNTIME_NODE] = {"node",
		"run it with 'node --perf-basic-prof --interpreted-frames-native-stack'"},
	[RUNTIME_JAVA] = {"java",
		"run it with 'java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
		"-XX:+DumpPerfMapAtExit' (Java 17 or later)"},
	[RUNTIME_DOTNET] = {".NET", "run it with DOTNET_PerfMapEnabled=1"},
	[RUNTIME_LUAJIT] = {"LuaJIT", "use a LuaJIT that was built with -DLUAJIT_USE_PERFTOOLS"},
};

#define RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* What the name of a file begins with, which a version or nothing follows. */
static const struct {
	const char *begin;
	enum profile_runtime runtime;
} files[] = {
	{"node", RUNTIME_NODE},
	{"nodejs", RUNTIME_NODE},
	{"libnode.so", RUNTIME_NODE},
	{"libjvm.so", RUNTIME_JAVA},
	{"libcoreclr.so", RUNTIME_DOTNET},
	{"luajit", RUNTIME_LUAJIT},
	{"libluajit-5.1.so", RUNTIME_LUAJIT},
};

/* "-2.1.0-beta3", ".108" */
static bool is_version(const char *text)
{
	return !*text || ((*text == '-' || *text == '.') && text[1] >= '0' && text[1] <= '9');
}

enum profile_runtime runtime_of_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t size = strlen(files[i].begin);

		if (!strncmp(name, files[i].begin, size) && is_version(name + size))
			return files[i].runtime;
	}
	return RUNTIME_UNKNOWN;
}

const struct runtime *runtime_info(enum profile_runtime runtime)
{
	return &runtimes[runtime < RUNTIMES ? runtime : RUNTIME_UNKNOWN];
}
