/* SPDX-License-Identifier: MIT */
/* Reads ELF files and images of GPU code, from descriptors it is given, without any rights. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "elf/jitdump.h"
#include "elf/lines.h"
#include "elf/names.h"
#include "elf/usdt.h"
#include "gpucode/answers.h"
#include "python/interpreter.h"
#include "sandbox/limits.h"
#include "sandbox/opener.h"
#include "unwind/thread_start.h"

#define READER_INSPECT	    1 /* the reply is a struct file_facts */
#define READER_TABLE	    2 /* the reply is an unwind table (walk/table.h), in words */
#define READER_PASSED	    4 /* the connection of a library; below */
#define READER_EMPTY	    5 /* the same */
#define READER_THREAD_START 3 /* struct thread_start_question; the reply is a uint32_t: 0 or 1 */

#define READER_NAMES 6 /* struct places and places (u64, rising); the reply: elf/names.h */
#define READER_LINES 7 /* likewise; the reply: elf/lines.h */
#define READER_MAP   8 /* likewise, of an open perf map; the reply: elf/names.h */

/* Of an open image of GPU code: struct code_question and what gpucode/answers.h puts behind it, as
 * it does into the reply. */
#define READER_CODE_FUNCTIONS 9
#define READER_CODE_FRAMES    10

/* Of an open jitdump: struct places (its first number is 0) and struct jit_place; the reply:
 * elf/jitdump.h. */
#define READER_JITDUMP 11

/* Names of functions, each with a NUL behind; the reply is a struct code_facts. */
#define READER_CODE_FACTS 12

/* Names of functions, each with a NUL behind it. The reply: for each a uint64_t, where it begins in
 * the file; 0: it has none, or none that can be probed. */
#define READER_FUNCTIONS 13

/* Names of probes, each with a NUL behind it: the reply is a struct usdt_site for each of their
 * sites. */
#define READER_PROBES 14

/* Of an open image of GPU code: struct code_question. The reply: for each of its kernels, up to
 * KERNELS_MAX, a struct code_kernel and its name. */
#define READER_CODE_KERNELS 15

struct code_kernel {
	uint64_t address; /* that the image was linked for; 0: none */
	uint64_t size;
	uint32_t name_size;
	uint32_t unused;
};

#define KERNELS_MAX	  65536
#define KERNELS_BYTES_MAX ((size_t)16 << 20) /* of a reply */

#define FILE_CODE_MAX 64
#define FUNCTIONS_MAX 32 /* that are asked for at once */

/* What a recording wants to know of a file that is mapped. */
struct file_facts {
	uint32_t build_id_size; /* 0: it has none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t code_count;
	struct elf_code code[FILE_CODE_MAX];
	struct python_file python; /* `runtime` is 0 when it is no interpreter */
	char debug_link[OPEN_LINK_BYTES];
};

/* What who joins a program wants to know of a file of its. */
struct code_facts {
	uint32_t machine; /* as elf.h has them */
	uint32_t is_64bit;
	uint32_t code_count; /* the first segments, if there are more */
	uint32_t function_count;
	struct elf_code code[FILE_CODE_MAX];
	uint64_t functions[FUNCTIONS_MAX]; /* offsets, in the order of the names; 0: not there */
};

struct thread_start_question {
	uint64_t offset;
	uint32_t at; /* enum root_address */
};

/* What READER_NAMES, READER_LINES and READER_MAP begin with. */
struct places {
	uint32_t are_vaddrs; /* not offsets */
	uint32_t count;
};

struct code_question {
	char module[64]; /* the begin of its name, which says what format it has */
};

#define PLACES_MAX     ((REQUEST_BYTES - sizeof(struct places)) / sizeof(uint64_t))
#define JIT_PLACES_MAX ((REQUEST_BYTES - sizeof(struct places)) / sizeof(struct jit_place))

/* These run in the reader, and in tests: 0 or -errno. Descriptors stay the caller's. */
int reader_inspect(int fd, struct file_facts *ret);
int reader_code_facts(int fd, const char *names, size_t size, struct code_facts *ret);
/* `debug_fd` may be that of its separate debug file; -1: none. */
int reader_build_table(int fd, int debug_fd, uint32_t **ret_words, size_t *ret_count);
int reader_is_thread_start(int fd, const struct thread_start_question *q, uint32_t *ret);
int reader_functions(int fd, const char *names, size_t size, struct buf *ret);
int reader_probes(int fd, const char *names, size_t size, struct buf *ret);
int reader_kernels(int fd, const char *module, struct buf *ret);
/* Of the question, whose file is closed before lines are read; `put` and `context` as in struct
 * lines_request. */
int reader_lines(struct names_file *f, const struct names_question *q,
	int (*put)(void *context, struct buf *results), void *context, struct buf *ret);

/*
 * READER_PASSED receives the next message of a connection, with the descriptors that it carries.
 * The reply is the message, up to this size, and the descriptor if it is one of memory (memfd) and
 * the only one. All others are closed here, as that may take for ever (gpu/injected/descriptors.h).
 * READER_EMPTY closes those of all messages that are there. The reply is empty.
 */
#define READER_PASSED_BYTES 64
#define READER_EMPTY_MAX    1024 /* a queue has room for 300 */

/* Whether facts that came from a reader can be used: every number is within its bounds. */
bool file_facts_are_sound(const struct file_facts *facts);
bool code_facts_are_sound(const struct code_facts *facts);

/* The process: answers until nobody asks any more. The exit status. */
int reader_run(int socket);
