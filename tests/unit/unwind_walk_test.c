// SPDX-License-Identifier: MIT
/* The walker over our own stack, with the tables of the files that are mapped here. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "own_image.h"
#include "tap.h"
#include "unwind/unwind.h"

#define STACK_BYTES (128u << 10)

/* What was taken at one moment. */
struct moment {
	ucontext_t context;
	uint8_t stack[STACK_BYTES];
	size_t stack_size;
	uintptr_t expected[WALK_FRAMES_MAX]; /* as libgcc's unwinder says */
	int expected_count;
};

static struct own_image image;
static struct moment moment;

static _Unwind_Reason_Code add_expected(struct _Unwind_Context *context, void *unused)
{
	/* It tells of _start's caller as well, at 0. */
	if (_Unwind_GetIP(context) && moment.expected_count < WALK_FRAMES_MAX)
		moment.expected[moment.expected_count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Not backtrace(): sanitizers put frames of their own in its place. */
static __attribute__((noinline)) void take(void)
{
	extern void *__libc_stack_end;
	struct iovec here, there;
	uintptr_t sp;

	moment.expected_count = 0;
	_Unwind_Backtrace(add_expected, NULL);
	getcontext(&moment.context);
	sp = (uintptr_t)moment.context.uc_mcontext.gregs[REG_RSP];
	moment.stack_size = (uintptr_t)__libc_stack_end - sp;
	if (moment.stack_size > STACK_BYTES)
		moment.stack_size = STACK_BYTES;
	/* Not by memcpy: sanitizers have parts of the stack that nobody may read. */
	here = (struct iovec){moment.stack, moment.stack_size};
	there = (struct iovec){(void *)sp, moment.stack_size};
	CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)moment.stack_size);
}

static struct unwind_start start_of(const struct moment *m)
{
	const greg_t *registers = m->context.uc_mcontext.gregs;

	return (struct unwind_start){
		.pc = (uint64_t)registers[REG_RIP],
		.sp = (uint64_t)registers[REG_RSP],
		.fp = (uint64_t)registers[REG_RBP],
		.exact = true,
		.stack = m->stack,
		.stack_size = m->stack_size,
		.mappings = image.mappings,
		.mapping_count = image.mapping_count,
		.words = image.words,
		.word_count = image.word_count,
	};
}

static void check_frames(void)
{
	struct unwind_start start = start_of(&moment);
	uint64_t frames[WALK_FRAMES_MAX];
	enum walk_end end;
	uint32_t depth = unwind_walk(&start, frames, &end);

	CHECK(end == WALK_COMPLETE);
	CHECK(depth == (uint32_t)moment.expected_count);
	CHECK(frames[0] & WALK_FRAME_EXACT);
	for (uint32_t i = 1; i < depth && i < (uint32_t)moment.expected_count; i++)
		CHECK((frames[i] & WALK_FRAME_ADDRESS) == moment.expected[i]);
}

static int compare_and_take(const void *a, const void *b)
{
	if (!moment.expected_count)
		take();
	return *(const int *)a - *(const int *)b;
}

static void a_stack_through_the_c_library_is_walked_to_its_end(void)
{
	int items[] = {3, 1, 2};

	moment.expected_count = 0;
	qsort(items, 3, sizeof(items[0]), compare_and_take);
	CHECK(moment.expected_count > 4);
	check_frames();
}

static void on_signal(int signal)
{
	take();
}

static void a_stack_through_a_signal_handler_is_walked_to_its_end(void)
{
	struct unwind_start start;
	uint64_t frames[WALK_FRAMES_MAX];
	enum walk_end end;
	uint32_t depth;
	int exact = 0;

	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	start = start_of(&moment);
	depth = unwind_walk(&start, frames, &end);
	CHECK(end == WALK_COMPLETE);
	CHECK(depth == (uint32_t)moment.expected_count);
	for (uint32_t i = 1; i < depth; i++)
		exact += (frames[i] & WALK_FRAME_EXACT) != 0;
	CHECK(exact == 2); /* the trampoline, and what it interrupted */
}

/* As it is for a moment, when a handler is left: the trampoline's pc, with the stack of what was
 * interrupted. */
static void a_trampoline_without_its_frame_ends_the_walk(void)
{
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start;
	enum walk_end end;
	uint32_t depth;

	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	start = start_of(&moment);
	depth = unwind_walk(&start, frames, &end);
	for (uint32_t i = 1; i < depth; i++)
		if (frames[i] & WALK_FRAME_EXACT) {
			start.pc = frames[i] & WALK_FRAME_ADDRESS;
			break;
		}
	CHECK(start.pc != (uint64_t)moment.context.uc_mcontext.gregs[REG_RIP]);
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_UNKNOWN);
}

static void a_stack_that_was_cut_ends_with_a_fault(void)
{
	struct unwind_start start;
	uint64_t frames[WALK_FRAMES_MAX];
	enum walk_end end;

	take();
	start = start_of(&moment);
	start.stack_size = 8;
	CHECK(unwind_walk(&start, frames, &end) >= 1);
	CHECK(end == WALK_FAULT);
}

/* The C library's vfork (sanitizers have their own) has its return address in rdi, because the
 * child would overwrite it on the stack. */
static void a_return_address_in_a_register_is_found_there(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	const uint8_t *code = libc ? dlsym(libc, "vfork") : NULL;
	uint64_t registers[16] = {0}, frames[WALK_FRAMES_MAX];
	struct unwind_start start;
	enum walk_end end;
	int popped = 0;

	while (code && popped < 16 && code[popped] != 0x5f)
		popped++;
	if (!code || popped == 16)
		return (void)SKIP("this C library's vfork does not pop rdi");
	take();
	start = start_of(&moment);
	registers[5] = moment.expected[1];
	start.pc = (uint64_t)code + (uint64_t)popped + 1;
	start.registers = registers;
	start.register_count = 16;
	CHECK(unwind_walk(&start, frames, &end) >= 2);
	CHECK(frames[1] == moment.expected[1]);
	start.registers = NULL;
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_UNSUPPORTED);
}

#ifdef __x86_64__
/* rax is the frame pointer of a function that calls another one. */
__asm__(".pushsection .text\n"
	"scratch_caller:\n"
	".cfi_startproc\n"
	"mov %rsp, %rax\n"
	".cfi_def_cfa_register rax\n"
	"sub $64, %rsp\n"
	"call scratch_callee\n"
	"scratch_called: mov %rax, %rsp\n"
	".cfi_def_cfa_register rsp\n"
	"ret\n"
	".cfi_endproc\n"
	"scratch_callee:\n"
	".cfi_startproc\n"
	"nop\n"
	"ret\n"
	".cfi_endproc\n"
	".popsection\n");
extern const char scratch_callee[], scratch_called[];

static void a_caller_in_assembly_keeps_a_scratch_register_of_its_own(void)
{
	uint64_t stack[12] = {(uintptr_t)scratch_called}, sp, registers[16] = {0};
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start;
	enum walk_end end;

	take();
	start = start_of(&moment);
	sp = start.sp;
	stack[9] = moment.expected[1];
	registers[0] = sp + 9 * sizeof(*stack);
	start.pc = (uintptr_t)scratch_callee;
	start.exact = true;
	start.stack = (const uint8_t *)stack;
	start.stack_size = sizeof(stack);
	start.registers = registers;
	start.register_count = 16;
	CHECK(unwind_walk(&start, frames, &end) >= 3);
	CHECK(frames[1] == (uintptr_t)scratch_called && frames[2] == moment.expected[1]);
	registers[0] = sp + (1 << 20);
	CHECK(unwind_walk(&start, frames, &end) == 2 && end == WALK_UNSUPPORTED);
}
#endif

static void a_pending_table_and_an_unknown_address_are_told_apart(void)
{
	struct walk_mapping pending = {
		.start = 0x1000, .end = 0x2000, .kind = WALK_MAPPING_PENDING};
	struct unwind_start start = {.exact = true, .mappings = &pending, .mapping_count = 1};
	uint64_t frames[WALK_FRAMES_MAX];
	enum walk_end end;

	start.pc = 0x1000;
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_PENDING);
	start.pc = 0x2000;
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_NO_MAPPING);
}

/*
 * A large array lies in between, of which three pages were never touched:
 *
 *	0x1f00  0x5010, 0x1200   of the innermost
 *	0x2000 to 0x5000         not there
 *	0x5010  0x3010, 0x1300   of its caller; the next one's frame would be in what is not there
 */
static void pages_that_are_left_out_of_the_copy_are_passed_over_and_not_read(void)
{
	static uint64_t stack[(0x5100 - 0x1f00) / 8] = {0x5010, 0x1200};
	uint64_t absent[UNWIND_PAGE_WORDS] = {0xe};
	struct walk_mapping code = {.start = 0x1000, .end = 0x2000};
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start = {
		.pc = 0x1100,
		.sp = 0x1f00,
		.fp = 0x1f00,
		.exact = true,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.absent = absent,
		.mappings = &code,
		.mapping_count = 1,
	};
	enum walk_end end;

	stack[(0x5010 - 0x1f00) / 8] = 0x5080;
	stack[(0x5018 - 0x1f00) / 8] = 0x1300;
	CHECK(unwind_walk(&start, frames, &end) == 3 && frames[1] == 0x1200 && frames[2] == 0x1300);
	stack[0] = 0x3010;
	CHECK(unwind_walk(&start, frames, &end) == 2 && end == WALK_FAULT);
	stack[0] = 0x4ff8; /* from the last byte that is not there */
	CHECK(unwind_walk(&start, frames, &end) == 2 && end == WALK_FAULT);
	start.fp = 0x5010;
	absent[0] |= 1;
	CHECK(unwind_walk(&start, frames, &end) == 2 && frames[1] == 0x1300);
}

/*
 * Code without a table keeps frame pointers; two frames:
 *
 *	0x1f00  0x1f18, 0x2000   of the innermost
 *	0x1f18  0, 0x2000        of its caller, where an entry frame is kept as well
 */
static void frames_that_run_python_are_marked_by_their_entries(void)
{
	static const uint64_t stack[] = {0x1f18, 0x2000, 0, 0, 0x2000, 0};
	struct walk_mapping code = {.start = 0x1000, .end = 0x3000};
	uint64_t frames[WALK_FRAMES_MAX], entries[] = {0x1f18};
	struct unwind_start start = {
		.pc = 0x1100,
		.sp = 0x1f00,
		.fp = 0x1f00,
		.exact = true,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.mappings = &code,
		.mapping_count = 1,
		.entries = entries,
		.entry_count = 1,
	};
	enum walk_end end;

	CHECK(unwind_walk(&start, frames, &end) == 3);
	CHECK(end == WALK_ASTRAY);
	CHECK(!(frames[0] & WALK_FRAME_PYTHON));
	CHECK(frames[1] == (WALK_FRAME_PYTHON | 0x2000));
	CHECK(frames[2] == 0x2000);
}

/* A call of 5 bytes ends at 0x2005. */
static bool read_code(uint32_t pid, uint64_t address, uint64_t *ret)
{
	*ret = address + 8 == 0x2005 ? 0x00000000e8909090 : 0;
	return pid == 7;
}

/*
 * What the frame pointer points to is no frame. 0x1234 is in code, and no return address:
 *
 *	0x1f00  0, 0x1234, 0x9000, 0x2005
 */
static void callers_are_guessed_by_code_that_is_read(void)
{
	static const uint64_t stack[] = {0, 0x1234, 0x9000, 0x2005, 0, 0};
	struct walk_mapping code = {.start = 0x1000, .end = 0x3000};
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start = {
		.pc = 0x1100,
		.sp = 0x1f00,
		.exact = true,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.mappings = &code,
		.mapping_count = 1,
		.read_code = read_code,
		.pid = 7,
	};
	enum walk_end end;

	CHECK(unwind_walk(&start, frames, &end) == 2);
	CHECK(frames[0] == (WALK_FRAME_EXACT | 0x1100));
	CHECK(frames[1] == (WALK_FRAME_GUESSED | 0x2005));
	CHECK(end != WALK_COMPLETE);
	start.pid = 8; /* nothing of it can be read */
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_ASTRAY);
	start.read_code = NULL;
	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_ASTRAY);
}

/* The frame pointer of the first leads behind the copy, so there its caller is. */
static void nothing_is_guessed_where_the_copy_of_the_stack_ends(void)
{
	static const uint64_t stack[] = {0, 0x2005, 0, 0};
	struct walk_mapping code = {.start = 0x1000, .end = 0x3000};
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start = {
		.pc = 0x1100,
		.sp = 0x1f00,
		.fp = 0x1f00 + sizeof(stack) + 16,
		.exact = true,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.mappings = &code,
		.mapping_count = 1,
		.read_code = read_code,
		.pid = 7,
	};
	enum walk_end end;

	CHECK(unwind_walk(&start, frames, &end) == 1 && end == WALK_FAULT);
	start.fp = 0x7f0000000000; /* this is no frame pointer at all */
	CHECK(unwind_walk(&start, frames, &end) == 2 && frames[1] == (WALK_FRAME_GUESSED | 0x2005));
}

/* 0x5005 may be in code that is not known yet, and is looked up. */
static bool calls_everywhere(uint32_t pid, uint64_t address, uint64_t *ret)
{
	*ret = 0xe8000000;
	return true;
}

static void code_that_is_not_known_yet_is_asked_for_and_not_guessed(void)
{
	static const uint64_t stack[] = {0, 0x5005, 0x2005, 0};
	struct walk_mapping code = {.start = 0x1000, .end = 0x3000};
	uint64_t frames[WALK_FRAMES_MAX];
	struct unwind_start start = {
		.pc = 0x1100,
		.sp = 0x1f00,
		.fp = 0x1f00,
		.exact = true,
		.stack = (const uint8_t *)stack,
		.stack_size = sizeof(stack),
		.mappings = &code,
		.mapping_count = 1,
		.read_code = calls_everywhere,
	};
	enum walk_end end;

	CHECK(unwind_walk(&start, frames, &end) == 2 && end == WALK_NO_MAPPING);
	CHECK(frames[1] == 0x5005);
}

int main(void)
{
	if (!own_image_load(&image, calloc(OWN_WORDS_MAX, 4))) {
		printf("1..0 # SKIP no executable mapping can be read\n");
		return 0;
	}
	RUN(a_stack_through_the_c_library_is_walked_to_its_end);
	RUN(a_stack_through_a_signal_handler_is_walked_to_its_end);
	RUN(a_trampoline_without_its_frame_ends_the_walk);
	RUN(a_stack_that_was_cut_ends_with_a_fault);
	RUN(a_return_address_in_a_register_is_found_there);
#ifdef __x86_64__
	RUN(a_caller_in_assembly_keeps_a_scratch_register_of_its_own);
#endif
	RUN(a_pending_table_and_an_unknown_address_are_told_apart);
	RUN(pages_that_are_left_out_of_the_copy_are_passed_over_and_not_read);
	RUN(frames_that_run_python_are_marked_by_their_entries);
	RUN(callers_are_guessed_by_code_that_is_read);
	RUN(nothing_is_guessed_where_the_copy_of_the_stack_ends);
	RUN(code_that_is_not_known_yet_is_asked_for_and_not_guessed);
	free(image.words);
	return tap_end();
}
