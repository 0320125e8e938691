// SPDX-License-Identifier: MIT
#include "probe/sanitizer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define LIBRARY	  "XPUPROF_SANITIZER"
#define ASSEMBLER "XPUPROF_PTXAS"

struct environment {
	const char *(*get)(void *context, const char *name);
	void *context;
};

/* "": not set. */
static const char *value(const struct environment *e, const char *name)
{
	const char *text = e->get(e->context, name);

	return text ? text : "";
}

static int take_chosen(const char *chosen, const char *name, int rights, struct buf *ret)
{
	if (chosen[0] != '/')
		return error_set(-EINVAL, "%s is not a whole path: '%s'", name, chosen);
	if (access(chosen, rights))
		return error_errno(-errno, "cannot %s '%s' (%s)", rights == X_OK ? "run" : "read",
			chosen, name);
	buf_puts(ret, chosen);
	return ret->failed ? error_memory(NULL) : 0;
}

/* In a toolkit's folder. */
static bool take(const char *folder, size_t length, const char *rest, int rights, struct buf *ret)
{
	ret->size = 0;
	if (!length || folder[0] != '/')
		return false;
	buf_printf(ret, "%.*s/%s", (int)length, folder, rest);
	if (!ret->failed && !access(buf_text(ret), rights))
		return true;
	ret->size = 0;
	return false;
}

static bool take_of_toolkits(
	const struct environment *e, const char *rest, int rights, struct buf *ret)
{
	const char *const toolkits[] = {
		value(e, "CUDA_HOME"), value(e, "CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"};

	for (size_t i = 0; i < sizeof(toolkits) / sizeof(toolkits[0]); i++)
		if (take(toolkits[i], strlen(toolkits[i]), rest, rights, ret))
			return true;
	return false;
}

static int find_library(const struct environment *e, struct buf *ret)
{
	const char *chosen = value(e, LIBRARY);

	if (*chosen)
		return take_chosen(chosen, LIBRARY, R_OK, ret);
	if (take_of_toolkits(e, "compute-sanitizer/libsanitizer-public.so", R_OK, ret) ||
		take_of_toolkits(e, "extras/Sanitizer/libsanitizer-public.so", R_OK, ret))
		return 0;
	return error_set(-ENOENT,
		"--sanitizer needs NVIDIA's libsanitizer-public.so, which no CUDA toolkit here "
		"has (%s names it)",
		LIBRARY);
}

static bool take_of_path(const struct environment *e, struct buf *ret)
{
	const char *folders = value(e, "PATH");

	while (*folders) {
		size_t length = strcspn(folders, ":");

		if (take(folders, length, "ptxas", X_OK, ret))
			return true;
		folders += length + (folders[length] == ':');
	}
	return false;
}

/* The library's folder is in its toolkit. */
static int find_assembler(const struct environment *e, const char *library, struct buf *ret)
{
	const char *chosen = value(e, ASSEMBLER);
	size_t folder = (size_t)(strrchr(library, '/') - library);

	if (*chosen)
		return take_chosen(chosen, ASSEMBLER, X_OK, ret);
	if (take(library, folder, "../bin/ptxas", X_OK, ret) ||
		take(library, folder, "../../bin/ptxas", X_OK, ret) ||
		take_of_toolkits(e, "bin/ptxas", X_OK, ret) || take_of_path(e, ret))
		return 0;
	return error_set(-ENOENT,
		"--sanitizer needs NVIDIA's ptxas, which no CUDA toolkit here has (%s names it)",
		ASSEMBLER);
}

int sanitizer_find(const char *(*get)(void *context, const char *name), void *context,
	struct sanitizer_paths *ret)
{
	const struct environment e = {get, context};
	int error = find_library(&e, &ret->library);

	return error ?: find_assembler(&e, buf_text(&ret->library), &ret->assembler);
}

void sanitizer_paths_release(struct sanitizer_paths *p)
{
	buf_release(&p->library);
	buf_release(&p->assembler);
}
