// SPDX-License-Identifier: MIT
/*
 * Kernels of random ways, through loops in which threads wait for each other, run by the
 * interpreter: each thread that enters leaves, and computes what it does without probes.
 */
#include "device_memory.h"
#include "ptx/splice.h"
#include "random.h"
#include "tap.h"

#define THREADS 64
#define KERNELS 1500

#define COUNT(offset)                                                                              \
	"{ .reg .b64 %e; mov.u64 %e, 1; red.global.add.u64 [%xpu_arena+" #offset "], %e; }\n"

static void write_work(struct buf *b)
{
	static const char *const waits[] = {"bar.sync 0;\n", "bar.warp.sync 0xffffffff;\n",
		"vote.sync.any.pred %p2, %p1, 0xffffffff;\n",
		"ld.global.u32 %r5, [%rd1];\nadd.u32 %r5, %r5, %r2;\n"
		"st.global.u32 [%rd1], %r5;\n"};
	uint32_t wait = random_below(8);

	buf_printf(b,
		"mad.lo.s32 %%r2, %%r2, 1664525, %u;\nshr.u32 %%r3, %%r2, %u;\n"
		"xor.b32 %%r2, %%r2, %%r3;\nand.b32 %%r4, %%r2, %u;\n"
		"setp.eq.u32 %%p1, %%r4, 0;\n",
		random_below(1u << 30), 7 + random_below(10), random_below(2) ? 16 : 96);
	if (wait < sizeof(waits) / sizeof(*waits))
		buf_puts(b, waits[wait]);
}

static void write_end_of_block(struct buf *b, uint32_t number, uint32_t blocks)
{
	const char *predicate = random_below(2) ? "@%p1 " : "@!%p1 ";
	uint32_t to = random_below(blocks + 1);

	switch (random_below(12)) {
	case 0:
		buf_printf(b, "bra.uni B%u;\n", to);
		break;
	case 1:
		buf_puts(b, "exit;\n");
		break;
	case 2:
		buf_printf(b, "%sret;\n", predicate);
		break;
	case 3:
		buf_printf(b,
			"and.b32 %%r6, %%r2, 1;\nT%u: .branchtargets B%u, B%u;\n"
			"brx.idx %%r6, T%u;\n",
			number, to, random_below(blocks + 1), number);
		break;
	case 4:
	case 5:
		break;
	default:
		buf_printf(b, "%sbra B%u;\n", predicate, to);
	}
}

static void write_kernel(struct buf *b)
{
	uint32_t blocks = 3 + random_below(8);

	buf_puts(b, ".version 8.0\n.target sm_80\n.address_size 64\n"
		    ".visible .entry k(.param .u64 a)\n{\n.reg .pred %p<3>;\n"
		    ".reg .b32 %r<7>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [a];\n"
		    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
		    "add.s64 %rd1, %rd1, %rd2;\nmad.lo.s32 %r2, %r1, 1103515245, 12345;\n");
	for (uint32_t i = 0; i < blocks; i++) {
		buf_printf(b, "B%u:\n", i);
		if (random_below(4))
			write_work(b);
		write_end_of_block(b, i, blocks);
	}
	buf_printf(b, "B%u:\n%s}\n", blocks, random_below(2) ? "ret;\n" : "");
}

/* What the threads computed; with probes, how often they entered and left. */
struct results {
	uint32_t memory[THREADS];
	uint64_t arena[2];
};

static int run(const struct buf *text, uint64_t fuel, struct results *ret)
{
	void *memory = device_memory(sizeof(ret->memory));
	uint64_t *arena = device_memory(sizeof(ret->arena));
	struct sim_ptx_launch l = device_launch(1, THREADS, &memory);
	struct sim_ptx *m;
	struct ptx_words *words;
	size_t bytes;
	int error = sim_ptx_load(text->data, text->size, &m);

	CHECK(!error);
	if (error)
		return error;
	words = sim_ptx_variable(m, PTX_WORDS, &bytes);
	if (words)
		*words = (struct ptx_words){.arena = (uint64_t)(uintptr_t)arena, .on = 1};
	l.fuel = fuel;
	error = sim_ptx_run(sim_ptx_kernel(m, "k"), &l);
	memcpy(ret->memory, memory, sizeof(ret->memory));
	memcpy(ret->arena, arena, sizeof(ret->arena));
	sim_ptx_free(m);
	device_release();
	return error;
}

static const struct ptx_body bodies[] = {
	{.site = PTX_AT_ENTRY, .pair = PTX_NO_PAIR, .kernels = "*", .text = "{" COUNT(0) "}"},
	{.site = PTX_AT_EXIT, .pair = PTX_NO_PAIR, .kernels = "*", .text = "{" COUNT(8) "}"},
};

/* Whether all is well; those that do not end without probes are not asked. */
static bool holds(const struct buf *text, uint32_t *ended)
{
	const struct ptx_probes probes = {.bodies = bodies, .body_count = 2};
	struct results without, with = {0};
	struct ptx_spliced s = {0};
	bool holds;

	if (run(text, 20000, &without))
		return true;
	++*ended;
	if (ptx_splice(text->data, text->size, &probes, &s))
		return false;
	holds = !run(&s.text, 2000000, &with) && with.arena[0] == THREADS &&
		!memcmp(with.memory, without.memory, sizeof(with.memory)) &&
		(s.unseen_exits ? with.arena[1] <= THREADS : with.arena[1] == THREADS);
	ptx_spliced_release(&s);
	return holds;
}

static void each_thread_that_enters_leaves_or_it_is_counted_that_its_end_is_not_seen(void)
{
	uint32_t ended = 0;

	for (int i = 0; i < KERNELS; i++) {
		struct buf text = BUF_INIT;
		bool good;

		write_kernel(&text);
		good = holds(&text, &ended);
		CHECK(good);
		if (!good)
			printf("# %s\n", buf_text(&text));
		buf_release(&text);
	}
	CHECK(ended > KERNELS / 2);
}

int main(void)
{
	RUN(each_thread_that_enters_leaves_or_it_is_counted_that_its_end_is_not_seen);
	return tap_end();
}
