/* SPDX-License-Identifier: MIT */
/*
 * The Python side of a stack: where an interpreter keeps its chain of frames. The walk itself is
 * python_walk.h.
 *
 * What is read are addresses only: of each code object and of the instruction in it. Names and
 * lines are looked up later, by the recorder (src/python/).
 *
 * From 3.11 on each evaluation loop keeps something of its group of frames on the machine's stack;
 * where, is how the two kinds of frames find together (`entry` in walk.h), whatever the
 * interpreter's binary is called and however it was built. Before, a frame is a group of its own
 * and the loop is known by its address (`loops`).
 *
 * The present thread's PyThreadState is found where CPython keeps it for threads that do not hold
 * the GIL too: as pthread's thread-specific data under the key of PyGILState_Ensure (_PyRuntime's
 * autoTSSkey; up to 3.14), or in the thread-local variable _Py_tss_gilstate (from 3.15 on).
 */
#pragma once

#include "base/bare/hash_step.h"
#include "walk/frame.h"

#define WALK_PYTHON_ENTRIES_MAX WALK_PYTHON_FRAMES_MAX
#define WALK_PYTHON_DTV		8 /* from the thread pointer (x86-64): its dtv, 16 bytes a module */
#define WALK_PYTHON_WORDS	16 /* room for the block that is read of a frame; a power of 2 */

/* How many frames and entries a home has room for at once. The kernel's has little, and sends those
 * of deep stacks in parts (bpf/events.h). */
#ifdef __bpf__
#define WALK_PYTHON_ROOM	 128
#define WALK_PYTHON_ENTRIES_ROOM 64
#else
#define WALK_PYTHON_ROOM	 WALK_PYTHON_FRAMES_MAX
#define WALK_PYTHON_ENTRIES_ROOM WALK_PYTHON_ENTRIES_MAX
#endif

enum walk_python_layout {
	WALK_PYTHON_NONE = 0,
	WALK_PYTHON_OBJECTS, /* 3.8 to 3.10: PyFrameObject, each with its own loop */
	WALK_PYTHON_CFRAMES, /* 3.11: _PyInterpreterFrame with is_entry; one _PyCFrame a loop */
	WALK_PYTHON_CSTACK,  /* 3.12: entry frames on the stack, through tstate->cframe */
	WALK_PYTHON_CURRENT, /* 3.13 and later: entry frames on the stack, from
				tstate->current_frame */
};

/* One interpreter in one process image, as src/python/ found it: addresses and offsets in bytes. */
struct walk_python {
	uint32_t layout;      /* enum walk_python_layout */
	uint32_t version;     /* 0x030d: 3.13 */
	uint64_t runtime;     /* _PyRuntime */
	uint64_t tss_address; /* of the Py_tss_t with the key of each thread's PyThreadState; 0:
				 state_tls is used */
	uint64_t finalizing_address; /* of the thread state that ends the interpreter, 0 in there as
					long as none does */
	struct walk_range loops[WALK_LOOP_RANGES]; /* of _PyEval_EvalFrameDefault, up to 3.10 */
	struct walk_range evaluation[WALK_LOOP_RANGES]; /* the same, in all versions */
	uint32_t free_threaded;				/* 1: built without GIL */
	int32_t state_tls; /* the variable that holds the PyThreadState: from the thread pointer, or
			      from the block of tls_module; both 0: there is none */
	uint16_t tls_module; /* the thread's dtv says where its block is; 0: the block is at the
				thread pointer */
	int16_t tsd_first;   /* from the thread pointer: the first block of thread-specific data; 0:
				ask tsd_blocks */
	int16_t tsd_blocks;  /* from the thread pointer: the addresses of all blocks */
	uint16_t tsd_size;   /* of an entry of a block */
	uint16_t tsd_value;  /* in an entry */
	uint16_t tsd_shift;  /* a block has 1 << tsd_shift entries */
	uint16_t state_frame;  /* in PyThreadState: the frame, or the _PyCFrame */
	uint16_t cframe_frame; /* in _PyCFrame */
	uint16_t cframe_previous;
	uint16_t frame_first; /* in a frame: where the part begins that is read at once */
	uint16_t frame_size;  /* how much that is: a multiple of 8, less than 8 * WALK_PYTHON_WORDS,
				 never more than a frame has */
	uint16_t frame_code;  /* in a frame, as all of these: f_executable or f_code */
	uint16_t frame_at;    /* the instruction: instr_ptr, prev_instr or f_lasti */
	uint16_t frame_at_size; /* 4 or 8 */
	uint16_t frame_previous;
	uint16_t frame_owner; /* owner or is_entry, one byte */
	uint16_t owner_entry; /* the lowest owner (is_entry) of an entry frame */
	/* in a code object: 32 bytes that differ from those of a later one at its address */
	uint16_t code_check;
	uint16_t code_name; /* in a code object, as the next two: where its name is */
	uint16_t code_file;
	uint16_t code_lines;
	uint16_t reserved[3];
};

/*
 * What a code object says of itself, as it was while a thread ran it: code that runs only once, as
 * that of modules, may be freed before anybody else can look.
 *
 * Of each of its parts the beginning. `address` is where it was, `size` how much is here.
 */
#define WALK_PYTHON_CODE_HEADER 256
#define WALK_PYTHON_CODE_NAME	256
#define WALK_PYTHON_CODE_FILE	384
#define WALK_PYTHON_CODE_LINES	2560
#define WALK_PYTHON_CODE_PARTS	4

struct walk_python_part {
	uint64_t address;
	uint64_t size;
};

struct walk_python_code {
	uint64_t code;					       /* as in struct walk_python_frame */
	struct walk_python_part parts[WALK_PYTHON_CODE_PARTS]; /* in the order of the following */
	uint8_t header[WALK_PYTHON_CODE_HEADER];
	uint8_t name[WALK_PYTHON_CODE_NAME];
	uint8_t file[WALK_PYTHON_CODE_FILE];
	uint8_t lines[WALK_PYTHON_CODE_LINES];
};

/* 16 bits of what a code object is, from the 32 bytes at code_check. The last is always 1: 0 in a
 * frame means that they could not be read. */
static inline uint64_t walk_python_check(const uint64_t words[4])
{
	uint64_t h = words[0] ^ (words[1] << 7 | words[1] >> 57) ^
		     (words[2] << 19 | words[2] >> 45) ^ (words[3] << 31 | words[3] >> 33);

	h *= HASH_FACTOR;
	return h >> 48 | 1;
}

/* What a walk found, and, below, where it stands. */
struct walk_python_stack {
	uint32_t depth;
	uint32_t entry_count;
	uint32_t complete;  /* the chain was followed to its end */
	uint32_t sent;	    /* frames before these, which the home has moved elsewhere */
	uint32_t void_sent; /* those that were moved are none */
	uint32_t left_out;  /* frames in the middle that were cut out */
	uint32_t open;	    /* the latest frame's group has not ended */
	uint32_t entry;	    /* the frame in `words` is an entry frame, or begins a loop (3.11) */
	uint64_t frame;	    /* the next one */
	uint64_t previous;  /* and the one after it, by its link */
	uint64_t mark;	    /* one that has been; to come upon it again is to go round in circles */
	uint64_t cframe;    /* the _PyCFrame of the group (3.11) */
	uint64_t outer; /* in the innermost group, the _PyCFrame around it (3.11, 3.12); else 0 */
	uint64_t outer_frame;		   /* and its frame */
	uint64_t words[WALK_PYTHON_WORDS]; /* of the frame, from frame_first on */
	uint64_t check[4];		   /* of its code object */

	struct walk_python_frame frames[WALK_PYTHON_ROOM];
	/* of each group's loop on the stack, innermost first */
	uint64_t entries[WALK_PYTHON_ENTRIES_ROOM];
};
