/* SPDX-License-Identifier: MIT */
/*
 * Code that a file has no unwind information for, and that can be unwound all the same:
 *
 *	the entry point         nobody calls it: it ends a stack (the dynamic linker of glibc, musl)
 *	stubs for calls         .plt and its like, which lld writes without information
 *	start and end of files  what calls constructors and destructors, .init and .fini: in nearly every file, of gcc and
 *	                        the C library
 *	frame pointers          wide stretches in which functions begin by `push %rbp; mov %rsp,%rbp`
 *	                        as often as only code with frame pointers does (Chromium, Node)
 *
 * For the last kind, every function is assumed to keep a frame pointer. One that does not (a leaf
 * without a frame) looks as if it were its caller, and that one's caller is missing, as with any
 * walk by frame pointers.
 *
 * Where the file has unwind information, that always holds.
 */
#pragma once

#include "elf/elf_file.h"
#include "unwind/table.h"

/* To be called after all of the file's own unwind information was added: 0 or -errno. */
int uncovered_add(struct elf_file *f, struct table_builder *b);
