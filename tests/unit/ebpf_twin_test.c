// SPDX-License-Identifier: MIT
/*
 * Random eBPF programs, each run twice: by a plain interpreter of eBPF, and translated, by the
 * interpreter of PTX, or by a GPU (XPUPROF_TEST_GPU). Results, maps, records and the number of
 * accesses that were not made have to be the same.
 */
#include <errno.h>

#include "base/error.h"
#include "device_memory.h"
#include "ebpf/check/check.h"
#include "ebpf/nvidia/translate.h"
#include "ebpf_random.h"
#include "ebpf_run.h"
#include "ebpf_wrap.h"
#include "tap.h"

#define PROGRAMS 2000u
#define CHANGED	 4000u
#define SMS	 (gpu_is_used() ? ARENA_SMS : 8u)
#define GRID_ID	 77

/* One program both ways. */
struct twin {
	struct ebpf_object object;
	struct flow flow;
	struct analysis analysis;
	struct layout layout;
	struct buf text;
	bool in_lanes; /* all of a warp run it */
	struct run run;
	uint64_t *given;
	uint8_t *arena, *ring;
};

static int translate(struct twin *t, const struct writer *w, const uint32_t *lengths)
{
	static const struct check_options check;
	static const struct layout_options layout = {LAYOUT_THREADS, LAYOUT_MAP_BYTES};
	struct body_options body = {.keeps_cookie = true, .once_per_warp = random_below(2)};
	struct buf text = BUF_INIT;
	int error;

	program_make(&t->object, EBPF_AT_ENTRY, w->insns, lengths);
	error = flow_build(&t->flow, &t->object, &t->object.programs.items[0], random_below(2));
	error = error ?: ebpf_check(&t->analysis, &t->flow, &check);
	error = error ?: layout_make(&t->layout, &t->object, &t->analysis, 1, &layout);
	error = error ?: body_translate(&text, &t->flow, &t->analysis, &t->layout, &body);
	if (!error)
		ebpf_wrap(&t->text, &text);
	t->in_lanes = ebpf_is_for_lanes(&text);
	buf_release(&text);
	return error;
}

/* Memory as the library would make it, and the same for the other. */
static void prepare(struct twin *t)
{
	struct arena_header *header;
	const struct map_place *ring = &t->layout.maps[RING];

	run_prepare(&t->run, &t->object);
	t->arena = device_memory(t->layout.size);
	header = (struct arena_header *)t->arena;
	t->given = device_memory((EBPF_NUMBERS + EBPF_WORDS) * 8);
	t->given[0] = (uint64_t)(uintptr_t)t->arena;
	for (int i = 0; i < 12; i++)
		t->given[4 + i] = t->run.arguments[i] =
			random_below(3) ? random_u64() : random_below(70);
	t->given[EBPF_NUMBERS] = 1;
	memcpy(t->run.arrays[CONSTANTS], program_constants, sizeof(program_constants));
	if (t->layout.maps[CONSTANTS].is_used)
		memcpy(t->arena + t->layout.maps[CONSTANTS].offset, program_constants,
			sizeof(program_constants));
	if (ring->is_used) {
		t->ring = device_memory(ring->stride * SMS);
		header->addresses[RING] = (uint64_t)(uintptr_t)t->ring;
	}
}

/* A value of an array, over all its copies: a sum, or the one that is not zeros. */
static void read_value(const struct twin *t, int map, uint32_t index, uint8_t *ret, uint32_t size)
{
	const struct map_place *p = &t->layout.maps[map];

	memset(ret, 0, size);
	for (uint32_t copy = 0; copy < p->copies; copy++) {
		const uint8_t *at =
			t->arena + p->offset + copy * p->stride + index * p->entry_bytes;

		for (uint32_t i = 0; p->sum_bytes == 4 && i < size; i += 4)
			*(uint32_t *)(ret + i) += *(const uint32_t *)(at + i);
		for (uint32_t i = 0; p->sum_bytes != 4 && i < size; i += 8)
			*(uint64_t *)(ret + i) += *(const uint64_t *)(at + i);
	}
}

static bool same_arrays(const struct twin *t)
{
	static const int maps[] = {COUNTS, PER_SM, VARIABLES};
	bool same = true;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		const struct ebpf_map *m = &t->object.maps.items[maps[i]];
		uint8_t value[32];

		for (uint32_t e = 0; t->layout.maps[maps[i]].is_used && e < m->max_entries; e++) {
			read_value(t, maps[i], e, value, m->value_size);
			same &= !memcmp(
				value, t->run.arrays[maps[i]] + e * m->value_size, m->value_size);
		}
	}
	return same;
}

static bool same_hash(struct twin *t)
{
	const struct map_place *p = &t->layout.maps[PAIRS];
	unsigned int here = 0, there = 0;
	bool same = true;

	for (int i = 0; i < RUN_ENTRIES; i++)
		there += t->run.entries[i].there;
	for (uint64_t n = 0; p->is_used && n < (uint64_t)p->copies * p->capacity; n++) {
		const uint8_t *copy = t->arena + p->offset + n / p->capacity * p->stride;
		const uint8_t *entry = copy + n % p->capacity * p->entry_bytes;
		const uint8_t *value = copy + p->values_at + n % p->capacity * p->value_bytes;
		const struct run_entry *e;
		uint32_t state;

		memcpy(&state, entry, 4);
		if (state != ARENA_HASH_THERE)
			continue;
		e = run_find(&t->run, entry + 8, false);
		here++;
		same &= e && !memcmp(e->value, value, 24);
	}
	return same && here == there;
}

/* One SM ran the block: its ring has all records, in their order. */
static bool same_records(const struct twin *t)
{
	const struct map_place *p = &t->layout.maps[RING];
	bool same = true;
	uint64_t found = 0;

	for (uint32_t sm = 0; p->is_used && sm < SMS; sm++) {
		const struct arena_ring *control =
			(const struct arena_ring *)(t->arena + p->offset) + sm;

		found += control->head;
		for (uint64_t i = 0; i < control->head && i < RUN_RECORDS; i++) {
			const uint8_t *at = t->ring + sm * p->stride + i * p->entry_bytes;
			const struct arena_record *record = (const struct arena_record *)at;

			same &= record->sequence == i + 1 &&
				(record->launch == GRID_ID || gpu_is_used()) &&
				record->size == t->run.records[i].size &&
				!memcmp(at + sizeof(*record), t->run.records[i].data, record->size);
		}
	}
	return same && found == t->run.record_count;
}

static uint64_t losses(const struct twin *t, enum arena_loss loss)
{
	uint64_t sum = 0;

	for (uint32_t sm = 0; sm < ARENA_SMS; sm++)
		sum += ((const uint64_t *)(t->arena +
					   ARENA_LOSSES_AT))[sm * ARENA_LOSS_COUNT + loss];
	return sum;
}

static int run_translated(struct twin *t)
{
	uint64_t given = (uint64_t)(uintptr_t)t->given;
	struct sim_ptx_launch l = device_launch(1, t->in_lanes ? 32 : 1, &given);

	l.grid_id = GRID_ID;
	l.sms = SMS;
	return device_run(&t->text, &l);
}

/* What differs, or NULL. */
static const char *compare(struct twin *t)
{
	uint64_t result;

	if (run_translated(t))
		return error_text();
	/* A loop whose count was overwritten: how far it comes is not compared. */
	if (losses(t, ARENA_LOSS_FUEL))
		return NULL;
	result = run_program(&t->run);
	return t->given[1] != result				? "the result"
	       : !same_arrays(t)				? "an array"
	       : !same_hash(t)					? "the hash"
	       : !same_records(t)				? "a record"
	       : losses(t, ARENA_LOSS_BOUNDS) != t->run.guarded ? "the number of guards"
	       : losses(t, ARENA_LOSS_FULL)			? "a hash that is full"
								: NULL;
}

static void release(struct twin *t)
{
	analysis_release(&t->analysis);
	flow_release(&t->flow);
	program_release(&t->object);
	buf_release(&t->text);
	device_release();
}

/* Where XPUPROF_TEST_KEEP names a folder, the text of what differs is put there. */
static void keep(const struct twin *t, int number)
{
	const char *folder = getenv("XPUPROF_TEST_KEEP");
	char path[512];
	FILE *file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%d.ptx", folder, number);
	file = fopen(path, "we");
	if (!file)
		return;
	fwrite(t->text.data, 1, t->text.size, file);
	fclose(file);
}

struct tally {
	unsigned int refused, differ, guarded, in_memory, sums, records, endless, in_lanes;
};

static void run_both(const struct writer *w, const uint32_t *lengths, int number, struct tally *n)
{
	static struct twin t;
	const char *difference;

	memset(&t, 0, sizeof(t));
	if (translate(&t, w, lengths)) {
		if (!n->refused++)
			printf("# %d: %s\n", number, error_text());
		release(&t);
		return;
	}
	prepare(&t);
	difference = compare(&t);
	n->endless += losses(&t, ARENA_LOSS_FUEL) > 0;
	n->guarded += t.run.guarded > 0;
	n->in_memory += t.analysis.frame_in_memory[0];
	n->in_lanes += t.in_lanes && t.layout.maps[COUNTS].is_used;
	n->sums += t.layout.maps[COUNTS].is_sum;
	n->records += t.run.record_count > 0;
	if (difference) {
		keep(&t, number);
		if (n->differ++ < 8)
			printf("# %d: %s\n", number, difference);
	}
	release(&t);
}

/* XPUPROF_TWIN_SCALE: so many times as many programs. */
static unsigned int scaled(unsigned int n)
{
	const char *scale = getenv("XPUPROF_TWIN_SCALE");

	return scale ? n * (unsigned int)atoi(scale) : n;
}

static void translated_programs_do_what_interpreted_ones_do(void)
{
	const unsigned int programs = scaled(PROGRAMS);
	static struct writer w;
	struct tally n = {0};
	uint32_t lengths[4];

	for (unsigned int i = 0; i < programs; i++) {
		write_program(&w, lengths);
		run_both(&w, lengths, (int)i, &n);
	}
	CHECK(!n.differ);
	printf("# %u programs: %u refused, %u differ; %u guarded, %u stacks in memory, %u sums, "
	       "%u sent records, %u in all lanes\n",
		programs, n.refused, n.differ, n.guarded, n.in_memory, n.sums, n.records,
		n.in_lanes);
	/* What is compared is there to be compared. */
	CHECK(n.refused < programs / 20 && n.endless <= programs / 1000);
	CHECK(n.guarded > programs / 20 && n.in_memory > programs / 20);
	CHECK(n.sums > programs / 50 && n.records > programs / 50);
	CHECK(n.in_lanes > programs / 50);
}

/* A value of 8 bytes at 0 or 8, by the first argument; its address was on a stack that is
 * written at a place that is not known. */
static void a_pointer_on_a_stack_in_memory_keeps_its_bounds(void)
{
	static struct writer w;
	struct tally n = {0};
	uint32_t lengths[2] = {0};

	PUT_ALL(&w, LOAD(BPF_DW, 6, 1, 0), LOAD(BPF_DW, 7, 1, 8), ALU(BPF_AND, 6, 8),
		ALU(BPF_AND, 7, 15), PUT(BPF_W, 10, -4, 3), MOVX(2, 10), ALU(BPF_ADD, 2, -4),
		MAP(1, COUNTS), CALL(1), PUT(BPF_DW, 0, 0, 77), STORE(BPF_DW, 10, -16, 0),
		MOVX(3, 10), ALU(BPF_ADD, 3, -64), ALUX(BPF_ADD, 3, 7), PUT(BPF_B, 3, 0, 1),
		LOAD(BPF_DW, 8, 10, -16), ALUX(BPF_ADD, 8, 6), LOAD(BPF_DW, 0, 8, 0), EXIT);
	lengths[0] = w.count;
	for (int i = 0; i < 20; i++)
		run_both(&w, lengths, i, &n);
	CHECK(!n.refused && !n.differ && n.in_memory == 20);
	CHECK(n.guarded > 2 && n.guarded < 18);
}

/* Whether it ran to its end, where the interpreter of PTX knows every byte that it may touch. */
static bool ran(struct twin *t, int number)
{
	int error;

	prepare(t);
	error = run_translated(t);
	if (!error)
		return true;
	printf("# %d: %d: %s\n", number, error, error_text());
	keep(t, number);
	return false;
}

static bool is_whole(const struct writer *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		const struct bpf_insn *insn = &w->insns[i];

		if (insn_is_wide(insn) && (++i == w->count || insn[1].code))
			return false;
		/* What reading an object makes sure of. */
		if ((insn_refers_to_map(insn) && (uint32_t)insn->imm > NO_GPU_MAP) ||
			insn->src_reg > 10)
			return false;
	}
	return true;
}

static bool leads_to_functions(const struct writer *w, const uint32_t *lengths)
{
	for (uint32_t i = 0; i < w->count; i++) {
		const struct bpf_insn *insn = &w->insns[i];
		bool leads = insn_is_function_call(insn) ||
			     (insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC);

		if (leads && insn->imm && insn->imm != (int32_t)lengths[0] &&
			insn->imm != (int32_t)(lengths[0] + lengths[1]))
			return false;
	}
	return true;
}

static void what_passes_the_check_does_no_harm(void)
{
	static struct writer w;
	static struct twin t;
	const unsigned int changed = scaled(CHANGED);
	unsigned int passed = 0, harmful = 0;
	uint32_t lengths[4];

	for (unsigned int i = 0; i < changed && harmful < 8; i++) {
		memset(&t, 0, sizeof(t));
		write_program(&w, lengths);
		change_program(&w);
		if (!is_whole(&w) || !leads_to_functions(&w, lengths))
			continue;
		if (!translate(&t, &w, lengths)) {
			passed++;
			harmful += !ran(&t, (int)(PROGRAMS + i));
		}
		release(&t);
	}
	printf("# %u changed programs passed, %u did harm\n", passed, harmful);
	CHECK(!harmful && passed > changed / 10);
}

int main(void)
{
	RUN(translated_programs_do_what_interpreted_ones_do);
	RUN(a_pointer_on_a_stack_in_memory_keeps_its_bounds);
	if (!gpu_is_used())
		RUN(what_passes_the_check_does_no_harm);
	return tap_end();
}
