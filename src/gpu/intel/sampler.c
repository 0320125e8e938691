// SPDX-License-Identifier: MIT
/*
 * Records are added up by address within their window, as they come. An address is looked for once
 * in a window, however many samples it has.
 *
 * The parts of a window are sorted by process, device, context, function and address, so that each
 * part is written in one go: its window first, then its rows.
 */
#include "gpu/intel/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "gpu/backend.h"
#include "gpucode/kept_images.h"

#define SUBJECT	    "samples of GPU instructions"
#define WINDOWS_MAX 4096 /* that wait; more are looked up early */
#define RECORD_MAX  256

struct seen {
	uint64_t address;
	uint64_t samples[INTEL_STALL_REASONS];
	const struct code_place *place; /* when it is written */
};

struct window {
	uint64_t start_ns, end_ns;
	struct vec(struct seen) seen;
};

struct sampler {
	struct sampler_options o;
	uint32_t devices[SAMPLER_DEVICES_MAX];
	size_t device_count;
	struct map by_address; /* of the present window: index of `seen` */
	struct window now;
	struct vec(struct window) waiting;     /* in their order */
	uint32_t reasons[INTEL_STALL_REASONS]; /* string ids; 0: not used so far */
	uint64_t instructions;		       /* of instructions_max */
	uint8_t part[RECORD_MAX];	       /* of a record whose rest has not come */
	size_t part_size;
};

struct sampler *sampler_new(const struct sampler_options *o, uint64_t now_ns)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->o = *o;
	s->now.start_ns = now_ns;
	return s;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	vec_foreach (w, &s->waiting)
		vec_release(&w->seen);
	vec_release(&s->waiting);
	vec_release(&s->now.seen);
	map_release(&s->by_address);
	free(s);
}

void sampler_add_device(struct sampler *s, uint32_t device)
{
	for (size_t i = 0; i < s->device_count; i++)
		if (s->devices[i] == device)
			return;
	if (s->device_count < SAMPLER_DEVICES_MAX)
		s->devices[s->device_count++] = device;
}

/* --- reading */

static int add_record(struct sampler *s, const uint8_t *record)
{
	struct stall_record r;
	uint64_t *index;
	struct seen *seen;

	stall_record_decode(s->o.layout, record, &r);
	if (!r.sum)
		return 0;
	index = map_get(&s->by_address, r.address);
	if (!index) {
		if (vec_push(&s->now.seen, (struct seen){.address = r.address}) ||
			map_put(&s->by_address, r.address, s->now.seen.count - 1))
			return error_memory(SUBJECT);
		seen = &s->now.seen.items[s->now.seen.count - 1];
	} else {
		seen = &s->now.seen.items[*index];
	}
	for (size_t i = 0; i < INTEL_STALL_REASONS; i++)
		seen->samples[i] += r.samples[i];
	return 0;
}

int sampler_add(struct sampler *s, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	size_t record = stall_layout_bytes(s->o.layout);
	int error = 0;

	while (!error && size) {
		size_t missing = record - s->part_size, n = size < missing ? size : missing;

		if (!s->part_size && size >= record) {
			error = add_record(s, at);
			n = record;
		} else {
			memcpy(s->part + s->part_size, at, n);
			s->part_size += n;
			if (s->part_size == record) {
				error = add_record(s, s->part);
				s->part_size = 0;
			}
		}
		at += n;
		size -= n;
	}
	return error;
}

int sampler_overflow(struct sampler *s)
{
	return profile_count_loss(s->o.writer, LOSS_STALLS_OVERFLOWS, 1);
}

/* --- writing */

static uint64_t sum_of(const struct seen *seen)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < INTEL_STALL_REASONS; i++)
		sum += seen->samples[i];
	return sum;
}

/* Of all devices: how many processes have code at an address, and the place that lived last. */
static size_t find_place(const struct sampler *s, const struct window *w, uint64_t address,
	const struct code_place **ret)
{
	const struct code_place *last = NULL, *found = NULL;
	size_t processes = 0;

	for (size_t i = 0; i < s->device_count; i++) {
		size_t more = code_places_find(s->o.places, s->devices[i], address,
			stall_layout_mask(s->o.layout), w->start_ns, w->end_ns, &found);

		if (!more)
			continue;
		/* one process may use a GPU and its tile */
		processes += more - (more == 1 && last && found->process == last->process);
		if (!last || found->until_ns > last->until_ns)
			last = found;
	}
	*ret = last;
	return processes;
}

/* Those without a place are counted, and come last. */
static int find_places(struct sampler *s, struct window *w)
{
	int error = 0;

	vec_foreach (seen, &w->seen) {
		size_t processes = find_place(s, w, seen->address, &seen->place);

		if (processes != 1) {
			seen->place = NULL;
			error = error
					?: profile_count_loss(s->o.writer,
						   processes ? LOSS_STALLS_AMBIGUOUS
							     : LOSS_STALLS_OUTSIDE,
						   sum_of(seen));
		}
	}
	return error;
}

static int compare_owners(const struct code_place *a, const struct code_place *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->instance != b->instance)
		return a->instance < b->instance ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static int compare_seen(const void *a_, const void *b_)
{
	const struct seen *a = a_, *b = b_;
	int order;

	if (!a->place || !b->place)
		return !a->place - !b->place;
	order = compare_owners(a->place, b->place);
	if (order)
		return order;
	if (a->place->function != b->place->function)
		return a->place->function < b->place->function ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int reason_of(struct sampler *s, size_t n, uint32_t *ret)
{
#define REASON(number, name, words, class, issuing) [number] = INTEL_STALL_PREFIX #name,
	static const char *const names[] = {INTEL_STALLS(REASON)};
#undef REASON
	int error = 0;

	if (!s->reasons[n])
		error = profile_add_string(s->o.writer, names[n], strlen(names[n]), &s->reasons[n]);
	*ret = s->reasons[n];
	return error;
}

static int add_instruction(struct sampler *s, const struct seen *seen, uint32_t *ret_id)
{
	const struct code_place *p = seen->place;
	struct profile_instruction instruction = {.function = p->function,
		.offset =
			(uint32_t)((seen->address - p->address) & stall_layout_mask(s->o.layout))};
	uint64_t before = profile_writer_table_bytes(s->o.writer);
	int error = 0;

	if (s->instructions >= s->o.instructions_max) {
		instruction.offset = OFFSET_LEFT_OUT;
		error = profile_count_loss(s->o.writer, LOSS_STALLS_CUT, 1);
	}
	error = error ?: profile_add_instruction(s->o.writer, &instruction, ret_id);
	s->instructions += profile_writer_table_bytes(s->o.writer) > before;
	return error;
}

static int write_rows(struct sampler *s, uint32_t window, const struct seen *seen)
{
	const struct code_place *p = seen->place;
	struct profile_stall stall = {.window = window};
	int error = add_instruction(s, seen, &stall.instruction);

	if (s->o.images)
		kept_images_need(s->o.images, p->module);
	for (size_t n = 0; !error && n < INTEL_STALL_REASONS; n++) {
		if (!seen->samples[n])
			continue;
		stall.samples = seen->samples[n];
		error = reason_of(s, n, &stall.reason);
		error = error ?: profile_write_stall(s->o.writer, &stall);
	}
	return error;
}

/* The samples of one process, device and context: [first, end). */
static int write_part(
	struct sampler *s, const struct window *w, const struct seen *first, const struct seen *end)
{
	struct profile_window window = {.process = first->place->process,
		.instance = first->place->instance,
		.device = first->place->device,
		.context = first->place->context,
		.start_ns = w->start_ns,
		.end_ns = w->end_ns};
	uint32_t id = 0;
	int error;

	for (const struct seen *seen = first; seen < end; seen++)
		window.samples += sum_of(seen);
	error = profile_add_window(s->o.writer, &window, &id);
	for (const struct seen *seen = first; !error && seen < end; seen++)
		error = write_rows(s, id, seen);
	return error;
}

static int write_window(struct sampler *s, struct window *w)
{
	const struct seen *at = w->seen.items, *end = at + w->seen.count;
	int error = find_places(s, w);

	if (w->seen.count)
		qsort(w->seen.items, w->seen.count, sizeof(*w->seen.items), compare_seen);
	while (!error && at < end && at->place) {
		const struct seen *first = at;

		while (at < end && at->place && !compare_owners(first->place, at->place))
			at++;
		error = write_part(s, w, first, at);
	}
	vec_release(&w->seen);
	return error;
}

int sampler_end_window(struct sampler *s, uint64_t now_ns, uint64_t ripe_ns)
{
	size_t done = 0;
	int error = 0;

	s->now.end_ns = now_ns;
	if (s->now.seen.count && vec_push(&s->waiting, s->now))
		return error_memory(SUBJECT);
	if (!s->now.seen.count)
		vec_release(&s->now.seen);
	s->now = (struct window){.start_ns = now_ns};
	map_release(&s->by_address);
	while (!error && done < s->waiting.count &&
		(s->waiting.items[done].end_ns <= ripe_ns || s->waiting.count - done > WINDOWS_MAX))
		error = write_window(s, &s->waiting.items[done++]);
	s->waiting.count -= done;
	if (s->waiting.count)
		memmove(s->waiting.items, s->waiting.items + done,
			s->waiting.count * sizeof(struct window));
	return error;
}

uint64_t sampler_oldest_ns(const struct sampler *s)
{
	return s->waiting.count ? s->waiting.items[0].start_ns : s->now.start_ns;
}
