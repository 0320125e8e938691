/* SPDX-License-Identifier: MIT */
/* Pictures that other commands write into files, as answers. */
#pragma once

#include "export/exporter.h"
#include "serve/http.h"

/* A flame graph; or, where there is nothing to draw, a page that says so. 0 or -errno with
 * error_text. */
int picture_flame(const char *path, const struct export_options *options, struct http_answer *ret);
/* What `write` writes, as text; so too. */
int picture_write(int (*write)(void *arg, struct output *o), void *arg, struct buf *ret);
