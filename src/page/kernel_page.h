/* SPDX-License-Identifier: MIT */
/* A kernel of a recording, or of a part of it, as the page that `xpuprof annotate -o` writes. */
#pragma once

#include "serve/http.h"
#include "view/range/range.h"

/* `name` is that of its frame in a flame graph. 0, or -errno with error_text: -ENOENT where there
 * are no samples of it. */
int kernel_page(const char *path, const struct range_wanted *range, const char *name,
	struct http_answer *ret);
