/* SPDX-License-Identifier: MIT */
/*
 * Processes in which programs run inside GPU kernels: their connections, the memory that is shared
 * with them, and what they report (wire/probe.h).
 *
 * Nothing that comes from them is trusted: sizes and numbers are checked, memory that they can
 * write is read once, and there are limits to how much they can have. Nobody is waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "probe/plan.h"

struct server_options {
	int folder_fd; /* where the socket is made */
	const char *folder;
	uid_t uid; /* whose processes may connect */
	gid_t gid;
};

struct server_process {
	int fd; /* -1: it has ended */
	uint32_t pid;
	bool greeted;
	bool is_compiler; /* it has no contexts; another may have its place when it has ended */
	struct probe_control *control;
};

/* A context of a GPU. */
struct server_arena {
	uint32_t process; /* index */
	uint32_t device, sms, clock_khz;
	uint64_t memory_bytes; /* of the device */
	uint8_t uuid[16];
	char name[64];
	uint8_t *memory;   /* shared; NULL: it is one of a recording */
	uint64_t *tails;   /* of all rings: ours */
	uint64_t *unread;  /* of each ring: records that were begun and never came */
	uint32_t switches; /* of its switches: how many have been read */
	bool ended;	   /* there is nothing more to come */
	bool is_silent;	   /* it did not answer in time: nobody waits for it until it does */
};

struct server_kernel {
	uint64_t hash, module; /* module: a hash of it; 0: not known */
	char *name;
	char *file; /* that its module is, or is made from; empty: not known */
	uint32_t bodies, returns, accesses;
	uint32_t bound;	 /* registers of a thread that its launch bounds leave; 0: it has none */
	uint32_t images; /* that have it */
	struct probe_size with, without; /* programs; in the first */
};

/* One that the programs are for, and that runs without. */
struct server_unprobed {
	uint64_t hash;
	char *name;
	char *reason; /* in words; empty: there are no more than those for `why` */
	enum probe_fate why;
	uint32_t images; /* that have it */
};

struct server_line {
	uint64_t kernel;
	uint32_t insn; /* number of the access in it */
	uint32_t file; /* string; 0: not known */
	uint32_t line, bytes, kind;
};

/* What number an access has in a process. */
struct server_site {
	uint64_t kernel;
	uint32_t insn, bytes;
};

/* An entry of a map, of a recording: its key and its value are in `kept_bytes`. */
struct server_value {
	uint32_t object, map, arena, sm; /* sm: VALUES_ANY: of none */
	uint64_t thread;		 /* or UINT64_MAX */
	size_t at;
	bool is_gone; /* only its key is there: there was one before, and is none now */
};

/* A record of a ring, in memory of ours. */
struct server_record {
	const struct server_arena *arena;
	const struct plan_outside *ring;
	uint32_t sm;
	uint64_t launch;
	uint16_t program, text;
	const uint8_t *data;
	uint32_t bytes;
};

enum server_switched { SERVER_ON, SERVER_OFF, SERVER_UNKNOWN, SERVER_GONE };

/* From `to_ns` on a context has a state; until `from_ns` it had that of before. */
struct server_switch {
	uint32_t arena; /* index */
	enum server_switched state;
	uint64_t from_ns, to_ns;
};

struct server {
	const struct plan *plan;
	struct server_options options;
	int epoll, listener;
	struct buf path;
	struct vec(struct server_process) processes;
	struct vec(struct server_arena) arenas;
	struct vec(struct server_kernel) kernels;
	struct map kernel_by_hash;
	struct map kernels_named; /* how many have a name; a name and a file */
	struct vec(struct server_unprobed) unprobed;
	struct map unprobed_by_key; /* of name and reasons */
	struct vec(struct server_line) lines;
	struct map line_by_place; /* of kernel and number of the access */
	struct vec(struct server_site) sites;
	struct map site_by_number; /* of process and number of the access */
	uint64_t sites_beyond;	   /* numbers for which arrays by access have no place */
	struct interner *strings;
	struct map files; /* of process and number: string */
	uint64_t fates[PROBE_FATE_COUNT];
	struct buf fate_texts[PROBE_FATE_COUNT]; /* lines, the first of each kind */
	struct map modules_told;		 /* of fate and module */
	uint64_t notes_lost, arenas_lost, arenas_unread;
	uint64_t processes_refused; /* too many, or another user's */
	uint32_t asked;
	/* Beside those in the memory of arenas. */
	struct vec(struct server_value) kept;
	struct buf kept_bytes;
	/* Called for each record. */
	void (*on_record)(void *context, const struct server_record *r);
	/* NULL, or called for what is known of whether programs run in a context, in its order. */
	void (*on_switch)(void *context, const struct server_switch *s);
	void *context;
	uint32_t off; /* what was last wanted of all */
};

/* 0 or -errno with error_text. */
int server_open(struct server *s, const struct plan *plan, const struct server_options *options);
void server_close(struct server *s);
/* What PROBE_ENV_SOCKET is to be. */
const char *server_address(const struct server *s);
/* Whoever has connected, what they have sent, records of their rings. True: there was something. */
bool server_drain(struct server *s);
/* Asks all for their values. */
void server_ask(struct server *s);
/* Whether all that live have answered, without those that were given up. */
bool server_has_answers(const struct server *s);
/* Those that have not answered are given up until they do: how many. */
uint32_t server_give_up(struct server *s);
/* All are waited for again. */
void server_expect_all(struct server *s);
/* Programs are not to run from now on; or they are to run again. */
void server_switch(struct server *s, bool off);
/* Adds a kernel, or to the images of one that is known; its texts are copied. 0 or -ENOMEM. */
int server_add_kernel(struct server *s, const struct server_kernel *k);
/* The same of those that run without programs; their hashes are not read. */
int server_add_unprobed(struct server *s, const struct server_unprobed *k);
const struct server_kernel *server_kernel(const struct server *s, uint64_t hash);
/* The name of a kernel, or NULL; where an access to memory stands, or NULL. */
const char *server_kernel_name(const struct server *s, uint64_t hash);
/* Whether another kernel has the same name. */
bool server_kernel_has_double(const struct server *s, const struct server_kernel *k);
/* What its module is called: "vector.cu"; "vector.cu 1b2c3d4e" where another kernel of its name is of
 * such a file, too; or "1b2c3d4e". */
void server_kernel_module(const struct server *s, const struct server_kernel *k, struct buf *out);
const struct server_line *server_line(const struct server *s, uint64_t kernel, uint32_t insn);
/* Which access has a number in a process, or NULL. */
const struct server_site *server_site(const struct server *s, uint32_t process, uint32_t number);
