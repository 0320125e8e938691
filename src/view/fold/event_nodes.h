/* SPDX-License-Identifier: MIT */
/*
 * Where an event stands in the tree of a flame graph: the frames from the root to it.
 *
 * Use after the last event was read, when names are final. Holds on to reader, options and tree.
 */
#pragma once

#include "view/names/device.h"
#include "view/fold/gather.h"
#include "view/fold/stacks.h"
#include "profile/reader.h"
#include "view/fold/options.h"

struct placer {
	const struct profile_reader *reader;
	const struct view_options *options;
	struct tree *tree;
	struct stacks stacks;
	struct device_numbers devices;
};

/* 0 or -errno with error_text; release it in either case. */
int placer_init(struct placer *p, const struct profile_reader *r, const struct view_options *o,
	struct tree *t);
void placer_release(struct placer *p);

/* The part of an event that decides its place. A call (EVENT_CALL) stands where its work would. */
struct gather_key place_key(const struct profile_event *e, const struct view_options *o);

/* The node of this key, added with its parents when new: 0 or -errno with error_text. */
int place(struct placer *p, const struct gather_key *key, uint32_t *ret_node);

/* For views that put something else there; all as place. */
/* The node of a thread, or its process, as the options have it. */
int place_task(struct placer *p, uint32_t thread, uint32_t *ret_node);
/* "[text]" on a node. */
int place_note(struct placer *p, uint32_t base, enum tree_kind kind, const char *text, uint32_t *ret_node);
/* The node of GPU work, with the code that asked for it (or without), on a node: without process and thread. */
int place_work_on(struct placer *p, uint32_t base, const struct gather_key *key, bool code, uint32_t *ret_node);
