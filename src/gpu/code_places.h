/* SPDX-License-Identifier: MIT */
/*
 * Where code of kernels lies in the memory of GPUs, and when: as libraries in programs report it,
 * for whoever samples instructions by their addresses alone.
 *
 * Addresses are reused, by one program and by several at once: each has an address space of its
 * own. So a place has a life, and an address at some time may be in several places. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_place {
	uint64_t address, size; /* in bytes */
	uint64_t from_ns, until_ns;
	uint32_t process;  /* profile id */
	uint32_t instance; /* as in gpu_events.h */
	uint32_t device;   /* profile id */
	uint32_t context;  /* as in profile_op */
	uint32_t module;   /* profile id: its image */
	uint32_t function; /* profile id */
};

/* Of all programs, of one instance, and the size of one: no kernel has as much. */
#define CODE_PLACES_MAX		 (1u << 16)
#define CODE_PLACES_INSTANCE_MAX 8192u
#define CODE_PLACE_MAX_BYTES	 ((uint64_t)64 << 20)

struct code_places;

/* NULL: out of memory. */
struct code_places *code_places_new(void);
void code_places_free(struct code_places *c);

/* `until_ns` is not looked at: it lives until it ends. What lies there of the same instance and
 * device ends. 0, -EINVAL where it has no size or no end or is too large, -ENOSPC when there are
 * too many, or -ENOMEM. */
int code_places_add(struct code_places *c, const struct code_place *place);
/* The code of an instance at this address of a device is gone. */
void code_places_end(struct code_places *c, uint32_t instance, uint32_t device, uint64_t address,
	uint64_t time_ns);
/* All code of an instance is. */
void code_places_end_all(struct code_places *c, uint32_t instance, uint64_t time_ns);

/* Of the places of a device that live at some time in [start_ns, end_ns] and have this address, of
 * which only the bits in `mask` are known: one in `ret`, of several the one that lived last, and
 * how many processes have one. */
size_t code_places_find(struct code_places *c, uint32_t device, uint64_t address, uint64_t mask,
	uint64_t start_ns, uint64_t end_ns, const struct code_place **ret);
/* Whether this one lives: of its instance, with this address and function. */
bool code_places_has(struct code_places *c, const struct code_place *place);
/* How many there are. */
size_t code_places_count(const struct code_places *c);
/* Forgets what ended before. */
void code_places_forget(struct code_places *c, uint64_t before_ns);
