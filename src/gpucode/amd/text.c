// SPDX-License-Identifier: MIT
/*
 * llvm-objdump gets an ELF file that is made here, in memory: the bare code of the functions that
 * are asked for, one after the other, and nothing else of the program's image.
 *
 *	header | code: function, padding, function, padding ... | names of sections | sections
 *
 * It has no symbols, so code is read on from one function to the next. Between them are as many
 * words of padding as an instruction can have, so that what a damaged function ends within does not
 * shift the next one. Code of each kind of GPU is in a file of its own, functions of more weight
 * first: llvm-objdump writes as it goes.
 */
#include "gpucode/amd/text.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/search.h"
#include "base/vec.h"
#include "gpucode/amd/gcn.h"
#include "gpucode/program.h"

#define PROGRAM	     "llvm-objdump"
#define CODE_MAX     ((size_t)256 << 20)
#define EM_AMD_GPU   224
#define OSABI_HSA    64
#define FLAG_GENERIC 0x1000000u /* the version of a generic target */
#define ABI_PLAIN    2
#define ABI_GENERIC  4
#define NOP	     0xbf800000u

static const char section_names[] = "\0.text\0.shstrtab";

/* A function's place in the file's code. */
struct part {
	uint64_t start, end;
	size_t function; /* of the request */
};

struct run {
	const struct gpucode_text_request *r;
	struct vec(struct part) parts; /* in their order */
	struct buf code;
	char complaint[160];
	size_t instructions;
};

/* --- what it reads ---------------------------------------------------------------------------- */

static bool is_generic(unsigned int target)
{
	const char *name = gcn_target_name(target);

	return name && strstr(name, "generic");
}

static int add_function(struct run *run, size_t number)
{
	static const uint32_t padding[GCN_BYTES_MAX / GCN_BYTES_MIN] = {NOP, NOP, NOP, NOP, NOP};
	const struct gpucode_function *f = run->r->functions[number].function;
	size_t size = f->size / GCN_BYTES_MIN * GCN_BYTES_MIN;
	struct part part = {run->code.size, run->code.size + size, number};

	if (size + sizeof(padding) > CODE_MAX - run->code.size)
		return 0; /* and later ones, which have less weight */
	buf_append(&run->code, f->code, size);
	buf_append(&run->code, padding, sizeof(padding));
	return run->code.failed ? -ENOMEM : vec_push(&run->parts, part);
}

static int write_file(const struct run *run, unsigned int target, int fd)
{
	uint64_t names = sizeof(Elf64_Ehdr) + run->code.size;
	uint64_t sections = (names + sizeof(section_names) + 7) / 8 * 8;
	static const char zero[8];
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, OSABI_HSA,
			is_generic(target) ? ABI_GENERIC : ABI_PLAIN},
		.e_type = ET_DYN,
		.e_machine = EM_AMD_GPU,
		.e_version = EV_CURRENT,
		.e_shoff = sections,
		.e_flags = target | (is_generic(target) ? FLAG_GENERIC : 0),
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Shdr headers[3] = {
		[1] = {.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_offset = sizeof(h),
			.sh_size = run->code.size,
			.sh_addralign = 4},
		[2] = {.sh_name = 7,
			.sh_type = SHT_STRTAB,
			.sh_offset = names,
			.sh_size = sizeof(section_names),
			.sh_addralign = 1},
	};
	int error = io_write_all(fd, &h, sizeof(h));

	error = error ?: io_write_all(fd, run->code.data, run->code.size);
	error = error ?: io_write_all(fd, section_names, sizeof(section_names));
	error = error ?: io_write_all(fd, zero, sections - names - sizeof(section_names));
	return error ?: io_write_all(fd, headers, sizeof(headers));
}

/* --- what it writes --------------------------------------------------------------------------- */

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = *text == '\t' ? ' ' : '?';
}

/* "	v_mov_b32_e32 v0, 0          // 000000001808: 7E000280 <where it goes>" */
bool amd_text_line(char *line, uint64_t *ret_address, char **ret_text)
{
	char *text = line + strspn(line, " \t"), *comment = strstr(text, "// "), *end;
	uint64_t address;

	if (!comment || text == line || !strncmp(text, ".long", 5))
		return false;
	address = strtoull(comment + 3, &end, 16);
	if (end == comment + 3 || *end != ':')
		return false;
	for (end = comment; end > text && strchr(" \t", end[-1]);)
		end--;
	if (end == text)
		return false;
	*end = '\0';
	make_printable(text);
	*ret_address = address;
	*ret_text = text;
	return true;
}

static int read_line(void *context, char *line)
{
	struct run *run = context;
	const struct part *p;
	uint64_t address;
	size_t behind;
	char *text;

	if (!amd_text_line(line, &address, &text)) {
		if (strstr(line, "error:") && !*run->complaint)
			snprintf(run->complaint, sizeof(run->complaint), "%s", line);
		return 0;
	}
	run->instructions++;
	behind = search_first(i, 0, run->parts.count, run->parts.items[i].start > address);
	p = behind ? &run->parts.items[behind - 1] : NULL;
	if (!p || address >= p->end || address % GCN_BYTES_MIN)
		return 0;
	return run->r->visit(run->r->context, p->function, address - p->start, text);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int run_on(struct run *run, const char *path, int fd)
{
	const struct gpucode_text_request *r = run->r;
	char *arguments[] = {(char *)(uintptr_t)path, "-d", CODE_PROGRAM_INPUT, NULL};
	const struct code_program program = {.name = PROGRAM,
		.arguments = arguments,
		.user = r->user,
		.input = fd,
		.line = read_line,
		.context = run,
		.stopped = r->stopped,
		.stop_context = r->stop_context,
		.deadline_ns = r->deadline_ns};
	bool failed;
	int error = code_program_run(&program, &failed);

	if (error || (!failed && run->instructions))
		return error;
	make_printable(run->complaint);
	return error_set(-EIO, "%s", *run->complaint ? run->complaint : PROGRAM " failed");
}

/* Those of one target, which begin at `order`. */
static int run_target(struct run *run, const char *path, const size_t *order, size_t count)
{
	unsigned int target = run->r->functions[order[0]].function->target;
	int fd, error = 0;

	run->parts.count = 0;
	run->instructions = 0;
	run->complaint[0] = '\0';
	buf_reset(&run->code);
	for (size_t n = 0; n < count && !error; n++)
		error = add_function(run, order[n]);
	if (error || !run->parts.count)
		return error;
	fd = memfd_create("xpuprof-code", MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(-errno, "cannot make a memory file");
	error = write_file(run, target, fd);
	error = error ? error_errno(error, "cannot hand over code to " PROGRAM)
		      : run_on(run, path, fd);
	close(fd);
	return error;
}

/* By GPU, and those of more weight first. */
static int by_need(const void *left, const void *right, void *functions)
{
	const struct gpucode_wanted *all = functions;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;

	if (all[a].function->target != all[b].function->target)
		return all[a].function->target < all[b].function->target ? -1 : 1;
	if (all[a].weight != all[b].weight)
		return all[a].weight > all[b].weight ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* That a program does not know one GPU's code does not keep it from another's. */
static int run_all(struct run *run, const char *path, size_t *order)
{
	const struct gpucode_wanted *all = run->r->functions;
	size_t count = run->r->count, same;
	int error = 0;

	for (size_t n = 0; n < count; n++)
		order[n] = n;
	qsort_r(order, count, sizeof(*order), by_need, (void *)(uintptr_t)all);
	for (size_t n = 0; n < count && (!error || error == -EIO); n += same) {
		int result = 0;

		for (same = 1; n + same < count && all[order[n + same]].function->target ==
							   all[order[n]].function->target;)
			same++;
		if (gcn_has_target(all[order[n]].function->target))
			result = run_target(run, path, &order[n], same);
		error = result ?: error;
	}
	return error;
}

static int find(bool trusting, struct buf *path)
{
	static const char *const places[] = {"$ROCM_PATH/llvm/bin/" PROGRAM,
		"/opt/rocm/llvm/bin/" PROGRAM, "/opt/rocm-*/llvm/bin/" PROGRAM,
		"/usr/lib/llvm-*/bin/" PROGRAM, PROGRAM, NULL};
	static const struct code_program_search search = {PROGRAM, "XPUPROF_LLVM_OBJDUMP", places};

	return code_program_find(&search, trusting, path);
}

int amd_text(const struct gpucode_text_request *request)
{
	size_t *order = malloc((request->count + 1) * sizeof(*order));
	struct run run = {.r = request, .code = BUF_INIT};
	struct buf path = BUF_INIT;
	int error = order ? 0 : -ENOMEM;

	if (request->count && !error)
		error = find(request->user || geteuid(), &path);
	if (request->count && !error)
		error = run_all(&run, buf_text(&path), order);
	else if (error == -ENOENT)
		error = 0;
	if (code_program_is_to_be_told(error))
		buf_puts(request->failure, error_text());
	buf_release(&path);
	buf_release(&run.code);
	vec_release(&run.parts);
	free(order);
	return code_program_is_harmless(error) ? 0 : error;
}
