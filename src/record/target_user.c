// SPDX-License-Identifier: MIT
/*
 * Under sudo the program belongs to the person who typed the command. sudo has replaced some of
 * that person's environment (PATH by secure_path, HOME, USER) and removed more (LD_LIBRARY_PATH,
 * VIRTUAL_ENV); the sudo process itself still shows the environment it was started with in /proc,
 * which only root can read, so the program gets that one back. Variables that sudo added or the
 * command line set stay. The loader removes some, too.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "record/target.h"

#define ENVIRON_LIMIT ((size_t)4 << 20)
#define SUDO_DISTANCE 4 /* sudo may put a process for its terminal between itself and us */

/* What sudo sets for itself: removed. */
static const char *const sudo_own[] = {"SUDO_COMMAND", "SUDO_USER", "SUDO_UID", "SUDO_GID", NULL};

/* What every shell sets: put back like the rest, but not named to the user. */
static const char *const of_shells[] = {"_", "SHLVL", "PWD", "OLDPWD", "MAIL", NULL};

static bool is_worth_naming(const char *name, size_t length)
{
	for (const char *const *known = of_shells; *known; known++)
		if (strlen(*known) == length && !strncmp(*known, name, length))
			return false;
	return true;
}

static char **find_variable(char **environment, const char *name, size_t length)
{
	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return environment;
	return NULL;
}

static size_t count_variables(char **environment)
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

static int set_variable(char ***environment, const char *assignment, size_t name_length)
{
	char **variable = find_variable(*environment, assignment, name_length);
	char *copy = strdup(assignment);
	size_t count;

	if (!copy)
		return -ENOMEM;
	if (variable) {
		free(*variable);
		*variable = copy;
		return 0;
	}
	count = count_variables(*environment);
	variable = realloc(*environment, (count + 2) * sizeof(*variable));
	if (!variable) {
		free(copy);
		return -ENOMEM;
	}
	variable[count] = copy;
	variable[count + 1] = NULL;
	*environment = variable;
	return 0;
}

int target_user_setenv(struct target_user *u, const char *name, const char *value)
{
	struct buf b = BUF_INIT;
	int error;

	buf_printf(&b, "%s=%s", name, value);
	error = b.failed ? -ENOMEM : set_variable(&u->environment, b.data, strlen(name));
	buf_release(&b);
	return error;
}

const char *target_user_getenv(const struct target_user *u, const char *name)
{
	char **variable = find_variable(u->environment, name, strlen(name));

	return variable ? *variable + strlen(name) + 1 : NULL;
}

static void unset_variable(char **environment, const char *name)
{
	char **variable = find_variable(environment, name, strlen(name));

	if (!variable)
		return;
	free(*variable);
	do
		variable[0] = variable[1];
	while (*variable++);
}

static int copy_environment(char ***ret)
{
	size_t count = count_variables(environ);
	char **copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(environ[i]);
		if (!copy[i]) {
			while (i--)
				free(copy[i]);
			free(copy);
			return -ENOMEM;
		}
	}
	*ret = copy;
	return 0;
}

/* The pid of the sudo process above us, or 0. */
static pid_t find_sudo(void)
{
	pid_t pid = getppid();

	for (int i = 0; i < SUDO_DISTANCE && pid > 1; i++) {
		struct buf stat = BUF_INIT;
		char path[64], comm[32] = "";
		int parent = 0, fields;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (io_read_file(path, 4096, &stat)) {
			buf_release(&stat);
			return 0;
		}
		fields = sscanf(buf_text(&stat), "%*d (%31[^)]) %*c %d", comm, &parent);
		buf_release(&stat);
		if (fields != 2)
			return 0;
		if (!strcmp(comm, "sudo"))
			return pid;
		pid = parent;
	}
	return 0;
}

/* Puts back one variable of the caller's, and adds its name to `changed` where sudo had changed
 * it. */
static int restore_variable(struct target_user *u, const char *assignment, struct buf *changed)
{
	const char *equals = strchr(assignment, '=');
	size_t length;
	char **variable;

	if (!equals || equals == assignment)
		return 0;
	length = (size_t)(equals - assignment);
	variable = find_variable(u->environment, assignment, length);
	if (variable && !strcmp(*variable, assignment))
		return 0;
	if (is_worth_naming(assignment, length))
		buf_printf(changed, "%s%.*s", changed->size ? ", " : "", (int)length, assignment);
	return set_variable(&u->environment, assignment, length);
}

static int restore_environment(struct target_user *u)
{
	struct buf block = BUF_INIT, changed = BUF_INIT;
	pid_t sudo = find_sudo();
	char path[64];
	int error = 0;

	for (const char *const *name = sudo_own; *name; name++)
		unset_variable(u->environment, *name);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)sudo);
	if (!sudo || io_read_file(path, ENVIRON_LIMIT, &block))
		goto out;
	for (size_t at = 0; at < block.size && !error; at += strlen(block.data + at) + 1)
		error = restore_variable(u, block.data + at, &changed);
	if (!error && changed.failed)
		error = -ENOMEM;
	if (!error && changed.size) {
		u->changed_by_sudo = changed.data;
		changed = BUF_INIT;
	}
out:
	buf_release(&block);
	buf_release(&changed);
	return error;
}

/* The sudo process cannot be read: at least the variables that follow from the account are set
 * right. */
static int account_environment(struct target_user *u, const struct passwd *account)
{
	int error = target_user_setenv(u, "HOME", account->pw_dir);

	error = error ?: target_user_setenv(u, "USER", account->pw_name);
	error = error ?: target_user_setenv(u, "LOGNAME", account->pw_name);
	return error ?: target_user_setenv(u, "SHELL", account->pw_shell);
}

static int find_environment(struct target_user *u)
{
	const struct passwd *account = getpwuid(u->account.uid);
	int error = account ? account_environment(u, account) : 0;

	return error ?: restore_environment(u);
}

/* Where our file has capabilities the loader removes LD_LIBRARY_PATH and its like from the
 * environment, which the program would have without us, and whose file has none. Their texts stay
 * where the kernel put them: behind the arguments, and before the name of the file. */
static int restore_removed_by_loader(struct target_user *u)
{
	const char *at = program_invocation_name;
	const char *end = (const char *)getauxval(AT_EXECFN);
	struct buf arguments = BUF_INIT;
	int error = io_read_file("/proc/self/cmdline", ENVIRON_LIMIT, &arguments);

	at += arguments.size;
	buf_release(&arguments);
	for (; !error && at < end; at += strlen(at) + 1) {
		size_t length = strcspn(at, "=");

		if (length && at[length] && !find_variable(u->environment, at, length))
			error = set_variable(&u->environment, at, length);
	}
	return error == -ENOMEM ? error : 0;
}

int target_user_find(struct target_user *u, bool as_root)
{
	int error = 0;

	*u = (struct target_user){0};
	user_self(&u->account);
	if (!as_root)
		error = user_of_sudo(&u->account);
	error = error ?: copy_environment(&u->environment);
	if (!error && u->account.switched)
		error = find_environment(u);
	else if (!error && getauxval(AT_SECURE))
		error = restore_removed_by_loader(u);
	if (error == -ENOMEM)
		error_memory(NULL);
	if (error)
		target_user_release(u);
	return error;
}

void target_user_release(struct target_user *u)
{
	for (char **variable = u->environment; variable && *variable; variable++)
		free(*variable);
	free(u->environment);
	free(u->changed_by_sudo);
	user_release(&u->account);
	*u = (struct target_user){0};
}
