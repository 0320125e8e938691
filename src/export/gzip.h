/* SPDX-License-Identifier: MIT */
/* An output that is compressed on its way (RFC 1952). One thread at a time. */
#pragma once

#include "export/output.h"

struct gzip;

/* All: 0 or -errno with error_text. */
int gzip_new(struct gzip **ret, struct output *o);
int gzip_write(struct gzip *g, const void *data, size_t size);
/* Writes the end; the output stays open. */
int gzip_finish(struct gzip *g);
/* NULL is fine. */
void gzip_free(struct gzip *g);
