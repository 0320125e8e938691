/* SPDX-License-Identifier: MIT */
/*
 * A file being written: buffered, and safe.
 *
 * A regular file appears under its name only when it is whole: the text goes into a temporary file
 * in the same folder, which output_commit renames. Pipes, devices, "/dev/stdout" and "-" (standard
 * output) are written directly, as is an existing file in a folder where no new one can be made.
 * All is done with the rights of a user (base/place.h), whose the file then is.
 *
 * The first error is kept; later writes do nothing and output_commit returns it, so writers need
 * not check each call. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;
struct user;

/* False for pipes, devices, open files ("/dev/fd/3") and "-", which are written directly. */
bool output_is_file(const char *path);

/* 0, or -EINVAL with error_text when both are one file, which would be gone with what is made of
 * it. */
int output_not_source(const char *path, const char *source);
/* 0, or -errno with error_text. `user` is borrowed until the end; NULL: ourselves. */
int output_open(struct output **ret, const struct user *user, const char *path);
/* Writes the rest, moves the file to its name and frees `o`; 0 or -errno with error_text. */
int output_commit(struct output *o);
/* Frees `o` without leaving a file (what went to a pipe is gone). NULL is fine. */
void output_abort(struct output *o);
/* The first error so far: 0 or -errno. */
int output_error(const struct output *o);

void output_write(struct output *o, const void *data, size_t size);
void output_puts(struct output *o, const char *text);
void output_putc(struct output *o, char c);
/* A decimal number. */
void output_u64(struct output *o, uint64_t value);
/* Nanoseconds as microseconds with three decimals: 1234567 is "1234.567". */
void output_us(struct output *o, uint64_t ns);
void output_printf(struct output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
