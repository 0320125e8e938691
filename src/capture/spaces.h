/* SPDX-License-Identifier: MIT */
/*
 * Tells walkers which code is mapped where in each process, and where its unwind tables are: the BPF programs
 * through an array that they share with us, the GPU side by calls.
 *
 * What is told is a snapshot: a range of the array that never changes. When the mappings of a process have changed,
 * or the state of a table, a new one takes its place, and the old range rests before it is used again (ranges.h),
 * so that a walk that began with it ends with it. Processes that share an address space share its snapshot. A
 * snapshot holds the tables that it names in use. Where a process waits for many tables it is not told of each by
 * itself.
 *
 * A walk may so begin with mappings that are some milliseconds old; the generation that is told with them says
 * which they were (address_space_outdated). A walker that hears of mappings by itself knows from `mapped_ns` that it
 * does; to others it is said for a while after code was mapped over other code (`unsteady`), as most often that is not
 * the last time.
 */
#pragma once

#include "capture/processes.h"
#include "profile/walker_news.h"
#include "walk/table.h"

struct bpf_space;

/* Who is told. The functions return 0 or -errno. */
struct spaces_target {
	void *context;
	struct walk_mapping *mappings; /* the array */
	uint32_t mapping_count;	       /* and its size */
	bool sees_maps; /* it hears by itself when code is mapped */
	int (*put)(void *context, uint32_t pid, const struct bpf_space *space);
	int (*put_python)(void *context, uint32_t pid, const struct walk_python *python);
	void (*drop)(void *context, uint32_t pid);
	int (*tell)(void *context, const struct walker_space *space); /* an error ends the recording */
};

struct spaces;

int spaces_new(struct spaces **ret, struct modules *modules, struct unwind_tables *tables,
	const struct spaces_target *target);
void spaces_free(struct spaces *s);
/* Some table's state is another one now; `evicted`: what is told of some is wrong. */
void spaces_tables_changed(struct spaces *s, bool evicted);
/* Tells what is new of this process, if anything is: 0 or the target's error. */
int spaces_publish(struct spaces *s, struct process *process, uint64_t now_ns);
/* Whether publishing will tell nothing of it until its mappings, its interpreter or tables change. */
bool spaces_is_settled(const struct spaces *s, const struct process *process, uint64_t now_ns);
/* What was told of the process is of an image that is gone: until the next time, nothing is told. */
void spaces_take_back(struct spaces *s, uint32_t pid, uint64_t now_ns);
/* The process is gone. */
int spaces_forget(struct spaces *s, uint32_t pid, uint64_t now_ns);
/* How often there was no room for a snapshot; walks then go on with the one before, if its tables are still there. */
uint64_t spaces_failed(const struct spaces *s);
/* The same for a walk of our own, as the tables are now: 0 or -ENOMEM with error_text. Valid until the next call. */
int spaces_mappings(struct spaces *s, const struct address_space *space,
	const struct walk_mapping **ret, uint32_t *ret_count);
