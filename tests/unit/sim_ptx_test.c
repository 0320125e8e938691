// SPDX-License-Identifier: MIT
/*
 * The PTX interpreter beside C: kernels of tests/data/ptx/compute.cu, compiled by nvcc, give what
 * the same code gives when this compiler has compiled it.
 */
#include <errno.h>

#include "../data/ptx/compute.h"
#include "base/error.h"
#include "device_memory.h"
#include "random.h"
#include "tap.h"

static struct sim_ptx *module;

static int run(const char *name, const struct sim_ptx_launch *l)
{
	const struct sim_ptx_kernel *k = sim_ptx_kernel(module, name);
	int error = k ? sim_ptx_run(k, l) : -ENOENT;

	if (error)
		printf("# %s: %d: %s\n", name, error, error_text());
	return error;
}

#define COUNT 20000

static void integers_are_what_c_computes(void)
{
	uint32_t *a = device_memory(COUNT * 4), *b = device_memory(COUNT * 4);
	uint64_t *out = device_memory((COUNT + 1) * 8), wrong = 0;
	struct {
		void *a, *b, *out;
		int n;
	} params = {a, b, out, COUNT};
	struct sim_ptx_launch l = device_launch((COUNT + 127) / 128, 128, &params);

	for (int i = 0; i < COUNT; i++) {
		a[i] = (uint32_t)(random_u64() >> 32) >> (i & 31);
		b[i] = (uint32_t)(random_u64() >> 32) >> (i / 32 & 31);
	}
	CHECK(!run("integers", &l));
	for (int i = 0; i < COUNT; i++)
		wrong += out[i] != mixed_integers(a[i], b[i]);
	CHECK(wrong == 0);
	CHECK(out[COUNT] == 0);
	device_release();
}

static void floats_are_what_c_computes(void)
{
	float *a = device_memory(COUNT * 4), *b = device_memory(COUNT * 4);
	double *out = device_memory(COUNT * 8);
	uint64_t wrong = 0;
	struct {
		void *a, *b, *out;
		int n;
	} params = {a, b, out, COUNT};
	struct sim_ptx_launch l = device_launch((COUNT + 255) / 256, 256, &params);

	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)(int32_t)(random_u64() >> 32) / (float)(1 << (20 + i % 11));
		b[i] = (float)(int32_t)(random_u64() >> 32) / (float)(1 << (20 + i / 11 % 11));
	}
	CHECK(!run("floats", &l));
	for (int i = 0; i < COUNT; i++)
		wrong += out[i] != mixed_floats(a[i], b[i]);
	CHECK(wrong == 0);
	device_release();
}

static void a_product_of_matrices_meets_at_barriers(void)
{
	enum { N = 64 };
	float *a = device_memory(N * N * 4), *b = device_memory(N * N * 4),
	      *c = device_memory(N * N * 4);
	struct {
		void *a, *b, *c;
		int n;
	} params = {a, b, c, N};
	struct sim_ptx_launch l = device_launch(0, 0, &params);
	int wrong = 0;

	memcpy(l.grid, (uint32_t[]){N / 16, N / 16, 1}, sizeof(l.grid));
	memcpy(l.block, (uint32_t[]){16, 16, 1}, sizeof(l.block));
	for (int i = 0; i < N * N; i++) {
		a[i] = (float)(i % 37) / 7;
		b[i] = (float)(i % 41) / 11;
	}
	CHECK(!run("multiply", &l));
	for (int i = 0; i < N * N; i++) {
		float sum = 0;

		for (int k = 0; k < N; k++)
			sum += a[i / N * N + k] * b[k * N + i % N];
		wrong += sum != c[i];
	}
	CHECK(wrong == 0);
	device_release();
}

static void a_sum_goes_through_shuffles_shared_memory_and_atomics(void)
{
	int *in = device_memory(COUNT * 4);
	int64_t *out = device_memory(8), expected = 0;
	struct {
		void *in, *out;
		int n;
	} params = {in, out, COUNT};
	struct sim_ptx_launch l = device_launch((COUNT + 255) / 256, 256, &params);

	l.dynamic_shared_bytes = 256 / 32 * 4;
	for (int i = 0; i < COUNT; i++)
		expected += in[i] = i * 7919 % 10007 - 5000;
	CHECK(!run("sum", &l));
	CHECK(*out == expected);
	*out = 0;
	l.dynamic_shared_bytes = 0; /* what a kernel has not asked for is not there */
	CHECK(run("sum", &l) == -EFAULT);
	device_release();
}

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

static void threads_leave_early_and_loop_for_different_times(void)
{
	enum { N = 1000 };
	int *in = device_memory(N * 4), *out = device_memory(N * 4), wrong = 0;
	struct {
		void *in, *out;
		int n;
	} params = {in, out, N};
	struct sim_ptx_launch l = device_launch((N + 95) / 96, 96, &params);

	for (int i = 0; i < N; i++)
		in[i] = i + 1;
	CHECK(!run("diverge", &l));
	for (int i = 0; i < N; i++)
		wrong += out[i] != diverged(i + 1);
	CHECK(wrong == 0);
	device_release();
}

static void check_lane(const int *in, const unsigned int *out, int i)
{
	unsigned int odd = 0, same = 0, two = 0;
	int first = i & ~31, v = in[i];
	bool seven = false, small = true, all = true;

	for (int k = 0; k < 32; k++) {
		int other = in[first + k];

		odd |= (unsigned int)(other & 1) << k;
		same |= (unsigned int)(other == v) << k;
		two += !(other & 1) && other & 2;
		seven |= other == 7;
		small &= other < 100;
		all &= other >> 8 == v >> 8;
	}
	CHECK(out[0] == odd && out[1] == same);
	CHECK(out[2] == (unsigned int)in[first + (v & 31)]);
	CHECK(out[3] == (unsigned int)(i % 8 >= 3 ? in[i - 3] : v));
	CHECK(out[4] == seven + 2u * small);
	CHECK(out[5] == (all ? 0xffffffffu + 1 : 0));
	CHECK(out[6] == (v & 1 ? odd : two));
	CHECK(out[7] == (__builtin_ctz(same) == (i & 31)));
}

static void lanes_of_a_warp_vote_match_and_shuffle(void)
{
	enum { N = 128 };
	int *in = device_memory(N * 4);
	unsigned int *out = device_memory(N * 32);
	struct {
		void *in, *out;
	} params = {in, out};
	struct sim_ptx_launch l = device_launch(1, N, &params);

	for (int i = 0; i < N; i++)
		in[i] = i < 32 ? i * i % 13 : i < 64 ? 7 : i * 37 % 300;
	CHECK(!run("lanes", &l));
	for (int i = 0; i < N; i++)
		check_lane(in, out + i * 8, i);
	device_release();
}

static void lanes_that_wait_for_each_other_go_on(void)
{
	int *words = device_memory(8);
	struct {
		void *word, *count;
	} params = {words, words + 1};
	struct sim_ptx_launch l = device_launch(3, 64, &params);

	CHECK(!run("lock", &l));
	CHECK(words[0] == 0 && words[1] == 3 * 64);
	device_release();
}

struct pair {
	long long a;
	int b[3];
};

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void functions_are_called_with_structs_and_by_themselves(void)
{
	static const struct pair table[4] = {
		{1, {2, 3, 4}}, {5, {6, 7, 8}}, {-9, {-10, -11, -12}}, {13, {14, 15, 16}}};
	enum { N = 64, BY = -3 };
	long long *out = device_memory(N * 8);
	struct {
		void *out;
		struct pair q;
		short by;
	} params = {out, {1000000, {1, 2, 300}}, BY};
	struct sim_ptx_launch l = device_launch(1, N, &params);
	size_t bytes = 0;
	int *counter = sim_ptx_variable(module, "counter", &bytes), wrong = 0;

	CHECK(counter && bytes == 4 && *counter == 100);
	CHECK(!run("calls", &l));
	for (int i = 0; i < N; i++) {
		int own = 0;

		for (int k = 0; k < 8; k++)
			if (((k * 3 + i) & 7) == (i & 7))
				own = k * k;
		wrong += out[i] != table[i & 3].a * BY + (table[i & 3].b[i % 3] + BY) +
					   300000000LL + fibonacci(i & 7) + own * 1000;
	}
	CHECK(wrong == 0);
	CHECK(counter && *counter == 100 + N * (N - 1) / 2);
	device_release();
}

static void an_access_outside_of_memory_ends_the_launch(void)
{
	int *in = device_memory(64 * 4), *out = device_memory(64 * 4);
	struct {
		void *in, *out;
	} params = {in, out};
	struct sim_ptx_launch l = device_launch(1, 64, &params);

	CHECK(run("outside", &l) == -EFAULT);
	CHECK(strstr(error_text(), "outside of memory: global address 0x") &&
		strstr(error_text(), "thread 32,0,0 of block 0,0,0") &&
		strstr(error_text(), "ld.global"));
	l.block[0] = 32;
	CHECK(!run("outside", &l));
	params.out = (char *)out + 2;
	CHECK(run("outside", &l) == -ERANGE);
	device_release();
}

static void parameters_lie_where_the_abi_has_them(void)
{
	const struct sim_ptx_kernel *k = sim_ptx_kernel(module, "calls");
	size_t bytes;

	CHECK(k && sim_ptx_param_count(k) == 3 && sim_ptx_params_bytes(k) == 34);
	CHECK(sim_ptx_param(k, 1, &bytes) == 8 && bytes == 24);
	CHECK(sim_ptx_param(k, 2, &bytes) == 32 && bytes == 2);
	CHECK(!sim_ptx_kernel(module, "fibonacci") && !sim_ptx_kernel(module, "nothing"));
}

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"

/* Loads and runs text for one block; the error. */
static int run_text(const char *body, void *param, uint32_t threads, uint64_t fuel)
{
	char text[4096];
	struct sim_ptx_launch l = device_launch(1, threads, &param);
	struct sim_ptx *m;
	int error;

	snprintf(text, sizeof(text), HEAD "%s\n}\n", body);
	error = sim_ptx_load(text, strlen(text), &m);
	if (error)
		return error;
	l.fuel = fuel;
	error = sim_ptx_run(sim_ptx_kernel(m, "k"), &l);
	sim_ptx_free(m);
	return error;
}

static void what_is_not_interpreted_is_named(void)
{
	CHECK(run_text(".reg .b32 %r<4>; tex.2d.v4.f32.f32 {%r1}, [p, {%r1}];", NULL, 1, 0) ==
		-ENOTSUP);
	CHECK_TEXT(error_text(), "PTX line 6: an instruction that is not interpreted: "
				 "'tex.2d.v4.f32.f32 {%r1}, [p, {%r1}]'");
	CHECK(run_text(".reg .b16 %h<4>; add.f16 %h1, %h1, %h1;", NULL, 1, 0) == -ENOTSUP);
	CHECK(run_text(".reg .f32 %f<4>; add.rz.f32 %f1, %f1, %f1;", NULL, 1, 0) == -ENOTSUP);
	CHECK(run_text("barrier.cluster.arrive;", NULL, 1, 0) == -ENOTSUP);
	CHECK(run_text("call f, ();", NULL, 1, 0) == -ENOTSUP);
	CHECK(run_text("bra nowhere;", NULL, 1, 0) == -EINVAL);
	CHECK(run_text("mov.u32 %r1, 5;", NULL, 1, 0) == -EINVAL);
	CHECK(strstr(error_text(), "a name that is not declared"));
	CHECK(run_text(".reg .b32 %r<4>; add.u32 %r1, %r2;", NULL, 1, 0) == -EINVAL);
}

static void a_kernel_that_cannot_end_is_ended(void)
{
	static const char forever[] = "L: bra L;";
	static const char crossed[] =
		".reg .b32 %r<4>; .reg .pred %p; mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0;\n"
		"@%p bra A; bar.sync 0, 64; ret;\nA: bar.sync 1, 64;";
	static const char alone[] =
		".reg .b32 %r<4>; .reg .pred %p; mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0;\n"
		"@%p shfl.sync.idx.b32 %r1, %r1, 0, 31, 3; L: @!%p bra L;";

	CHECK(run_text(forever, NULL, 32, 10000) == -ETIME);
	CHECK(run_text(crossed, NULL, 64, 0) == -EDEADLK);
	CHECK(run_text(alone, NULL, 2, 100000) == -ETIME);
	CHECK(run_text("trap;", NULL, 1, 0) == -ECANCELED);
	CHECK_TEXT(error_text(), "a trap: 'trap;'");
}

static void carries_and_tables_of_branches_work(void)
{
	static const char text[] =
		".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p;\n"
		"ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 "
		"%rd1, %rd1, %rd2;\n"
		"mov.u64 %rd3, 0xffffffffffffffff; cvt.u64.u32 %rd4, %r1;\n"
		"add.cc.u64 %rd5, %rd3, %rd4; addc.u64 %rd6, 5, 0;\n"
		"st.v2.u64 [%rd1], {%rd5, %rd6};\n"
		"and.b32 %r2, %r1, 3; setp.eq.u32 %p, %r1, 9; @%p bra OUT;\n"
		"{ T: .branchtargets A, B, C, D; brx.idx %r2, T; }\n"
		"A: mov.u32 %r3, 10; bra STORE;\nB: mov.u32 %r3, 20; bra STORE;\n"
		"C: mov.u32 %r3, 30; bra STORE;\nD: mov.u32 %r3, 40;\n"
		"STORE: st.u32 [%rd1+12], %r3;\nOUT: ret;";
	struct {
		uint64_t low;
		uint32_t high, branch;
	} *out = device_memory(32 * 16);

	CHECK(!run_text(text, out, 32, 0));
	for (uint32_t i = 0; i < 32; i++) {
		CHECK(out[i].low == i - 1ull && out[i].high == 5 + (i > 0));
		CHECK(out[i].branch == (i == 9 ? 0 : (i % 4 + 1) * 10));
	}
	device_release();
}

static void blocks_are_spread_over_multiprocessors_and_know_where_they_are(void)
{
	static const char text[] = ".reg .b64 %rd<9>; .reg .b32 %r<9>;\n"
				   "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 "
				   "%rd2, %r1, 32; add.u64 %rd1, %rd1, %rd2;\n"
				   "mov.u32 %r1, %laneid; mov.u32 %r2, %warpid; mov.u32 %r3, "
				   "%smid; mov.u32 %r4, %lanemask_lt;\n"
				   "st.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; mov.u64 %rd3, "
				   "%globaltimer; st.u64 [%rd1+16], %rd3;\n"
				   "mov.u64 %rd4, %gridid; st.u64 [%rd1+24], %rd4;";
	uint32_t *out = device_memory(70 * 32);

	CHECK(!run_text(text, out, 70, 0));
	for (uint32_t i = 0; i < 70; i++) {
		const uint32_t *o = out + i * 8;

		CHECK(o[0] == i % 32 && o[1] == i / 32 && o[2] == 0 && o[3] == (1u << i % 32) - 1);
		CHECK(o[4] && o[6] == 0);
	}
	device_release();
}

int main(void)
{
	char *text = device_text("tests/data/ptx/compute.ptx");

	if (sim_ptx_load(text, strlen(text), &module)) {
		printf("Bail out! %s\n", error_text());
		return 1;
	}
	RUN(integers_are_what_c_computes);
	RUN(floats_are_what_c_computes);
	RUN(a_product_of_matrices_meets_at_barriers);
	RUN(a_sum_goes_through_shuffles_shared_memory_and_atomics);
	RUN(threads_leave_early_and_loop_for_different_times);
	RUN(lanes_of_a_warp_vote_match_and_shuffle);
	RUN(lanes_that_wait_for_each_other_go_on);
	RUN(functions_are_called_with_structs_and_by_themselves);
	RUN(an_access_outside_of_memory_ends_the_launch);
	RUN(parameters_lie_where_the_abi_has_them);
	RUN(what_is_not_interpreted_is_named);
	RUN(a_kernel_that_cannot_end_is_ended);
	RUN(carries_and_tables_of_branches_work);
	RUN(blocks_are_spread_over_multiprocessors_and_know_where_they_are);
	sim_ptx_free(module);
	free(text);
	return tap_end();
}
