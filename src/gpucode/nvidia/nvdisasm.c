// SPDX-License-Identifier: MIT
/*
 * The functions stand one after the other in a memory file, which is the child's standard input and
 * is opened by it through /proc. Its output is read line by line as it comes: the offset
 * identifies the function.
 *
 * nvdisasm stops at the first instruction that it does not know (12.5 and 13.0 then print none at
 * all, only where it is). The rest of that function is overwritten with NOP and everything is tried
 * again.
 */
#include "gpucode/nvidia/nvdisasm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "gpucode/nvidia/nvdisasm_output.h"
#include "gpucode/nvidia/sass.h"
#include "gpucode/program.h"

#define PROGRAM	  "nvdisasm"
#define TRIES_MAX 16

/* The bytes of NOP, the same for every SM. */
static const uint8_t nop[SASS_INSTRUCTION_BYTES] = {0x18, 0x79, [13] = 0xc0, [14] = 0x0f};

/* Where a function is in the memory file, and how much of it nvdisasm is still to print. */
struct part {
	uint64_t start, end, known_end;
};

struct run {
	const struct nvdisasm_request *request;
	struct vec(struct part) parts;
	uint64_t deadline_ns;
	int code;	/* the memory file */
	size_t part;	/* that the next line should be for */
	uint64_t next;	/* the lowest offset that was not visited */
	bool unknown;	/* it stopped at an instruction, */
	uint64_t where; /* this one */
	char complaint[160];
};

int nvdisasm_find(struct buf *ret_path, bool trusting)
{
	static const char *const places[] = {PROGRAM, "$CUDA_HOME/bin/" PROGRAM,
		"/usr/local/cuda/bin/" PROGRAM, "/usr/local/cuda-*/bin/" PROGRAM, NULL};
	static const struct code_program_search search = {PROGRAM, "XPUPROF_NVDISASM", places};

	return code_program_find(&search, trusting, ret_path);
}

static int write_code(struct run *run)
{
	const struct nvdisasm_request *r = run->request;
	uint64_t size = 0;

	run->code = memfd_create("xpuprof-code", MFD_CLOEXEC);
	if (run->code < 0)
		return error_errno(-errno, "cannot make a memory file");
	for (size_t i = 0; i < r->count; i++) {
		size_t whole =
			r->functions[i].size / SASS_INSTRUCTION_BYTES * SASS_INSTRUCTION_BYTES;
		struct part part = {size, size + whole, size + whole};
		int error;

		if (whole > NVDISASM_CODE_MAX - size)
			return error_set(-EFBIG, "too much code for " PROGRAM);
		error = io_write_all(run->code, r->functions[i].bytes, whole);
		error = error ?: vec_push(&run->parts, part);
		if (error)
			return error_errno(error, "cannot hand over code to " PROGRAM);
		size += whole;
	}
	return 0;
}

/* As if the part had ended there. */
static int give_up_rest(struct run *run, struct part *p, uint64_t where)
{
	p->known_end = where;
	for (uint64_t at = where; at < p->end; at += sizeof(nop))
		if (pwrite(run->code, nop, sizeof(nop), (off_t)at) != sizeof(nop))
			return error_errno(-EIO, "cannot change the code for " PROGRAM);
	return 0;
}

static int nonsense(const char *what)
{
	return error_set(-EIO, "what " PROGRAM " says makes no sense: %s", what);
}

static int visit_instruction(struct run *run, uint64_t offset, const char *text)
{
	const struct nvdisasm_request *r = run->request;
	const struct part *p;

	if (offset % SASS_INSTRUCTION_BYTES)
		return nonsense("an instruction at an odd offset");
	if (offset < run->next)
		return 0;
	while (run->part < run->parts.count && offset >= run->parts.items[run->part].end)
		run->part++;
	if (run->part == run->parts.count)
		return nonsense("an instruction behind the code");
	p = &run->parts.items[run->part];
	run->next = offset + SASS_INSTRUCTION_BYTES;
	return offset < p->known_end ? r->visit(r->context, run->part, offset - p->start, text) : 0;
}

static int read_line(void *context, char *line)
{
	struct run *run = context;
	uint64_t offset;
	char *text;

	if (nvdisasm_output_instruction(line, &offset, &text))
		return visit_instruction(run, offset, text);
	if (nvdisasm_output_unknown(line, &offset)) {
		run->unknown = true;
		run->where = offset;
	} else if (!strncmp(line, PROGRAM, strlen(PROGRAM)) && !*run->complaint) {
		snprintf(run->complaint, sizeof(run->complaint), "%s", line);
	}
	return 0;
}

static int run_once(struct run *run)
{
	const struct nvdisasm_request *r = run->request;
	char sm[16],
		*arguments[] = {(char *)(uintptr_t)r->program, "-b", sm, CODE_PROGRAM_INPUT, NULL};
	const struct code_program program = {.name = PROGRAM,
		.arguments = arguments,
		.user = r->user,
		.input = run->code,
		.line = read_line,
		.context = run,
		.stopped = r->stopped,
		.stop_context = r->stop_context,
		.deadline_ns = run->deadline_ns};
	bool failed;
	int error;

	snprintf(sm, sizeof(sm), "SM%u", r->sm);
	run->unknown = false;
	run->part = 0;
	error = code_program_run(&program, &failed);
	if (error || !failed || run->unknown)
		return error;
	return error_set(-EIO, "%s", *run->complaint ? run->complaint : PROGRAM " failed");
}

/* The part with an offset that nvdisasm reports as unknown, or NULL. */
static struct part *part_at(struct run *run, uint64_t where)
{
	vec_foreach (p, &run->parts)
		if (p->start <= where && where < p->known_end)
			return p;
	return NULL;
}

static int run_until_known(struct run *run)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		int error = run_once(run);
		struct part *p;

		if (error || !run->unknown)
			return error;
		p = part_at(run, run->where);
		if (!p || run->where % SASS_INSTRUCTION_BYTES)
			return nonsense("an unknown instruction outside the code");
		error = give_up_rest(run, p, run->where);
		if (error)
			return error;
	}
	return error_set(-EIO, PROGRAM " does not know too many of the instructions");
}

int nvdisasm_run(const struct nvdisasm_request *r)
{
	struct run run = {
		.request = r,
		.deadline_ns = clock_now_ns() + r->limit_ns,
		.code = -1,
	};
	int error = write_code(&run);

	if (!error && run.parts.count && run.parts.items[run.parts.count - 1].end)
		error = run_until_known(&run);
	if (run.code >= 0)
		close(run.code);
	vec_release(&run.parts);
	return error;
}
