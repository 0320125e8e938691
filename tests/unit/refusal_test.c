// SPDX-License-Identifier: MIT
/* What is told of a BPF program that the kernel does not take. */
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "base/buf.h"
#include "bpf/empty.skel.h"
#include "capture/refusal.h"
#include "tap.h"

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* The empty program with other instructions, or its own. */
static struct empty_bpf *open_with(struct bpf_insn *instructions, size_t count)
{
	struct empty_bpf *bpf = empty_bpf__open();

	if (bpf && count)
		bpf_program__set_insns(bpf->progs.nothing, instructions, count);
	return bpf;
}

/* Whether BPF programs can be loaded here. */
static bool can_load(void)
{
	struct empty_bpf *bpf = open_with(NULL, 0);
	bool can = bpf && !empty_bpf__load(bpf);

	empty_bpf__destroy(bpf);
	return can;
}

static void a_refused_program_is_named_with_the_verifiers_last_words(void)
{
	struct bpf_insn returns_nothing[] = {{.code = BPF_JMP | BPF_EXIT}};
	struct empty_bpf *bpf = open_with(returns_nothing, 1);
	struct buf why = BUF_INIT;

	if (!can_load()) {
		SKIP("BPF programs cannot be loaded here");
	} else {
		refusal_find(bpf->obj, &why);
		CHECK_TEXT(buf_text(&why), "'nothing': R0 !read_ok");
	}
	buf_release(&why);
	empty_bpf__destroy(bpf);
}

static void nothing_is_said_of_programs_that_load(void)
{
	struct empty_bpf *bpf = open_with(NULL, 0);
	struct buf why = BUF_INIT;

	refusal_find(bpf->obj, &why);
	CHECK_TEXT(buf_text(&why), "");
	buf_release(&why);
	empty_bpf__destroy(bpf);
}

int main(void)
{
	libbpf_set_print(say_nothing);
	RUN(a_refused_program_is_named_with_the_verifiers_last_words);
	RUN(nothing_is_said_of_programs_that_load);
	return tap_end();
}
