/* SPDX-License-Identifier: MIT */
/*
 * The text that Prometheus reads, line by line
 * (https://prometheus.io/docs/instrumenting/exposition_formats/, text format 0.0.4): all samples of
 * one name stand together, behind their HELP and TYPE.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* What a number counts; the text is in the base unit. */
enum exposition_unit {
	EXPOSITION_NUMBER = 0,
	EXPOSITION_BYTES,
	EXPOSITION_NANOSECONDS, /* written as seconds, all nine decimals kept */
};

/* `type`: "counter", "gauge", "histogram", "summary". */
void exposition_family(struct buf *out, const char *name, const char *type, const char *help);
/* Appends name="value", with a comma before all but the first; nothing when the value is empty,
 * which to Prometheus is the same. The value is made printable (base/printable.h). */
void exposition_label(struct buf *labels, const char *name, const char *value);
/* One line: `suffix` may be "", `labels` is made by exposition_label. */
void exposition_sample(struct buf *out, const char *name, const char *suffix, const char *labels,
	uint64_t value, enum exposition_unit unit);
void exposition_number(struct buf *out, uint64_t value, enum exposition_unit unit);
