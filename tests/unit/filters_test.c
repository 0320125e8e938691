// SPDX-License-Identifier: MIT
/* What seccomp filters say to a call: each kind of instruction, as the kernel does it; and random
 * programs, which say what they say in the kernel itself. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "join/filters.h"
#include "random.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define RUN_OF(...)                                                                                \
	({                                                                                         \
		const struct sock_filter p_[] = {__VA_ARGS__};                                     \
		filters_run(p_, COUNT(p_), 39, arguments);                                         \
	})
#define DATA(member) offsetof(struct seccomp_data, member)

static const uint64_t arguments[6] = {0x1111222233334444, 2, 3, 4, 5, 0xffffffff00000006};

/* What is left in A, where `wanted` is asked for: whether it is that. */
static bool is_value(const struct sock_filter *begin, size_t count, uint32_t wanted)
{
	struct sock_filter p[16];

	memcpy(p, begin, count * sizeof(*begin));
	p[count] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1);
	p[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	return filters_run(p, count + 3, 39, arguments) == SECCOMP_RET_ALLOW;
}

#define GIVES(wanted, ...)                                                                         \
	({                                                                                         \
		const struct sock_filter q_[] = {__VA_ARGS__};                                     \
		is_value(q_, COUNT(q_), wanted);                                                   \
	})
#define KILLS(...) (RUN_OF(__VA_ARGS__) == SECCOMP_RET_KILL_PROCESS)

#define A(k)	  BPF_STMT(BPF_LD | BPF_IMM, k)
#define X(k)	  BPF_STMT(BPF_LDX | BPF_IMM, k)
#define OP(op, k) BPF_STMT(BPF_ALU | (op) | BPF_K, k)
#define OP_X(op)  BPF_STMT(BPF_ALU | (op) | BPF_X, 0)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, k)
#define ALLOWS	  RETURN(SECCOMP_RET_ALLOW)

static void the_call_its_machine_and_its_arguments_can_be_looked_at(void)
{
	CHECK(GIVES(39, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr))));
	CHECK(GIVES(AUDIT_ARCH_X86_64, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(arch))));
	CHECK(GIVES(0x33334444, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[0]))));
	CHECK(GIVES(0x11112222, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[0]) + 4)));
	CHECK(GIVES(0xffffffff, BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args[5]) + 4)));
	CHECK(GIVES(sizeof(struct seccomp_data), BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)));
}

static void what_is_calculated_is_what_the_kernel_calculates(void)
{
	CHECK(GIVES(1, A(UINT32_MAX), OP(BPF_ADD, 2)));
	CHECK(GIVES(UINT32_MAX, A(1), OP(BPF_SUB, 2)));
	CHECK(GIVES(0xfffffffe, A(UINT32_MAX), OP(BPF_MUL, 2)));
	CHECK(GIVES(3, A(7), OP(BPF_DIV, 2)));
	CHECK(GIVES(4, A(6), OP(BPF_AND, 12)));
	CHECK(GIVES(14, A(6), OP(BPF_OR, 12)));
	CHECK(GIVES(10, A(6), OP(BPF_XOR, 12)));
	CHECK(GIVES(0x80000000, A(1), OP(BPF_LSH, 31)));
	CHECK(GIVES(1, A(0x80000000), OP(BPF_RSH, 31)));
	CHECK(GIVES((uint32_t)-6, A(6), BPF_STMT(BPF_ALU | BPF_NEG, 0)));
	CHECK(GIVES(9, X(2), A(7), OP_X(BPF_ADD)));
	CHECK(GIVES(3, X(2), A(7), OP_X(BPF_DIV)));
	CHECK(GIVES(14, X(33), A(7), OP_X(BPF_LSH))); /* by 1 */
	CHECK(GIVES(3, X(33), A(7), OP_X(BPF_RSH)));
}

static void memory_and_both_registers_keep_values(void)
{
	CHECK(GIVES(7, A(7), BPF_STMT(BPF_ST, 15), A(0), BPF_STMT(BPF_LD | BPF_MEM, 15)));
	CHECK(GIVES(7, X(7), BPF_STMT(BPF_STX, 0), BPF_STMT(BPF_LD | BPF_MEM, 0)));
	CHECK(GIVES(7, A(7), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_MISC | BPF_TXA, 0)));
	CHECK(GIVES(
		7, A(7), BPF_STMT(BPF_MISC | BPF_TAX, 0), A(0), BPF_STMT(BPF_MISC | BPF_TXA, 0)));
	CHECK(GIVES(64, BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0)));
	CHECK(GIVES(0, BPF_STMT(BPF_LD | BPF_MEM, 5)));
}

static bool jumps(uint16_t how, uint32_t a, uint32_t with)
{
	const struct sock_filter by_constant[] = {A(a), BPF_JUMP(BPF_JMP | how | BPF_K, with, 1, 0),
		RETURN(SECCOMP_RET_TRAP), ALLOWS};
	const struct sock_filter by_x[] = {A(a), X(with), BPF_JUMP(BPF_JMP | how | BPF_X, 0, 1, 0),
		RETURN(SECCOMP_RET_TRAP), ALLOWS};
	uint32_t answer = filters_run(by_constant, COUNT(by_constant), 39, arguments);

	CHECK(answer == filters_run(by_x, COUNT(by_x), 39, arguments));
	CHECK(answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_TRAP);
	return answer == SECCOMP_RET_ALLOW;
}

static void jumps_are_taken_where_they_hold(void)
{
	CHECK(jumps(BPF_JEQ, 5, 5) && !jumps(BPF_JEQ, 5, 6));
	CHECK(jumps(BPF_JGT, 6, 5) && !jumps(BPF_JGT, 5, 5));
	CHECK(jumps(BPF_JGT, UINT32_MAX, 5)); /* without a sign */
	CHECK(jumps(BPF_JGE, 5, 5) && !jumps(BPF_JGE, 4, 5));
	CHECK(jumps(BPF_JSET, 6, 4) && !jumps(BPF_JSET, 6, 1));
	CHECK(RUN_OF(BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), RETURN(SECCOMP_RET_TRAP), ALLOWS) ==
		SECCOMP_RET_ALLOW);
}

static void an_answer_is_an_action_without_its_data(void)
{
	CHECK(RUN_OF(RETURN(SECCOMP_RET_ERRNO | 38)) == SECCOMP_RET_ERRNO);
	CHECK(RUN_OF(A(SECCOMP_RET_LOG), BPF_STMT(BPF_RET | BPF_A, 0)) == SECCOMP_RET_LOG);
	CHECK(RUN_OF(RETURN(0)) == SECCOMP_RET_KILL_THREAD);
}

static void a_division_by_nothing_kills(void)
{
	CHECK(RUN_OF(A(7), OP_X(BPF_DIV), ALLOWS) == SECCOMP_RET_KILL_THREAD);
	CHECK(RUN_OF(A(7), OP(BPF_DIV, 0), ALLOWS) == SECCOMP_RET_KILL_THREAD);
}

static void a_program_without_an_end_kills(void)
{
	CHECK(filters_run(NULL, 0, 39, arguments) == SECCOMP_RET_KILL_PROCESS);
	CHECK(KILLS(A(1)));
	CHECK(KILLS(BPF_JUMP(BPF_JMP | BPF_JA, UINT32_MAX, 0, 0), ALLOWS));
	CHECK(KILLS(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 255, 255), ALLOWS));
}

static void an_unsound_program_kills(void)
{
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 62), ALLOWS)); /* not aligned */
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), ALLOWS)); /* outside */
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UINT32_MAX - 3), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LDX | BPF_W | BPF_ABS, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_LDX | BPF_MEM, UINT32_MAX), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_ST, BPF_MEMWORDS), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_STX, UINT32_MAX), ALLOWS));
	CHECK(KILLS(OP(BPF_LSH, 32), ALLOWS));
	CHECK(KILLS(OP(BPF_RSH, 32), ALLOWS));
	CHECK(KILLS(OP(BPF_MOD, 3), ALLOWS)); /* not among those of seccomp */
	CHECK(KILLS(BPF_STMT(BPF_ALU | 0xe0, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_JMP | 0xe0, 0), ALLOWS));
	CHECK(KILLS(BPF_STMT(BPF_RET | BPF_X, 0)));
	CHECK(KILLS(BPF_STMT(BPF_MISC | 0x40, 0), ALLOWS));
	CHECK(KILLS({0x100 | BPF_LD | BPF_IMM, 0, 0, 0}, ALLOWS));
}

/* --- beside the kernel ------------------------------------------------------------------------ */

enum { ENDS_ALLOWED = 1, ENDS_DENIED = 2, NOT_TAKEN = 3, KILLED = 4 };

static uint16_t pick(const uint16_t *from, uint32_t count)
{
	return from[random_below(count)];
}

/* What the kernel takes: it knows what was stored before, and what divides and shifts. */
static uint32_t sound_constant(uint16_t code, uint32_t k)
{
	switch (code) {
	case BPF_ALU | BPF_DIV | BPF_K:
		return k + 1;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return k % 32;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		return k % 2;
	case BPF_ST:
	case BPF_STX:
		return k % BPF_MEMWORDS;
	case BPF_LD | BPF_W | BPF_ABS:
		return k % 2 ? DATA(nr) : DATA(args) + k % 12 * 4; /* not where it is called */
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
		return 0;
	default:
		return k;
	}
}

static struct sock_filter any_instruction(void)
{
	static const uint16_t others[] = {BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM, BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM, BPF_ST, BPF_STX, BPF_LD | BPF_W | BPF_ABS, BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA, BPF_ALU | BPF_NEG, BPF_LD | BPF_W | BPF_LEN};
	static const uint16_t operations[] = {
		BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH};
	static const uint16_t conditions[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint16_t source = random_below(2) ? BPF_X : BPF_K, code;
	uint32_t k = random_below(40);

	switch (random_below(3)) {
	case 0:
		code = BPF_ALU | source | pick(operations, COUNT(operations));
		break;
	case 1:
		code = BPF_JMP | source | pick(conditions, COUNT(conditions));
		break;
	default:
		code = pick(others, COUNT(others));
	}
	return (struct sock_filter)BPF_JUMP(code, sound_constant(code, k),
		BPF_CLASS(code) == BPF_JMP ? (uint8_t)random_below(3) : 0,
		BPF_CLASS(code) == BPF_JMP ? (uint8_t)random_below(3) : 0);
}

/* In a child, which then makes the call. */
static int ask_kernel(const struct sock_filter *program, size_t count)
{
	struct sock_fprog p = {(unsigned short)count, (struct sock_filter *)program};
	pid_t child = fork();
	int status = 0;

	if (!child) {
		prctl(PR_SET_DUMPABLE, 0);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
			_exit(NOT_TAKEN);
		errno = 0;
		syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
		_exit(errno ? ENDS_DENIED : ENDS_ALLOWED);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? KILLED : WEXITSTATUS(status);
}

enum { PROGRAM_BEGIN = 5, PROGRAM_END = 4, PROGRAM = 26 };

/* Whatever it calculates decides whether one call is let pass; all others are. */
static void make_program(struct sock_filter *p)
{
	const struct sock_filter begin[PROGRAM_BEGIN] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0), ALLOWS, BPF_STMT(BPF_ST, 0),
		BPF_STMT(BPF_STX, 1)};
	const struct sock_filter end[PROGRAM_END] = {BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM), ALLOWS, ALLOWS};

	memcpy(p, begin, sizeof(begin));
	for (size_t n = PROGRAM_BEGIN; n < PROGRAM - PROGRAM_END; n++)
		p[n] = any_instruction();
	memcpy(p + PROGRAM - PROGRAM_END, end, sizeof(end));
}

static int said_by_us(const struct sock_filter *p)
{
	const uint64_t none[6] = {0};

	switch (filters_run(p, PROGRAM, SYS_getppid, none)) {
	case SECCOMP_RET_ALLOW:
		return ENDS_ALLOWED;
	case SECCOMP_RET_ERRNO:
		return ENDS_DENIED;
	default:
		return KILLED;
	}
}

static void a_random_program_says_what_the_kernel_has_it_say(void)
{
	unsigned int seen[KILLED + 1] = {0}, wrong = 0;

	for (int round = 0; round < 400; round++) {
		struct sock_filter p[PROGRAM];
		int kernels;

		make_program(p);
		kernels = ask_kernel(p, PROGRAM);
		seen[kernels]++;
		wrong += kernels != NOT_TAKEN && kernels != said_by_us(p);
	}
	if (seen[NOT_TAKEN] == 400) {
		SKIP("the kernel takes no filters here");
		return;
	}
	printf("# %u allowed, %u denied, %u killed, %u not taken\n", seen[ENDS_ALLOWED],
		seen[ENDS_DENIED], seen[KILLED], seen[NOT_TAKEN]);
	CHECK(!wrong);
	CHECK(seen[ENDS_ALLOWED] && seen[ENDS_DENIED] && seen[KILLED]);
}

int main(void)
{
	RUN(the_call_its_machine_and_its_arguments_can_be_looked_at);
	RUN(what_is_calculated_is_what_the_kernel_calculates);
	RUN(memory_and_both_registers_keep_values);
	RUN(jumps_are_taken_where_they_hold);
	RUN(an_answer_is_an_action_without_its_data);
	RUN(a_division_by_nothing_kills);
	RUN(a_program_without_an_end_kills);
	RUN(an_unsound_program_kills);
	RUN(a_random_program_says_what_the_kernel_has_it_say);
	return tap_end();
}
