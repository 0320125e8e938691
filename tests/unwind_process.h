/* SPDX-License-Identifier: MIT */
/*
 * For tests and benchmarks of the walker: the mappings of a process with the tables of its files,
 * and registers and stack of one of its threads that ptrace has stopped.
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/buf.h"
#include "base/io.h"
#include "elf/elf_file.h"
#include "elf/vdso.h"
#include "unwind/tables.h"
#include "unwind_request.h"
#include "unwind/unwind.h"

#define PROCESS_MAPPINGS_MAX 1024
#define PROCESS_STACK_BYTES  (256u << 10)

struct process_image {
	struct unwind_tables *tables;
	struct walk_mapping mappings[PROCESS_MAPPINGS_MAX];
	uint32_t ids[PROCESS_MAPPINGS_MAX];
	uint32_t count;
	struct buf maps; /* the text that it was made from */
};

struct process_stack {
	struct user_regs_struct registers;
	uint64_t numbered[17]; /* by their DWARF numbers */
	size_t size;
	uint8_t bytes[PROCESS_STACK_BYTES];
};

/* One line of /proc/PID/maps; false: nothing executable. */
static inline bool process_add_mapping(struct process_image *p, const char *line)
{
	struct walk_mapping m = {0};
	uint64_t offset, vaddr = 0;
	char permissions[5], path[512] = "";
	struct elf_file *f;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s", &m.start, &m.end,
		    permissions, &offset, path) < 4 ||
		permissions[2] != 'x' || p->count == PROCESS_MAPPINGS_MAX)
		return false;
	p->ids[p->count] = 0;
	if (!strcmp(path, "[vdso]") && !vdso_open(&f)) {
		m.bias = m.start;
		(void)unwind_tables_request_vdso(p->tables, f, &p->ids[p->count]);
		elf_file_close(f);
	} else if (path[0] == '/' && !elf_file_open(&f, path)) {
		if (!elf_file_offset_to_vaddr(f, offset, &vaddr)) {
			m.bias = m.start - vaddr;
			(void)request_table_of(p->tables, f, &p->ids[p->count]);
		}
		elf_file_close(f);
	}
	p->mappings[p->count++] = m;
	return true;
}

static inline void process_read_maps(const char *maps_path, struct buf *ret)
{
	buf_reset(ret);
	(void)io_read_file(maps_path, (size_t)16 << 20, ret);
	buf_putc(ret, '\0');
}

/* Makes the mappings anew when they have changed: true when they have. */
static inline bool process_image_update(struct process_image *p, int pid)
{
	struct buf now = BUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	process_read_maps(path, &now);
	if (p->maps.data && now.size == p->maps.size && !memcmp(now.data, p->maps.data, now.size)) {
		buf_release(&now);
		return false;
	}
	buf_release(&p->maps);
	p->maps = now;
	p->count = 0;
	for (const char *line = p->maps.data; line && *line; line = strchr(line, '\n') + 1)
		process_add_mapping(p, line);
	(void)unwind_tables_wait(p->tables, p->ids, p->count, UINT64_MAX);
	for (uint32_t i = 0; i < p->count; i++)
		if (unwind_tables_state(p->tables, p->ids[i], &p->mappings[i].table) ==
			UNWIND_READY)
			p->mappings[i].kind = WALK_MAPPING_TABLE;
	return true;
}

/* System V ABI, AMD64 supplement, figure 3.36 */
static inline void process_number_registers(struct process_stack *s)
{
	const struct user_regs_struct *r = &s->registers;
	const uint64_t numbered[17] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp,
		r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};

	memcpy(s->numbered, numbered, sizeof(numbered));
}

/* Registers, and the stack from its pointer on. */
static inline bool process_stack_take(struct process_stack *s, int pid)
{
	struct iovec here = {.iov_base = s->bytes}, there;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &s->registers))
		return false;
	process_number_registers(s);
	/* Up to the end of the mapping: a call that reaches beyond it reads whole pages before. */
	for (size_t size = sizeof(s->bytes); size >= 4096; size /= 2) {
		ssize_t got;

		here.iov_len = size;
		there = (struct iovec){(void *)s->registers.rsp, size};
		got = process_vm_readv(pid, &here, 1, &there, 1, 0);
		if (got > 0) {
			s->size = (size_t)got;
			return true;
		}
	}
	return false;
}

static inline struct unwind_start process_start(
	const struct process_image *p, const struct process_stack *s)
{
	return (struct unwind_start){
		.pc = s->registers.rip,
		.sp = s->registers.rsp,
		.fp = s->registers.rbp,
		.exact = true,
		.registers = s->numbered,
		.register_count = 17,
		.stack = s->bytes,
		.stack_size = s->size,
		.mappings = p->mappings,
		.mapping_count = p->count,
		.words = unwind_tables_words(p->tables),
		.word_count = unwind_tables_word_count(p->tables),
	};
}
