/* SPDX-License-Identifier: MIT */
/*
 * An eBPF object file with programs for GPUs: its programs, maps and source lines, with all
 * relocations done. It may hold programs for the kernel, too (uprobes, tracepoints), which only
 * matter here for the maps that they use.
 *
 * Files are not trusted. A damaged one is refused with one line, and what was read holds: each
 * program's instructions are there, every map and function that they name exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "ebpf/btf.h"
#include "ebpf/insn.h"
#include "ebpf/map_kind.h"
#include "ebpf/section_name.h"

#define EBPF_OBJECT_MAX_BYTES ((size_t)16 << 20)
#define EBPF_PROGRAMS_MAX     64
#define EBPF_MAPS_MAX	      64

struct ebpf_map {
	const char *name;
	const struct ebpf_map_kind *kind; /* NULL: a type that GPUs do not have */
	uint32_t type, key_size, value_size, max_entries, flags;
	uint32_t key_type, value_type; /* in the BTF; 0: not known */
	/* A section of variables (.rodata, .data, .bss): one value. */
	bool is_section, is_readonly;
	const uint8_t *initial; /* its contents; NULL: zeros */
	bool used_by_cpu;	/* a program for the kernel names it */
};

struct ebpf_function {
	const char *name;
	uint32_t first, count; /* instructions */
	uint16_t section;
	bool is_global;
};

/* A program for a GPU. */
struct ebpf_program {
	const char *name;
	const char *section; /* its name in the file */
	struct ebpf_site site;
	uint32_t function; /* index */
};

struct ebpf_line {
	uint32_t insn; /* the first that this line is about */
	uint32_t line;
	const char *file, *text;
};

struct ebpf_object {
	const char *license;
	struct ebpf_btf btf;
	struct vec(struct bpf_insn) insns; /* of all sections */
	struct vec(struct ebpf_function) functions;
	struct vec(struct ebpf_program) programs; /* for GPUs, in the order of the file */
	struct vec(struct ebpf_map) maps;
	struct vec(struct ebpf_line) lines; /* by instruction */
	uint32_t cpu_program_count;
	struct ebpf_image *image;
	uint8_t *data; /* the file */
	size_t size;
};

/* Reads an object file. 0 or -errno with error_text. */
int ebpf_object_open(struct ebpf_object **ret, const char *path);
/* The same of bytes, which are copied. */
int ebpf_object_read(struct ebpf_object **ret, const void *data, size_t size);
void ebpf_object_close(struct ebpf_object *o);
/* Where a variable is in its section; false: it is not one of these. */
bool ebpf_object_variable(const struct ebpf_object *o, const struct ebpf_map *section,
	const char *name, size_t length, uint64_t *ret_offset, uint64_t *ret_bytes);
/* The line of source that an instruction is from, or NULL. */
const struct ebpf_line *ebpf_object_line(const struct ebpf_object *o, uint32_t insn);
/* The function that begins with this instruction, or NULL. */
const struct ebpf_function *ebpf_object_function(const struct ebpf_object *o, uint32_t first);
