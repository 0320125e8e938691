// SPDX-License-Identifier: MIT
/* Replaces metrics_server.c where libmicrohttpd is missing. */
#include "cmd/monitor/metrics_server.h"

#include <errno.h>

#include "base/error.h"

bool metrics_server_supported(void)
{
	return false;
}

int metrics_server_open(const char *address, struct metrics_server **ret)
{
	return error_set(-ENOSYS, "this build cannot serve metrics: libmicrohttpd was missing");
}

void metrics_server_close(struct metrics_server *s)
{
}

const char *metrics_server_address(const struct metrics_server *s)
{
	return "";
}

int metrics_server_start(struct metrics_server *s, const struct metrics_source *source)
{
	return -ENOSYS;
}

int metrics_server_fd(const struct metrics_server *s)
{
	return -1;
}

int metrics_server_timeout_ms(const struct metrics_server *s)
{
	return -1;
}

int metrics_server_run(struct metrics_server *s)
{
	return -ENOSYS;
}

int metrics_server_add_ended(const struct metrics_server *s, struct totals *t)
{
	return 0;
}
