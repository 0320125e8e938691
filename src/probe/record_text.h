/* SPDX-License-Identifier: MIT */
/* A record that a program sent, for people and for programs. */
#pragma once

#include "base/json_writer.h"
#include "probe/server.h"

/* The object and the program that it is of; false: there is no such program. */
bool record_find(const struct plan *plan, const struct server_record *r, uint32_t *ret_object,
	const struct body **ret_body);
/* "leave: start=1 end=2", without an end of line; nothing where it is of no program. */
void record_text(struct buf *out, const struct plan *plan, const struct server_record *r);
/* Members of an object that has begun. */
void record_json(struct json_writer *w, const struct plan *plan, const struct server_record *r);
