/* SPDX-License-Identifier: MIT */
/* What the files of the splicer share. */
#pragma once

#include "base/map.h"
#include "ptx/access.h"
#include "ptx/module.h"
#include "ptx/splice.h"
#include "ptx/walk.h"

/* Registers that a body names, the low PTX_ARGUMENTS bits being its arguments, and what it does. */
enum ptx_uses {
	PTX_USES_COOKIE = 1 << 12,
	PTX_USES_LANES = 1 << 13,
	PTX_USES_ACTIVE = 1 << 14,
	PTX_USES_KERNEL = 1 << 15,
	PTX_USES_ARGC = 1 << 16,
	PTX_USES_ADDR = 1 << 17,
	PTX_USES_SIZE = 1 << 18,
	PTX_USES_KIND = 1 << 19,
	PTX_USES_INSN = 1 << 20,
	PTX_USES_LINES = 1 << 21,
	PTX_USES_ARENA = 1 << 22,
	PTX_USES_BELOW = 1 << 23,
	PTX_BRANCHES = 1 << 24,
	PTX_ENDS_THREADS = 1 << 25,
	PTX_HAS_EFFECTS = 1 << 26, /* beyond its registers and its own memory */
	PTX_USES_SITE = 1 << 27,
	PTX_USES_SITES = 1 << 28,
	PTX_VARIES = 1 << 29, /* may have another result in each lane of a warp */
	PTX_PARTS = 1 << 30,  /* lanes of a warp leave it before others */
};

/* A body that is put into the kernel at hand. */
struct ptx_chosen {
	const struct ptx_body *body;
	uint32_t uses;
	uint32_t number; /* in the array of bodies */
	bool keeps;	 /* its cookie is one that an entry sets and an exit reads */
};

struct ptx_label {
	struct ptx_text name;
	size_t at;   /* which statement it is */
	bool leaves; /* nothing but a return is behind it, perhaps by way of other labels */
	bool entered, entered_from_waiting_loop; /* by branches that stay in the text */
};

struct ptx_site_at {
	enum ptx_site site; /* of memory: PTX_AT_ACCESS */
	const struct ptx_memory *memory;
	/* For lanes where its predicate holds, in front of it: the access; or what leaves, if that
	 * is not written with the bodies. */
	const struct ptx_statement *statement;
	uint32_t insn, number; /* in the kernel, in the module */
};

/* A site whose bodies are still to be written. */
struct ptx_deferred_site {
	struct ptx_site_at at; /* of the two below */
	struct ptx_memory memory;
	struct ptx_statement statement;
	uint32_t uses; /* by all bodies that fit */
};

/* Those of a straight piece of code: more of them would take too many registers. */
#define PTX_DEFERRED_MOST 8

struct ptx_deferred {
	struct ptx_deferred_site sites[PTX_DEFERRED_MOST];
	uint32_t count;
	const char *behind;  /* of the last: where they are written */
	struct ptx_text loc; /* the .loc in effect there */
};

struct ptx_splicer {
	const struct ptx_probes *probes;
	struct ptx_module module;
	uint32_t *uses;		   /* of each body */
	bool functions_wait;	   /* lanes may wait for each other in what kernels call */
	uint32_t file;		   /* number of the probes' own .file; 0: the module has no lines */
	struct buf entry;	   /* what each kernel begins with */
	struct map callable;	   /* functions with a body that are not in `called`, by name */
	struct vec(size_t) called; /* by kernels with probes, and by each other: indices */
	bool out_of_memory;
	struct ptx_spliced out;

	/* The kernel at hand. */
	const struct ptx_function *kernel;
	uint64_t kernel_hash;
	struct vec(struct ptx_chosen) chosen;	     /* of those that name it, what has effects */
	uint32_t naming;			     /* bodies that name it */
	struct vec(struct ptx_statement) statements; /* of its body, to its end */
	struct vec(struct ptx_label) labels;	     /* by name; only where there is an exit body */
	/* Of each statement: whether it is in a loop in which lanes wait for each other. */
	struct vec(int32_t) in_waiting_loop;
	struct ptx_text loc; /* the .loc in effect; size 0: none */
	struct ptx_deferred deferred;
};

/* Copies the text from *from up to `to`. */
static inline void ptx_copy(struct ptx_splicer *s, const char **from, const char *to)
{
	buf_append(&s->out.text, *from, (size_t)(to - *from));
	*from = to;
}

/* Where the module's words are. */
static inline const char *ptx_word_space(const struct ptx_splicer *s)
{
	return s->out.word_in_global ? "global" : "const";
}

/* Which registers the body names; -EINVAL where it is not one block. */
int ptx_body_uses(const struct ptx_body *body, uint32_t *ret);

/* Whether a body stands at such a site. */
bool ptx_body_fits(const struct ptx_body *body, enum ptx_site site, const struct ptx_memory *m);
/* At the entry: what the body finds as %xpu_sites wherever it stands. */
void ptx_write_sites(struct ptx_splicer *s, const struct ptx_chosen *c);
/* Whether bodies that use so much, or what is written around them, name %xpu_addr. */
bool ptx_needs_address(const struct ptx_memory *m, uint32_t uses);
/* How many of the chosen bodies fit, and what they use. */
unsigned int ptx_count_fitting(
	const struct ptx_splicer *s, const struct ptx_site_at *at, uint32_t *uses);
/* Writes all chosen bodies that fit, with what they need: how many there were. */
unsigned int ptx_write_site(struct ptx_splicer *s, const struct ptx_site_at *at);
/* The same of several accesses, one behind the other. */
void ptx_write_sites_together(
	struct ptx_splicer *s, const struct ptx_deferred_site *sites, uint32_t count);

/* The lanes of a warp that are together as %xpu_active, and their lines as %xpu_lines. */
extern const char ptx_active_text[], ptx_lines_text[];
/* Whether the body, or what is written around it, names %xpu_active. */
bool ptx_needs_active(const struct ptx_chosen *c);
/* One body in braces, which finds all else that it names. `last`: all lanes leave the kernel behind
 * it. */
void ptx_write_body(struct ptx_splicer *s, const struct ptx_chosen *c, bool last);

/* deferred.c: at the entry, the registers for sites that are put off. */
void ptx_write_kept(struct ptx_splicer *s);
/* Puts the bodies of a load off; false: they have to be written in front of it. */
bool ptx_defer(struct ptx_splicer *s, const char **from, const struct ptx_site_at *at);
/* Whether what was put off has to be written before this. */
bool ptx_ends_piece(const struct ptx_statement *i);
/* Writes what was put off, behind the last of its loads; nothing may have been written since. */
void ptx_write_deferred(struct ptx_splicer *s, const char **from);

/* called.c: before the first kernel; at each call of one that has probes; behind the last, which
 * counts what is not seen in what they call. 0 or -ENOMEM with error_text. */
int ptx_called_begin(struct ptx_splicer *s);
void ptx_note_call(struct ptx_splicer *s, const struct ptx_statement *i);
int ptx_count_unseen(struct ptx_splicer *s);

/* branches.c: finds out behind which labels of the kernel nothing but a return is, and its loops in
 * which lanes wait. 0 or -ENOMEM. */
int ptx_find_labels(struct ptx_splicer *s);
/* Whether lanes wait for others of their warp there, or of their block. */
bool ptx_waits(const struct ptx_statement *i);
/* Whether it leaves the kernel, where its predicate holds. */
bool ptx_leaves(const struct ptx_splicer *s, const struct ptx_statement *i);
/* Whether no lane goes on to what is behind it. */
bool ptx_goes_elsewhere(const struct ptx_statement *i);
bool ptx_is_in_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i);
/* Whether lanes come to it by branches that do not leave, to a label behind the instruction in
 * front; only those from a loop in which lanes wait, if so asked. */
bool ptx_is_entered(
	const struct ptx_splicer *s, const struct ptx_statement *i, bool from_waiting_loop);

/* leave.c: whether others of the warp may wait, in a loop, for the lanes that leave there: nothing
 * must come between. */
bool ptx_leaves_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i);
/* Whether lanes leave such a loop where this branch does not lead back, straight to the end. */
bool ptx_ends_waiting_loop(const struct ptx_splicer *s, const struct ptx_statement *i);
/* Writes the exit bodies for these lanes in front of it. */
void ptx_write_end_of_loop(struct ptx_splicer *s, const char **from, const struct ptx_statement *i);
/* Writes the exit bodies, if it is known which lanes leave, and a bare `ret` in the place of what
 * leaves; *from gets behind it. False: not known, so they have no bodies. */
bool ptx_write_bare_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i);
/* Writes the exit bodies and a `ret` in the place of what leaves; *from gets behind it. */
void ptx_write_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i);
/* The same at the end of the body. */
void ptx_write_last_leave(struct ptx_splicer *s);
