/* SPDX-License-Identifier: MIT */
/*
 * The node of an event in the tree of a flame graph, with its parents: the frames from the root to
 * it.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to reader,
 * options and tree.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/gather.h"
#include "view/fold/options.h"
#include "view/fold/stacks.h"
#include "view/names/device.h"

struct event_nodes {
	const struct profile_reader *reader;
	const struct view_options *options;
	struct tree *tree;
	struct stacks stacks;
	struct device_numbers devices;
	uint32_t last_api, last_call; /* the call that was added last, and its frame */
};

/* 0 or -errno with error_text; release it in either case. */
int event_nodes_init(struct event_nodes *n, const struct profile_reader *r,
	const struct view_options *o, struct tree *t);
void event_nodes_release(struct event_nodes *n);

/* The part of an event that decides which node it has. A call (EVENT_CALL) has the parent that its
 * work would have. */
struct gather_key event_key(const struct profile_event *e, const struct view_options *o);
/* The same in two steps: all that may decide it, and of that what does under these options. */
struct gather_key event_whole_key(const struct profile_event *e);
struct gather_key event_key_for(const struct gather_key *whole, const struct view_options *o);

/* All: find a node, and add it with its parents when it is new. 0 or -errno with error_text. */
/* The node of an event, by its key. */
int event_nodes_add(struct event_nodes *n, const struct gather_key *key, uint32_t *ret_node);
/* The same in three steps, each from *node on: the process and thread, from the root; the code, by
 * that half of a key (keys.h); the work, by the rest. */
int event_nodes_add_base(struct event_nodes *n, const struct gather_key *key, uint32_t *ret_node);
int event_nodes_add_code(struct event_nodes *n, const struct gather_key *key, uint32_t *node);
int event_nodes_add_top(struct event_nodes *n, const struct gather_key *key, uint32_t *node);
/* Of the work only the device and the stream. */
int event_nodes_add_place(struct event_nodes *n, const struct gather_key *key, uint32_t *node);

/* The node of a thread or its process, whichever the options show. */
int event_nodes_add_task(struct event_nodes *n, uint32_t thread, uint32_t *ret_node);
/* "[text]" above a node. */
int event_nodes_add_note(struct event_nodes *n, uint32_t base, enum tree_kind kind,
	const char *text, uint32_t *ret_node);
/* GPU work above a node, without process and thread; with or without the code that asked for it. */
int event_nodes_add_work(struct event_nodes *n, uint32_t base, const struct gather_key *key,
	bool code, uint32_t *ret_node);
