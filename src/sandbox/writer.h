/* SPDX-License-Identifier: MIT */
/*
 * Has a library write the text of GPU instructions (struct gpucode_writer), without any rights. The
 * library is loaded before the process gives up opening files, but when it is neither root nor has
 * capabilities.
 *
 * A request's kind is WRITER_TEXT; the question and the answer are the format's.
 */
#pragma once

#define WRITER_TEXT 1

struct writer;

/* `what`: ":FORMAT:PATH", of the library; no PATH: the system's. 0, what `load` of the format says,
 * or another -errno. */
int writer_open(struct writer **ret, const char *what);
void writer_close(struct writer *w);
/* Answers until nobody asks any more. The exit status. */
int writer_run(struct writer *w, int socket);
