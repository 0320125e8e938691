/* SPDX-License-Identifier: MIT */
/*
 * Errors travel upwards as 0 or -errno, with one line of context beside them.
 *
 * The function that first sees a failure calls error_set(), which keeps the text for this thread
 * and returns the negative code, so that `return error_set(-EINVAL, "...")` is the whole pattern.
 * Layers above pass the code on; only src/cmd/ prints error_text().
 *
 * Text is lower case, has no full stop, says what failed first and quotes its subject:
 * "cannot open 'x.xpu': Permission denied".
 */
#pragma once

/* Keeps the formatted text for this thread; returns `code` unchanged (a negative errno). */
int error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As error_set, and appends ": " and the code's own description. */
int error_errno(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns -ENOMEM, with the text "not enough memory for WHAT", or "out of memory" where `what` is
 * NULL. */
int error_memory(const char *what);

/* The text of this thread's last error; never NULL, valid until the next error_set in this
 * thread. */
/* Puts what it is about before the text that there is. */
int error_about(int code, const char *what);
const char *error_text(void);
