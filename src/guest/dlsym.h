/* SPDX-License-Identifier: MIT */
/*
 * dlsym, before the C library's, in a library that is preloaded: names may lead to functions of
 * ours. For libraries that link dlsym.c and dlsym_entry.S.
 */
#pragma once

/* The library's own: what dlsym is to return; NULL: what it returns without us. Only dlsym_real is
 * called there, as programs look names up from wherever they are. */
void *dlsym_instead(void *handle, const char *name);

/* The C library's, or that of who else is before it. */
void *dlsym_real(void *handle, const char *name);
