/* SPDX-License-Identifier: MIT */
/*
 * How much of one file is read, and kept in memory. Files come from programs we do not trust: a few
 * kilobytes can claim terabytes (a sparse file, sections that overlap, counts in headers). Each row
 * says how much real files need. What needs more is refused or left out, never cut in the middle,
 * and elf_file_too_large says so.
 *
 * Together a file takes 256 MiB at most, whatever is asked of it, and the time to read 4 GiB.
 */
#pragma once

/* All that is read of a file, pieces that are read again included. The largest files that we met
 * have 2 to 4 GB (PyTorch's largest library, a static clang with debug information), most of it not
 * for us. */
#define ELF_READ_MAX_BYTES ((uint64_t)4 << 30)

/* Linkers write about 15. */
#define ELF_SEGMENTS_MAX 256
/* Linked files have less than 100, whatever the compiler made of each function; their names have a
 * few kilobytes. */
#define ELF_SECTIONS_MAX	    16384
#define ELF_SECTION_NAMES_MAX_BYTES ((uint64_t)1 << 20)

/* Notes are a few hundred bytes in up to six places; those of a core file can be large, and hold no
 * build id of its own. */
#define ELF_NOTES_MAX	    64
#define ELF_NOTES_MAX_BYTES ((uint64_t)1 << 20) /* in each place */

/* A Chromium with all its symbols has 3 million, half of them functions. Of these 24 bytes each, 48
 * while they are sorted. */
#define ELF_SYMBOLS_MAX	  (16u << 20)
#define ELF_FUNCTIONS_MAX (4u << 20)
/* The names of that Chromium have 500 MB. They are read where one function is looked for by its
 * name; how often that name stands at the end of others, at 4 bytes. */
#define ELF_STRINGS_MAX_BYTES ((uint64_t)1 << 30)
#define ELF_PLACES_MAX	      (1u << 20)
/* Names that were asked for are kept; a profile of 100,000 functions has 10 MB of them. One name is
 * 64 KiB at most: templates make a few of 10 KB. */
#define ELF_NAME_MAX_BYTES  65536
#define ELF_NAMES_MAX_BYTES ((size_t)32 << 20)

/* A library of 2 GB has 2 million relocations, nearly all of them only for its place in memory;
 * those of stubs are 5,000 in Firefox. 40 bytes each. */
#define ELF_RELOCATIONS_MAX (16u << 20)
#define ELF_STUBS_MAX	    (1u << 19)

/* Of .eh_frame, .debug_frame and .eh_frame_hdr: 14 MB for the 274,000 functions of Firefox, which
 * become 2.4 million rows of a table; a made-up file with 600,000 functions has 6 million. 32 and 8
 * bytes each. Common entries are a few, but for .debug_frame, where each source file has its own;
 * Chromium has 40,000 of them. 300 bytes each. */
#define ELF_FRAMES_MAX_BYTES	((size_t)64 << 20)
#define ELF_FRAME_FUNCTIONS_MAX (2u << 20)
#define ELF_FRAME_ROWS_MAX	(12u << 20)
#define ELF_FRAME_COMMONS_MAX	(128u << 10)
/* Code that .eh_frame says nothing of is looked through: 200 MB in Chromium. */
#define ELF_CODE_MAX_BYTES ((uint64_t)1 << 30)
/* The longest expression that walkers follow has 11 bytes. It is evaluated for each row. */
#define ELF_FRAME_EXPRESSION_MAX 32

/* Mini debug info has the names of local functions: 3 MB for the largest programs of Fedora. */
#define ELF_MINI_DEBUG_MAX_BYTES	((uint64_t)64 << 20)
#define ELF_MINI_DEBUG_STORED_MAX_BYTES ((uint64_t)32 << 20)

/* Address ranges, 24 bytes each: of all compilation units, where Chromium has 3 million, as each
 * function has its own; and of the functions of one unit, or of what is inlined into one function.
 * The largest units of Rust programs have 100,000 functions. */
#define ELF_DWARF_UNIT_RANGES_MAX (8u << 20)
#define ELF_DWARF_RANGES_MAX	  (1u << 20)

/* Of all files that a debug link may lead to. Debug files without a build id, which need it, are
 * from before 2010. */
#define ELF_CRC_MAX_BYTES ((uint64_t)1 << 30)
