/* SPDX-License-Identifier: MIT */
/*
 * What the joiner and the code in the program (stub.S) agree on. Included by both: by stub.S the
 * offsets only.
 *
 * The code and `struct stub_data` behind it are put into zero bytes behind the end of some code of
 * the program's, where nobody looks, and are taken out again. `struct stub_region` is memory that
 * the code maps for itself, and unmaps.
 */
#pragma once

/* Offsets in stub_data. */
#define STUB_MAGIC	0
#define STUB_REGION	16 /* where it is to be mapped */
#define STUB_CREATE	24 /* pthread_create, and so on */
#define STUB_SELF	32
#define STUB_DETACH	40
#define STUB_OPEN	48
#define STUB_SYMBOL	56
#define STUB_ERROR	64
#define STUB_JOIN	72
#define STUB_ATTRIBUTES 80  /* pthread_attr_init */
#define STUB_SET_STACK	88  /* pthread_attr_setstack */
#define STUB_MASK	96  /* the borrowed thread's signal mask, */
#define STUB_REGISTERS	104 /* and its registers, as enum stub_register counts them */
#define STUB_DATA_BYTES (STUB_REGISTERS + 18 * 8)

/* Offsets in stub_region. */
#define REGION_STATE	  0
#define REGION_MADE	  4
#define REGION_BACK	  8
#define REGION_FILLED	  12
#define REGION_ACK	  16
#define REGION_MEMFD	  20
#define REGION_SOCKETS	  24
#define REGION_TID	  32
#define REGION_THREAD	  40
#define REGION_HANDLE	  48
#define REGION_MESSAGE	  56
#define REGION_SECOND	  64
#define REGION_ALIVE	  72
#define REGION_PATH	  80
#define REGION_ENTRY	  208
#define REGION_ATTRIBUTES 320
#define REGION_XSTATE	  4096
#define REGION_STACK	  0x40000 /* of the first thread; that of the borrowed one ends there */
#define REGION_BYTES	  0x200000

/* REGION_STATE */
#define STUB_READY  1 /* the socket pair and the memfd are there */
#define STUB_LOADED 2
#define STUB_FAILED 3

/* REGION_MADE */
#define STUB_MADE     1
#define STUB_NOT_MADE 2

/* REGION_FILLED */
#define STUB_GO	     1
#define STUB_GIVE_UP 2

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#define STUB_MAGIC_TEXT "xpuprof join 1\n"

enum stub_register {
	STUB_RAX,
	STUB_RCX,
	STUB_RDX,
	STUB_RBX,
	STUB_RSI,
	STUB_RDI,
	STUB_RBP,
	STUB_RSP,
	STUB_R8,
	STUB_R15 = STUB_R8 + 7,
	STUB_RIP,
	STUB_FLAGS,
	STUB_REGISTER_COUNT
};

struct stub_data {
	char magic[16];
	uint64_t region;
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror;
	uint64_t pthread_join, pthread_attr_init, pthread_attr_setstack;
	uint64_t mask;
	uint64_t registers[STUB_REGISTER_COUNT];
};

struct stub_region {
	uint32_t state;
	uint32_t made;	 /* the borrowed thread's pthread_create has returned */
	uint32_t back;	 /* it is back where it was, or nearly, and needs the region no more */
	uint32_t filled; /* the memfd is, and path and entry are there */
	uint32_t ack;	 /* the joiner has seen the end */
	int32_t memfd;
	int32_t sockets[2];
	int32_t tid; /* as the program counts */
	uint32_t padding;
	uint64_t thread; /* the first; 0: not made yet */
	uint64_t handle;
	uint64_t message; /* dlerror's */
	uint64_t second;
	char alive[8]; /* as STUB_MAGIC_TEXT begins; zeros in a child that was forked meanwhile */
	char path[128];
	char entry[64];
};

_Static_assert(offsetof(struct stub_data, region) == STUB_REGION, "offset");
_Static_assert(offsetof(struct stub_data, dlerror) == STUB_ERROR, "offset");
_Static_assert(offsetof(struct stub_data, mask) == STUB_MASK, "offset");
_Static_assert(offsetof(struct stub_data, registers) == STUB_REGISTERS, "offset");
_Static_assert(sizeof(struct stub_data) == STUB_DATA_BYTES, "size");
_Static_assert(offsetof(struct stub_region, memfd) == REGION_MEMFD, "offset");
_Static_assert(offsetof(struct stub_region, sockets) == REGION_SOCKETS, "offset");
_Static_assert(offsetof(struct stub_region, tid) == REGION_TID, "offset");
_Static_assert(offsetof(struct stub_region, thread) == REGION_THREAD, "offset");
_Static_assert(offsetof(struct stub_region, message) == REGION_MESSAGE, "offset");
_Static_assert(offsetof(struct stub_region, alive) == REGION_ALIVE, "offset");
_Static_assert(offsetof(struct stub_region, path) == REGION_PATH, "offset");
_Static_assert(offsetof(struct stub_region, entry) == REGION_ENTRY, "offset");
_Static_assert(sizeof(struct stub_region) <= REGION_ATTRIBUTES, "size");

/* The code, with its data at the end. */
extern const uint8_t stub_begin[], stub_enter[], stub_abandon[], stub_data[], stub_end[];

#define STUB_BYTES ((size_t)(stub_end - stub_begin))

#endif
