// SPDX-License-Identifier: MIT
/*
 *	python_stack PID
 *		the Python stacks of all threads of a process, as src/python/ and the walk see them
 *	python_stack --parts FILE FUNCTION
 *		where a function's body and its unlikely part are
 *
 * Unwind tables are kept in the folder $PYTHON_STACK_CACHE. Each thread is stopped while it is
 * looked at. Lines of output, fields separated by tabs:
 *
 *	interpreter  version  free-threaded  file  how a thread's state is found
 *	thread       tid  complete  entries ascend on the thread's stack  groups
 *	             native frames that run Python  how the native walk ended (enum walk_end)
 *	frame        function  file  line  the group ends here
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/error.h"
#include "elf/named.h"
#include "python/code.h"
#include "python/cold.h"
#include "python/interpreter.h"
#include "python/memory.h"
#include "python/remote.h"
#include "unwind/tables.h"
#include "unwind_request.h"
#include "unwind/unwind.h"

#define MODULES_MAX 512
#define STACK_MAX   ((size_t)4 << 20)
#define PAGE_BYTES  4096
#define TABLES_NS   30000000000ull

struct process {
	uint32_t pid;
	struct unwind_tables *tables;
	struct walk_mapping mappings[MODULES_MAX];
	uint32_t ids[MODULES_MAX]; /* of their tables */
	uint32_t mapping_count;
	struct python_memory memory;
	struct walk_python python;
	struct python_code *code;
};

/* The upper end of the mapping that `address` is in. */
static uint64_t mapping_end(const struct process *p, uint64_t address)
{
	char path[64], line[512];
	uint64_t start, end, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && address >= start &&
			address < end)
			found = end;
	if (f)
		fclose(f);
	return found;
}

static bool entries_ascend(const struct process *p, const struct python_stack *s, uint64_t sp)
{
	uint64_t end = mapping_end(p, sp), last = sp;

	for (uint32_t i = 0; i < s->entry_count; i++) {
		if (s->entries[i] < last || s->entries[i] >= end)
			return false;
		last = s->entries[i] + 1;
	}
	return true;
}

/* The executable mapping of a file, when it has an unwind table. */
static void add_mapping(
	struct process *p, const char *path, uint64_t start, uint64_t end, uint64_t offset)
{
	struct walk_mapping *m = &p->mappings[p->mapping_count];
	struct elf_file *elf;
	uint64_t vaddr;

	if (p->mapping_count == MODULES_MAX || elf_file_open(&elf, path))
		return;
	if (!elf_file_offset_to_vaddr(elf, offset, &vaddr) &&
		!request_table_of(p->tables, elf, &p->ids[p->mapping_count])) {
		*m = (struct walk_mapping){.start = start, .end = end, .bias = start - vaddr};
		p->mapping_count++;
	}
	elf_file_close(elf);
}

static void load_mappings(struct process *p)
{
	char path[64], line[4200], permissions[5], file[4096];
	uint64_t start, end, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095[^\n]",
			    &start, &end, permissions, &offset, file) == 5 &&
			permissions[2] == 'x' && file[0] == '/')
			add_mapping(p, file, start, end, offset);
	if (f)
		fclose(f);
	unwind_tables_wait(p->tables, p->ids, p->mapping_count, TABLES_NS);
	for (uint32_t i = 0; i < p->mapping_count; i++)
		if (unwind_tables_state(p->tables, p->ids[i], &p->mappings[i].table) ==
			UNWIND_READY)
			p->mappings[i].kind = WALK_MAPPING_TABLE;
}

/* Copies what can be read from `address` on: how much that is. Guard pages of other threads may lie
 * in the same mapping. */
static size_t read_stack(const struct process *p, uint64_t address, size_t size, uint8_t *ret)
{
	size_t have = 0;

	while (have < size) {
		size_t piece = PAGE_BYTES - (address + have) % PAGE_BYTES;

		if (piece > size - have)
			piece = size - have;
		if (!python_read(&p->memory, address + have, ret + have, piece))
			break;
		have += piece;
	}
	return have;
}

/* How many native frames run Python; these are all when the walk ended well. */
static int count_loops(const struct process *p, const struct python_stack *s,
	const struct user_regs_struct *r, enum walk_end *ret_end)
{
	uint64_t frames[WALK_FRAMES_MAX], size = mapping_end(p, r->rsp) - r->rsp;
	const uint64_t registers[17] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp,
		r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
	uint8_t *stack = malloc(STACK_MAX);
	struct unwind_start start = {.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
		.exact = true,
		.registers = registers,
		.register_count = 17,
		.stack = stack,
		.mappings = p->mappings,
		.mapping_count = p->mapping_count,
		.words = unwind_tables_words(p->tables),
		.word_count = unwind_tables_word_count(p->tables),
		.entries = s->entries,
		.entry_count = s->entry_count,
		.loops = {p->python.loops[0], p->python.loops[1]}};
	enum walk_end end = WALK_FAULT;
	uint32_t depth = 0;
	int count = 0;

	if (stack) {
		start.stack_size =
			read_stack(p, r->rsp, size < STACK_MAX ? size : STACK_MAX, stack);
		depth = unwind_walk(&start, frames, &end);
	}
	for (uint32_t i = 0; i < depth; i++)
		count += (frames[i] & WALK_FRAME_PYTHON) != 0;
	free(stack);
	*ret_end = end;
	return count;
}

static void print_frame(struct process *p, const struct walk_python_frame *frame)
{
	struct python_line line;
	int error =
		python_code_want(p->code, frame) ? python_code_read_here(p->code, &p->memory) : 0;

	error = error ?: python_code_line(p->code, frame, &line);
	if (error)
		printf("frame\t?\t%s\t0\t0\n", strerror(-error));
	else if (!line.incomplete)
		printf("frame\t%s\t%s\t%u\t%d\n", line.function, line.file, line.line,
			(frame->at & WALK_PYTHON_LAST) != 0);
}

static void print_stack(struct process *p, uint32_t tid, const struct user_regs_struct *r)
{
	uint64_t state = python_remote_state(&p->memory, &p->python, r->fs_base);
	struct python_stack s;
	uint32_t groups = 0;
	enum walk_end end;
	int loops;

	if (!state)
		return;
	python_remote_walk(&s, &p->memory, &p->python, state);
	for (uint32_t i = 0; i < s.depth; i++)
		groups += (s.frames[i].at & WALK_PYTHON_LAST) != 0;
	loops = count_loops(p, &s, r, &end);
	printf("thread\t%u\t%d\t%d\t%u\t%d\t%d\n", tid, s.complete, entries_ascend(p, &s, r->rsp),
		groups, loops, end);
	for (uint32_t i = 0; i < s.depth; i++)
		print_frame(p, &s.frames[i]);
}

static void look_at_thread(struct process *p, uint32_t tid)
{
	struct user_regs_struct registers;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return;
	if (!ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
		waitpid((pid_t)tid, &status, __WALL) > 0 &&
		!ptrace(PTRACE_GETREGS, tid, NULL, &registers))
		print_stack(p, tid, &registers);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

static int look_at_threads(struct process *p)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", p->pid);
	tasks = opendir(path);
	if (!tasks)
		return 1;
	while ((entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			look_at_thread(p, (uint32_t)atoi(entry->d_name));
	closedir(tasks);
	return 0;
}

/* Looks for the interpreter in one mapped file; the mapping is the file's first. */
static bool try_file(struct process *p, const char *path, uint64_t start, uint64_t offset)
{
	struct python_file file;
	struct elf_file *elf;
	uint64_t vaddr;
	bool is = false;

	if (elf_file_open(&elf, path))
		return false;
	if (!python_file_inspect(elf, &file) && file.runtime &&
		!elf_file_offset_to_vaddr(elf, offset, &vaddr)) {
		enum python_found found = python_find(&p->memory, &file, start - vaddr, &p->python);

		is = found == PYTHON_FOUND;
		if (!is)
			fprintf(stderr, "%s: %s\n", path,
				found == PYTHON_NOT_YET ? "not yet" : "unsupported");
	}
	elf_file_close(elf);
	return is;
}

static const char *state_by(const struct walk_python *p)
{
	if (p->tss_address)
		return p->tsd_first ? "key" : "key, by blocks";
	return p->tls_module ? "module's variable" : "variable";
}

static bool find_interpreter(struct process *p)
{
	char path[64], line[4200], file[4096], last[4096] = "";
	uint64_t start, offset;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %4095[^\n]", &start,
			    &offset, file) != 3 ||
			file[0] != '/' || !strcmp(file, last))
			continue;
		strcpy(last, file);
		found = try_file(p, file, start, offset);
		if (found)
			printf("interpreter\t%u.%u\t%u\t%s\t%s\n", p->python.version >> 8,
				p->python.version & 255, p->python.free_threaded, file,
				state_by(&p->python));
	}
	if (f)
		fclose(f);
	return found;
}

/* The body and the unlikely part of an exported function, as they are found without a symbol table.
 */
static int show_parts(const char *path, const char *function)
{
	struct walk_range body, cold;
	struct elf_named found;
	struct elf_file *elf;
	int error;

	if (elf_file_open(&elf, path)) {
		fprintf(stderr, "%s\n", error_text());
		return 1;
	}
	error = elf_find_exported(elf, function, &found);
	body = (struct walk_range){found.vaddr, found.vaddr + found.size};
	error = error ?: python_cold_part(elf, &body, &cold);
	if (!error)
		printf("body\t%" PRIx64 "\t%" PRIx64 "\ncold\t%" PRIx64 "\t%" PRIx64 "\n",
			body.start, body.end, cold.start, cold.end);
	elf_file_close(elf);
	return error ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct unwind_tables_options options = {.cache_dir = getenv("PYTHON_STACK_CACHE")};
	static struct process p;
	int result;

	if (argc == 4 && !strcmp(argv[1], "--parts"))
		return show_parts(argv[2], argv[3]);
	if (argc != 2) {
		fprintf(stderr, "usage: python_stack PID | --parts FILE FUNCTION\n");
		return 2;
	}
	p.pid = (uint32_t)atoi(argv[1]);
	p.memory = python_memory_of(p.pid);
	if (!find_interpreter(&p) || python_code_new(&p.code, &p.python)) {
		fprintf(stderr, "no interpreter in process %u\n", p.pid);
		return 1;
	}
	if (unwind_tables_new(&p.tables, &options)) {
		fprintf(stderr, "%s\n", error_text());
		return 1;
	}
	load_mappings(&p);
	result = look_at_threads(&p);
	unwind_tables_free(p.tables);
	python_code_unref(p.code);
	return result;
}
