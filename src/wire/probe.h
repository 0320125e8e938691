/* SPDX-License-Identifier: MIT */
/*
 * What xpuprof and the library that it preloads agree on, to run eBPF programs inside the kernels
 * of a GPU. All memory is files in memory whose size is sealed.
 *
 *	library					xpuprof
 *	  | ---- connects, probe_hello -----------> |
 *	  | <--- probe_welcome + the control ------ |  one for each process; both write
 *	  | <--- probe_welcome + the plan --------- |  sealed: the same for all
 *	  |                                         |
 *	  | ---- probe_arena ---------------------> |  for each context of the GPU API
 *	  | <--- probe_welcome + its memory ------- |
 *	  | <--- probe_welcome + an array --------- |  for each of the kernel's, in their order
 *	  | ---- other messages ------------------> |  what became of an image, a kernel, ...
 *
 * From then on they share memory. xpuprof takes records out of the rings, which GPUs write, and
 * raises their tails; asks for values of maps by a number; switches programs off and on. Each
 * changes the control's `changes`, on which a thread of the library sleeps. The library waits for
 * xpuprof where the picture has an arrow to it, two seconds at most, and never else.
 *
 * The shared memory of an arena (wire/arena.h):
 *
 *	+------------------------+ 0
 *	| struct probe_shared	 |
 *	+------------------------+ PROBE_TAILS_AT
 *	| tails of the rings	 | each ARENA_SMS of 8 bytes; written by xpuprof
 *	+------------------------+ snapshot_at
 *	| the arena, as it was	 | when it was last copied from the GPU
 *	+------------------------+ outside_at; the GPU has this mapped
 *	| records of rings, maps | each at its place, from page to page
 *	| in host memory	 |
 *	+------------------------+
 *
 * Neither trusts the other's memory: positions come from the plan, and are checked by the library
 * when it reads the plan.
 */
#pragma once

#include <stdint.h>

#include "wire/arena.h"

#define PROBE_MAGIC	 0x5558504bu
#define PROBE_VERSION	 7u
#define PROBE_ENV_SOCKET "XPUPROF_PROBE_SOCKET"
/* A folder: the preloaded library has a compiled.h. */
#define PROBE_ENV_COMPILED "XPUPROF_PROBE_COMPILED"
/* Compilers that the user has chosen, which ours stand for. */
#define PROBE_ENV_COMPILER	  "XPUPROF_COMPILER"
#define PROBE_ENV_SECOND_COMPILER "XPUPROF_SECOND_COMPILER"
/* The path of the Sanitizer library: machine code is to have programs, too. */
#define PROBE_ENV_SANITIZER "XPUPROF_PROBE_SANITIZER"
#define PROBE_PAGE	    4096u
#define PROBE_TAILS_AT	    PROBE_PAGE
#define PROBE_CONTROL_BYTES PROBE_PAGE
#define PROBE_PLAN_MAX	    (256u << 20)
#define PROBE_BODIES_MAX    256u
#define PROBE_ARENAS_MAX    64u /* of a process */
#define PROBE_SHARED_MAX    16u /* arrays of the kernel's */

enum probe_role {
	PROBE_PROGRAM,
	PROBE_COMPILER, /* run by a program: it only needs the plan */
};

struct probe_hello {
	uint32_t magic, version, pid;
	uint32_t role; /* enum probe_role */
};

enum probe_gift { PROBE_CONTROL, PROBE_PLAN, PROBE_MEMORY, PROBE_MAP };

struct probe_welcome {
	uint32_t magic, version;
	uint32_t gift; /* enum probe_gift: what comes with it */
	uint32_t unused;
};

struct probe_control {
	uint32_t magic, version;
	/* By xpuprof. */
	uint32_t changes; /* futex: something here or in a tail has changed */
	uint32_t asked;	  /* number of the values that are wanted */
	uint32_t off;	  /* programs are not to run, now */
	uint32_t unused;
	/* By the library. */
	uint64_t notes_lost;	/* for which there was no room */
	uint64_t arenas_lost;	/* contexts in which no program runs, as there were too many */
	uint64_t arenas_unread; /* contexts that ended before their values could be read */
};

/* Programs were switched on or off in a context, at some time between the two (CLOCK_MONOTONIC). */
struct probe_switch {
	uint64_t from_ns, to_ns;
	uint32_t off;
	uint32_t failed; /* in some module: what runs there is not known */
};

#define PROBE_SWITCHES 16u /* of which the latest are kept */

struct probe_shared {
	uint32_t magic, version;
	uint32_t answered; /* number of the values that are there */
	uint32_t ended;	   /* the context ends: there will be no others */
	uint64_t read_ns;  /* when they were read, CLOCK_MONOTONIC; 0: never */
	uint64_t failures; /* times that they could not be read */
	/* The n-th is at n % PROBE_SWITCHES; the first is how the context began. */
	struct probe_switch switches[PROBE_SWITCHES];
	uint32_t switch_count;
	uint32_t unused;
};

/* The plan: this, and what it leads to by offsets from its beginning. Texts end with a NUL. */
struct probe_plan {
	uint32_t magic, version;
	uint64_t size;
	uint64_t arena_bytes, shared_bytes, snapshot_at, outside_at;
	uint32_t map_count;
	uint32_t body_count, outside_count, initial_count;
	uint64_t bodies_at, outsides_at, initials_at, patches_at;
	uint64_t only_at;  /* a glob that kernels have to match, too; 0: none */
	uint64_t accesses; /* that arrays by access have values for: wire/arena.h */
	/* What kernels took without programs is wanted, too: images are loaded twice. */
	uint32_t measures;
	uint32_t patch_count;
};

struct probe_body {
	uint64_t kernels_at, text_at;
	uint32_t site; /* as the splicer numbers them */
	uint32_t once_per_warp;
	int32_t pair;
	uint32_t site_copies; /* as the splicer has them */
	uint64_t site_stride;
	uint32_t version, sm;
	/* It is a kernel of its own, of this name, for which the library makes a launch. */
	uint32_t is_alone;
	uint32_t grid[3], block[3];
	uint32_t unused;
};

/* Functions of the programs for machine code, as the vendor's assembler makes them for one kind. */
struct probe_patches {
	uint64_t at, bytes;
	uint32_t sm; /* the compute capability times 10 */
	uint32_t unused;
};

#define PROBE_PATCHES_MAX 64u

/* Memory of the host that the GPU uses: its address is to be in the header of the arena. */
struct probe_outside {
	uint64_t at, bytes; /* in the shared memory */
	uint32_t address;   /* which of the header's */
	uint32_t is_ring;
	/* It is an array of the kernel's: `bytes` from the begin of what comes as PROBE_MAP. */
	uint32_t is_shared, unused_too;
	uint64_t control_at;	/* in the arena: control blocks of a ring */
	uint32_t tails, unused; /* which of the tails are the ring's */
};

/* What is not 0 at the beginning. */
struct probe_initial {
	uint64_t data_at, bytes;
	uint64_t at; /* in the arena, or in the shared memory */
	uint32_t is_outside, unused;
};

/* Messages of the library. All but the first begin with what they are. */
enum probe_message {
	PROBE_ARENA = 1, /* is answered */
	PROBE_KERNEL,
	PROBE_LINES,
	PROBE_FILE,
	PROBE_IMAGE,
};

#define PROBE_TEXT_MAX	  3072u
#define PROBE_ABOUT_MAX	  512u
#define PROBE_LINES_MAX	  128u
#define PROBE_MESSAGE_MAX 4096u

struct probe_arena {
	uint32_t message;
	uint32_t device, sms;
	uint32_t clock_khz;
	uint64_t context; /* its number */
	uint64_t memory_bytes;
	uint8_t uuid[16]; /* zeros: not known */
	char name[64];	  /* of the device */
};

/* What a kernel takes of a multiprocessor. */
struct probe_size {
	uint32_t registers;   /* a thread; 0: none of this is known */
	uint32_t local_bytes; /* a thread: stack, and registers for which there was no place */
	/* that a multiprocessor has at once, in blocks of PROBE_SIZE_BLOCK threads or as large as
	 * they may be; 0: not known */
	uint32_t warps;
};

#define PROBE_SIZE_BLOCK 256

/* A kernel in which programs run; or could not, of which only why and its name are told. Those of
 * one name in two modules have two hashes, and the same module always the same. */
struct probe_kernel {
	uint32_t message;
	uint32_t fate; /* PROBE_FATE_SPLICED: they run */
	uint32_t bodies, returns, accesses;
	uint32_t bound; /* registers of a thread that its launch bounds leave; 0: it has none */
	uint64_t hash, module;		 /* module: 0: not known */
	struct probe_size with, without; /* programs */
	/* The file that its module is, or is made from; of one without programs why, in words.
	 * Empty: not known. */
	char about[PROBE_ABOUT_MAX];
	char name[PROBE_TEXT_MAX];
};

struct probe_line {
	uint32_t insn, line;
	uint32_t file; /* 0: not known */
	uint32_t bytes, kind;
};

#define PROBE_NO_SITE UINT64_MAX

struct probe_lines {
	uint32_t message, count;
	uint64_t hash; /* of the kernel */
	/* Number of the first access in the process, the others' being those after it: values by
	 * access are by these. Several modules may have the same; or PROBE_NO_SITE. */
	uint64_t first_site;
	struct probe_line lines[PROBE_LINES_MAX];
};

/* A file that such lines are in; numbers are a process's own. */
struct probe_file {
	uint32_t message, number;
	char path[PROBE_TEXT_MAX];
};

/* What became of an image, or of a part of it. */
enum probe_fate {
	PROBE_FATE_SPLICED,    /* amount: kernels */
	PROBE_FATE_NO_TEXT,    /* there is only machine code */
	PROBE_FATE_UNREADABLE, /* text: why */
	PROBE_FATE_REFUSED,    /* by the driver; text: its log */
	PROBE_FATE_SMALLER,    /* its kernels would not run in blocks as large as before */
	PROBE_FATE_NO_WORD,    /* its variables were not found */
	/* amount: in functions that kernels call */
	PROBE_FATE_UNSEEN_ACCESSES,
	PROBE_FATE_UNSEEN_EXITS,
	PROBE_FATE_SLOW_WORD, /* there is no constant memory left in it */
	PROBE_FATE_NO_MEMORY, /* no arena in a context; text: why */
	/* Machine code, where the user wants that (PROBE_ENV_SANITIZER). */
	PROBE_FATE_PATCHED,	/* amount: kernels */
	PROBE_FATE_NOT_PATCHED, /* text: why */
	PROBE_FATE_NO_NAMES,	/* not all kernels in its machine code are known */
	/* amount: kernels of which programs read parameters that they do not have, as 0 */
	PROBE_FATE_NO_PARAMETER,
	PROBE_FATE_COUNT,
};

struct probe_image {
	uint32_t message, fate;
	uint64_t amount;
	uint64_t module; /* hash of the one that it is of: counted once; 0: of any */
	char text[PROBE_TEXT_MAX];
};
