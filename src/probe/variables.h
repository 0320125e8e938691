/* SPDX-License-Identifier: MIT */
/* The value of a map, as its types say; of a section, its variables by their names. */
#pragma once

#include "base/json_writer.h"
#include "ebpf/object.h"

void variables_text(struct buf *out, const struct ebpf_object *o, const struct ebpf_map *m,
	const uint8_t *bytes);
/* As the member "value". */
void variables_json(struct json_writer *w, const struct ebpf_object *o, const struct ebpf_map *m,
	const uint8_t *bytes);
