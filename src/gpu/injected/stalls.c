// SPDX-License-Identifier: MIT
/*
 * Samples of GPU instructions. Functions, reasons and windows come before the rows that name them,
 * and rows belong to the latest window. An impossible window is left out with its rows. A row that
 * names what never came proves that the ring was scribbled over.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/code_places.h"
#include "gpucode/kept_images.h"
#include "gpu/injected/instance.h"

#define PERIOD_MAX 31
#define HELD_TOLD  16 /* switches that are named */

static int invalid(struct instance *i)
{
	record_count_loss(i, LOSS_GPU_INVALID, 1);
	return 0;
}

int stalls_module(struct instance *i, uint32_t api, uint64_t checksum, uint32_t *ret_id)
{
	const char *format = api < WIRE_APIS ? i->injected->apis[api]->code_format : NULL;
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = sizeof(checksum)};
	uint64_t before = budget_tables(i);
	char name[32];
	int error;

	*ret_id = 0;
	if (!format)
		return invalid(i);
	if (!budget_has_room(i, BUDGET_STALLS)) {
		budget_refuse(i, BUDGET_STALLS);
		return 0;
	}
	for (size_t n = 0; n < sizeof(checksum); n++)
		m.build_id[n] = (uint8_t)(checksum >> (56 - 8 * n));
	snprintf(name, sizeof(name), "%s:%016llx", format, (unsigned long long)checksum);
	error = profile_add_string(i->injected->shared->writer, name, strlen(name), &m.path);
	error = error ?: profile_add_module(i->injected->shared->writer, &m, ret_id);
	budget_charge_growth(i, BUDGET_STALLS, before);
	return error;
}

int stalls_decode_reason(struct instance *i, const void *record, size_t size)
{
	struct wire_stall_reason r;
	uint32_t **reasons;

	memcpy(&r, record, sizeof(r));
	if (r.device >= WIRE_DEVICES || r.index >= WIRE_STALL_REASONS || !r.name_size ||
		r.name_size > size - sizeof(r))
		return -EPROTO;
	reasons = &i->reasons[r.device];
	if (!*reasons)
		*reasons = calloc(WIRE_STALL_REASONS, sizeof(**reasons));
	if (!*reasons)
		return error_memory(NULL);
	return budget_string(i, BUDGET_STALLS, (const char *)record + sizeof(r), r.name_size,
		&(*reasons)[r.index]);
}

/* The id of a function in its image; 0: there was no room for it. */
static int add_function(struct instance *i, const struct wire_function *f, const char *name,
	uint32_t *ret_module, uint32_t *ret_id)
{
	struct profile_gpu_function function = {.index = f->index};
	uint64_t before;
	int error = stalls_module(i, f->api, f->checksum, &function.module);

	*ret_module = function.module;
	*ret_id = 0;
	if (error || !function.module)
		return error;
	error = budget_string(i, BUDGET_STALLS, name, f->name_size, &function.name);
	before = budget_tables(i);
	error = error ?: profile_add_gpu_function(i->injected->shared->writer, &function, ret_id);
	budget_charge_growth(i, BUDGET_STALLS, before);
	return error;
}

/* Whether it has a format of code, and words for refusals. */
static bool can_be_sampled(const struct instance *i, uint8_t api)
{
	const struct injected_api *a = api < WIRE_APIS ? i->injected->apis[api] : NULL;

	return a && a->code_format && a->stalls_refusals;
}

int stalls_decode_function(struct instance *i, const void *record, size_t size)
{
	struct instance_function mine = {0};
	struct wire_function f;
	int error;

	memcpy(&f, record, sizeof(f));
	if (f.id != i->functions.count + 1 || f.id > WIRE_FUNCTIONS ||
		f.name_size > size - sizeof(f) || !can_be_sampled(i, f.api))
		return -EPROTO;
	error = add_function(i, &f, (const char *)record + sizeof(f), &mine.module, &mine.id);
	if (error)
		return error;
	i->sampled_api = f.api;
	return vec_push(&i->functions, mine) ? error_memory(NULL) : 0;
}

/* What it is a place of; nothing where there is no room for that. */
static int place_function(
	struct instance *i, const struct wire_code *c, const char *name, struct code_place *ret)
{
	struct profile_gpu_function function = {0};
	uint64_t before;
	int error = stalls_module(i, c->api, c->checksum, &function.module);

	if (error || !function.module)
		return error;
	error = budget_string(i, BUDGET_STALLS, name, c->name_size, &function.name);
	before = budget_tables(i);
	error = error
			?: profile_add_gpu_function(
				   i->injected->shared->writer, &function, &ret->function);
	budget_charge_growth(i, BUDGET_STALLS, before);
	ret->module = function.module;
	return error;
}

int stalls_decode_code(struct instance *i, const void *record, size_t size, uint64_t now_ns)
{
	struct code_places *places = i->injected->shared->places;
	struct code_place place = {.process = i->process, .instance = i->number};
	struct wire_code c;
	int error;

	memcpy(&c, record, sizeof(c));
	if (c.name_size > size - sizeof(c) || c.device >= WIRE_DEVICES)
		return -EPROTO;
	if (c.time_ns > now_ns)
		return invalid(i);
	if (!places)
		return 0;
	place.device = i->devices[c.device].id;
	if (!place.device)
		return invalid(i);
	if (c.gone) {
		code_places_end(places, i->number, place.device, c.address, c.time_ns);
		return 0;
	}
	error = place_function(i, &c, (const char *)record + sizeof(c), &place);
	if (error || !place.function)
		return error;
	place.address = c.address;
	place.size = c.size;
	place.from_ns = c.time_ns;
	place.context = c.context;
	error = code_places_add(places, &place);
	if (error && error != -ENOMEM)
		record_count_loss(i, LOSS_STALLS_PLACES, 1);
	return error == -ENOMEM ? error_memory(NULL) : 0;
}

static bool is_plausible(const struct instance *i, const struct wire_window *w, uint64_t now_ns)
{
	return w->device < WIRE_DEVICES && w->period <= PERIOD_MAX &&
	       w->safe_period <= PERIOD_MAX && w->samples < WIRE_SAMPLES_MAX &&
	       w->dropped < WIRE_SAMPLES_MAX && w->without_code < WIRE_SAMPLES_MAX &&
	       record_is_plausible(i, w->start_ns, w->end_ns, now_ns);
}

int stalls_decode_window(struct instance *i, const struct wire_window *w, uint64_t now_ns)
{
	struct profile_window window = {
		.process = i->process,
		.instance = i->number,
		.context = w->context,
		.start_ns = w->start_ns,
		.end_ns = w->end_ns,
		.period_cycles = w->period ? 1ull << (w->period & PERIOD_MAX) : 0,
		.samples = w->samples,
		.dropped = w->dropped,
		.without_code = w->without_code,
		.exact = w->exact,
	};
	int error;

	i->window = (struct instance_window){.begun = true};
	if (!is_plausible(i, w, now_ns))
		return invalid(i);
	window.device = i->devices[w->device].id;
	record_count_loss(i, LOSS_STALLS_DROPPED, w->dropped);
	i->window.reasons = i->reasons[w->device];
	i->window.exact = w->exact;
	error = due_add_window(i, w);
	return error ?: profile_add_window(i->injected->shared->writer, &window, &i->window.id);
}

/* Rows of one instruction come one behind the other. */
static int find_instruction(
	struct instance *i, uint32_t function, uint32_t offset, uint32_t *ret_id)
{
	struct profile_instruction instruction = {.function = function, .offset = offset};
	uint64_t before = budget_tables(i);
	int error;

	if (i->last_instruction.id && i->last_instruction.function == function &&
		i->last_instruction.offset == offset) {
		*ret_id = i->last_instruction.id;
		return 0;
	}
	if (!budget_has_room(i, BUDGET_STALLS)) {
		budget_refuse(i, BUDGET_STALLS);
		instruction.offset = OFFSET_LEFT_OUT;
	}
	error = profile_add_instruction(i->injected->shared->writer, &instruction, ret_id);
	budget_charge_growth(i, BUDGET_STALLS, before);
	if (error)
		return error;
	i->last_instruction.function = function;
	i->last_instruction.offset = offset;
	i->last_instruction.id = *ret_id;
	return 0;
}

static int decode_row(struct instance *i, const struct wire_stall *row)
{
	struct profile_stall stall = {.window = i->window.id, .samples = row->samples};
	struct instance_function *function;
	int error;

	if (!row->function || row->function > i->functions.count ||
		row->reason >= WIRE_STALL_REASONS || !i->window.begun)
		return -EPROTO;
	if (i->window.lost)
		record_count_loss(i, LOSS_STALLS_RING_FULL, row->samples);
	if (!i->window.id)
		return 0; /* it was counted as a whole, or this row just now */
	if (!row->samples || !i->window.reasons || !i->window.reasons[row->reason])
		return invalid(i);
	function = &i->functions.items[row->function - 1];
	if (!function->id) {
		record_count_loss(i, LOSS_STALLS_CUT, row->samples);
		return 0;
	}
	if (!function->needed && i->injected->options.images)
		kept_images_need(i->injected->options.images, function->module);
	function->needed = true;
	stall.reason = i->window.reasons[row->reason];
	stall.correlation = i->window.exact ? row->correlation : 0;
	error = find_instruction(i, function->id, row->offset, &stall.instruction);
	return error ?: profile_write_stall(i->injected->shared->writer, &stall);
}

int stalls_decode_rows(struct instance *i, const void *record, size_t size)
{
	const char *rows = (const char *)record + sizeof(struct wire_stalls_head);
	struct wire_stalls_head head;
	struct wire_stall row;
	int error = 0;

	memcpy(&head, record, sizeof(head));
	if (!head.count || head.count > (size - sizeof(head)) / sizeof(row))
		return -EPROTO;
	for (uint32_t n = 0; !error && n < head.count; n++) {
		memcpy(&row, rows + n * sizeof(row), sizeof(row));
		error = decode_row(i, &row);
	}
	return error;
}

void stalls_window_lost(struct instance *i)
{
	i->window = (struct instance_window){.begun = true, .lost = true};
}

/* Numbers of processes mean something here only where the program counts as we do. */
static void put_holder(const struct instance *i, const struct wire_stalls_refused *r, struct buf *b)
{
	bool stranger = r->refusal == WIRE_STALLS_STRANGER && r->holder_uid != UINT32_MAX;
	uint32_t pid = i->namespaced ? 0 : r->holder_pid;

	if (stranger)
		buf_printf(b, " (user %u%s", r->holder_uid, pid ? ", " : ")");
	if (pid)
		buf_printf(b, "%sprocess %u)", stranger ? "" : " (", pid);
}

void stalls_put_safe_period(uint8_t period, struct buf *b)
{
	if (period && period <= PERIOD_MAX)
		buf_printf(b, "; --stalls=%u is slow enough", 1u << period);
}

static void put_refusal(
	const struct instance *i, const struct wire_stalls_refused *r, struct buf *b)
{
	const struct injected_api *api = i->injected->apis[r->api];

	if (b->size)
		buf_putc(b, '\n');
	buf_puts(b, api->stalls_refusals[r->refusal] ?: "GPU instructions cannot be sampled");
	stalls_put_safe_period(r->period, b);
	if (r->result)
		buf_printf(b, " (%s error %d)", api->tracer, (int)r->result);
	put_holder(i, r, b);
}

void stalls_count_refused(struct instance *i)
{
	if (!i->stalls_refused)
		record_count_loss(i, LOSS_STALLS_REFUSED, 1);
	i->stalls_refused = true;
}

/* Once for each kind, whatever the process; the processes are counted. */
int stalls_decode_refusal(struct instance *i, const struct wire_stalls_refused *r)
{
	struct injected *s = i->injected;
	bool sampled = r->refusal == WIRE_STALLS_STRANGER;
	struct buf *lines = sampled ? &s->contest_lines : &s->refusal_lines;
	uint32_t bit;
	int error = 0;

	if (!r->refusal || r->refusal >= WIRE_STALLS_REFUSALS || !can_be_sampled(i, r->api))
		return -EPROTO;
	if (!sampled) {
		stalls_count_refused(i);
		error = due_note_refusal(i, r->context);
	}
	bit = 1u << r->refusal;
	if (error || s->refused[r->api] & bit)
		return error;
	s->refused[r->api] |= bit;
	put_refusal(i, r, lines);
	return profile_set_meta(s->shared->writer,
		sampled ? META_STALLS_CONTESTED : META_STALLS_REFUSED, buf_text(lines));
}

static void put_held(const struct instance *i, const struct wire_stalls_held *h, struct buf *b)
{
	static const char *const steps[][3] = {
		[WIRE_STALLS_ON] = {"enabling", "configuring", "starting"},
		[WIRE_STALLS_OFF] = {"stopping", "fetching", "disabling"},
	};

	if (h->what == WIRE_STALLS_KEPT) {
		buf_printf(b,
			"sampling goes on in process %" PRIu32
			", which always is in calls of the driver: to stop it then would hang it\n",
			i->pid);
		return;
	}
	if (h->what == WIRE_STALLS_DISARMED) {
		buf_printf(b,
			"process %" PRIu32
			" was armed: to end that it was held for %.1f ms (try %" PRIu32 ")\n",
			i->pid, (double)h->held_ns / NS_PER_MS, h->tries);
		return;
	}
	if (h->what == WIRE_STALLS_ARMED) {
		buf_printf(b,
			"nothing was recorded of process %" PRIu32
			", which is armed: it could not be held to end that, as one of its threads "
			"always may have been in a call of the driver\n",
			i->pid);
		return;
	}
	buf_printf(b,
		"process %" PRIu32
		" was held for %.1f ms to %s sampling of instructions (try %" PRIu32 "; ",
		i->pid, (double)h->held_ns / NS_PER_MS, h->what == WIRE_STALLS_ON ? "begin" : "end",
		h->tries);
	for (int n = 0; n < 3; n++)
		buf_printf(b, "%s %.1f%s", steps[h->what][n], (double)h->steps_ns[n] / NS_PER_MS,
			n < 2 ? ", " : ")\n");
}

int stalls_decode_held(struct instance *i, const struct wire_stalls_held *h)
{
	struct injected *s = i->injected;

	if (!h->what || h->what >= WIRE_STALLS_SWITCHES)
		return -EPROTO;
	if (++s->held_count > HELD_TOLD)
		return 0;
	put_held(i, h, &s->held_lines);
	return profile_set_meta(s->shared->writer, META_STALLS_HELD, buf_text(&s->held_lines));
}

void stalls_decode_release(struct instance *i)
{
	for (uint32_t n = 0; n < WIRE_DEVICES; n++)
		free(i->reasons[n]);
	vec_release(&i->functions);
}
