/* SPDX-License-Identifier: MIT */
/*
 * A flame graph of what is asked for (arguments.h, part.h), or compared with something else, the
 * base, as `xpuprof flame --diff BASE IT` does:
 *
 *	base-from, base-to	a range: of the same recording, or of another one
 *	others=1		the other iterations, where some are asked for
 *
 * `base` is the recording which that is in; NULL: it is not compared. Another one without a range
 * is compared as a whole.
 */
#pragma once

#include "page/recording.h"
#include "serve/http.h"

/* Whether a part of the same recording is asked for. */
bool compared_is_asked(const struct http_request *q);
/* 0 or -errno with error_text. */
int compared_flame(struct recording *r, struct recording *base, const struct http_request *q,
	struct http_answer *ret);
/* Functions whose share of the elapsed time is another one, as `xpuprof report --diff` has them. */
int compared_text(
	struct recording *r, struct recording *base, const struct http_request *q, struct buf *ret);
