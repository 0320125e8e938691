// SPDX-License-Identifier: MIT
/*
 * Our tools, and a program of tests/ebpf/, in kernels that nvcc compiled, which the interpreter of
 * PTX runs: what they count is what was launched, and the kernels compute what they compute
 * without.
 */
#include <errno.h>

#include "base/error.h"
#include "device_memory.h"
#include "ebpf/nvidia/bodies.h"
#include "ebpf/tools/tools.h"
#include "tap.h"

#define BLOCKS	 40u
#define THREADS	 96u
#define ALL	 (BLOCKS * THREADS)
#define SMS	 8u
#define LAUNCH	 1234
#define BODIES	 4
#define ACCESSES 8 /* that have values */
#define COMPUTE	 "tests/data/ptx/compute.ptx"
#define SHAPES	 "tests/data/ptx/shapes-sm75.ptx"

/* A tool, or an object of tests/ebpf/, in a kernel, and what it left. */
struct probed {
	struct ebpf_object *object;
	struct bodies bodies;
	uint8_t *arena;
	uint8_t *rings[EBPF_MAPS_MAX];
	uint64_t kernel; /* hash of its name */
};

static uint32_t most_accesses = ACCESSES;

static int make(struct probed *p, const char *name)
{
	const struct bodies_options options = {
		.layout = {
			.threads = ALL, .map_bytes = LAYOUT_MAP_BYTES, .accesses = most_accesses}};
	const struct ebpf_tool *tool = ebpf_tool_named(name);
	char path[512];
	int error;

	snprintf(path, sizeof(path), EBPF_PROGRAMS "/%s.v3.bpf.o", name);
	error = tool ? ebpf_object_read(&p->object, tool->start, (size_t)(tool->end - tool->start))
		     : ebpf_object_open(&p->object, path);
	return error ?: bodies_make(&p->bodies, p->object, &options);
}

static void fill_arena(struct probed *p)
{
	struct arena_header *header;

	p->arena = device_memory(p->bodies.layout.size);
	header = (struct arena_header *)p->arena;
	for (uint32_t i = 0; i < p->bodies.layout.map_count; i++) {
		const struct map_place *m = &p->bodies.layout.maps[i];

		if (!m->is_used || m->shape != EBPF_RING)
			continue;
		p->rings[i] = device_memory(m->stride * SMS);
		header->addresses[i] = (uint64_t)(uintptr_t)p->rings[i];
	}
}

static int splice(struct probed *p, const char *text, const char *kernel, struct ptx_spliced *ret)
{
	struct ptx_body bodies[BODIES];
	struct ptx_probes probes = {.bodies = bodies};

	vec_foreach (b, &p->bodies.items) {
		body_probe(b, &bodies[probes.body_count]);
		CHECK_TEXT(bodies[probes.body_count].kernels, "*");
		bodies[probes.body_count++].kernels = kernel;
	}
	p->kernel = ptx_kernel_hash(ptx_module_hash(text, strlen(text)), kernel, strlen(kernel));
	return ptx_splice(text, strlen(text), &probes, ret);
}

/* So many blocks and threads in three dimensions, too. */
static bool in_three;
/* Numbers of accesses that were given to modules before. */
static uint64_t first_site;

static int launch(
	const char *text, size_t size, const char *kernel, void *params, const void *arena)
{
	struct sim_ptx_launch l = device_launch(BLOCKS, THREADS, params);
	struct sim_ptx *module = NULL;
	int error = sim_ptx_load(text, size, &module);
	size_t word_bytes;
	struct ptx_words *words = error ? NULL : sim_ptx_variable(module, PTX_WORDS, &word_bytes);

	if (in_three)
		l = (struct sim_ptx_launch){.grid = {5, 4, 2},
			.block = {8, 4, 3},
			.params = l.params,
			.find = l.find,
			.fuel = l.fuel};
	l.sms = SMS;
	l.grid_id = LAUNCH;
	if (words && arena)
		*words = (struct ptx_words){.arena = (uint64_t)(uintptr_t)arena,
			.on = 1,
			.sites = (uint64_t)(uintptr_t)arena + first_site * ARENA_SITE_BYTES};
	error = error ?: sim_ptx_run(sim_ptx_kernel(module, kernel), &l);
	sim_ptx_free(module);
	return error;
}

/* Runs the kernel with the tool; false where that fails. */
static bool run(
	struct probed *p, const char *tool, const char *path, const char *kernel, void *params)
{
	char *text = device_text(path);
	struct ptx_spliced s = {0};
	int error;

	*p = (struct probed){0};
	error = make(p, tool);
	if (!error) {
		fill_arena(p);
		error = splice(p, text, kernel, &s);
	}
	error = error ?: launch(s.text.data, s.text.size, kernel, params, p->arena);
	if (error)
		printf("# %s in %s: %d: %s\n", tool, kernel, error, error_text());
	CHECK(!error);
	ptx_spliced_release(&s);
	free(text);
	return !error;
}

static void finish(struct probed *p)
{
	bodies_release(&p->bodies);
	ebpf_object_close(p->object);
	device_release();
}

static int map_named(const struct probed *p, const char *name)
{
	vec_foreach (m, &p->object->maps)
		if (!strcmp(m->name, name))
			return (int)(m - p->object->maps.items);
	CHECK(false);
	return 0;
}

static uint64_t word_at(const struct probed *p, int map, uint64_t at)
{
	uint64_t word;

	memcpy(&word, p->arena + p->bodies.layout.maps[map].offset + at, sizeof(word));
	return word;
}

/* An entry of an array, added up over all SMs. */
static uint64_t sum_of(const struct probed *p, int map, uint32_t index)
{
	const struct map_place *m = &p->bodies.layout.maps[map];
	uint64_t sum = 0;

	for (uint32_t copy = 0; copy < m->copies; copy++)
		sum += word_at(p, map, copy * m->stride + index * m->entry_bytes);
	return sum;
}

/* The n-th word of all values of a hash whose key's word `k` is `key`; -1: of all. */
static uint64_t hash_sum(const struct probed *p, int map, int k, uint64_t key, uint32_t n)
{
	const struct map_place *m = &p->bodies.layout.maps[map];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < (uint64_t)m->copies * m->capacity; i++) {
		uint64_t copy = i / m->capacity * m->stride, slot = i % m->capacity;
		uint64_t at = copy + slot * m->entry_bytes;
		uint64_t key_at = at + sizeof(struct arena_hash_entry);

		if ((uint32_t)word_at(p, map, at) == ARENA_HASH_THERE &&
			(k < 0 || word_at(p, map, key_at + (uint64_t)k * 8) == key))
			sum += word_at(p, map, copy + m->values_at + slot * m->value_bytes + n * 8);
	}
	return sum;
}

static unsigned int hash_entries(const struct probed *p, int map)
{
	const struct map_place *m = &p->bodies.layout.maps[map];
	unsigned int n = 0;

	for (uint64_t i = 0; i < (uint64_t)m->copies * m->capacity; i++)
		n += (uint32_t)word_at(p, map,
			     i / m->capacity * m->stride + i % m->capacity * m->entry_bytes) !=
		     ARENA_HASH_FREE;
	return n;
}

/* The n-th word of the value of an access, added up over all SMs. */
static uint64_t word_of_site(const struct probed *p, uint32_t site, uint32_t n)
{
	int map = map_named(p, "accesses");
	const struct map_place *m = &p->bodies.layout.maps[map];
	uint64_t sum = 0;

	for (uint32_t copy = 0; copy < m->copies; copy++)
		sum += word_at(p, map, copy * m->stride + site * ARENA_SITE_BYTES + n * 8);
	return sum;
}

static uint64_t word_of_sites(const struct probed *p, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t site = 0; site < ACCESSES; site++)
		sum += word_of_site(p, site, n);
	return sum;
}

static uint64_t all_losses(const struct probed *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ARENA_SMS * ARENA_LOSS_COUNT; i++)
		sum += ((const uint64_t *)(p->arena + ARENA_LOSSES_AT))[i];
	return sum;
}

/* Threads of add(a, b, c, n) with i < n load twice and store once. */
struct add {
	float *a, *b, *c;
	int n;
};

static struct add add_params(int n)
{
	struct add params = {
		device_memory(ALL * 4), device_memory(ALL * 4), device_memory(ALL * 4), n};

	for (unsigned int i = 0; i < ALL; i++) {
		params.a[i] = (float)i;
		params.b[i] = 2;
	}
	return params;
}

static bool added(const struct add *params)
{
	for (int i = 0; i < (int)ALL; i++)
		if (params->c[i] != (i < params->n ? (float)i + 2 : 0))
			return false;
	return true;
}

static bool run_add(struct probed *p, const char *tool, int n)
{
	struct add params = add_params(n);

	return run(p, tool, SHAPES, "vector_add", &params) && added(&params);
}

static void times_are_of_all_threads(void)
{
	struct probed p;
	uint64_t threads = 0;

	CHECK(run_add(&p, "blocktime", ALL - 50));
	for (uint32_t i = 0; i < 64; i++)
		threads += sum_of(&p, map_named(&p, "nanoseconds"), i);
	CHECK(threads == ALL);
	finish(&p);
}

static void accesses_are_those_that_threads_made(void)
{
	const int n = ALL - 50;
	struct probed p;
	int map;

	CHECK(run_add(&p, "memtrace", n));
	map = map_named(&p, "by_size");
	for (uint32_t i = 0; i < p.bodies.layout.maps[map].capacity; i++)
		CHECK(sum_of(&p, map, i) == (i == 4 ? 2u * n : i == 64 + 4 ? 1u * n : 0));
	finish(&p);
}

struct block {
	uint64_t start, end, number, kernel;
	uint32_t sm;
};

static void each_block_is_recorded_once(void)
{
	bool seen[BLOCKS] = {false};
	unsigned int records = 0;
	struct probed p;
	int ring;

	CHECK(run_add(&p, "blocks", ALL));
	ring = map_named(&p, "blocks");
	for (uint32_t sm = 0; sm < SMS; sm++) {
		const struct map_place *m = &p.bodies.layout.maps[ring];
		uint64_t count = word_at(&p, ring, sm * sizeof(struct arena_ring));

		for (uint64_t i = 0; i < count; i++, records++) {
			const uint8_t *at = p.rings[ring] + sm * m->stride + i * m->entry_bytes;
			const struct arena_record *record = (const struct arena_record *)at;
			struct block b;

			memcpy(&b, at + sizeof(*record), sizeof(b));
			CHECK(record->sequence == i + 1 && record->launch == LAUNCH);
			CHECK(b.sm == sm && b.kernel == p.kernel && b.start && b.end >= b.start);
			CHECK(b.number < BLOCKS && !seen[b.number]);
			if (b.number < BLOCKS)
				seen[b.number] = true;
		}
	}
	CHECK(records == BLOCKS);
	finish(&p);
}

static void each_sm_has_its_own_load(void)
{
	uint64_t threads = 0, warps = 0, busy = 0;
	struct probed p;
	int map;

	/* One warp leaves in two parts. */
	CHECK(run_add(&p, "smload", ALL - 50));
	map = map_named(&p, "load");
	for (uint32_t sm = 0; sm < ARENA_SMS; sm++) {
		uint64_t here = word_at(&p, map, sm * p.bodies.layout.maps[map].stride);

		CHECK(!(here % THREADS) && (sm < SMS || !here));
		threads += here;
		warps += word_at(&p, map, sm * p.bodies.layout.maps[map].stride + 8);
		busy += here > 0;
	}
	CHECK(threads == ALL && warps == ALL / 32 && busy > 1);
	finish(&p);
}

static void each_thread_has_its_own_value(void)
{
	struct probed p;
	bool all = true;

	CHECK(run_add(&p, "threadhist", ALL));
	for (uint32_t i = 0; i < ALL; i++)
		all &= word_at(&p, map_named(&p, "runs"), i * 8) == 1;
	CHECK(all && !all_losses(&p));
	finish(&p);
}

/* Each thread has a number of its own, below the number of all. */
static void threads_in_three_dimensions_have_numbers_of_their_own(void)
{
	struct add params = add_params(20);
	struct probed p;
	bool all = true;

	in_three = true;
	CHECK(run(&p, "threadhist", SHAPES, "vector_add", &params));
	in_three = false;
	for (uint32_t i = 0; i < ALL; i++)
		all &= word_at(&p, map_named(&p, "runs"), i * 8) == 1;
	CHECK(all && !all_losses(&p));
	finish(&p);
}

static void lines_are_those_of_the_stride(void)
{
	struct add params = add_params(ALL);
	struct {
		const int *in;
		int *out;
	} strided;
	const uint64_t warps = ALL / 32;
	struct probed p;

	/* 32 numbers of 4 bytes beside each other are one line; with gaps of one, two. */
	CHECK(run(&p, "coalesce", SHAPES, "vector_add", &params));
	for (uint32_t site = 0; site < 3; site++)
		CHECK(word_of_site(&p, site, 0) == warps);
	CHECK(word_of_sites(&p, 0) == 3 * warps);
	CHECK(!word_of_sites(&p, 1) && !word_of_sites(&p, 2));
	finish(&p);
	strided.in = device_memory(THREADS * 8);
	strided.out = device_memory(THREADS * 4);
	CHECK(run(&p, "coalesce", COMPUTE, "outside", &strided));
	CHECK(word_of_sites(&p, 0) == 2 * warps);
	CHECK(!word_of_sites(&p, 1) && word_of_sites(&p, 2) == warps);
	finish(&p);
}

/* All of what is not a place is behind the places, in what each SM has. */
static void accesses_without_a_place_leave_the_others_as_they_are(void)
{
	const uint64_t warps = ALL / 32;
	struct probed p;

	for (first_site = 2; first_site <= ACCESSES; first_site += 2) {
		CHECK(run_add(&p, "coalesce", ALL));
		for (uint32_t site = 0; site < ACCESSES; site++)
			CHECK(word_of_site(&p, site, 0) ==
				(site >= first_site && site < first_site + 3 ? warps : 0));
		CHECK(!all_losses(&p));
		finish(&p);
	}
	first_site = 0;
	most_accesses = 2;
	CHECK(run_add(&p, "coalesce", ALL));
	CHECK(word_of_site(&p, 0, 0) == warps && word_of_site(&p, 1, 0) == warps);
	CHECK(word_of_site(&p, 2, 0) == warps);
	CHECK(p.bodies.layout.maps[map_named(&p, "accesses")].capacity == 2);
	finish(&p);
	most_accesses = ACCESSES;
}

static void places_of_threads_are_all_counted(void)
{
	struct probed p;

	CHECK(run_add(&p, "threadscheduling", ALL));
	CHECK(hash_sum(&p, map_named(&p, "threads"), -1, 0, 0) == ALL);
	CHECK(!all_losses(&p));
	finish(&p);
}

/* Lanes of a warp, warps and SMs at once: nothing is made twice, and nothing is lost. */
static void entries_that_all_threads_make_are_made_once(void)
{
	struct probed p;
	int map;

	CHECK(run_add(&p, "contended", ALL));
	map = map_named(&p, "counts");
	CHECK(!p.bodies.layout.maps[map].is_sum);
	for (uint64_t key = 0; key < 9; key++)
		CHECK(hash_sum(&p, map, 0, key, 0) == (ALL - key + 8) / 9);
	CHECK(hash_sum(&p, map, -1, 0, 0) == ALL && hash_entries(&p, map) == 9);
	CHECK(!all_losses(&p));
	finish(&p);
}

static void ends_of_threads_are_sent_or_counted(void)
{
	uint64_t sent = 0, dropped = 0;
	struct probed p;
	int ring;

	CHECK(run_add(&p, "kernelretsnoop", ALL));
	ring = map_named(&p, "ends");
	for (uint32_t sm = 0; sm < SMS; sm++) {
		sent += word_at(&p, ring, sm * sizeof(struct arena_ring));
		dropped += word_at(&p, ring,
			sm * sizeof(struct arena_ring) + offsetof(struct arena_ring, dropped));
	}
	CHECK(sent == ALL && !dropped);
	finish(&p);
}

/* Threads that part and leave at different places: lanes that are together, and what they do. */
struct diverge {
	int *in, *out, n;
};

static struct diverge diverge_params(void)
{
	struct diverge params = {device_memory(ALL * 4), device_memory(ALL * 4), (int)ALL - 40};

	for (unsigned int i = 0; i < ALL; i++)
		params.in[i] = (int)(i * 7 % 1000 + 1);
	return params;
}

static void lanes_that_are_together_are_all_lanes(void)
{
	struct diverge params = diverge_params();
	uint64_t accesses, groups = 0, lanes = 0;
	struct probed p;

	CHECK(run(&p, "memtrace", COMPUTE, "diverge", &params));
	accesses = sum_of(&p, map_named(&p, "by_size"), 4) +
		   sum_of(&p, map_named(&p, "by_size"), 64 + 4);
	finish(&p);
	params = diverge_params();
	CHECK(run(&p, "divergence", COMPUTE, "diverge", &params));
	for (uint32_t i = 0; i <= 32; i++) {
		groups += sum_of(&p, map_named(&p, "active_lanes"), i);
		lanes += i * sum_of(&p, map_named(&p, "active_lanes"), i);
	}
	CHECK(lanes == accesses);
	finish(&p);
	params = diverge_params();
	CHECK(run(&p, "coalesce", COMPUTE, "diverge", &params));
	CHECK(word_of_sites(&p, 0) == groups);
	CHECK(32 * groups - word_of_sites(&p, 1) == accesses);
	CHECK(groups > accesses / 32 + 100 && groups < accesses);
	finish(&p);
}

/* The kernel's results with each tool, beside those without. */
static void no_tool_changes_what_a_kernel_computes(void)
{
	int *expected = calloc(ALL, sizeof(*expected));
	char *text = device_text(COMPUTE);
	struct diverge params = diverge_params();

	CHECK(!launch(text, strlen(text), "diverge", &params, NULL));
	memcpy(expected, params.out, ALL * sizeof(*expected));
	device_release();
	for (size_t i = 0; ebpf_tool(i); i++) {
		struct probed p;
		bool same;

		params = diverge_params();
		same = run(&p, ebpf_tool(i)->name, COMPUTE, "diverge", &params) &&
		       !memcmp(params.out, expected, ALL * sizeof(*expected));
		if (!same || all_losses(&p))
			printf("# %s: %llu losses\n", ebpf_tool(i)->name,
				(unsigned long long)all_losses(&p));
		CHECK(same && !all_losses(&p));
		finish(&p);
	}
	free(expected);
	free(text);
}

int main(void)
{
	RUN(times_are_of_all_threads);
	RUN(accesses_are_those_that_threads_made);
	RUN(each_block_is_recorded_once);
	RUN(each_sm_has_its_own_load);
	RUN(each_thread_has_its_own_value);
	RUN(threads_in_three_dimensions_have_numbers_of_their_own);
	RUN(lines_are_those_of_the_stride);
	RUN(accesses_without_a_place_leave_the_others_as_they_are);
	RUN(places_of_threads_are_all_counted);
	RUN(entries_that_all_threads_make_are_made_once);
	RUN(ends_of_threads_are_sent_or_counted);
	RUN(lanes_that_are_together_are_all_lanes);
	RUN(no_tool_changes_what_a_kernel_computes);
	return tap_end();
}
