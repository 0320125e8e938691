/* SPDX-License-Identifier: MIT */
/*
 * Short names of Python's source files, as people call them, different for different files of a
 * profile:
 *
 *	/usr/lib/python3.11/threading.py                   threading.py
 *	/venv/lib/python3.11/site-packages/torch/nn/x.py   torch/nn/x.py
 *	/home/me/job/train.py                              train.py
 *	/home/me/a/util.py, /home/me/b/util.py             a/util.py, b/util.py
 *	<frozen runpy>                                     <frozen runpy>
 *
 * Use after the last event was read. Owned by the caller; holds on to the reader.
 */
#pragma once

#include "profile/reader.h"

struct python_files {
	const struct profile_reader *reader;
	/* by string: where the short name begins in the path; NULL: there are no such files */
	uint32_t *start;
};

/* Whether a profile has any Python frames. */
bool python_frames_exist(const struct profile_reader *r);

/* 0 or -ENOMEM with error_text; release it in either case. */
int python_files_init(struct python_files *f, const struct profile_reader *r);
void python_files_release(struct python_files *f);

/* The short name of a file (a string of the profile). */
const char *python_file_name(const struct python_files *f, uint32_t file);
