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

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
};

struct thread_struct {
	unsigned long fsbase;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	void *stack;
	struct thread_struct thread;
	char comm[16];
};

struct vm_area_struct {
	unsigned long vm_flags;
};

struct kernel_siginfo;

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop

#define VM_EXEC	   0x00000004 /* include/linux/mm.h */
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h, the same since 2.6.27 */
