// SPDX-License-Identifier: MIT
#include "record/preload.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/locate.h"
#include "wire/probe.h"

#define VARIABLE "LD_PRELOAD"

static int preload(struct target_user *u)
{
	const char *theirs = target_user_getenv(u, VARIABLE);
	struct buf value = BUF_INIT;
	int error = locate_probe_library(&value);

	if (!error && strpbrk(buf_text(&value), " :"))
		error = error_set(-EINVAL,
			"'%s' cannot be preloaded: its path has a blank or a colon",
			buf_text(&value));
	if (theirs && *theirs)
		buf_printf(&value, ":%s", theirs);
	if (!error && value.failed)
		error = error_memory(NULL);
	error = error ?: target_user_setenv(u, VARIABLE, buf_text(&value));
	buf_release(&value);
	return error;
}

/* Compilers of Triton, the variables that name them, and where a user's own choice is noted. The
 * second had a name with a hyphen in Triton 3.4. */
static const struct {
	const char *variable, *file, *theirs;
} compilers[] = {
	{"TRITON_PTXAS_PATH", "xpuprof-ptxas", PROBE_ENV_COMPILER},
	{"TRITON_PTXAS_BLACKWELL_PATH", "xpuprof-ptxas-blackwell", PROBE_ENV_SECOND_COMPILER},
	{"TRITON_PTXAS-BLACKWELL_PATH", "xpuprof-ptxas-blackwell", PROBE_ENV_SECOND_COMPILER},
};

static int set_compilers(struct target_user *u)
{
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		const char *theirs = target_user_getenv(u, compilers[i].variable);
		struct buf path = BUF_INIT;
		int error = locate_beside_libraries(compilers[i].file, &path);

		if (!error && theirs && *theirs)
			error = target_user_setenv(u, compilers[i].theirs, theirs);
		error = error ?: target_user_setenv(u, compilers[i].variable, buf_text(&path));
		buf_release(&path);
		if (error)
			return error;
	}
	return 0;
}

/* What has been compiled with other programs, or without, must not be found there. A folder of the
 * user's own has ours in it. */
static const struct {
	const char *variable, *folder;
} caches[] = {
	{"TRITON_CACHE_DIR", "triton"},
	{"TORCHINDUCTOR_CACHE_DIR", "inductor"},
	{PROBE_ENV_COMPILED, "compiled"},
};

static int set_caches(struct target_user *u, const char *cache, uint64_t plan)
{
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		const char *theirs = target_user_getenv(u, caches[i].variable);
		struct buf path = BUF_INIT;
		int error;

		buf_printf(&path, "%s/xpuprof/probes/%016" PRIx64 "/%s",
			theirs && *theirs ? theirs : cache, plan, caches[i].folder);
		error = path.failed ? error_memory(NULL)
				    : target_user_setenv(u, caches[i].variable, buf_text(&path));
		buf_release(&path);
		if (error)
			return error;
	}
	return 0;
}

/* Whether the user can make folders there: what there is of it is theirs, and can be written to. */
static bool is_theirs(const struct target_user *u, const char *path)
{
	uid_t uid = u->account.switched ? u->account.uid : geteuid();
	size_t length = strlen(path);
	struct statvfs fs;
	struct stat st;

	while (length) {
		char part[PATH_MAX];

		if (snprintf(part, sizeof(part), "%.*s", (int)length, path) >= (int)sizeof(part))
			return false;
		if (!stat(part, &st))
			return S_ISDIR(st.st_mode) && st.st_uid == uid && st.st_mode & S_IWUSR &&
			       !statvfs(part, &fs) && !(fs.f_flag & ST_RDONLY);
		while (length && path[--length] != '/')
			;
	}
	return false;
}

/* ~/.cache, or what the user has in its place. */
static void name_cache(const struct target_user *u, struct buf *ret)
{
	const char *cache = target_user_getenv(u, "XDG_CACHE_HOME");
	const char *home = target_user_getenv(u, "HOME");

	if (cache && cache[0] == '/')
		buf_puts(ret, cache);
	else if (home && home[0] == '/')
		buf_printf(ret, "%s/.cache", home);
}

/* Without a folder to keep what is compiled in, kernels of Triton stay as they are. */
static int have_triton_compile(struct target_user *u, uint64_t plan)
{
	struct buf cache = BUF_INIT;
	int error = 0;

	name_cache(u, &cache);
	if (cache.failed)
		error = error_memory(NULL);
	else if (cache.size && is_theirs(u, buf_text(&cache)))
		error = set_compilers(u) ?: set_caches(u, buf_text(&cache), plan);
	buf_release(&cache);
	return error;
}

int preload_for_probes(struct target_user *u, const char *address, uint64_t plan)
{
	int error = preload(u);

	error = error ?: have_triton_compile(u, plan);
	return error ?: target_user_setenv(u, PROBE_ENV_SOCKET, address);
}
