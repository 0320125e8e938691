/* SPDX-License-Identifier: MIT */
/*
 * Describes the GPU instructions of a profile: their text, source file and line, and the functions
 * that were inlined there. It reads the images that were kept during the recording.
 *
 * Of every GPU function with a sample all instructions are described, also those without samples,
 * so that the whole function can be shown. Names are kept as they are in the image; views demangle.
 * An instruction that is in no image stays a module and an offset, and is counted.
 *
 * Runs at the end of a recording, on a writer's own tables: the images are not kept any longer.
 */
#pragma once

#include "gpucode/format.h"
#include "gpucode/kept_images.h"
#include "profile/writer.h"

struct gpu_code_options {
	const struct kept_images *images;
	struct child *reader; /* reads images (name_files.h); NULL: `program` begins one */
	/* How long getting the full text of all functions may take; 0: it is not asked for. Without
	 * it, an instruction's text is its name. */
	uint64_t text_limit_ns;
	/* whom a program that writes it runs as; NULL: the one we run as, or nobody where that
	 * is root */
	const struct gpucode_user *text_user;
	/* our own program, for the process in which a library writes it (sandbox/writer.h), and
	 * that which reads images; NULL, as in tests: no library does, and images are read here */
	const char *program;
	/* The total of instructions up to which functions are described whole; beyond it, only
	 * sampled instructions are described. 0: two million. */
	uint32_t whole_max;
	/* Any of these may be NULL. True: leave the rest, the user is waiting. */
	bool (*stopped)(void *context);
	/* Something slow begins: "reading GPU code, function 65 of 200". */
	void (*progress)(void *context, const char *what);
	void *context;
};

struct gpu_code_stats {
	uint64_t functions; /* GPU functions that were seen in samples */
	uint64_t described;
	uint64_t without_image; /* their image was never reported, or could not be kept */
	uint64_t not_found;	/* their image is damaged, or has no such function */
	uint64_t without_lines; /* described, but no source is known of them */
	uint64_t instructions;	/* described */
	uint64_t decoded;	/* of these, by their name only */
	/* why there is no full text; "": there is, or nothing to do about it */
	char text_failure[200];
	/* why no image was read: the process for that cannot begin; "": it can */
	char unread[200];
	bool stopped;
};

/* 0 or -errno (short memory, writer failure). Images that could not be kept and are missed are
 * counted as LOSS_IMAGES_LOST. */
int symbolize_gpu_code(
	struct profile_writer *w, const struct gpu_code_options *o, struct gpu_code_stats *ret);
