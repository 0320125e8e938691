/* SPDX-License-Identifier: MIT */
/*
 * Formats of GPU code: how an image of it is opened, and what can be read from it about an
 * instruction. A format is one folder with a struct gpucode_format, and one row in formats.c. No
 * other file names a format.
 *
 * The name of an image's module begins with the name of its format and a colon.
 *
 * Images come from programs that are not trusted: a format checks every size and offset. A damaged
 * image yields less, and never crashes. Nothing is copied: the image must stay unchanged until it
 * is closed, and code and texts point into it. One thread at a time for each image.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

#define GPUCODE_FRAMES_MAX 64
#define GPUCODE_NAME_MAX   64 /* room for the longest name of an instruction, with its NUL */

struct gpucode_image; /* each format has its own */

/* A function with code, found in an image. */
struct gpucode_function {
	uint32_t number;     /* the format's, for its own use */
	unsigned int target; /* which GPUs the code is for, as the format numbers them */
	const uint8_t *code; /* in the image */
	size_t size;	     /* in bytes; less than the function has where the image is damaged */
};

/* A kernel of an image, and where it was linked to. */
struct gpucode_kernel {
	const char *name; /* in the image */
	uint64_t address; /* 0: the image is not linked */
	uint64_t size;
};

#define GPUCODE_KERNEL_NAME_MAX 4096u /* longer names are cut */

/* A line of the source, and the function that it is in. Texts are valid until the image is closed,
 * never NULL, and "" when not known. Equal texts are at the same address. */
struct gpucode_frame {
	const char *function; /* linker name */
	const char *path;
	uint32_t line; /* 0: not known */
};

/* A user to run a helper program as, for root: with these ids and no other groups. */
struct gpucode_user {
	uid_t uid;
	gid_t gid;
};

struct gpucode_wanted {
	const struct gpucode_function *function;
	size_t weight; /* functions of more weight come first */
};

/* Which functions' instructions are to have their full text. */
struct gpucode_text_request {
	const struct gpucode_wanted *functions;
	size_t count;
	/* whom a helper program runs as; NULL: the one we run as, or nobody where that is root */
	const struct gpucode_user *user;
	uint64_t deadline_ns; /* as clock_now_ns() */
	/* The text of the instruction at this offset of a function, an index into the array: good
	 * for the call. 0, or
	 * -errno to stop with it. */
	int (*visit)(void *context, size_t function, uint64_t offset, const char *text);
	void *context;
	bool (*stopped)(void *stop_context); /* NULL: never; asked several times a second */
	void *stop_context;
	/* why there is no text, in one line, where a user can do something about it */
	struct buf *failure;
	/* Has the format's `writer` answer a question, in its process; `library` as for its `load`.
	 * 0; -EIO: the process died; -ETIME; -EINTR: stopped; what the writer said; or another
	 * -errno. NULL: there is no such process. */
	int (*ask)(void *ask_context, const char *library, const struct buf *question,
		uint64_t limit_ns, struct buf *ret_answer);
	void *ask_context;
};

struct gpucode_library; /* each writer has its own */

/* A library that writes full text. It parses what strangers wrote, so it is used in a process of
 * its own without rights (sandbox/writer.h), which calls these. */
struct gpucode_writer {
	/* `path` of its file; "": as the system has it. 0 or -errno. */
	int (*load)(const char *path, struct gpucode_library **ret);
	void (*unload)(struct gpucode_library *library);
	/* Appends the answer. 0 or -errno. */
	int (*write)(struct gpucode_library *library, const void *question, size_t size,
		struct buf *ret);
};

struct gpucode_format {
	const char *name;		/* what names of its modules begin with, before a ':' */
	const char *text_writer;	/* what writes the full text: a name that profiles keep */
	unsigned int instruction_bytes; /* of every instruction, or of the shortest */
	/* Of the instruction at `offset`, a multiple of instruction_bytes; at the end of damaged
	 * code as much of it as there is. NULL: all are of one size. */
	size_t (*instruction_size)(const struct gpucode_function *f, uint64_t offset);

	/* 0 or -errno with error_text: -ENOMEM, or the image cannot be used. */
	int (*open)(const void *data, size_t size, struct gpucode_image **ret);
	void (*close)(struct gpucode_image *image);
	/* The function of this linker name, NULL: not known; of several the one with this index in
	 * the image's table of symbols. Its code is in the image. False when there is none. */
	bool (*find)(const struct gpucode_image *image, const char *name, uint32_t index,
		struct gpucode_function *ret);
	/* The i-th kernel; false past the last. NULL: they are not listed. */
	bool (*kernel)(const struct gpucode_image *image, size_t i, struct gpucode_kernel *ret);
	/*
	 * Fills in the source of the instruction at `offset` bytes into a function: ret[0] is the
	 * innermost frame, each further one is the line of the call that was inlined, and the last
	 * is in the function that has the code. Returns how many; 0 when nothing is known.
	 * *ret_called: the code belongs to another function, which lies inside this one and is
	 * called. The last frame is then in that function.
	 */
	size_t (*frames)(struct gpucode_image *image, const struct gpucode_function *f,
		uint64_t offset, struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called);
	/* The name of an instruction, decoded here; at least a placeholder. Cut to fit. */
	void (*instruction_name)(
		const struct gpucode_function *f, uint64_t offset, char *ret, size_t size);
	/* Writes the full text, by a helper program or otherwise; NULL: the format has none. Text
	 * that is missing or late is no error. 0 or -errno. */
	int (*text)(const struct gpucode_text_request *request);
	const struct gpucode_writer *writer; /* that `text` asks; NULL: none */
};

/* formats.c; the last is NULL. */
extern const struct gpucode_format *const gpucode_formats[];

/* An image that is open. */
struct gpucode {
	const struct gpucode_format *format;
	struct gpucode_image *image;
};

/* By the name of a module, or NULL. */
const struct gpucode_format *gpucode_format_of(const char *module);
/* By the name of its module. 0 or -errno with error_text: -ENOEXEC where no format has that name,
 * or as `open`. */
int gpucode_open(struct gpucode *ret, const char *module, const void *data, size_t size);
/* Closes it if it is open. */
void gpucode_close(struct gpucode *g);
