/* SPDX-License-Identifier: MIT */
/*
 * The ELF tables of an eBPF object file, over bytes in memory that stay the caller's. All positions
 * were checked once, when it was opened: what a section says it has is there.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct ebpf_section {
	const char *name; /* "": none */
	const uint8_t *data;
	uint64_t size; /* also of what has no bytes in the file (.bss) */
	uint32_t type, link, info;
	bool has_bytes, is_code;
};

struct ebpf_symbol {
	const char *name;
	uint64_t value, size;
	uint16_t section; /* 0: none of the file's */
	uint8_t type, binding;
};

struct ebpf_image {
	const uint8_t *data;
	size_t size;
	struct vec(struct ebpf_section) sections;
	struct vec(struct ebpf_symbol) symbols;
};

/* 0 or -errno with error_text (-ENOEXEC: not an eBPF object). */
int ebpf_image_open(struct ebpf_image *image, const void *data, size_t size);
void ebpf_image_release(struct ebpf_image *image);
/* The first section of this name, or NULL. */
const struct ebpf_section *ebpf_image_section(const struct ebpf_image *image, const char *name);
/* The text of a section, without its NUL; "" where there is none that ends. */
const char *ebpf_image_text(const struct ebpf_image *image, const char *section);
