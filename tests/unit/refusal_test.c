// SPDX-License-Identifier: MIT
/* What is told of a BPF program that the kernel does not take. */
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "bpf/empty.skel.h"
#include "capture/programs.h"
#include "bpfload/refusal.h"
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

/* Loads of larger programs that a signal is to interrupt. */
static int interruptions;

/* Comes before the C library's, which libbpf calls. */
long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long args[6];
	va_list list;

	va_start(list, number);
	for (int n = 0; n < 6; n++)
		args[n] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && args[0] == BPF_PROG_LOAD && interruptions &&
		((const union bpf_attr *)args[1])->insn_cnt > 100) {
		interruptions--;
		errno = EAGAIN;
		return -1;
	}
	return real(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

static int load_interrupted(int count)
{
	const struct capture_options options = {.sample_hz = 99};
	int error;

	interruptions = count;
	error = programs_check(&options, false);
	interruptions = 0;
	return error;
}

static void interruptions_that_end_let_programs_load(void)
{
	if (!can_load())
		SKIP("BPF programs cannot be loaded here");
	else
		CHECK(!load_interrupted(12)); /* libbpf tries 10 times */
}

static void interruptions_without_an_end_are_told_as_what_they_are(void)
{
	if (!can_load()) {
		SKIP("BPF programs cannot be loaded here");
	} else {
		CHECK(load_interrupted(INT_MAX) == -EAGAIN);
		CHECK_TEXT(error_text(), "cannot load BPF programs: signals interrupt it again and "
					 "again (is this process "
					 "being stopped and continued?)");
	}
}

int main(void)
{
	libbpf_set_print(say_nothing);
	RUN(a_refused_program_is_named_with_the_verifiers_last_words);
	RUN(nothing_is_said_of_programs_that_load);
	RUN(interruptions_that_end_let_programs_load);
	RUN(interruptions_without_an_end_are_told_as_what_they_are);
	return tap_end();
}
