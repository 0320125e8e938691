// SPDX-License-Identifier: MIT
#include "probe/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "ebpf/tools/tools.h"
#include "probe/assembler.h"

#define TURN_MS	    125
#define TURN_MS_MAX 60000

void programs_release(struct programs *p)
{
	vec_release(&p->objects);
	vec_release(&p->settings);
	vec_release(&p->launches);
	vec_release(&p->attach);
	buf_release(&p->only);
}

int programs_add_attach(void *programs, const char *value)
{
	struct programs *p = programs;

	if (p->attach.count == PROGRAMS_ATTACH_MAX)
		return error_set(-1, "may be given %d times", PROGRAMS_ATTACH_MAX);
	return vec_push(&p->attach, value) ? (error_memory(NULL), -1) : 0;
}

int programs_add_only(void *programs, const char *value)
{
	struct programs *p = programs;

	buf_printf(&p->only, "%s%s", p->only.size ? "\n" : "", value);
	p->plan.only = buf_text(&p->only);
	return p->only.failed ? (error_memory(NULL), -1) : 0;
}

int programs_parse_turn(void *programs, const char *value)
{
	struct programs *p = programs;
	char *end = "";
	unsigned long ms = value ? strtoul(value, &end, 10) : TURN_MS;

	if (*end || ms < 1 || ms > TURN_MS_MAX)
		return error_set(-1, "takes a number of milliseconds from 1 to %d, not '%s'",
			TURN_MS_MAX, value);
	p->plan.turn_ns = ms * NS_PER_MS;
	return 0;
}

static int open_as(void *path, int *ret_fd)
{
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int open_file(struct ebpf_object **ret, const struct user *u, const char *path)
{
	char copy[PATH_MAX], by_number[32];
	int fd = -1, error;

	if (!u->switched)
		return ebpf_object_open(ret, path);
	if (strlen(path) >= sizeof(copy))
		return error_errno(-ENAMETOOLONG, "cannot open '%s'", path);
	memcpy(copy, path, strlen(path) + 1);
	error = user_run(u, open_as, copy, sizeof(copy), &fd);
	if (error)
		return error_errno(error, "cannot open '%s'", path);
	snprintf(by_number, sizeof(by_number), "/proc/self/fd/%d", fd);
	error = ebpf_object_open(ret, by_number);
	close(fd);
	return error;
}

int programs_not_found(const char *what)
{
	return error_set(-ENOENT,
		"'%s' is neither a file nor a tool; 'xpuprof probe --list' prints those there are",
		what);
}

static int add_object(
	const struct programs *p, const struct user *user, const char *what, struct plan *ret)
{
	const struct ebpf_tool *tool = ebpf_tool_named(what);
	struct ebpf_object *o;
	int error = tool ? ebpf_object_read(&o, tool->start, (size_t)(tool->end - tool->start))
			 : open_file(&o, user, what);

	if (error == -ENOENT)
		return programs_not_found(what);
	error = error ?: plan_add(ret, o, what, tool, &p->plan);
	return error && !strstr(error_text(), what) ? error_about(error, what) : error;
}

int programs_plan(const struct programs *p, const struct user *user, struct plan *ret)
{
	int error = 0;

	vec_foreach (what, &p->objects)
		error = error ?: add_object(p, user, *what, ret);
	vec_foreach (setting, &p->settings)
		error = error ?: plan_set(ret, *setting);
	vec_foreach (launch, &p->launches)
		error = error ?: plan_set_launch(ret, *launch);
	if (!error && p->assembler)
		error = assembler_add_patches(ret, p->assembler, user);
	return error ?: plan_seal(ret, &p->plan);
}
