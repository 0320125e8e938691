/* SPDX-License-Identifier: MIT */
/*
 * Where each version of CPython keeps what we read, as offsets in bytes.
 *
 * From 3.13 on the interpreter describes itself (_Py_DebugOffsets at the beginning of _PyRuntime);
 * for earlier ones there is a table of ours. interpreter.c checks both against the process before
 * anybody uses them.
 */
#pragma once

#include "python/memory.h"

enum python_lines {
	PYTHON_LINES_LNOTAB = 1, /* until 3.9: pairs of deltas */
	PYTHON_LINES_RANGES,	 /* 3.10: pairs of deltas, some without a line */
	PYTHON_LINES_LOCATIONS,	 /* from 3.11 on: entries of varying length */
};

struct python_layout {
	uint32_t lines; /* enum python_lines */
	uint32_t free_threaded;
	/* in _PyRuntime */
	uint32_t finalizing;
	uint32_t interpreters_head;
	uint32_t tss; /* autoTSSkey, where the table knows it; 0: it has to be searched for */
	/* in PyInterpreterState */
	uint32_t interpreter_next;
	uint32_t threads_head;
	/* in PyThreadState */
	uint32_t state_next;
	uint32_t state_interpreter;
	uint32_t state_thread_id;
	uint32_t state_frame; /* frame, cframe or current_frame */
	/* in _PyCFrame */
	uint32_t cframe_frame;
	uint32_t cframe_previous;
	/* in a frame */
	uint32_t frame_bytes; /* of the whole struct; 0: not said */
	uint32_t frame_code;
	uint32_t frame_at;
	uint32_t frame_previous;
	uint32_t frame_owner; /* or is_entry */
	/* in a code object */
	uint32_t code_filename;
	uint32_t code_name;
	uint32_t code_qualname; /* 0: none */
	uint32_t code_linetable;
	uint32_t code_firstlineno;
	uint32_t code_firsttraceable; /* 0: none */
	uint32_t code_bytecode;	      /* 0: not needed */
	uint32_t code_tlbc;	      /* 0: none */
	/* in objects of other types */
	uint32_t object_type;
	uint32_t type_name;
	uint32_t text_length;
	uint32_t text_state;
	uint32_t text_kind_shift; /* in the state: kind, 3 bits, then compact and ascii */
	uint32_t text_ascii;	  /* where the characters begin: of ASCII text */
	uint32_t text_compact;	  /* of other text */
	uint32_t bytes_size;
	uint32_t bytes_data;
};

/* The lowest and highest versions there is a layout of. */
#define PYTHON_VERSION_MIN 0x0308
#define PYTHON_VERSION_MAX 0x030f

/* 0; -ENOTSUP: no layout of this version is known, or what the interpreter says of itself makes no
 * sense; -EIO: it cannot be read. */
int python_layout_load(struct python_layout *ret, const struct python_memory *m, uint64_t runtime,
	uint32_t version);
/* How that version keeps lines (enum python_lines); 0: no layout of it is known. */
uint32_t python_lines_of(uint32_t version);
/* The version that a runtime at this address says it has (3.13 and later); 0: none. */
uint32_t python_layout_version(const struct python_memory *m, uint64_t runtime);
