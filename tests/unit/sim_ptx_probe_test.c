// SPDX-License-Identifier: MIT
/*
 * Kernels with probes, run by the interpreter: what probes count is what was launched, and kernels
 * compute what they do without.
 */
#include <errno.h>

#include "base/error.h"
#include "device_memory.h"
#include "ptx/splice.h"
#include "tap.h"

#define ARENA_WORDS 4096

static char *compute, *shapes; /* nvcc's text */
static uint64_t *arena;

/* Adds a 32-bit register, or 1, to a word of the arena: so many bytes from its beginning. */
#define ADD(offset, value)                                                                         \
	"{ .reg .b64 %e; .reg .b32 %f; mov.u32 %f, " value "; cvt.u64.u32 %e, %f;\n"               \
	"red.global.add.u64 [%xpu_arena+" #offset "], %e; }\n"

static struct ptx_body body(enum ptx_site site, bool once_per_warp, const char *text)
{
	return (struct ptx_body){.site = site,
		.once_per_warp = once_per_warp,
		.pair = PTX_NO_PAIR,
		.kernels = "*",
		.text = text};
}

static void attach(struct ptx_words *words)
{
	words->arena = (uint64_t)(uintptr_t)arena;
	words->on = 1;
}

/* The text with probes, loaded; attached where `attached`. */
static struct sim_ptx *load(
	const char *text, const struct ptx_body *bodies, size_t n, bool attached)
{
	struct ptx_probes probes = {.bodies = bodies, .body_count = n};
	struct ptx_spliced s = {0};
	struct sim_ptx *m = NULL;
	size_t bytes = 0;
	struct ptx_words *words;

	arena = device_memory(ARENA_WORDS * 8);
	if (ptx_splice(text, strlen(text), &probes, &s) ||
		sim_ptx_load(s.text.data, s.text.size, &m))
		printf("# %s\n", error_text());
	ptx_spliced_release(&s);
	words = m ? sim_ptx_variable(m, PTX_WORDS, &bytes) : NULL;
	CHECK(words && bytes == sizeof(*words) && !words->arena && !words->on);
	if (words && attached)
		attach(words);
	return m;
}

static void run(struct sim_ptx *m, const char *name, const struct sim_ptx_launch *l)
{
	const struct sim_ptx_kernel *k = m ? sim_ptx_kernel(m, name) : NULL;
	int error = k ? sim_ptx_run(k, l) : -ENOENT;

	if (error)
		printf("# %s\n", k ? error_text() : "no such kernel");
	CHECK(!error);
}

#define N 1000

static int diverged(int v)
{
	int out = 0;

	if (v % 5 == 0)
		return 0;
	while (v != 1) {
		v = v % 2 ? 3 * v + 1 : v / 2;
		if (out++ == 40)
			return out;
	}
	return out + 1000;
}

/* Runs the kernel whose threads leave at four places; how many results are wrong. */
static int run_diverge(struct sim_ptx *m)
{
	int *in = device_memory(N * 4), *out = device_memory(N * 4), wrong = 0;
	struct {
		void *in, *out;
		int n;
	} params = {in, out, N};
	struct sim_ptx_launch l = device_launch((N + 95) / 96, 96, &params);

	for (int i = 0; i < N; i++)
		in[i] = i + 1;
	run(m, "diverge", &l);
	for (int i = 0; i < N; i++)
		wrong += out[i] != diverged(i + 1);
	return wrong;
}

#define THREADS ((N + 95) / 96 * 96)

static void threads_are_counted_where_they_enter_and_where_they_leave(void)
{
	const struct ptx_body bodies[] = {
		body(PTX_AT_ENTRY, false, "{" ADD(0, "%xpu_lanes") "}"),
		body(PTX_AT_ENTRY, true, "{" ADD(8, "%xpu_lanes") ADD(16, "1") "}"),
		body(PTX_AT_EXIT, false, "{" ADD(24, "%xpu_lanes") "}"),
		body(PTX_AT_EXIT, true, "{" ADD(32, "%xpu_lanes") ADD(40, "1") "}"),
	};
	struct sim_ptx *m = load(compute, bodies, 4, true);

	CHECK(run_diverge(m) == 0);
	CHECK(arena[0] == THREADS && arena[1] == THREADS && arena[2] == THREADS / 32);
	CHECK(arena[3] == THREADS && arena[4] == THREADS);
	CHECK(arena[5] >= THREADS / 32 && arena[5] <= THREADS);
	sim_ptx_free(m);
	device_release();
}

static void a_probe_that_is_detached_does_nothing(void)
{
	const struct ptx_body bodies[] = {
		body(PTX_AT_ENTRY, true, "{" ADD(0, "1") "}"),
		body(PTX_AT_EXIT, false, "{" ADD(8, "1") "}"),
		body(PTX_AT_ACCESS, false, "{" ADD(16, "1") "}"),
	};
	struct sim_ptx *m = load(compute, bodies, 3, false);

	CHECK(run_diverge(m) == 0);
	for (int i = 0; i < ARENA_WORDS; i++)
		CHECK(arena[i] == 0);
	sim_ptx_free(m);
	device_release();
}

/* An entry detaches all that come after it: those that entered before have their exits. */
static void no_exit_runs_without_its_entry(void)
{
	const struct ptx_body bodies[] = {
		body(PTX_AT_ENTRY, false,
			"{ .reg .b64 %e; .reg .b32 %z; .reg .pred %p; mov.u32 %z, 0;\n"
			"atom.global.add.u64 %e, [%xpu_arena], 1;\n"
			"setp.lt.u64 %p, %e, 200; @%p bra L; mov.u64 %e, __xpuprof_words;\n"
			"st.u32 [%e+8], %z;\nL: }"),
		body(PTX_AT_EXIT, false, "{" ADD(8, "1") "}"),
	};
	struct sim_ptx *m = load(compute, bodies, 2, true);

	CHECK(run_diverge(m) == 0);
	CHECK(arena[0] >= 200 && arena[0] < THREADS && arena[1] == arena[0]);
	sim_ptx_free(m);
	device_release();
}

/* The lowest lane's cookie is every lane's, also of those that leave when that one has left. */
static void the_cookie_of_a_warp_reaches_each_of_its_lanes(void)
{
	struct ptx_body bodies[] = {
		body(PTX_AT_ENTRY, true,
			"{ .reg .b32 %a, %b, %c; mov.u32 %a, %tid.x; mov.u32 %b, %ctaid.x;\n"
			"mad.lo.u32 %a, %b, 96, %a; mov.b32 %c, 7; mov.b64 %xpu_cookie, {%a, %c}; "
			"}"),
		body(PTX_AT_EXIT, false,
			"{ .reg .b32 %a, %b; .reg .b64 %e; mov.u32 %a, %tid.x; mov.u32 %b, "
			"%ctaid.x;\n"
			"mad.lo.u32 %a, %b, 96, %a; mad.wide.u32 %e, %a, 8, %xpu_arena;\n"
			"st.global.u64 [%e], %xpu_cookie; }"),
	};
	struct sim_ptx *m;
	int wrong = 0;

	bodies[0].pair = bodies[1].pair = 3;
	m = load(compute, bodies, 2, true);
	CHECK(run_diverge(m) == 0);
	for (uint64_t i = 0; i < THREADS; i++)
		wrong += arena[i] != (7ull << 32 | i / 32 * 32);
	CHECK(wrong == 0);
	sim_ptx_free(m);
	device_release();
}

static void a_thread_keeps_its_own_cookie(void)
{
	struct ptx_body bodies[] = {
		body(PTX_AT_ENTRY, false,
			"{ .reg .b32 %a; mov.u32 %a, %tid.x; cvt.u64.u32 %xpu_cookie, %a; }"),
		body(PTX_AT_EXIT, false,
			"{ .reg .b32 %a; .reg .b64 %e; mov.u32 %a, %tid.x; cvt.u64.u32 %e, %a;\n"
			"sub.u64 %e, %e, %xpu_cookie; add.u64 %e, %e, 1; red.global.add.u64 "
			"[%xpu_arena], %e; }"),
	};
	struct sim_ptx *m;

	bodies[0].pair = bodies[1].pair = 0;
	m = load(compute, bodies, 2, true);
	CHECK(run_diverge(m) == 0);
	CHECK(arena[0] == THREADS);
	sim_ptx_free(m);
	device_release();
}

/* A body that keeps, by the access's number: how often, bytes, kind, the address in one thread. */
static void accesses_have_their_addresses_sizes_and_kinds(void)
{
	static const char text[] =
		"{ .reg .b64 %e, %s; .reg .b32 %t; .reg .pred %q; mad.wide.u32 %e, %xpu_insn, 32, "
		"%xpu_arena;\n"
		"mov.u64 %s, 1; red.global.add.u64 [%e], %s; cvt.u64.u32 %s, %xpu_size; "
		"red.global.add.u64 [%e+8], %s;\n"
		"cvt.u64.u32 %s, %xpu_kind; st.global.u64 [%e+16], %s; mov.u32 %t, %tid.x;\n"
		"setp.eq.u32 %q, %t, 5; @%q st.global.u64 [%e+24], %xpu_addr; }";
	struct ptx_body bodies[] = {body(PTX_AT_ACCESS, false, text)};
	float *a = device_memory(400), *b = device_memory(400), *c = device_memory(400);
	struct {
		void *a, *b, *c;
		int n;
	} params = {a, b, c, 90};
	struct sim_ptx_launch l = device_launch(1, 128, &params);
	struct sim_ptx *m = load(shapes, bodies, 1, true);

	for (int i = 0; i < 90; i++)
		a[i] = b[i] = (float)i;
	run(m, "vector_add", &l);
	CHECK(c[89] == 178 && c[90] == 0);
	for (int i = 0; i < 3; i++)
		CHECK(arena[i * 4] == 90 && arena[i * 4 + 1] == 360 &&
			arena[i * 4 + 2] == (i == 2 ? PTX_WRITES : PTX_READS));
	/* nvcc loads b first */
	CHECK(arena[3] == (uint64_t)(uintptr_t)&b[5] && arena[7] == (uint64_t)(uintptr_t)&a[5] &&
		arena[11] == (uint64_t)(uintptr_t)&c[5]);
	CHECK(arena[12] == 0);
	sim_ptx_free(m);
	device_release();
}

/* What loads overwrite, their own addresses and the predicates of others, is what it was then. */
static void loads_whose_bodies_stand_behind_them_keep_addresses_and_predicates(void)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n"
		"	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<2>;\n"
		"	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 6;\n"
		"	ld.global.u64 %rd1, [%rd1]; @%p1 ld.global.u32 %r2, [%rd1+16];\n"
		"	setp.ge.u32 %p1, %r1, 10; @!%p1 ld.global.u64 %rd1, [%rd1+8];\n"
		"	mov.b64 %rd1, 0; setp.ne.u64 %p1, %rd1, 0;\n	ret;\n}\n";
	/* By the access's number: how often, and the sum of the addresses. */
	struct ptx_body bodies[] = {body(PTX_AT_LOAD, false,
		"{ .reg .b64 %e, %s; mad.wide.u32 %e, %xpu_insn, 16, %xpu_arena; mov.u64 %s, 1;\n"
		"red.global.add.u64 [%e], %s; red.global.add.u64 [%e+8], %xpu_addr; }")};
	uint64_t *first = device_memory(8), *second = device_memory(24);
	struct sim_ptx_launch l = device_launch(1, 32, &first);
	struct sim_ptx *m = load(text, bodies, 1, true);

	first[0] = (uint64_t)(uintptr_t)second;
	run(m, "k", &l);
	CHECK(arena[0] == 32 && arena[1] == 32 * (uint64_t)(uintptr_t)first);
	CHECK(arena[2] == 6 && arena[3] == 6 * (uint64_t)(uintptr_t)(second + 2));
	CHECK(arena[4] == 10 && arena[5] == 10 * (uint64_t)(uintptr_t)(second + 1));
	sim_ptx_free(m);
	device_release();
}

/* Of loads that all lanes make and such that few make, in one place. */
static void each_load_has_the_lanes_that_make_it(void)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n"
		"	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<2>;\n"
		"	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 6;\n"
		"	ld.global.u32 %r2, [%rd1]; @%p1 ld.global.u32 %r2, [%rd1];\n"
		"	ld.global.u32 %r3, [%rd1]; @!%p1 ld.u32 %r2, [%rd1];\n	ret;\n}\n";
	struct ptx_body bodies[] = {body(PTX_AT_LOAD, true,
		"{ .reg .b64 %e, %s; mad.wide.u32 %e, %xpu_insn, 8, %xpu_arena;\n"
		"cvt.u64.u32 %s, %xpu_lanes; red.global.add.u64 [%e], %s; }")};
	uint32_t *out = device_memory(8);
	struct sim_ptx_launch l = device_launch(1, 64, &out);
	struct sim_ptx *m = load(text, bodies, 1, true);

	run(m, "k", &l);
	CHECK(arena[0] == 64 && arena[1] == 6 && arena[2] == 64 && arena[3] == 58);
	sim_ptx_free(m);
	device_release();
}

/* The kernel writes and reads through a pointer to global (n is 3), shared (4) or local memory. */
static void generic_accesses_count_where_they_are_of_global_memory(void)
{
	struct ptx_body bodies[] = {body(PTX_AT_ACCESS, true, "{" ADD(0, "%xpu_lanes") "}")};
	struct sim_ptx *m = load(shapes, bodies, 1, true);
	int *out = device_memory(64 * 4);

	for (int n = 3; n <= 5; n++) {
		struct {
			void *out;
			int n;
		} params = {out, n};
		struct sim_ptx_launch l = device_launch(1, 64, &params);

		arena[0] = 0;
		run(m, "generic", &l);
		CHECK(arena[0] == (n == 3 ? 3 * 64 : 64));
	}
	sim_ptx_free(m);
	device_release();
}

static void a_predicate_that_is_false_hides_its_access(void)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n"
		"	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<2>;\n"
		"	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 20;\n"
		"	@%p1 red.global.add.u32 [%rd1+4], 1; @!%p1 st.global.u32 [%rd1], %r1;\n	"
		"ret;\n}\n";
	struct ptx_body bodies[] = {body(PTX_AT_ACCESS, false,
		"{ .reg .b64 %e; mad.wide.u32 %e, %xpu_kind, 8, %xpu_arena; red.global.add.u64 "
		"[%e], 1; }")};
	uint32_t *out = device_memory(8);
	struct sim_ptx_launch l = device_launch(1, 96, &out);
	struct sim_ptx *m = load(text, bodies, 1, true);

	run(m, "k", &l);
	CHECK(out[1] == 20 && arena[PTX_WRITES | PTX_ATOMIC] == 20 && arena[PTX_WRITES] == 76);
	sim_ptx_free(m);
	device_release();
}

/* Each lane stores `stride` words behind the one before it. */
static void lines_of_a_warp_follow_from_its_stride(void)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p, .param "
		".u32 stride)\n{\n"
		"	.reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
		"	ld.param.u64 %rd1, [p]; ld.param.u32 %r2, [stride]; mov.u32 %r1, %tid.x;\n"
		"	mul.lo.u32 %r1, %r1, %r2; mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
		"	st.global.u32 [%rd2], %r1;\n	ret;\n}\n";
	static const int strides[] = {0, 1, 2, 3, 8, 32, 33};
	struct ptx_body bodies[] = {body(PTX_AT_STORE, true, "{" ADD(0, "%xpu_lines") "}")};
	struct sim_ptx *m;

	bodies[0].sm = 70;
	m = load(text, bodies, 1, true);
	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		struct {
			void *out;
			int stride;
		} params = {device_memory(33 * 64 * 4 + 4), strides[i]};
		struct sim_ptx_launch l = device_launch(1, 64, &params);
		uint64_t lines = 0;

		for (int lane = 0; lane < 64; lane++)
			lines += lane % 32 == 0 ||
				 lane * strides[i] / 32 != (lane - 1) * strides[i] / 32;
		arena[0] = 0;
		run(m, "k", &l);
		CHECK(arena[0] == lines);
	}
	sim_ptx_free(m);
	device_release();
}

struct packet {
	char tag[3];
	short pair[2];
	double weight[2];
};

static void bodies_get_the_arguments_of_the_kernel(void)
{
	char text[1024] = "{ .reg .b64 %e;\n";
	struct ptx_body bodies[] = {body(PTX_AT_EXIT, true, text)};
	struct __attribute__((packed)) {
		char a, pad1[7];
		struct packet p;
		short b, pad2;
		float f;
		double d;
		struct packet q;
		long long *out;
	} params = {.a = -2, .p = {"xyz", {3, 4}, {5, 6}}, .b = -300, .f = 1.5f, .d = 2.5};
	struct sim_ptx_launch l = device_launch(1, 32, &params);
	struct sim_ptx *m;
	uint64_t expected[12] = {0xfe}, bits;

	for (int i = 0; i < 12; i++)
		sprintf(text + strlen(text), "st.global.u64 [%%xpu_arena+%d], %%xpu_arg%d;\n",
			i * 8, i);
	strcat(text, "st.global.u32 [%xpu_arena+96], %xpu_argc; st.global.u64 [%xpu_arena+104], "
		     "%xpu_kernel; }");
	m = load(shapes, bodies, 1, true);
	params.out = device_memory(32 * 8);
	run(m, "parameters", &l);
	memcpy(&expected[1], &params.p, 8);
	expected[2] = (uint16_t)-300;
	memcpy(&expected[3], &params.f, 4);
	memcpy(&expected[4], &params.d, 8);
	memcpy(&bits, &params.out, 8);
	expected[6] = bits;
	for (int i = 0; i < 12; i++)
		CHECK(arena[i] == expected[i]);
	CHECK(arena[12] == 7);
	CHECK(arena[13] ==
		ptx_kernel_hash(ptx_module_hash(shapes, strlen(shapes)), "parameters", 10));
	CHECK(params.out[31] == -2 + 'y' + 4 + 6 - 300 + 1 + 2);
	sim_ptx_free(m);
	device_release();
}

static void bodies_call_functions_of_their_own(void)
{
	static const struct ptx_declaration declarations[] = {
		{".global .u32 not_needed;"},
		{".func (.reg .b64 %r) thrice (.reg .b64 %v)\n{\n	mul.lo.u64 %r, %v, 3;\n	"
		 "ret;\n}"},
	};
	struct ptx_body bodies[] = {body(PTX_AT_ENTRY, true,
		"{ .reg .b64 %e; cvt.u64.u32 %e, %xpu_lanes; call (%e), thrice, (%e);\n"
		"red.global.add.u64 [%xpu_arena], %e; }")};
	struct ptx_probes probes = {bodies, 1, declarations, 2};
	struct ptx_spliced s = {0};
	struct sim_ptx *m = NULL;
	size_t bytes;
	struct ptx_words *words;

	bodies[0].declarations = 2;
	CHECK(!ptx_splice(compute, strlen(compute), &probes, &s));
	CHECK(!strstr(buf_text(&s.text), "not_needed"));
	CHECK(!sim_ptx_load(s.text.data, s.text.size, &m));
	arena = device_memory(8);
	words = sim_ptx_variable(m, PTX_WORDS, &bytes);
	attach(words);
	CHECK(run_diverge(m) == 0);
	CHECK(arena[0] == 3 * THREADS);
	ptx_spliced_release(&s);
	sim_ptx_free(m);
	device_release();
}

int main(void)
{
	compute = device_text("tests/data/ptx/compute.ptx");
	shapes = device_text("tests/data/ptx/shapes-sm75.ptx");
	RUN(threads_are_counted_where_they_enter_and_where_they_leave);
	RUN(a_probe_that_is_detached_does_nothing);
	RUN(no_exit_runs_without_its_entry);
	RUN(the_cookie_of_a_warp_reaches_each_of_its_lanes);
	RUN(a_thread_keeps_its_own_cookie);
	RUN(accesses_have_their_addresses_sizes_and_kinds);
	RUN(loads_whose_bodies_stand_behind_them_keep_addresses_and_predicates);
	RUN(each_load_has_the_lanes_that_make_it);
	RUN(generic_accesses_count_where_they_are_of_global_memory);
	RUN(a_predicate_that_is_false_hides_its_access);
	RUN(lines_of_a_warp_follow_from_its_stride);
	RUN(bodies_get_the_arguments_of_the_kernel);
	RUN(bodies_call_functions_of_their_own);
	free(compute);
	free(shapes);
	return tap_end();
}
