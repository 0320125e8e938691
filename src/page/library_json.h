/* SPDX-License-Identifier: MIT */
/* Which frames are of a library, as JSON: the page leaves them out. */
#pragma once

#include "page/recording.h"
#include "serve/http.h"

/*
 * What is asked for: text, a part of a file's name ("libc.so"). {"frames": [...]}: functions, as
 * the data of flame graphs name them, with the letter of their kind; those alone of which all that
 * are called so are in such a file. 0 or -errno with error_text.
 */
int library_json(struct recording *r, const struct http_request *q, struct buf *out);
