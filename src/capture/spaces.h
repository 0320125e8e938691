/* SPDX-License-Identifier: MIT */
/*
 * Publishes for walkers which code is mapped where in each process, and where its unwind tables
 * are: for the BPF programs in an array that they share with us, for the GPU side by calls.
 *
 * What is published is a snapshot: a range of the array that never changes. When the mappings of a
 * process or the state of a table have changed, a new snapshot replaces it. The old range rests
 * before it is used again (ranges.h), so that a walk that began with it ends with it. Processes
 * that share an address space share its snapshot. A snapshot keeps the tables that it names in use.
 * Where a process waits for many tables, several are published together.
 *
 * So a walk may begin with mappings that are some milliseconds old; their generation identifies
 * them (address_space_outdated). A walker that sees new mappings itself compares with `mapped_ns`.
 * Others get `unsteady` for a while after code was mapped over other code, as that often happens
 * again.
 */
#pragma once

#include "capture/processes.h"
#include "profile/walker_news.h"
#include "walk/table.h"

struct bpf_space;

/* Where snapshots are published. The functions return 0 or -errno. */
struct spaces_target {
	void *context;
	struct walk_mapping *mappings; /* the array */
	uint32_t mapping_count;	       /* and its size */
	bool sees_maps;		       /* the walker sees itself when code is mapped */
	int (*put)(void *context, uint32_t pid, const struct bpf_space *space);
	int (*put_python)(void *context, uint32_t pid, const struct walk_python *python);
	void (*drop)(void *context, uint32_t pid);
	/* an error ends the recording */
	int (*send)(void *context, const struct walker_space *space);
};

struct spaces;

int spaces_new(struct spaces **ret, struct modules *modules, struct unwind_tables *tables,
	const struct spaces_target *target);
void spaces_free(struct spaces *s);
/* The state of some table has changed; `evicted`: some published tables are gone. */
void spaces_tables_changed(struct spaces *s, bool evicted);
/* Publishes what is new of this process, if anything is: 0 or the target's error. */
int spaces_publish(struct spaces *s, struct process *process, uint64_t now_ns);
/* Whether publishing will do nothing for it until its mappings, its interpreter or tables
 * change. */
bool spaces_is_settled(const struct spaces *s, const struct process *process, uint64_t now_ns);
/* Removes what was published of the process, as its image is gone; nothing is there until the next
 * time. */
void spaces_withdraw(struct spaces *s, uint32_t pid, uint64_t now_ns);
/* The process is gone. */
int spaces_forget(struct spaces *s, uint32_t pid, uint64_t now_ns);
/* How often there was no room for a snapshot; walks then use the one before, if its tables are
 * still there. */
uint64_t spaces_failed(const struct spaces *s);
/* The same for a walk of our own, as the tables are now: 0 or -ENOMEM with error_text. Valid until
 * the next call. */
int spaces_mappings(struct spaces *s, const struct address_space *space,
	const struct walk_mapping **ret, uint32_t *ret_count);
