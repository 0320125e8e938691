// SPDX-License-Identifier: MIT
/*
 * The walker beside the unwinder of elfutils (libdw) on the same stacks: those of programs that are
 * stopped anywhere and then led on by single instructions. At least 999 of 1,000 must be equal,
 * frame by frame.
 *
 * UNWIND_TRUTH=N in the environment prints the first N that differ.
 */
#include <stdio.h>

#if !defined(HAVE_LIBDW) || !defined(__x86_64__)
int main(void)
{
	printf("1..0 # SKIP built without libdw, or for another machine\n");
	return 0;
}
#else
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "unwind_process.h"

#define FRAMES_MAX WALK_FRAMES_MAX
#define RED_ZONE   128 /* below the stack pointer; System V ABI, AMD64 supplement, section 3.2.2 */

/* A program, and how its stacks are taken: `stops` times after a run of up to `run_us`, each time
 * `steps` stacks with 1 to 16 instructions between. */
struct subject {
	const char *name;
	const char *const *argv;
	unsigned int stops;
	unsigned int steps;
	unsigned int run_us;
};

struct frames {
	unsigned int count;
	uint64_t at[FRAMES_MAX];
	bool failed; /* did not come to the end */
};

struct tally {
	unsigned int equal;
	unsigned int complete;
	unsigned int shorter; /* equal as far as we came, and libdw went on */
	unsigned int longer;
	unsigned int different;
	unsigned int ends[WALK_ENDS];
};

/* A subject while it is looked at. */
struct session {
	int pid;
	struct process_image image;
	struct process_stack stack;
	Dwfl *dwfl;
	struct tally tally;
	unsigned int random;
};

static unsigned int to_print;
static char target_path[512];
static char source_path[] = "/tmp/unwind-truth-test-XXXXXX";

static unsigned int pick(struct session *s, unsigned int below)
{
	s->random = s->random * 1103515245u + 12345u;
	return (s->random >> 8) % below;
}

/* ------------------------------------------------------------------ libdw */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread_context)
{
	struct session *s = context;

	if (*thread_context)
		return 0;
	*thread_context = s;
	return s->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread_context)
{
	*thread_context = context;
	return true;
}

/* Only what was saved: the two shall see the same. Below the stack pointer is what was popped just
 * now, which libdw asks for and our walker knows to be in the register. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context)
{
	const struct session *s = context;
	const struct process_stack *stack = &s->stack;
	uint64_t place = address - stack->registers.rsp;
	struct iovec here = {ret, sizeof(*ret)}, there = {(void *)address, sizeof(*ret)};

	if (-place <= RED_ZONE)
		return process_vm_readv(s->pid, &here, 1, &there, 1, 0) == sizeof(*ret);
	if (stack->size < sizeof(*ret) || place > stack->size - sizeof(*ret))
		return false;
	memcpy(ret, stack->bytes + place, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct process_stack *stack = &((struct session *)context)->stack;

	return dwfl_thread_state_registers(thread, 0, 17, stack->numbered);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* Separate debug files are for names; looking for them would ask servers. */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **path)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debug_file,
};

static bool open_dwfl(struct session *s)
{
	if (s->dwfl)
		dwfl_end(s->dwfl);
	s->dwfl = dwfl_begin(&callbacks);
	return s->dwfl && !dwfl_linux_proc_report(s->dwfl, s->pid) &&
	       !dwfl_report_end(s->dwfl, NULL, NULL) &&
	       dwfl_attach_state(s->dwfl, NULL, s->pid, &thread_callbacks, s);
}

static int add_frame(Dwfl_Frame *frame, void *context)
{
	struct frames *f = context;
	Dwarf_Addr pc;
	bool exact;

	if (f->count == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	f->at[f->count++] = (pc & WALK_FRAME_ADDRESS) | (exact ? WALK_FRAME_EXACT : 0);
	return DWARF_CB_OK;
}

static void walk_with_libdw(struct session *s, struct frames *ret)
{
	ret->count = 0;
	ret->failed = dwfl_getthread_frames(s->dwfl, s->pid, add_frame, ret) != DWARF_CB_OK;
}

/* ------------------------------------------------------------------ comparing */

static void print_frames(struct session *s, const char *who, const struct frames *f)
{
	printf("#   %s%s\n", who, f->failed ? ", not to the end" : "");
	for (unsigned int i = 0; i < f->count && i < 12; i++) {
		uint64_t pc = f->at[i] & WALK_FRAME_ADDRESS;
		Dwfl_Module *module = dwfl_addrmodule(s->dwfl, pc);
		const char *name = module ? dwfl_module_addrname(module, pc) : NULL;
		Dwarf_Addr start = 0;
		const char *file = module ? dwfl_module_info(module, NULL, &start, NULL, NULL, NULL,
						    NULL, NULL)
					  : "?";

		printf("#     %16" PRIx64 "%s %s+0x%" PRIx64 " %s\n", pc,
			f->at[i] & WALK_FRAME_EXACT ? "!" : " ", file, pc - start,
			name ? name : "?");
	}
}

static void count(struct session *s, const struct frames *ours, const struct frames *theirs,
	enum walk_end end)
{
	struct tally *t = &s->tally;
	unsigned int same = 0;

	while (same < ours->count && same < theirs->count && ours->at[same] == theirs->at[same])
		same++;
	t->complete += end == WALK_COMPLETE;
	t->ends[end]++;
	if (same == ours->count && same == theirs->count) {
		t->equal++;
		return;
	}
	if (same == ours->count)
		t->shorter++;
	else if (same == theirs->count)
		t->longer++;
	else
		t->different++;
	if (!to_print)
		return;
	to_print--;
	printf("# differs at frame %u; our end %d; rsp %llx\n", same, (int)end,
		s->stack.registers.rsp);
	print_frames(s, "ours", ours);
	print_frames(s, "libdw's", theirs);
}

static void compare(struct session *s)
{
	static struct frames ours, theirs;
	struct unwind_start start;
	enum walk_end end;

	if (!process_stack_take(&s->stack, s->pid))
		return;
	if (process_image_update(&s->image, s->pid) && !open_dwfl(s))
		return;
	start = process_start(&s->image, &s->stack);
	ours.count = unwind_walk(&start, ours.at, &end);
	ours.failed = end != WALK_COMPLETE;
	walk_with_libdw(s, &theirs);
	count(s, &ours, &theirs, end);
}

/* ------------------------------------------------------------------ the programs */

static void run_program(const struct subject *subject, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (read(ready, &byte, 1) == 1)
		execvp(subject->argv[0], (char *const *)subject->argv);
	_exit(127);
}

/* Waits for the next stop; false: the program has ended. The signal that it got is to be passed on.
 */
static bool wait_stop(struct session *s, int *ret_signal)
{
	int status;

	if (waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status))
		return false;
	*ret_signal = WSTOPSIG(status);
	if (*ret_signal == SIGTRAP || status >> 16)
		*ret_signal = 0;
	return true;
}

static bool start(struct session *s, const struct subject *subject)
{
	int ready[2], signal;

	if (pipe(ready))
		return false;
	s->pid = fork();
	if (!s->pid) {
		close(ready[1]);
		run_program(subject, ready[0]);
	}
	close(ready[0]);
	if (s->pid < 0 ||
		ptrace(PTRACE_SEIZE, s->pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) ||
		write(ready[1], "", 1) != 1)
		return false;
	close(ready[1]);
	return wait_stop(s, &signal);
}

static bool step(struct session *s, int *signal)
{
	return !ptrace(PTRACE_SINGLESTEP, s->pid, NULL, (long)*signal) && wait_stop(s, signal);
}

static bool run_on(struct session *s, unsigned int us, int *signal)
{
	struct timespec pause = {.tv_nsec = us * 1000l};

	if (ptrace(PTRACE_CONT, s->pid, NULL, (long)*signal))
		return false;
	nanosleep(&pause, NULL);
	return !ptrace(PTRACE_INTERRUPT, s->pid, NULL, NULL) && wait_stop(s, signal);
}

static void look_at(struct session *s, const struct subject *subject)
{
	bool alive = start(s, subject);
	int signal = 0;

	for (unsigned int i = 0; alive && i < subject->stops; i++) {
		for (unsigned int j = 0; alive && j < subject->steps; j++) {
			compare(s);
			for (unsigned int left = 1 + pick(s, 16); alive && left; left--)
				alive = step(s, &signal);
		}
		if (alive)
			alive = run_on(s, pick(s, subject->run_us) + 1, &signal);
	}
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static const char *const target_argv[] = {target_path, NULL};
static const char *const python_argv[] = {"python3", "-c",
	"import json, re, hashlib, random, decimal\n"
	"while True:\n"
	" a = sorted([random.random() for i in range(300)], key=lambda x: -x)\n"
	" t = json.dumps({'a': a, 'b': [str(decimal.Decimal(x) / 7) for x in a[:30]]})\n"
	" json.loads(t); re.findall(r'(\\d+)\\.(\\d+)', t); hashlib.sha256(t.encode()).digest()\n",
	NULL};
static const char *const perl_argv[] = {"perl", "-e",
	"while (1) { my %h; $h{$_ % 97} .= sprintf('%.3f,', $_ / 7) for 1 .. 3000;"
	" my @k = sort { $h{$a} cmp $h{$b} } keys %h; my $t = join(';', @k); $t =~ "
	"s/(\\d)(\\d)/$2$1/g; }",
	NULL};
static const char *const openssl_argv[] = {
	"openssl", "speed", "-seconds", "1", "sha256", "aes-128-cbc", "rsa2048", "ecdsap256", NULL};
/* Assembly whose CFA is in a register that nothing else is called with. */
static const char *const poly1305_argv[] = {
	"openssl", "speed", "-seconds", "5", "-evp", "chacha20-poly1305", NULL};
static const char *const sort_argv[] = {"sh", "-c",
	"f=/var/lib/dpkg/status; exec sort -k2 -r --parallel=1 $f $f $f $f $f $f $f $f", NULL};
static const char *const bash_argv[] = {"bash", "-c",
	"while :; do x=$((x + 1)); a[$((x % 50))]=\"v$x\"; b=${a[*]//v/w}; case $b in *w7*) ;; "
	"esac; "
	"done",
	NULL};
static const char *const cc1_argv[] = {"sh", "-c",
	"exec $(gcc -print-prog-name=cc1) -O2 -quiet -o /dev/null $0", source_path, NULL};
static const char *const clang_argv[] = {
	"clang", "-w", "-O2", "-x", "c", "-c", "-o", "/dev/null", source_path, NULL};

static const struct subject subjects[] = {
	{"our own", target_argv, 80, 30, 3000},
	{"python3", python_argv, 60, 25, 20000},
	{"perl", perl_argv, 50, 25, 5000},
	{"openssl", openssl_argv, 60, 25, 50000},
	{"openssl, poly1305", poly1305_argv, 40, 25, 5000},
	{"sort", sort_argv, 40, 25, 3000},
	{"bash", bash_argv, 50, 25, 3000},
	{"cc1", cc1_argv, 40, 25, 10000},
	{"clang", clang_argv, 40, 25, 10000},
};

/* Something to compile. */
static void write_source(void)
{
	int fd = mkstemp(source_path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return;
	for (int i = 0; i < 1500; i++)
		fprintf(file,
			"int f%d(int *a, int b) { int s = %d; for (int i = 0; i < b; i++) { switch "
			"(a[i] %% "
			"7) { case 1: s += a[i] * b; break; case 2: s ^= f%d(a + i, b / 2); break; "
			"default: s -= i; } } return s; }\n",
			i, i, i ? i - 1 : 0);
	fclose(file);
}

static bool is_installed(const char *name)
{
	char command[600];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", name);
	return !system(command);
}

static void add_tally(struct tally *sum, const struct tally *t)
{
	sum->equal += t->equal;
	sum->complete += t->complete;
	sum->shorter += t->shorter;
	sum->longer += t->longer;
	sum->different += t->different;
}

static unsigned int taken(const struct tally *t)
{
	return t->equal + t->shorter + t->longer + t->different;
}

static void look_at_subject(const struct subject *subject, struct tally *sum)
{
	static struct session s;

	s = (struct session){.random = 1};
	if (unwind_tables_new(&s.image.tables, &(struct unwind_tables_options){0}))
		return;
	look_at(&s, subject);
	printf("# %s: %u stacks, %u equal, %u shorter, %u longer, %u different; %u complete; ends",
		subject->name, taken(&s.tally), s.tally.equal, s.tally.shorter, s.tally.longer,
		s.tally.different, s.tally.complete);
	for (int i = 0; i < WALK_ENDS; i++)
		if (s.tally.ends[i])
			printf(" %d:%u", i, s.tally.ends[i]);
	printf("\n");
	add_tally(sum, &s.tally);
	if (s.dwfl)
		dwfl_end(s.dwfl);
	buf_release(&s.image.maps);
	unwind_tables_free(s.image.tables);
}

static void stacks_are_those_that_libdw_finds(void)
{
	struct tally sum = {0};

	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
		if (is_installed(subjects[i].argv[0]))
			look_at_subject(&subjects[i], &sum);
		else
			printf("# no %s here\n", subjects[i].argv[0]);
	}
	printf("# in all: %u stacks, %u equal, %u complete\n", taken(&sum), sum.equal,
		sum.complete);
	CHECK(taken(&sum) >= 3000);
	CHECK(sum.equal * 1000ull >= taken(&sum) * 999ull);
}

int main(void)
{
	const char *wanted = getenv("UNWIND_TRUTH"), *build = getenv("XPUPROF_BUILD");

	to_print = wanted ? (unsigned int)atoi(wanted) : 0;
	snprintf(target_path, sizeof(target_path), "%s/tests/targets/unwind_target",
		build ? build : "build");
	write_source();
	RUN(stacks_are_those_that_libdw_finds);
	unlink(source_path);
	return tap_end();
}
#endif
