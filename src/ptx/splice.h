/* SPDX-License-Identifier: MIT */
/*
 * Puts probes into a module of PTX text: bodies of PTX that run when a thread enters a kernel, when
 * it leaves it, and at each access to memory: behind loads, before what else there is (deferred.c).
 *
 * A body is one `{ ... }` of PTX text. Its registers and labels are declared inside it, so that the
 * same body can stand at many sites. It is entered at its top and left at its closing brace, or by
 * a jump to xpu_rest in lanes that have nothing left to do and leave no cookie; never by `ret` or
 * `exit`. It may write one register that is not its own: %xpu_cookie, in a body for the entry. What
 * it is given stands in these registers; the splicer declares and sets those that are named in the
 * body, and nothing else:
 *
 *	register	type	where	what
 *	%xpu_arena	.b64	all	address of the arena in global memory; never 0 in a body
 *	%xpu_cookie	.b64	entry	0; what the body leaves in it is kept for its pair
 *				exit	what the entry body of the pair left in it; read only
 *	%xpu_lanes	.b32	all	how many lanes of its warp this one runs for, itself among
 *					them: 1 unless the body runs once for a warp
 *	%xpu_active	.b32	all	a bit for each lane of the warp that is at this site with it
 *	%xpu_below	.b32	all	a bit for each of these lanes that is lower than this one; 0
 *					in bodies of each thread. A body of a warp that names it
 *					runs in all lanes, and has effects where it is 0 only
 *	%xpu_kernel	.b64	all	number of the kernel (ptx_kernel_hash)
 *	%xpu_argc	.b32	all	number of the kernel's parameters
 *	%xpu_arg0 - 11	.b64	all	the first 8 bytes of each parameter, with zeros above a
 *					smaller one; 0 for those that the kernel does not have
 *	%xpu_addr	.b64	memory	the address; of global memory
 *	%xpu_size	.b32	memory	bytes that each lane accesses
 *	%xpu_kind	.b32	memory	enum ptx_access
 *	%xpu_lines	.b32	memory	how many lines of 128 bytes the active lanes access, by their
 *					addresses (needs sm_70)
 *	%xpu_insn	.b32	memory	number of the access in its kernel, by its place in the
 *					text, from 0: ptx_splice reports the source line of each
 *	%xpu_site	.b32	memory	number of the access in its module: its place in what
 *					ptx_splice reports
 *	%xpu_sites	.b64	memory	as %xpu_arena, and behind it as much as the accesses of
 *					modules that were loaded earlier take, and the body's
 *					`site_stride` times the number of a copy below its
 *					`site_copies`: the SM's at the thread's entry, or
 *					another where a body that names %xpu_below is for a
 *					higher lane
 *
 * All names that begin with %xpu_, xpu_ and __xpuprof_ are the splicer's and the bodies'; text of
 * others that has them is refused. A body's own registers need only differ from those above.
 *
 * The module gets a variable, PTX_WORDS, which begins as zeros: struct ptx_words. The address of
 * the arena is set once, and does not change any more: bodies read it at each site. `on` is for
 * attaching and detaching at any time once the others are set. A thread's bodies run if `on` was
 * not 0 at its entry, which the lanes of a warp decide together: so an exit runs exactly when the
 * thread's entry would have run, whatever changes meanwhile. All words are in one line of a cache,
 * so that who finds the one set finds the others, too. The variable is in .const, or in .global
 * where the module has filled its .const.
 *
 * A body that runs once for a warp (`once_per_warp`) runs in the lowest of the lanes that are
 * together at the site; the cookie it leaves is given to all of them, as at the exit another lane
 * may be the lowest, and some may have left earlier.
 *
 * A body without effects, and whose cookie nobody reads, is left out. A kernel of which no body is
 * left counts as probed, and is as it was.
 *
 * What is not seen: a thread that ends inside a function the kernel calls, or by a trap; accesses
 * to memory inside such functions. They are counted. The text returned depends on the text and the
 * probes alone, so that compilers' caches find it again.
 *
 * The text comes from programs that are not trusted. Text that does not read as PTX is refused with
 * one reason, and whoever loads it uses the original.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

#define PTX_WORDS "__xpuprof_words"
/* Where instructions of probes are from, in line tables: line N is that of body N - 1. Only in
 * modules that have lines of their own. */
#define PTX_PROBE_FILE "[probe]"
#define PTX_ARGUMENTS  12
#define PTX_NO_PAIR    (-1)

enum ptx_site {
	PTX_AT_ENTRY,
	PTX_AT_EXIT,
	PTX_AT_LOAD,   /* ld */
	PTX_AT_STORE,  /* st */
	PTX_AT_ACCESS, /* ld, st, atom, red, cp.async */
};

/* Bits of %xpu_kind. */
enum ptx_access {
	PTX_READS = 1,
	PTX_WRITES = 2,
	PTX_ATOMIC = 4,
	PTX_VOLATILE = 8,
	PTX_ASYNC = 16, /* cp.async: the address is the one in global memory */
};

struct ptx_words {
	uint64_t arena;
	uint32_t on;
	uint32_t unused;
	uint64_t sites;
	uint64_t unused_too;
};

/* Something at module level that bodies need: a .func. It is written once, before all kernels. */
struct ptx_declaration {
	const char *text;
};

struct ptx_body {
	enum ptx_site site;
	bool once_per_warp;
	/* The entry and the exit body that have the same number share a cookie; or PTX_NO_PAIR. */
	int pair;
	const char *kernels; /* glob (fnmatch) of the kernels' names, mangled or readable */
	const char *text;    /* "{ ... }" */
	/* Which of the probes' declarations it needs: bit i is number i. */
	uint64_t declarations;
	/* What it finds at %xpu_sites is there so many times, a power of 2, so many bytes apart. */
	uint32_t site_copies;
	uint64_t site_stride;
	/* The oldest PTX (major * 10 + minor) and architecture that have all its instructions; the
	 * splicer raises .version where it is older, and refuses a module for older GPUs. */
	unsigned int version, sm;
};

/* Blocks of so many threads must stay possible: the compiler is told not to use more registers than
 * that allows. A kernel that has such a bound of its own keeps it. */
struct ptx_bound {
	const char *kernel; /* mangled */
	uint32_t threads;
};

/* Bodies that meet at a site run in the order of the array. */
struct ptx_probes {
	const struct ptx_body *bodies;
	size_t body_count;
	const struct ptx_declaration *declarations; /* 64 at most */
	size_t declaration_count;
	const struct ptx_bound *bounds;
	size_t bound_count;
	/* Globs, one a line, of which kernels have to match one, too; NULL: any. */
	const char *only;
};

/* What became of a kernel that has probes. */
struct ptx_probed {
	char *name;	   /* mangled */
	uint64_t hash;	   /* ptx_kernel_hash */
	uint32_t returns;  /* places at which it is left and that an exit body sees */
	uint32_t accesses; /* sites of memory bodies */
	uint32_t bodies;   /* that name it, whatever site */
	bool bounds_block; /* the text says how large its blocks can be */
	uint32_t bound;	   /* registers of a thread that the text leaves; 0: as many as there are */
};

/* Where in the source an access stands: %xpu_insn and %xpu_kernel name it. */
struct ptx_access_line {
	uint32_t kernel; /* index */
	uint32_t insn;
	uint32_t file; /* number of the module's .file directive; 0: not known */
	uint32_t line;
	uint32_t bytes;
	uint32_t kind; /* enum ptx_access */
};

struct ptx_file {
	uint32_t number;
	char *path;
};

struct ptx_spliced {
	struct buf text;
	uint64_t module; /* ptx_module_hash of the text without probes */
	struct vec(struct ptx_probed) kernels;
	struct vec(struct ptx_access_line) lines;
	struct vec(struct ptx_file) files;
	bool numbers_sites;  /* a body names %xpu_sites: each of `lines` takes a number */
	bool is_as_before;   /* nothing of any body is left: `text` is empty */
	bool word_in_global; /* .const is full: an access to it costs more */
	/* Not seen by probes: in functions of the module that these kernels call; and where lanes
	 * that leave are waited for in a loop (leave.c). */
	uint32_t unseen_exits, unseen_accesses;
	uint32_t short_kernels; /* a body reads a parameter that they do not have, as 0 */
};

/*
 * Splices the probes into each kernel that a body's glob names. 0 or -errno, with error_text:
 * -ENOENT where no glob names a kernel of the module, -EINVAL where the text is damaged or not to
 * be spliced, -ENOMEM. `ret` is set only on success. `text` need not end with a NUL.
 */
int ptx_splice(
	const char *text, size_t size, const struct ptx_probes *probes, struct ptx_spliced *ret);
void ptx_spliced_release(struct ptx_spliced *s);

/* FNV-1a, 64 bits: the same everywhere and always. */
uint64_t ptx_hash(const char *data, size_t size);
/* Of a module's text, the same at every run: it gets into the text with probes. */
uint64_t ptx_module_hash(const char *text, size_t size);
/* Of a kernel: those of one name in two modules have two. */
uint64_t ptx_kernel_hash(uint64_t module, const char *name, size_t size);
