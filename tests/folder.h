/* SPDX-License-Identifier: MIT */
/* A folder of a test's own below /tmp, and shell commands in it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/xpuprof-test.XXXXXX"; /* mkdtemp() makes it one */

/* The path of a file there, valid for three more calls. */
static inline const char *in_folder(const char *name)
{
	static char paths[4][128];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* Runs a shell command there: true when it succeeded. */
static inline bool shell(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	return system(line) == 0;
}

/* The first line that a shell command prints there, valid until the next one. */
static inline const char *output_of(const char *command)
{
	static char line[256];
	char in_place[1024];
	FILE *pipe;

	line[0] = '\0';
	snprintf(in_place, sizeof(in_place), "cd %s && { %s; } 2>/dev/null", folder, command);
	pipe = popen(in_place, "r");
	if (pipe && fgets(line, sizeof(line), pipe))
		line[strcspn(line, "\n")] = '\0';
	if (pipe)
		pclose(pipe);
	return line;
}
