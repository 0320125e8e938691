/* SPDX-License-Identifier: MIT */
/*
 * Turns raw addresses into stacks of the profile.
 *
 * Nearly every stack was seen before, so whole stacks are cached: by the addresses and the
 * generation of their address space. A hit costs a hash and a comparison of all
 * addresses (equal hashes never make two stacks one); a miss resolves frame by
 * frame. The memory of the cache is bounded; what falls out is resolved again.
 *
 * A user stack that does not reach its root begins with a note of the reason
 * (profile_incomplete_note). It reaches its root when the walk ended at a function that its unwind
 * information calls outermost, or at one that begins a thread (roots.h). An address at the outer
 * end that lies in no mapping is where the walk went astray, and is cut off; one elsewhere becomes
 * the note "[unknown]". Frames are cut off as well that were found by mappings which had been
 * replaced when the stack was sampled. Frames of the measurement itself at the leaf end of a launch
 * (our library, the tracer) are left out. In the place of the middle of a stack that is too deep
 * stands the note "[frames left out]", and so where Python's alone are too many. Python's frames are merged in as merge.h describes.
 */
#pragma once

#include "bpf/events.h"
#include "capture/processes.h"
#include "python/code.h"

/* A stack as a walker found it (walk/frame.h), leaf first in all its parts. */
struct raw_stack {
	const uint64_t *kernel;
	const uint64_t *user; /* with WALK_FRAME_ bits */
	const struct walk_python_frame *python;
	uint32_t kernel_depth;
	uint32_t user_depth;
	uint32_t python_depth;
	bool python_incomplete; /* Python's chain was not followed to its end */
	/* they were read after the sample, and are its own if each loop on the stack has some */
	bool python_later;
	bool launch; /* it begins with frames of the measurement itself */
	enum walk_end walk_end;
	uint32_t space; /* the mappings it was walked by: bpf_space.generation; 0: none */
	/* NULL, or code of the evaluation loop (Pythons before 3.11) */
	const struct walk_range *loops;
	/* NULL, or the result of stacks_name_python for `python` */
	const uint32_t *python_locations;
	/* For walking it again, kept when the tables were not ready: */
	uint32_t entry_count;
	const uint64_t *entries;	   /* of Python's loops on the stack, innermost first */
	const struct bpf_raw_stack *start; /* NULL: nothing was kept */
	const uint8_t *memory;		   /* from start->sp on */
	size_t memory_size;
	const uint64_t *absent; /* pages that are not in there: UNWIND_PAGE_WORDS of bits */
};

/* The process that a stack was found in. */
struct stack_origin {
	uint32_t pid;
	const struct address_space *space; /* as it was then; NULL: no user side */
	struct process *process;	   /* NULL: it is gone, or its space is another by now */
	bool may_wait;			   /* until it is known where its threads begin */
};

enum stack_lack {
	LACKS_NOTHING,
	LACKS_NAMES, /* what Python frames need is being read */
	LACKS_ROOT,  /* it is being looked up where its threads begin */
};

struct stack_result {
	enum stack_lack lacks;	      /* nothing was made; it is worth another try */
	uint32_t stack;		      /* id; 0: it has no frames */
	enum profile_loss incomplete; /* why its user side does not reach its root; 0: it does */
	bool python_incomplete;
	bool python_unplaced;
	bool python_moved; /* Python's frames were of a later time, and are left out */
	bool cut;	   /* it was too deep: its middle is left out */
	bool in_jit;	   /* the innermost frame is of code made at run time */
};

/* Names Python frames. */
struct python_namer {
	void *context;
	/* As python_names_want; NULL: nothing needs to be read. */
	int (*want)(void *context, struct process *process, const struct walk_python_frame *frames,
		uint32_t depth, bool *ret_coming);
	/* As python_code_line. */
	int (*line)(void *context, struct process *process, const struct walk_python_frame *frame,
		struct python_line *ret); /* NULL: no names */
};

struct stacks;

int stacks_new(struct stacks **ret, struct profile_writer *w, struct modules *modules,
	struct processes *processes, struct files *files, struct python_namer namer);
void stacks_free(struct stacks *s);
/* 0 or -errno with error_text. */
int stacks_intern(struct stacks *s, const struct stack_origin *origin, const struct raw_stack *raw,
	struct stack_result *ret);
/* Names Python frames while their process can still be read: fills ret_locations[depth]; 0: not to
 * be shown. *ret_coming: something has to be read first, and nothing is filled in. */
int stacks_name_python(struct stacks *s, struct process *process,
	const struct walk_python_frame *frames, uint32_t depth, uint32_t *ret_locations,
	bool *ret_coming);
/* By what has been read by now. */
int stacks_name_python_late(struct stacks *s, struct python_code *code,
	const struct walk_python_frame *frames, uint32_t depth, uint32_t *ret_locations);
