// SPDX-License-Identifier: MIT
#include "probe/sanitizer.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"

#define CHOSEN "XPUPROF_SANITIZER"

int sanitizer_find(
	const char *(*get)(void *context, const char *name), void *context, struct buf *ret)
{
	const char *chosen = get(context, CHOSEN);

	if (!chosen || !*chosen)
		return error_set(-EPERM,
			"--sanitizer is not ready for use: on an H200, 3 of 16 programs ended with "
			"an error of the GPU (to try it anyway, " CHOSEN
			" names NVIDIA's libsanitizer-public.so)");
	if (chosen[0] != '/')
		return error_set(-EINVAL, CHOSEN " is not a whole path: '%s'", chosen);
	if (access(chosen, R_OK))
		return error_errno(-errno, "cannot read '%s' (" CHOSEN ")", chosen);
	buf_puts(ret, chosen);
	return ret->failed ? error_memory(NULL) : 0;
}
