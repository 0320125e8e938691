// SPDX-License-Identifier: MIT
/*
 * Random kernels, run by the interpreter as they are, with probes at their accesses, and with code
 * of their own that counts what probes would: all three compute the same, and both counts agree.
 */
#include "device_memory.h"
#include "ptx_random.h"
#include "tap.h"

#define ROUNDS 100

/* Where the access's row is; `to`: a register. */
#define ROW(to) "mov.u32 %l, %xpu_insn; mad.wide.u32 " to ", %l, 64, %xpu_arena;\n"

static const char each_thread[] =
	"{ .reg .b64 %a, %c, %v, %o; .reg .b32 %l, %m, %n; .reg .pred %p;\n" ROW(
		"%c") "mov.u64 %a, %xpu_addr;\n" RANDOM_ADDRESS("%a", "%v",
		"%p") "mov.b64 %v, 1; red.global.add.u64 [%c], %v; red.global.add.u64 [%c+8], %a;\n"
		      "cvt.u64.u32 %v, %xpu_size; red.global.add.u64 [%c+16], %v;\n"
		      "cvt.u64.u32 %v, %xpu_kind; red.global.add.u64 [%c+24], %v;\n"
		      "mov.u32 %l, %ctaid.x; mov.u32 %m, %ntid.x; mov.u32 %n, %tid.x; mad.lo.u32 "
		      "%l, %l, %m, %n;\n"
		      "mad.wide.u32 %o, %l, 8, %xpu_arena; add.u64 %o, %o, 32768; ld.global.u64 "
		      "%v, [%o];\n"
		      "mad.lo.u64 %v, %v, 31, %a; cvt.u64.u32 %c, %xpu_insn; add.u64 %v, %v, %c;\n"
		      "st.global.u64 [%o], %v; }";
_Static_assert(RANDOM_ORDER == 32768 && RANDOM_ROW == 64, "as the text has it");

static const char lowest_lane[] = "{ .reg .b64 %c, %v; .reg .b32 %l;\n" ROW(
	"%c") "cvt.u64.u32 %v, %xpu_lanes; red.global.add.u64 [%c+32], %v;\n"
	      "mov.b64 %v, 1; red.global.add.u64 [%c+40], %v;\n"
	      "cvt.u64.u32 %v, %xpu_lines; red.global.add.u64 [%c+48], %v; }";

static const char all_lanes[] =
	"{ .reg .b64 %c, %v; .reg .b32 %l; .reg .pred %p; setp.ne.u32 %p, %xpu_below, 0;\n"
	"@%p bra xpu_rest;\n" ROW("%c") "popc.b32 %l, %xpu_active; cvt.u64.u32 %v, %l; "
					"red.global.add.u64 [%c+56], %v; }";

/* Lanes leave it one after another, without a trace. */
static const char parting[] =
	"{ .reg .b32 %l; .reg .b64 %v; .reg .pred %p; cvt.u32.u64 %l, %xpu_addr;\n"
	"and.b32 %l, %l, 12; M: sub.u32 %l, %l, 4; setp.gt.s32 %p, %l, 0; @%p bra M;\n"
	"setp.eq.s32 %p, %l, 0; @%p bra xpu_rest;\n"
	"mov.b64 %v, 0; red.global.add.u64 [%xpu_arena], %v; }";

static struct ptx_body body(enum ptx_site site, bool once_per_warp, const char *text)
{
	return (struct ptx_body){.site = site,
		.once_per_warp = once_per_warp,
		.pair = PTX_NO_PAIR,
		.kernels = "*",
		.text = text,
		.sm = 70};
}

/* What a kernel left behind. */
struct outcome {
	uint64_t *truth;
	uint8_t *memory;
	uint8_t sums[32];
};

static const char *wrong; /* what went wrong in this round, or NULL */

static void need(bool good, const char *what)
{
	if (!good && !wrong)
		wrong = what;
}

static struct random_kernel make(struct buf *text, uint64_t seed, bool truth)
{
	struct random_kernel k = {.text = text, .truth = truth, .sm = 80};

	random_state = seed;
	k.site = (enum ptx_site)(PTX_AT_LOAD + random_below(3));
	text->size = 0;
	put_kernel(&k);
	return k;
}

static void check_lines(const struct ptx_spliced *s, const struct random_kernel *k)
{
	size_t n = 0;

	for (uint32_t i = 0; i < k->accesses; i++) {
		const struct ptx_access_line *l = &s->lines.items[n];

		if (random_fits(k->site, k->kinds[i]))
			need(n++ < s->lines.count && l->insn == i && l->line == k->lines[i] &&
					l->kind == k->kinds[i],
				"an access is not what it was");
	}
	need(n == s->lines.count, "accesses are seen that are none");
}

/* In place of the text. */
static void splice(struct buf *text, const struct random_kernel *k)
{
	const struct ptx_body bodies[] = {
		body(k->site, false, parting),
		body(k->site, false, each_thread),
		body(k->site, true, all_lanes),
		body(k->site, true, lowest_lane),
	};
	struct ptx_probes probes = {.bodies = bodies, .body_count = 4};
	struct ptx_spliced s = {0};
	int error = ptx_splice(text->data, text->size, &probes, &s);

	need(!error, error_text());
	if (error)
		return;
	check_lines(&s, k);
	text->size = 0;
	buf_append(text, s.text.data, s.text.size);
	ptx_spliced_release(&s);
}

static void set_memory(const struct outcome *o)
{
	uint32_t *words = (uint32_t *)o->memory;
	uint64_t *pointers = (uint64_t *)(o->memory + RANDOM_POINTERS);

	memset(o->truth, 0, RANDOM_TRUTH);
	memset(o->memory, 0, RANDOM_MEMORY);
	for (uint32_t i = 0; i < RANDOM_POINTERS / 4; i++)
		words[i] = i * 2654435761u >> 5;
	for (uint32_t i = 0; i < 64; i++)
		pointers[i] = (uint64_t)(uintptr_t)(pointers + i * 7 % 32);
}

static void attach(struct sim_ptx *m, const struct outcome *o)
{
	size_t bytes;
	struct ptx_words *words = sim_ptx_variable(m, PTX_WORDS, &bytes);

	if (!words)
		return;
	words->arena = (uint64_t)(uintptr_t)o->truth;
	words->on = 1;
}

static void run(const struct buf *text, struct outcome *o)
{
	struct {
		void *memory, *truth;
	} params = {o->memory, o->truth};
	struct sim_ptx_launch l = device_launch(2, RANDOM_THREADS / 2, &params);
	struct sim_ptx *m;
	size_t bytes;
	int error;

	set_memory(o);
	error = sim_ptx_load(text->data, text->size, &m);
	need(!error, error_text());
	if (error)
		return;
	attach(m, o);
	error = sim_ptx_run(sim_ptx_kernel(m, "k"), &l);
	need(!error, error_text());
	memcpy(o->sums, (uint8_t *)sim_ptx_variable(m, "g", &bytes) + 32, sizeof(o->sums));
	sim_ptx_free(m);
}

/* All that was left is in memory of the same addresses: they are what kernels store and count. */
static struct outcome copy_of(const struct outcome *o)
{
	struct outcome copy = *o;

	copy.truth = malloc(RANDOM_TRUTH);
	copy.memory = malloc(RANDOM_MEMORY);
	memcpy(copy.truth, o->truth, RANDOM_TRUTH);
	memcpy(copy.memory, o->memory, RANDOM_MEMORY);
	return copy;
}

static void release(struct outcome *o)
{
	free(o->truth);
	free(o->memory);
}

static void need_same_results(
	const struct outcome *a, const struct outcome *b, const char *otherwise)
{
	need(!memcmp(a->memory, b->memory, RANDOM_MEMORY) &&
			!memcmp(a->sums, b->sums, sizeof(a->sums)),
		otherwise);
}

/* How many accesses the kernel has. */
static uint32_t check_kernel(struct outcome *o, uint64_t seed)
{
	struct buf text = {0};
	struct random_kernel k = make(&text, seed, false);
	struct outcome bare, probed;

	wrong = NULL;
	run(&text, o);
	bare = copy_of(o);
	splice(&text, &k);
	run(&text, o);
	probed = copy_of(o);
	make(&text, seed, true);
	run(&text, o);
	need_same_results(&bare, o, "the kernel that counts has other results");
	need_same_results(&bare, &probed, "the kernel with probes has other results");
	need(!memcmp(probed.truth, o->truth, RANDOM_TRUTH), "probes count otherwise");
	release(&bare);
	release(&probed);
	buf_release(&text);
	return k.accesses;
}

static void probes_of_random_kernels_count_what_these_do_and_change_nothing(void)
{
	struct outcome o = {device_memory(RANDOM_TRUTH), device_memory(RANDOM_MEMORY), {0}};
	uint32_t accesses = 0;

	for (uint64_t i = 1; i <= ROUNDS; i++) {
		accesses += check_kernel(&o, i * 0x9e3779b97f4a7c15ull);
		if (wrong)
			printf("# kernel %llu: %s\n", (unsigned long long)i, wrong);
		CHECK(!wrong);
	}
	CHECK(accesses > ROUNDS * 20);
	device_release();
}

int main(void)
{
	RUN(probes_of_random_kernels_count_what_these_do_and_change_nothing);
	return tap_end();
}
