// SPDX-License-Identifier: MIT
/*
 * The order matters: a filter of system calls is last, as it forbids what the other steps need.
 * Sanitizers make system calls and map memory of their own, so that builds with them have neither
 * filter nor limit of memory.
 */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rights.h"
#include "sandbox/limits.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* --- rights ----------------------------------------------------------------------------------- */

/* In a user namespace that has no such user, root has no rights outside of it. */
static int be_nobody(void)
{
	if (geteuid())
		return 0;
	if (setgroups(0, NULL) && errno != EPERM)
		return -errno;
	if (setresgid(RIGHTS_NOBODY, RIGHTS_NOBODY, RIGHTS_NOBODY) && errno != EINVAL &&
		errno != EPERM)
		return -errno;
	if (setresuid(RIGHTS_NOBODY, RIGHTS_NOBODY, RIGHTS_NOBODY) && errno != EINVAL &&
		errno != EPERM)
		return -errno;
	return 0;
}

/* For who may open files: also without capabilities root owns most of them. */
static int certainly_be_nobody(void)
{
	int error = geteuid() ? rights_keep(0) : rights_become(RIGHTS_NOBODY, RIGHTS_NOBODY);

	return error == -EINVAL ? -EPERM : error;
}

static void limit(int resource, uint64_t most)
{
	struct rlimit limits;

	if (getrlimit(resource, &limits))
		return;
	if (limits.rlim_max > most)
		limits.rlim_max = most;
	limits.rlim_cur = limits.rlim_max;
	(void)setrlimit(resource, &limits);
}

static void limit_resources(size_t data_bytes, uint64_t descriptors)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, descriptors);
	limit(RLIMIT_NPROC, 0);
	if (!SANITIZED)
		limit(RLIMIT_DATA, data_bytes);
}

/* Nothing can be opened, made or removed any more, but read below a folder (-1: none). False: that
 * is not certain. */
static bool forbid_files_but(int folder)
{
	struct landlock_ruleset_attr attributes = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
	struct landlock_path_beneath_attr below = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
		.parent_fd = folder};
	int rules = (int)syscall(
		SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0);
	bool forbidden;

	if (rules < 0)
		return false;
	if (folder >= 0)
		(void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	forbidden = !syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
	return forbidden;
}

/* --- system calls ----------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#else
#error "which audit architecture is this?"
#endif

/* All work on descriptors they have or are sent, and on their own memory. */
static const uint16_t calls_of_all[] = {SYS_read, SYS_write, SYS_sendmsg, SYS_recvmsg, SYS_close,
	SYS_fstat, SYS_newfstatat, SYS_lseek, SYS_pread64, SYS_munmap, SYS_mremap, SYS_brk,
	SYS_madvise, SYS_futex, SYS_clock_gettime, SYS_getrandom, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_geteuid, SYS_sysinfo, SYS_getpid, SYS_gettid, SYS_tgkill, SYS_exit,
	SYS_exit_group};

static const uint16_t calls_of_opener[] = {SYS_openat2, SYS_fstatfs, SYS_fcntl, SYS_memfd_create,
	SYS_setfsuid, SYS_setfsgid, SYS_setgroups, SYS_setresuid, SYS_setresgid, SYS_capset,
	SYS_capget};

static const uint16_t calls_of_reader[] = {SYS_fcntl};

static const uint16_t calls_of_memory[] = {SYS_process_vm_readv, SYS_clock_nanosleep};

/* libdw tries to open what its files refer to. The reader opens nothing, so these only fail. */
static const uint16_t failing_calls_of_reader[] = {
	SYS_openat,
	SYS_readlinkat,
	SYS_faccessat,
#ifdef SYS_open
	SYS_open,
	SYS_readlink,
	SYS_access,
#endif
};

#define FILTER_MAX 128

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short count;
};

static void add(struct filter *f, struct sock_filter instruction)
{
	if (f->count < FILTER_MAX)
		f->code[f->count] = instruction;
	f->count++;
}

static void load(struct filter *f, size_t offset)
{
	add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* What is loaded has to be equal, or the next `skip` instructions are not done. */
static void skip_unless(struct filter *f, uint32_t value, uint8_t skip)
{
	add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

static void end(struct filter *f, uint32_t action)
{
	add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void answer(struct filter *f, const uint16_t *calls, size_t count, uint32_t action)
{
	for (size_t i = 0; i < count; i++) {
		skip_unless(f, calls[i], 1);
		end(f, action);
	}
}

/* Allowed when none of the `bits` is in an argument's lower half. */
static void allow_without(struct filter *f, uint32_t call, unsigned int argument, uint32_t bits)
{
	skip_unless(f, call, 4);
	load(f, offsetof(struct seccomp_data, args) + 8 * argument);
	add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0));
	end(f, SECCOMP_RET_ALLOW);
	end(f, SECCOMP_RET_KILL_PROCESS);
}

/* What one role may do beyond what all do; what is in neither list kills. */
struct calls {
	const uint16_t *allowed, *failing;
	size_t allowed_count, failing_count;
	bool opens;  /* to read */
	bool limits; /* itself */
};

#define LIST(name, calls) .name = (calls), .name##_count = sizeof(calls) / sizeof(*(calls))

static int install(const struct calls *calls)
{
	struct filter f = {0};
	struct sock_fprog program;

	load(&f, offsetof(struct seccomp_data, arch));
	add(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0));
	end(&f, SECCOMP_RET_KILL_PROCESS);
	load(&f, offsetof(struct seccomp_data, nr));
	answer(&f, calls_of_all, sizeof(calls_of_all) / sizeof(*calls_of_all), SECCOMP_RET_ALLOW);
	answer(&f, calls->allowed, calls->allowed_count, SECCOMP_RET_ALLOW);
	answer(&f, calls->failing, calls->failing_count, SECCOMP_RET_ERRNO | ENOENT);
	if (calls->limits)
		allow_without(&f, SYS_prlimit64, 0, UINT32_MAX);
	if (calls->opens)
		allow_without(&f, SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
	allow_without(&f, SYS_mprotect, 2, PROT_EXEC);
	allow_without(&f, SYS_mmap, 2, PROT_EXEC);
	end(&f, SECCOMP_RET_KILL_PROCESS);
	if (f.count > FILTER_MAX)
		return -E2BIG;
	program = (struct sock_fprog){.len = f.count, .filter = f.code};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) ? -errno : 0;
}

static int forbid_all_but(const struct calls *calls)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return SANITIZED ? 0 : install(calls);
}

/* --- the processes ---------------------------------------------------------------------------- */

/* One that is busy would not notice that the recorder was killed. A change of user forgets it. The
 * parent is the thread that began us. */
static int end_with_parent(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ? -errno : 0;
}

int confine_loader(void)
{
	int error;

	limit_resources(READER_DATA_BYTES, READER_DESCRIPTORS);
	limit(RLIMIT_FSIZE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	error = certainly_be_nobody();
	if (error)
		return error;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return end_with_parent();
}

int confine_reader(void)
{
	static const struct calls calls = {LIST(allowed, calls_of_reader),
		LIST(failing, failing_calls_of_reader), .limits = true};
	int error;

	limit_resources(READER_DATA_BYTES, READER_DESCRIPTORS);
	limit(RLIMIT_FSIZE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	(void)forbid_files_but(-1);
	error = be_nobody();
	error = error ?: rights_keep(0);
	if (error)
		return error;
	/* No program of the same user may look into it. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return end_with_parent() ?: forbid_all_but(&calls);
}

/* Without Landlock: who is confined by it may not look at what other processes map. */
int confine_opener(void)
{
	static const struct calls calls = {LIST(allowed, calls_of_opener), .opens = true};
	const uint64_t kept = 1ull << CAP_CHECKPOINT_RESTORE | 1ull << CAP_SYS_PTRACE |
			      1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SETUID | 1ull << CAP_SETGID;
	int error;

	limit_resources(OPENER_DATA_BYTES, OPENER_DESCRIPTORS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	error = rights_keep(kept);
	if (error)
		return error;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return forbid_all_but(&calls);
}

/* Without Landlock, for the same reason. Root becomes nobody and keeps the one capability. */
int confine_memory(void)
{
	static const struct calls calls = {LIST(allowed, calls_of_memory)};
	const uint64_t kept = 1ull << CAP_SYS_PTRACE;
	int error;

	limit_resources(MEMORY_DATA_BYTES, MEMORY_DESCRIPTORS);
	limit(RLIMIT_FSIZE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	error = be_nobody();
	error = error ?: rights_keep(kept);
	if (error)
		return error;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return end_with_parent() ?: forbid_all_but(&calls);
}

int confine_worker(const char *folder)
{
	int error, below;
	bool forbidden;

	if (geteuid() && !getauxval(AT_SECURE))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	below = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	forbidden = forbid_files_but(below);
	if (below >= 0)
		close(below);
	error = forbidden ? be_nobody() : certainly_be_nobody();
	error = error ?: rights_keep(0);
	return error ?: end_with_parent();
}
