// SPDX-License-Identifier: MIT
#include "record/preload.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "record/locate.h"
#include "wire/probe.h"

#define VARIABLE "LD_PRELOAD"

int preload_for_probes(struct target_user *u, const char *address)
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
	return error ?: target_user_setenv(u, PROBE_ENV_SOCKET, address);
}
