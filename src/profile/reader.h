/* SPDX-License-Identifier: MIT */
/*
 * Reads a profile file, trusting nothing in it.
 *
 * Events come one by one, in file order (which is close to, but not exactly, time order); tables
 * fill up on the way. An event's own ids are valid as soon as it is returned, but names may be
 * replaced later (symbols are usually at the end), so views gather by id first and look names up
 * after the last event.
 *
 * Memory is bounded by the tables plus one chunk, not by the file.
 */
#pragma once

#include "profile/bursts.h"
#include "profile/model.h"

struct profile_reader;

/* Opens and checks the header: 0, or -errno with error_text (-EINVAL: not a profile, or one of a
 * newer version). */
int profile_reader_open(struct profile_reader **ret, const char *path);
/*
 * Opens the file of a reader that has read it to its end, to read the same part once more. What a
 * recording has appended since is not read, and no id is returned that the first reader does not
 * have. The tables are those of the first, whole from the beginning, and read only once; either may
 * be closed first, and both are for the same thread. Fails as the other, and with -ESTALE where the
 * file has been replaced.
 */
int profile_reader_open_again(struct profile_reader **ret, const struct profile_reader *done);
/* Opens the file of a reader that has not read it yet: nothing is shared with that. */
int profile_reader_open_beside(struct profile_reader **ret, const struct profile_reader *other);
void profile_reader_close(struct profile_reader *r);

/*
 * The next event: 1, or 0 after the last one. A damaged or truncated rest ends the events as well
 * (0), and profile_reader_incomplete then says why. Negative only for I/O errors and short memory.
 */
int profile_reader_next(struct profile_reader *r, struct profile_event *ret);

/*
 * Reads a part of the recording only (clip.h): events come as their pieces in it; NULL: the whole
 * again. To be called before the first event; the clip has to outlive the reader, and those that
 * are opened again after it, which have the same. Windows and bursts, losses and all tables are
 * those of the whole recording, and so are profile_reader_sums.
 */
struct profile_clip;
void profile_reader_clip(struct profile_reader *r, const struct profile_clip *clip);
const struct profile_clip *profile_reader_clip_of(const struct profile_reader *r);

/* Where in the file the chunk begins that the last event is of. */
uint64_t profile_reader_chunk(const struct profile_reader *r);
/*
 * Leaves out the events of chunks for which `skips` is true, by where they begin, unread and
 * unchecked: for callers that know from an earlier reading that they need none of them. To be
 * called before the first event; tables are read anyway.
 */
void profile_reader_skip(
	struct profile_reader *r, bool (*skips)(const void *arg, uint64_t chunk), const void *arg);

/* NULL for a complete profile; else one line: "ends in the middle of a chunk at byte 4096". Final
 * after profile_reader_next returned 0. */
const char *profile_reader_incomplete(const struct profile_reader *r);

/* How long a thread ran, by the scheduler's account; NULL: not recorded, or not yet (the file was
 * cut short). The samples of a thread that has one come with periods that add up to it
 * (SAMPLE_ABSENT and SAMPLE_KERNEL, if any, come behind all other events, with it). */
const struct profile_account *profile_account(const struct profile_reader *r, uint32_t thread);

/* Table entries; NULL (or "" for strings) for ids that are 0 or not in the file. The number of
 * entries is the highest id. Strings stay where they are; pointers to other entries are good until
 * the next profile_reader_next. */
const char *profile_string(const struct profile_reader *r, uint32_t id, size_t *ret_size);
const struct profile_module *profile_module(const struct profile_reader *r, uint32_t id);
const struct profile_location *profile_location(const struct profile_reader *r, uint32_t id);
const struct profile_stack_node *profile_stack_node(const struct profile_reader *r, uint32_t id);
const struct profile_process *profile_process(const struct profile_reader *r, uint32_t id);
const struct profile_thread *profile_thread(const struct profile_reader *r, uint32_t id);
/* Whether it is one of the profiler's own threads; final, like names, after the last event. */
bool profile_is_profiler(const struct profile_reader *r, uint32_t thread);
/* What a thread is called. One of the profiler's own has a name that is too long for a thread, so
 * that no other's is it. */
const char *profile_thread_name(
	const struct profile_reader *r, const struct profile_thread *t, size_t *ret_size);
const struct profile_device *profile_device(const struct profile_reader *r, uint32_t id);
const struct profile_op *profile_op(const struct profile_reader *r, uint32_t id);
const struct profile_inline *profile_inline(const struct profile_reader *r, uint32_t id);
const struct profile_segment *profile_segment(const struct profile_reader *r, uint32_t id);
const struct profile_gpu_function *profile_gpu_function(
	const struct profile_reader *r, uint32_t id);
const struct profile_instruction *profile_instruction(const struct profile_reader *r, uint32_t id);
const struct profile_window *profile_window(const struct profile_reader *r, uint32_t id);
const struct profile_counter *profile_counter(const struct profile_reader *r, uint32_t id);
const struct profile_burst *profile_burst(const struct profile_reader *r, uint32_t id);
const struct profile_probe_object *profile_probe_object(
	const struct profile_reader *r, uint32_t id);
const struct profile_probe_map *profile_probe_map(const struct profile_reader *r, uint32_t id);
const struct profile_probe_context *profile_probe_context(
	const struct profile_reader *r, uint32_t id);
const struct profile_probe_kernel *profile_probe_kernel(
	const struct profile_reader *r, uint32_t id);
const struct profile_probe_line *profile_probe_line(const struct profile_reader *r, uint32_t id);
/* Those of the whole file, as it was when the reader was opened: known before the first event. */
const struct bursts *profile_bursts(const struct profile_reader *r);
/* Whether GPU work was recorded in bursts only. (If no burst came at all, and so no work, this is
 * known after the last event.) */
bool profile_is_in_bursts(const struct profile_reader *r);
/* Whether only some works have times, and stand for the others (profile_work.stands_for). */
bool profile_is_drawn(const struct profile_reader *r);
/* Draws are of one sort: a kernel of a process, by its name; or what a call of it asks for. 0: it
 * was not drawn. */
uint64_t profile_sort(const struct profile_reader *r, const struct profile_work *w);
/* One of the two: sums of works are estimates. */
bool profile_is_estimated(const struct profile_reader *r);

struct profile_counts {
	uint32_t strings, modules, locations, stack_nodes, processes, threads, devices, ops,
		inlines, segments, gpu_functions, instructions, windows, counters, bursts,
		probe_objects, probe_maps, probe_contexts, probe_kernels, probe_lines;
};

struct profile_counts profile_counts(const struct profile_reader *r);

/* How far the thread's account is divided: the sum of its samples' periods until here. */
uint64_t profile_reader_passed_ns(const struct profile_reader *r, uint32_t thread);

/* A loss counter, 0 when absent. */
uint64_t profile_loss_count(const struct profile_reader *r, enum profile_loss loss);
/* A metadata value, or NULL. */
const char *profile_meta(const struct profile_reader *r, const char *key);
/* A decimal metadata value, or `otherwise` where there is none. */
uint64_t profile_meta_number(const struct profile_reader *r, const char *key, uint64_t otherwise);
/* The n-th metadata pair; false past the last. */
bool profile_meta_at(
	const struct profile_reader *r, size_t n, const char **ret_key, const char **ret_value);

/* What was read, in numbers; without what was left out. */
struct profile_sums {
	uint64_t samples, calls, works, pendings, stalls, counts, drivers, waits, lives, syncs,
		markers, founds;
	/* as in struct profile_totals: cpu_ns is the sum of the recorded periods */
	uint64_t stall_samples, cpu_ns, gpu_ns;
};

struct profile_sums profile_reader_sums(const struct profile_reader *r);
/* Copies the part of the file that made sense, byte by byte, once all was read: 0 or -errno with
 * error_text (-EINVAL: it ends in a chunk that makes sense in its beginning only). */
int profile_reader_copy(struct profile_reader *r, int to);
