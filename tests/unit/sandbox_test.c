// SPDX-License-Identifier: MIT
/* The processes that open and read files of strangers: what they answer, and what they cannot do.
 * This program is executed for them, as xpuprof is. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/rights.h"
#include "capture/files.h"
#include "folder.h"
#include "sandbox/child.h"
#include "sandbox/confine.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/opener.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"
#include "tap.h"
#include "unwind/cfi.h"

#define SELF	"/proc/self/exe"
#define LONG_NS (60 * NS_PER_SECOND)
#define HANGS	"hangs"
#define DIES	"dies"
#define SPINS	"spins"
#define SLOW	"slow"

struct answer {
	bool done;
	int error;
	int fd;
	size_t size;
	union {
		struct opened opened;
		struct file_facts facts;
		uint32_t words[16];
	} data;
	uint32_t *table;
};

static void note(void *context, uint64_t tag, struct child_reply *reply)
{
	struct answer *a = context;

	CHECK(!a->done && tag == 7);
	a->done = true;
	a->error = reply->error;
	a->size = reply->size;
	memcpy(&a->data, reply->data ? reply->data : "",
		reply->size < sizeof(a->data) ? reply->size
		: reply->data		      ? sizeof(a->data)
					      : 0);
	if (reply->size > sizeof(a->data)) {
		a->table = malloc(reply->size);
		memcpy(a->table, reply->data, reply->size);
	}
	a->fd = reply->fd;
	reply->fd = -1;
}

static struct child_request request(uint32_t kind, int fd, struct answer *a)
{
	*a = (struct answer){.fd = -1};
	return (struct child_request){.kind = kind,
		.limit_ns = LONG_NS,
		.fds = {fd, -1},
		.done = note,
		.context = a,
		.tag = 7};
}

static void ask(struct child *c, const struct child_request *r, struct answer *a)
{
	CHECK(!child_ask(c, r));
	CHECK(child_wait(c, &a->done, clock_now_ns() + LONG_NS));
	CHECK(!child_is_busy(c));
}

static struct answer read_file(struct child *reader, uint32_t kind, const char *path)
{
	struct answer a;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct child_request r = request(kind, fd, &a);

	ask(reader, &r, &a);
	close(fd);
	return a;
}

static void a_reader_says_what_is_in_a_file(void)
{
	struct child *reader = child_new(SELF, SANDBOX_READER, -1);
	struct answer facts = read_file(reader, READER_INSPECT, SELF);
	struct answer table = read_file(reader, READER_TABLE, SELF);

	CHECK(!facts.error && facts.size == sizeof(struct file_facts));
	CHECK(file_facts_are_sound(&facts.data.facts));
	CHECK(facts.data.facts.code_count && !facts.data.facts.python.runtime);
	CHECK(!table.error && table.table &&
		unwind_table_is_sound(table.table, table.size / sizeof(uint32_t)));
	free(table.table);
	child_free(reader);
}

__attribute__((naked, used)) static void begins_with_a_nop(void)
{
	__asm__(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tret");
}

__attribute__((naked, used)) static void begins_otherwise(void)
{
	__asm__("xorl %eax, %eax\n\tret");
}

/* The code at an offset of this program's file. */
static bool code_is(uint64_t offset, const void *code, size_t size)
{
	uint8_t bytes[16];
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	bool is = pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;

	close(fd);
	return is && !memcmp(bytes, code, size);
}

static void a_reader_says_where_functions_begin_that_can_be_probed(void)
{
	static const char names[] = "begins_otherwise\0begins_with_a_nop\0is_not_there\0main";
	struct child *reader = child_new(SELF, SANDBOX_READER, -1);
	int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	struct answer a;
	struct child_request r = request(READER_FUNCTIONS, fd, &a);
	uint64_t offsets[4] = {0};

	r.data = names;
	r.size = sizeof(names);
	ask(reader, &r, &a);
	CHECK(!a.error && a.size == sizeof(offsets));
	memcpy(offsets, a.data.words, sizeof(offsets));
	CHECK(code_is(offsets[0], (const void *)(uintptr_t)begins_otherwise, 3));
	CHECK(!offsets[1] && !offsets[2]);
	CHECK(offsets[3]);
	r = request(READER_FUNCTIONS, fd, &a);
	r.data = names;
	r.size = sizeof(names) - 1;
	ask(reader, &r, &a);
	CHECK(a.error == -EINVAL);
	close(fd);
	child_free(reader);
}

static void what_is_no_elf_file_is_an_error(void)
{
	struct child *reader = child_new(SELF, SANDBOX_READER, -1);
	struct answer a = read_file(reader, READER_INSPECT, "/etc/passwd");

	CHECK(a.error == -ENOEXEC);
	a = read_file(reader, 99, SELF);
	CHECK(a.error == -EINVAL);
	child_free(reader);
}

static struct answer open_mapped(
	struct child *opener, const struct open_mapped *mapped, const char *path)
{
	struct buf b = BUF_INIT;
	struct child_request r;
	struct answer a;

	buf_append(&b, mapped, sizeof(*mapped));
	buf_append(&b, path, strlen(path) + 1);
	r = request(OPENER_OPEN_MAPPED, -1, &a);
	r.data = b.data;
	r.size = b.size;
	ask(opener, &r, &a);
	buf_release(&b);
	return a;
}

static void an_opener_opens_the_file_of_a_path_if_it_is_the_one(void)
{
	struct child *opener = child_new(SELF, SANDBOX_OPENER, -1);
	struct open_mapped mapped = {.pid = (uint32_t)getpid()};
	const char *path = in_folder("file");
	struct stat st = {0}, same = {0};
	struct answer a;

	CHECK(shell("echo text >file; ln -s file link; mkfifo pipe") && !stat(path, &st));
	mapped.device = st.st_dev;
	mapped.inode = st.st_ino;
	a = open_mapped(opener, &mapped, path);
	CHECK(!a.error && a.fd >= 0 && a.data.opened.identity.inode == st.st_ino);
	CHECK(!fstat(a.fd, &same) && same.st_ino == st.st_ino);
	CHECK((fcntl(a.fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	close(a.fd);
	mapped.inode++;
	CHECK(open_mapped(opener, &mapped, path).error == -ESTALE);
	mapped.inode = 0;
	/* Paths of mappings have no links, and nothing but regular files is opened. */
	CHECK(open_mapped(opener, &mapped, in_folder("link")).error == -ELOOP);
	CHECK(open_mapped(opener, &mapped, in_folder("pipe")).error == -EACCES);
	CHECK(open_mapped(opener, &mapped, "/dev/null").error == -EACCES);
	CHECK(open_mapped(opener, &mapped, in_folder("nothing")).error == -ENOENT);
	child_free(opener);
}

static void where_a_process_is_gone_its_paths_are_those_of_whoever_was_said(void)
{
	struct child *opener = child_new(SELF, SANDBOX_OPENER, -1);
	struct open_mapped mapped = {.pid = 5000000, .if_gone = {OPEN_NOBODY, OPEN_NOBODY}};
	struct answer a;

	if (geteuid()) {
		SKIP("only root becomes another user");
		child_free(opener);
		return;
	}
	CHECK(shell("echo text >mine; chmod 600 mine"));
	CHECK(open_mapped(opener, &mapped, in_folder("mine")).error == -EACCES);
	mapped.if_gone = (struct open_rights){0, 0};
	a = open_mapped(opener, &mapped, in_folder("mine"));
	CHECK(!a.error);
	close(a.fd);
	child_free(opener);
}

#define MANY 100

/* They count for all processes of this user, until they are received. */
static bool send_many(int socket)
{
	static const int some[MESSAGE_FDS] = {STDIN_FILENO, STDIN_FILENO};
	int error = 0;

	for (int i = 0; !error && i < MANY / MESSAGE_FDS; i++)
		error = sandbox_send(socket, 0, NULL, 0, some);
	return !error;
}

static void an_opener_minds_no_descriptors_that_others_have_sent(void)
{
	struct child *opener = child_new(SELF, SANDBOX_OPENER, -1);
	const struct open_mapped mapped = {.pid = (uint32_t)getpid()};
	struct answer a;
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) && send_many(ends[0]));
	CHECK(shell("echo text >file"));
	a = open_mapped(opener, &mapped, in_folder("file"));
	CHECK(!a.error && a.fd >= 0);
	close(a.fd);
	close(ends[0]);
	close(ends[1]);
	child_free(opener);
}

static void a_process_that_is_too_slow_costs_its_request_only(void)
{
	struct child *reader = child_new(SELF, HANGS, -1);
	struct answer first, second;
	struct child_request r = request(READER_INSPECT, STDIN_FILENO, &first), more;

	more = request(READER_INSPECT, STDIN_FILENO, &second);
	r.limit_ns = more.limit_ns = 50 * NS_PER_MS;
	CHECK(!child_ask(reader, &r) && !child_ask(reader, &more));
	CHECK(child_wait(reader, &first.done, clock_now_ns() + LONG_NS));
	CHECK(first.error == -ETIME && !second.done);
	CHECK(child_wait(reader, &second.done, clock_now_ns() + LONG_NS));
	CHECK(second.error == -ETIME);
	child_free(reader);
}

static void so_does_one_that_runs_too_long(void)
{
	struct child *reader = child_new(SELF, SPINS, -1);
	struct answer a;
	struct child_request r = request(READER_INSPECT, STDIN_FILENO, &a);

	r.limit_ns = 50 * NS_PER_MS;
	ask(reader, &r, &a);
	CHECK(a.error == -ETIME);
	child_free(reader);
}

/* Keeps the CPU that we are on busy, in a process of its own. */
static pid_t keep_busy(void)
{
	pid_t pid = fork();

	while (!pid)
		;
	return pid;
}

static void one_that_gets_no_cpu_has_its_time(void)
{
	struct child *reader = child_new(SELF, SLOW, -1);
	cpu_set_t before, one;
	struct answer a;
	struct child_request r = request(READER_INSPECT, STDIN_FILENO, &a);
	pid_t busy;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_getaffinity(0, sizeof(before), &before));
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	ask(reader, &r, &a);
	busy = keep_busy();
	r.limit_ns = 20 * NS_PER_MS;
	a.done = false;
	ask(reader, &r, &a);
	CHECK(!a.error);
	CHECK(!kill(busy, SIGKILL) && waitpid(busy, NULL, 0) == busy);
	CHECK(!sched_setaffinity(0, sizeof(before), &before));
	child_free(reader);
}

static void so_does_one_that_dies(void)
{
	struct child *reader = child_new(SELF, DIES, -1);

	for (int i = 0; i < 3; i++)
		CHECK(read_file(reader, READER_INSPECT, SELF).error == -EIO);
	child_free(reader);
}

/* The only child of this process. */
static pid_t child_of_ours(void)
{
	struct buf text = BUF_INIT;
	char path[64];
	pid_t pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (!io_read_file(path, 4096, &text))
		pid = (pid_t)strtol(buf_text(&text), NULL, 10);
	buf_release(&text);
	return pid;
}

static void it_keeps_no_stream_of_ours_open(void)
{
	struct child *reader = child_new(SELF, SANDBOX_READER, -1);
	struct answer first = read_file(reader, READER_INSPECT, SELF);

	CHECK(!first.error);
	for (int fd = 0; fd < (SANITIZED ? 2 : 3); fd++) {
		char path[64], target[64] = "";

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child_of_ours(), fd);
		CHECK(readlink(path, target, sizeof(target) - 1) > 0);
		CHECK_TEXT(target, "/dev/null");
	}
	child_free(reader);
}

static void one_that_died_idle_costs_nothing(void)
{
	struct child *reader = child_new(SELF, SANDBOX_READER, -1);
	struct answer first = read_file(reader, READER_INSPECT, SELF), second;
	siginfo_t info;
	pid_t pid = child_of_ours();

	CHECK(!first.error && pid > 0);
	CHECK(pid > 0 && !kill(pid, SIGKILL));
	CHECK(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	second = read_file(reader, READER_INSPECT, SELF);
	CHECK(!second.error && second.size == sizeof(struct file_facts));
	child_free(reader);
}

static void where_no_process_can_begin_the_work_is_done_here(void)
{
	const struct files_options none = {.program = "/nonexistent"}, ours = {.program = SELF};
	struct files *files = NULL;

	CHECK(!files_new(&files, &none));
	files_check(files);
	CHECK_TEXT(files_refusal(files), "No such file or directory");
	files_free(files);
	CHECK(!files_new(&files, &ours));
	files_check(files);
	CHECK(!files_refusal(files));
	files_free(files);
}

struct refusals {
	uint32_t answers, busy;
};

static int note_refusal(void *context, uint64_t tag, struct files_answer *a)
{
	struct refusals *r = context;

	r->answers++;
	r->busy += a->error == -EBUSY;
	return 0;
}

#define QUESTIONS 20000

static void questions_that_are_not_answered_have_a_bound_in_bytes(void)
{
	const struct files_options ours = {.program = SELF};
	const struct mapped_file mapped = {.build_id_size = 1};
	static char path[4001] = "/";
	struct refusals refusals = {0};
	const struct files_question q = {.purpose = FILES_FACTS,
		.pid = (uint32_t)getpid(),
		.path = path,
		.mapped = &mapped,
		.done = note_refusal,
		.context = &refusals};
	struct files *files;
	pid_t opener;
	size_t before;

	memset(path + 1, 'n', sizeof(path) - 2);
	CHECK(!files_new(&files, &ours));
	files_check(files);
	opener = child_of_ours();
	CHECK(opener > 0 && !kill(opener, SIGSTOP));
	before = mallinfo2().uordblks;
	for (int i = 0; i < QUESTIONS; i++)
		CHECK(!files_ask(files, &q));
	CHECK(refusals.busy && files_unreadable(files) >= refusals.busy);
	CHECK(mallinfo2().uordblks - before < WAITING_BYTES * 5 / 4);
	CHECK(refusals.busy < QUESTIONS - WAITING_BYTES / 10000);
	files_free(files);
}

static void what_is_asked_of_no_program_is_an_error(void)
{
	struct child *reader = child_new("/no/such/program", SANDBOX_READER, -1);
	struct answer a;
	struct child_request r = request(READER_INSPECT, STDIN_FILENO, &a);

	ask(reader, &r, &a);
	CHECK(a.error == -ENOENT);
	child_free(reader);
}

/* The wait status of a process that gave up its rights and then did this. */
static int status_of(int (*confine)(void), void (*deed)(void))
{
	pid_t child;
	int status = -1;

	fflush(stdout);
	child = fork();
	if (!child) {
		if (confine())
			_exit(99);
		deed();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static bool is_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void do_nothing(void)
{
}

static void open_a_file(void)
{
	if (open("/etc/passwd", O_RDONLY) < 0)
		_exit(errno);
}

static void write_a_file(void)
{
	(void)!open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

static void begin_a_process(void)
{
	(void)!fork();
}

static void map_code(void)
{
	(void)!mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void send_a_signal(void)
{
	kill(getppid(), 0);
}

static pid_t parent;

static void read_memory(void)
{
	char here[8], there[8];
	const struct iovec to = {here, sizeof(here)}, from = {there, sizeof(there)};

	if (process_vm_readv(parent, &to, 1, &from, 1, 0) != sizeof(here))
		_exit(1);
}

static void write_memory(void)
{
	char here[8], there[8];
	const struct iovec from = {here, sizeof(here)}, to = {there, sizeof(there)};

	(void)process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

/* Root's, after that was given up. */
static void read_memory_of_others(void)
{
	if (!geteuid())
		_exit(98);
	read_memory();
}

static void none_can_do_more_than_it_is_there_for(void)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("sanitizers need system calls of their own");
	return;
#endif
	CHECK(status_of(confine_reader, do_nothing) == 0);
	CHECK(status_of(confine_opener, do_nothing) == 0);
	CHECK(status_of(confine_reader, open_a_file) == W_EXITCODE(ENOENT, 0));
	CHECK(status_of(confine_opener, open_a_file) == 0);
	CHECK(is_killed(status_of(confine_opener, write_a_file)));
	CHECK(is_killed(status_of(confine_reader, begin_a_process)));
	CHECK(is_killed(status_of(confine_opener, begin_a_process)));
	CHECK(is_killed(status_of(confine_reader, map_code)));
	CHECK(is_killed(status_of(confine_reader, send_a_signal)));
	CHECK(is_killed(status_of(confine_opener, send_a_signal)));
	parent = getpid();
	CHECK(status_of(confine_memory, geteuid() ? do_nothing : read_memory_of_others) == 0);
	CHECK(is_killed(status_of(confine_memory, write_memory)));
	CHECK(is_killed(status_of(confine_memory, open_a_file)));
	CHECK(is_killed(status_of(confine_memory, begin_a_process)));
	CHECK(is_killed(status_of(confine_memory, map_code)));
	CHECK(is_killed(status_of(confine_memory, send_a_signal)));
	CHECK(is_killed(status_of(confine_reader, read_memory)));
	CHECK(is_killed(status_of(confine_opener, read_memory)));
}

/* The wait status of one that confines itself as root without a capability. */
static int confined_without(int capability, int (*confine)(void))
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child)
		_exit(rights_keep(~(1ull << capability)) ? 98 : confine() ? 99 : 0);
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void who_loads_a_library_is_certainly_not_root(void)
{
	if (geteuid()) {
		SKIP("not root");
		return;
	}
	CHECK(status_of(confine_loader, do_nothing) == 0);
	CHECK(confined_without(CAP_SETUID, confine_loader) == 99);
	CHECK(confined_without(CAP_SETGID, confine_loader) == 99);
	/* What cannot open anything can stay. */
	CHECK(confined_without(CAP_SETUID, confine_reader) == 0);
}

static void facts_out_of_bounds_are_refused(void)
{
	struct file_facts good = {.build_id_size = 20, .code_count = 1}, bad;

	CHECK(file_facts_are_sound(&good));
	bad = good;
	bad.build_id_size = ELF_BUILD_ID_MAX + 1;
	CHECK(!file_facts_are_sound(&bad));
	bad = good;
	bad.code_count = FILE_CODE_MAX + 1;
	CHECK(!file_facts_are_sound(&bad));
	bad = good;
	bad.code[0] = (struct elf_code){.offset = 1, .size = UINT64_MAX};
	CHECK(!file_facts_are_sound(&bad));
	bad = good;
	memset(bad.debug_link, 'x', sizeof(bad.debug_link));
	CHECK(!file_facts_are_sound(&bad));
}

/* After some milliseconds of its own, of which it gets few. */
static int answer_slowly(struct buf *request)
{
	static const int none[MESSAGE_FDS] = {-1, -1};
	int kind, fds[MESSAGE_FDS];

	do {
		clock_t until = clock() + 5 * CLOCKS_PER_SEC / 1000;

		while (clock() < until)
			;
		if (nice(19) < 0 || sandbox_send(SANDBOX_SOCKET, 0, NULL, 0, none))
			return 1;
	} while (!sandbox_receive(SANDBOX_SOCKET, request, REQUEST_BYTES, &kind, fds));
	return 0;
}

static int misbehave(const char *how)
{
	static struct buf request; /* nobody frees it: the process just ends */
	int kind, fds[MESSAGE_FDS];

	(void)sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds);
	if (!strcmp(how, HANGS))
		pause();
	while (!strcmp(how, SPINS))
		;
	if (!strcmp(how, SLOW))
		return answer_slowly(&request);
	return 1;
}

static bool misbehaves(const char *how)
{
	return !strcmp(how, HANGS) || !strcmp(how, DIES) || !strcmp(how, SPINS) ||
	       !strcmp(how, SLOW);
}

int main(int argc, char **argv)
{
	if (argc == 3 && misbehaves(argv[2]))
		return misbehave(argv[2]);
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (!mkdtemp(folder))
		return 1;
	RUN(a_reader_says_what_is_in_a_file);
	RUN(a_reader_says_where_functions_begin_that_can_be_probed);
	RUN(what_is_no_elf_file_is_an_error);
	RUN(an_opener_opens_the_file_of_a_path_if_it_is_the_one);
	RUN(where_a_process_is_gone_its_paths_are_those_of_whoever_was_said);
	RUN(an_opener_minds_no_descriptors_that_others_have_sent);
	RUN(a_process_that_is_too_slow_costs_its_request_only);
	RUN(so_does_one_that_runs_too_long);
	RUN(so_does_one_that_dies);
	RUN(one_that_gets_no_cpu_has_its_time);
	RUN(it_keeps_no_stream_of_ours_open);
	RUN(one_that_died_idle_costs_nothing);
	RUN(where_no_process_can_begin_the_work_is_done_here);
	RUN(questions_that_are_not_answered_have_a_bound_in_bytes);
	RUN(what_is_asked_of_no_program_is_an_error);
	RUN(none_can_do_more_than_it_is_there_for);
	RUN(who_loads_a_library_is_certainly_not_root);
	RUN(facts_out_of_bounds_are_refused);
	shell("rm -f file link pipe mine");
	rmdir(folder);
	return tap_end();
}
