/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile file while the recording runs.
 *
 * Tables are interned here: profile_add_* returns the id of an equal entry when there is one, and
 * writes a new one otherwise. Events go into the current chunk and are sent to the file when the
 * chunk is full or has waited for long enough. A thread of the writer's own writes them, so that a
 * disk that stalls does not stop the recording at once, but only when 4 MiB wait for it. Memory is
 * bounded by the number of distinct table entries and never grows with the number of events.
 *
 * Errors are sticky: the first failing write is kept and returned by every later call, so that
 * callers may check at flush and close only; what was written before stays readable. The file then
 * ends with a whole chunk, and its size is in the totals. One thread calls at a time.
 *
 * Every function returns 0 or -errno with error_text set, unless it says otherwise.
 */
#pragma once

#include "profile/model.h"

struct profile_writer;
struct user;

/* Creates the file; an earlier one stays as it is until profile_writer_begin or the first chunk,
 * and is overwritten then. It is readable as an incomplete profile from the first flush on. -EBUSY:
 * somebody else writes it. */
int profile_writer_open(struct profile_writer **ret, const char *path);
/* The same with the rights of `user` (borrowed; NULL: ours), and an earlier profile is kept
 * (profile/output_file.h). */
int profile_writer_open_for(struct profile_writer **ret, const char *path, const struct user *user);
int profile_writer_begin(struct profile_writer *w);
/* Removes the file if it was made here, and puts back the earlier profile that was kept. The writer
 * is then to be aborted. NULL is fine. */
void profile_writer_remove(struct profile_writer *w);
/* Writes what is left and the end mark. The totals then have all bytes of the file, and nothing may
 * be added any more. */
int profile_writer_end(struct profile_writer *w);
/* The same unless it was done, and frees `w`. NULL is fine. */
int profile_writer_close(struct profile_writer *w);
/* Frees without the end mark: the file stays what was flushed. */
void profile_writer_abort(struct profile_writer *w);
/* Sends the current chunks on their way to the file, without waiting for it. */
int profile_writer_push(struct profile_writer *w);
/* The same, if something was seen to wait for 600 ms, or for 150 ms before there were events: to be
 * called every 50 ms or so, so that all of it is in the file a second later, and the first events
 * after 250 ms. Also reports that the file cannot be written any more. */
int profile_writer_push_due(struct profile_writer *w, uint64_t now_ns);
/* The same as profile_writer_push, and waits until they are in the file. */
int profile_writer_flush(struct profile_writer *w);

struct profile_reader;

/*
 * Makes the file `fd` (empty, consumed; `path` is for messages) a copy of what `r` has read to its
 * end, so that names can be added to it:
 * strings, inlined functions, segments, GPU functions, instructions, symbols and metadata (other
 * additions are refused). What is there stays as it is, to the byte; a profile that was not whole
 * does not get an end mark.
 */
int profile_writer_continue(
	struct profile_writer **ret, const char *path, int fd, struct profile_reader *r);

/*
 * Strings, modules, locations and stack nodes are bounded: programs can make up names and stacks
 * for as long as they run. When these tables are full, what is not there yet is not added, and
 * counted (LOSS_TABLES_FULL). A string becomes NAME_LEFT_OUT, a module or location 0, and a stack
 * ends at its last frame that is there.
 */
int profile_add_string(struct profile_writer *w, const char *text, size_t size, uint32_t *ret_id);
int profile_add_module(struct profile_writer *w, const struct profile_module *m, uint32_t *ret_id);
int profile_add_location(
	struct profile_writer *w, const struct profile_location *l, uint32_t *ret_id);
/* Interns the node (parent, location). */
int profile_add_stack_node(
	struct profile_writer *w, uint32_t parent, uint32_t location, uint32_t *ret_id);
int profile_add_process(
	struct profile_writer *w, const struct profile_process *p, uint32_t *ret_id);
int profile_add_thread(struct profile_writer *w, const struct profile_thread *t, uint32_t *ret_id);
/* Devices of equal UUIDs are one, as it was added first. */
int profile_add_device(struct profile_writer *w, const struct profile_device *d, uint32_t *ret_id);
int profile_add_op(struct profile_writer *w, const struct profile_op *op, uint32_t *ret_id);
/* The ids of what is there; 0: it is not. */
uint32_t profile_find_string(const struct profile_writer *w, const char *text, size_t size);
uint32_t profile_find_op(const struct profile_writer *w, const struct profile_op *op);
/* While it is on the tables are as if they were full, and nothing is counted as a loss. */
void profile_writer_freeze(struct profile_writer *w, bool on);
/* How many entries were not added so far. */
uint64_t profile_writer_refused(const struct profile_writer *w);
/* How much memory the tables take, about. */
uint64_t profile_writer_table_bytes(const struct profile_writer *w);

int profile_add_inline(struct profile_writer *w, const struct profile_inline *i, uint32_t *ret_id);
int profile_add_segment(
	struct profile_writer *w, const struct profile_segment *s, uint32_t *ret_id);

int profile_add_gpu_function(
	struct profile_writer *w, const struct profile_gpu_function *f, uint32_t *ret_id);
/* Interns (function, offset). What else `i` says is kept when it is new; one that is there stays as
 * it is (profile_describe_instruction). */
int profile_add_instruction(
	struct profile_writer *w, const struct profile_instruction *i, uint32_t *ret_id);
/* Every one is new. */
int profile_add_window(
	struct profile_writer *w, const struct profile_window *window, uint32_t *ret_id);
int profile_add_burst(struct profile_writer *w, const struct profile_burst *burst);
int profile_add_counter(
	struct profile_writer *w, const struct profile_counter *c, uint32_t *ret_id);
/* Each of these is new, too. */
int profile_add_probe_object(
	struct profile_writer *w, const struct profile_probe_object *o, uint32_t *ret_id);
int profile_add_probe_map(
	struct profile_writer *w, const struct profile_probe_map *m, uint32_t *ret_id);
int profile_add_probe_context(
	struct profile_writer *w, const struct profile_probe_context *c, uint32_t *ret_id);
int profile_add_probe_kernel(struct profile_writer *w, const struct profile_probe_kernel *k);
int profile_add_probe_line(struct profile_writer *w, const struct profile_probe_line *l);

/* Processes and threads get new names (exec, prctl): the later entry replaces the earlier. */
int profile_update_process(struct profile_writer *w, uint32_t id, const struct profile_process *p);
int profile_update_thread(struct profile_writer *w, uint32_t id, const struct profile_thread *t);
/* Adds THREAD_* flags to a thread. */
int profile_flag_thread(struct profile_writer *w, uint32_t id, uint32_t flags);

/* Names a native location; a later symbol replaces an earlier one. Strings 0 and line 0: not
 * known. `inlined`: the innermost function inlined there (an inline id, or 0). */
int profile_add_symbol(struct profile_writer *w, uint32_t location, uint32_t name, uint32_t file,
	uint32_t line, uint32_t inlined);

/* Says where the function of a native location begins (profile_location.function), when it has no
 * name. */
int profile_add_function_start(struct profile_writer *w, uint32_t location, uint64_t start);

/* Describes the instruction at the function and offset of `i`: its text, file, line and inlined
 * function. */
int profile_describe_instruction(
	struct profile_writer *w, uint32_t id, const struct profile_instruction *i);

int profile_write_sample(struct profile_writer *w, const struct profile_sample *s);
int profile_write_call(struct profile_writer *w, const struct profile_call *c);
int profile_write_work(struct profile_writer *w, const struct profile_work *work);
int profile_write_pending(struct profile_writer *w, const struct profile_pending *p);
int profile_write_stall(struct profile_writer *w, const struct profile_stall *s);
int profile_write_count(struct profile_writer *w, const struct profile_count *c);
int profile_write_driver(struct profile_writer *w, const struct profile_driver *d);
int profile_write_wait(struct profile_writer *w, const struct profile_wait *wait);
int profile_write_life(struct profile_writer *w, const struct profile_life *l);
int profile_write_sync(struct profile_writer *w, const struct profile_sync *s);
int profile_write_marker(struct profile_writer *w, const struct profile_marker *m);
/* FOUND_MAX_BYTES at most. */
int profile_write_found(struct profile_writer *w, const struct profile_found *f);

/* Adds to how long a thread ran. Views and the totals then go by it, and samples only divide it
 * (profile/cpu_times.h). It is in the file from profile_writer_end on. */
int profile_add_account(
	struct profile_writer *w, uint32_t thread, const struct profile_account *account);

/* Adds to a loss counter; totals are written with each flush. */
int profile_count_loss(struct profile_writer *w, enum profile_loss loss, uint64_t count);
/* Counts a stack that is incomplete for this reason; 0: it is not, and nothing is counted. */
int profile_count_incomplete(struct profile_writer *w, enum profile_loss why);
/* Sets a metadata value; the last one set wins. */
int profile_set_meta(struct profile_writer *w, const char *key, const char *value);

/* What has been interned so far, for code that works on it before closing (symbolization,
 * tests). Ids count from 1. */
uint32_t profile_writer_location_count(const struct profile_writer *w);
const struct profile_location *profile_writer_location(const struct profile_writer *w, uint32_t id);
const struct profile_module *profile_writer_module(const struct profile_writer *w, uint32_t id);
uint32_t profile_writer_segment_count(const struct profile_writer *w);
const struct profile_segment *profile_writer_segment(const struct profile_writer *w, uint32_t id);
const struct profile_gpu_function *profile_writer_gpu_function(
	const struct profile_writer *w, uint32_t id);
uint32_t profile_writer_instruction_count(const struct profile_writer *w);
const struct profile_instruction *profile_writer_instruction(
	const struct profile_writer *w, uint32_t id);
const char *profile_writer_string(const struct profile_writer *w, uint32_t id);

/* Totals for a status line. */
struct profile_totals {
	/* events */
	uint64_t samples, calls, works, pendings, stalls, counts, drivers, waits, lives, syncs,
		markers, founds;
	uint64_t stall_samples;	 /* of all stalls */
	uint64_t window_samples; /* of all windows that were added here */
	uint64_t cpu_ns;	 /* sum of sample periods */
	uint64_t account_ns;	 /* sum of accounts; 0: there are none */
	uint64_t gpu_ns;	 /* sum of work durations */
	uint64_t stacks;	 /* samples, calls and waits that have one of their own */
	uint64_t works_without_stack;
	uint64_t pending_by_reason[PENDING_REASONS];
	uint64_t join_by_reason[JOIN_REASONS];
	uint64_t losses[LOSS_KINDS];
	uint64_t file_bytes;
	bool simulated; /* META_SIMULATED is set */
	bool sampled;	/* so is META_SAMPLE_HZ */
};

void profile_writer_totals(const struct profile_writer *w, struct profile_totals *ret);
