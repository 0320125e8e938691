/* SPDX-License-Identifier: MIT */
/*
 * The few kernel types the programs look into, with only the members they use: the loader finds the
 * true offsets in the running kernel's BTF (CO-RE).
 */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct mm_struct {
	unsigned long start_stack;
	unsigned long arg_start;
	unsigned long arg_end;
	struct uprobes_state uprobes_state;
};

struct thread_struct {
	unsigned long fsbase;
};

struct rq {
	struct task_struct *curr;
	unsigned long long clock;
	unsigned long long clock_task;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	unsigned long long exec_start;
	unsigned long long sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct refcount_struct {
	struct {
		int counter;
	} refs;
};

struct signal_struct {
	struct refcount_struct sigcnt;
	unsigned long long sum_sched_runtime;
};

struct task_struct {
	struct sched_entity se;
	struct signal_struct *signal;
	unsigned long long start_time;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	void *stack;
	unsigned int __state;
	int on_cpu;
	struct files_struct *files;
	struct uprobe_task *utask;
	struct thread_struct thread;
	char comm[16];
};

/* Before Linux 5.14 (commit 2f064a59a11f). */
struct task_struct___before_5_14 {
	long state;
};

struct module {
	char name[56];
};

struct cdev {
	struct module *owner;
};

struct inode {
	unsigned int i_rdev;
	struct cdev *i_cdev;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	unsigned long vm_flags;
};

struct kernel_siginfo;

/* Since Linux 6.4: where it is there is bpf_rdonly_cast, too. */
struct bpf_iter_num___since_6_4 {
	unsigned long long opaque[1];
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

/* An address becomes a pointer that the verifier lets the program read through; no call is left of
 * it. Since Linux 6.2. */
extern void *bpf_rdonly_cast(const void *object, uint32_t type) __ksym __weak;

/* include/linux/sched.h, the same since 4.14 */
#define TASK_STOPPED_OR_TRACED 0x0000000c
#define TASK_DEAD	       0x00000080

#define VM_EXEC	   0x00000004 /* include/linux/mm.h */
#define PF_EXITING 0x00000004 /* include/linux/sched.h, the same since 2.6.12 */
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h, the same since 2.6.27 */
