/* SPDX-License-Identifier: MIT */
/*
 * What mappings are mappings of: each distinct file (by path and build id, or path and inode), the
 * vDSO, and the nameless executable memory of each process. A module gets into the profile when its
 * first location does, not when it is mapped.
 *
 * Mapping events identify a file by its build id, /proc/PID/maps by its inode; both give the same
 * module.
 *
 * What a file contains is asked when it is first mapped (files.h): the addresses of its code, and
 * whether it is a Python interpreter; then its unwind table is asked for. Until an answer comes a
 * module is a name with a build id, or with an inode; only for the latter is it waited for, a
 * moment.
 *
 * Indices count from 0 and stay valid; entries are never removed. Programs can make up files for as
 * long as they run, so memory is bounded: beyond MODULES_MAX_BYTES all that is new is one module,
 * FILES_LEFT_OUT, without an unwind table. What is mapped there is counted.
 */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "capture/files.h"
#include "capture/mapped_file.h"
#include "profile/writer.h"
#include "python/interpreter.h"
#include "unwind/tables.h"

struct module {
	enum profile_module_kind kind;
	bool asked;	     /* its file was asked about, and there is no answer yet */
	bool instrument;     /* belongs to the measurement: our library, the tracer */
	bool rest;	     /* stands for others that there was no room for */
	bool dump_asked;     /* the jitdump of its process is being kept (keep.h) */
	uint32_t profile_id; /* 0: not in the profile yet */
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
	char *path;
	uint32_t table; /* id in unwind/tables.h; 0: there is none */
	struct vec(struct elf_code) code;
	struct python_file python; /* `runtime` is 0 when it is no interpreter */
	struct file_identity file; /* of the file that was read; zeros: none was */
	uint32_t pid;		   /* that mapped it last, */
	struct mapped_file mapped; /* and how */
};

/* 50,000 files and more; PyTorch maps some 200. */
#define MODULES_MAX_BYTES ((uint64_t)64 << 20)

struct modules;
struct kept_files;

/* `own_library` (may be NULL) is the path of the injected library. `tables` may be NULL: no stacks
 * are walked. */
int modules_new(struct modules **ret, struct profile_writer *w, const char *own_library,
	struct files *files, struct unwind_tables *tables);
void modules_free(struct modules *m);
/* Another limit than MODULES_MAX_BYTES. */
void modules_limit(struct modules *m, uint64_t bytes);
/* The module of a mapping that `pid` has: 0 or -ENOMEM. Without a build id in `f` it is read
 * from the file. */
int modules_add(struct modules *m, uint32_t pid, const char *path, const struct mapped_file *f,
	uint32_t *ret_index);
/* Valid until the next modules_add. */
const struct module *modules_at(const struct modules *m, uint32_t index);
/* Its id in the profile: 0 or a writer's error. */
int modules_profile_id(struct modules *m, uint32_t index, uint32_t *ret_id);
/* A module that is known better than when it was added, as its file was slow to open or to read:
 * false when there is none. */
bool modules_next_late(struct modules *m, uint32_t *ret_index);
/* The files of modules that are in the profile, kept open for their names. */
const struct kept_files *modules_kept(const struct modules *m);
/* What to subtract from an address in this mapping (profile_location.address). */
uint64_t modules_mapping_base(const struct module *module, const struct mapped_file *f);
/* What to subtract from an address of [start, end), whose base is `base`, to have the file's
 * virtual address: false when none of its code is there. */
bool modules_bias(const struct module *module, uint64_t start, uint64_t end, uint64_t base,
	uint64_t *ret_bias);
/* Asks once more for a table that had to make room. */
int modules_want_table(struct modules *m, uint32_t index);
