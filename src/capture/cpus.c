// SPDX-License-Identifier: MIT
/* The kernel lists them as "0-3,5,8-11". */
#include "capture/cpus.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

#define ONLINE "/sys/devices/system/cpu/online"

static int visit_list(const char *p, int (*visit)(void *context, int cpu), void *context)
{
	while (*p >= '0' && *p <= '9') {
		char *end;
		long first = strtol(p, &end, 10), last = first;
		int result;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long cpu = first; cpu <= last; cpu++) {
			result = visit(context, (int)cpu);
			if (result)
				return result;
		}
		p = *end == ',' ? end + 1 : end;
	}
	return 0;
}

int cpus_each_online(int (*visit)(void *context, int cpu), void *context)
{
	struct buf list = BUF_INIT;
	int error = io_read_file(ONLINE, 65536, &list);

	if (error)
		error_errno(error, "cannot read '%s'", ONLINE);
	buf_puts(&list, "");
	error = error ?: visit_list(buf_text(&list), visit, context);
	buf_release(&list);
	return error;
}
