/* SPDX-License-Identifier: MIT */
/* What is asked behind the '?' of an address. All of it is checked: it may be anybody's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/http.h"
#include "view/fold/options.h"

/* A whole number from 0 to `most`; `otherwise` where it is not there. 0, or -EINVAL with
 * error_text. */
int argument_number(const struct http_request *q, const char *name, uint64_t most,
	uint64_t otherwise, uint64_t *ret);
bool argument_flag(const struct http_request *q, const char *name);
/* "3,5,8": which of `count` are named. Allocates; *ret is NULL where nothing is asked for. */
int argument_list(const struct http_request *q, const char *name, size_t count, bool **ret);

/* Texts of times, as range_wanted borrows them. */
struct argument_times {
	char from[32], to[32];
};

/* Those of two arguments. */
int argument_times(const struct http_request *q, const char *from, const char *to,
	struct argument_times *times, struct range_wanted *ret);
/* What of a view is asked for, but for the range: view, by, reverse and so on. */
int argument_view(const struct http_request *q, struct view_options *ret);
/* from, to, thread, device. */
int argument_range(
	const struct http_request *q, struct argument_times *times, struct range_wanted *ret);
