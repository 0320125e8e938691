// SPDX-License-Identifier: MIT
/* The instructions of a profile get their text and lines from the kept images. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "gpucode/nvidia/cubin.h"
#include "gpucode/nvidia/nvdisasm.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/sandbox.h"
#include "symbolize/gpu_code.h"
#include "folder.h"
#include "tap.h"

#define DATA "tests/data/cubin/"

static struct child *sandbox; /* that images are read by; NULL: they are read here */

/* A recording that has only the positions of samples. */
struct recording {
	struct profile_writer *w;
	struct kept_images *images;
	struct gpu_code_stats stats;
};

static struct recording begin(void)
{
	struct recording r = {.images = kept_images_new(1 << 20)};

	CHECK(!profile_writer_open(&r.w, in_folder("p.xpu")));
	return r;
}

static void keep(struct recording *r, uint32_t module, const void *data, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(write(fd, data, size) == (ssize_t)size);
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
	CHECK(!kept_images_add(r->images, module, fd, size));
	close(fd);
}

static uint32_t add_module(struct recording *r)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	uint32_t id = 0;

	CHECK(!profile_add_string(r->w, "cubin:0123456789abcdef", 22, &m.path));
	CHECK(!profile_add_module(r->w, &m, &id));
	return id;
}

static uint32_t add_image(struct recording *r, const char *name)
{
	uint32_t module = add_module(r);
	struct buf image = BUF_INIT;
	char path[256];

	snprintf(path, sizeof(path), DATA "%s.cubin", name);
	CHECK(!io_read_file(path, 1 << 20, &image));
	keep(r, module, image.data, image.size);
	buf_release(&image);
	return module;
}

/* A sample at this offset of a function. */
static uint32_t sample(
	struct recording *r, uint32_t module, const char *name, uint32_t index, uint32_t offset)
{
	struct profile_gpu_function f = {.module = module, .index = index};
	struct profile_instruction i = {.offset = offset};
	uint32_t id = 0;

	CHECK(!profile_add_string(r->w, name, strlen(name), &f.name));
	CHECK(!profile_add_gpu_function(r->w, &f, &i.function));
	CHECK(!profile_add_instruction(r->w, &i, &id));
	return id;
}

static void describe(struct recording *r)
{
	const struct gpu_code_options options = {.images = r->images, .reader = sandbox};

	CHECK(!symbolize_gpu_code(r->w, &options, &r->stats));
}

/* Closes the recording and reads it. */
static struct profile_reader *end(struct recording *r)
{
	struct profile_reader *reader = NULL;
	struct profile_event e;

	CHECK(!profile_writer_close(r->w));
	kept_images_free(r->images);
	CHECK(!profile_reader_open(&reader, in_folder("p.xpu")));
	CHECK(!profile_reader_next(reader, &e) && !profile_reader_incomplete(reader));
	return reader;
}

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && !strcmp(text + size - end_size, end);
}

/* The instruction at an offset of a function, or nothing. */
static const struct profile_instruction *instruction_at(
	const struct profile_reader *r, uint32_t function, uint32_t offset)
{
	static const struct profile_instruction none;

	for (uint32_t id = 1; id <= profile_counts(r).instructions; id++) {
		const struct profile_instruction *i = profile_instruction(r, id);

		if (i->function == function && i->offset == offset)
			return i;
	}
	return &none;
}

static const char *file_of(const struct profile_reader *r, const struct profile_instruction *i)
{
	return profile_string(r, i->file, NULL);
}

static const char *text_at(const struct profile_reader *r, uint32_t function, uint32_t offset)
{
	return profile_string(r, instruction_at(r, function, offset)->text, NULL);
}

static size_t instructions_of(const struct profile_reader *r, uint32_t function)
{
	size_t count = 0;

	for (uint32_t id = 1; id <= profile_counts(r).instructions; id++)
		count += profile_instruction(r, id)->function == function;
	return count;
}

static void every_instruction_of_a_function_that_was_sampled_gets_text_and_line(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline"), once, first;
	struct profile_reader *reader;
	size_t count;

	once = sample(&r, image, "_Z7climberPf", 0, 0x20);
	describe(&r);
	CHECK(r.stats.functions == 1 && r.stats.described == 1 && !r.stats.without_lines);
	reader = end(&r);
	count = instructions_of(reader, 1);
	CHECK(count == 768 / 16 && r.stats.instructions == count);
	CHECK(profile_counts(reader).instructions == count);
	CHECK(profile_instruction(reader, once)->offset == 0x20);
	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_instruction *i = profile_instruction(reader, id);

		CHECK(i->text && i->offset % 16 == 0 && i->offset < count * 16);
		CHECK(!i->line || ends_with(file_of(reader, i), "/inline.cu"));
	}
	first = instruction_at(reader, 1, 0)->line;
	CHECK(first == 43 || first == 44);
	CHECK_TEXT(text_at(reader, 1, 0), "LDC");
	CHECK_TEXT(profile_meta(reader, META_GPU_TEXT), "decoded");
	profile_reader_close(reader);
}

/* climber calls rung8, which calls rung7, and so on. */
static void an_inlined_function_stands_in_what_it_was_put_into(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline"), deepest = 0;
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z7climberPf", 0, 0);
	describe(&r);
	reader = end(&r);
	for (uint32_t id = 1; id <= profile_counts(reader).instructions; id++) {
		const struct profile_instruction *i = profile_instruction(reader, id);
		uint32_t depth = 0;

		for (uint32_t in = i->inlined; in; in = profile_inline(reader, in)->caller)
			depth++;
		for (uint32_t in = i->inlined, left = depth; in;
			in = profile_inline(reader, in)->caller, left--) {
			const struct profile_inline *inlined = profile_inline(reader, in);
			char name[32];

			snprintf(name, sizeof(name), "_Z5rung%ufPKf", 9 - left);
			CHECK_TEXT(profile_string(reader, inlined->name, NULL), name);
			CHECK(ends_with(profile_string(reader, inlined->file, NULL), "/inline.cu"));
			CHECK(inlined->line == (left == 9 ? 17 : 27 - left));
		}
		if (depth > deepest)
			deepest = depth;
	}
	CHECK(deepest == 9);
	profile_reader_close(reader);
}

/* As seen of CUPTI: samples in it count from the kernel's beginning. */
static void a_device_function_that_was_not_inlined_stands_below_its_kernel(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	const struct profile_instruction *i;
	const struct profile_inline *called, *inner;
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z7chooserPfi", 0, 0x220);
	describe(&r);
	reader = end(&r);
	CHECK(instructions_of(reader, 1) == 6272 / 16);
	i = instruction_at(reader, 1, 0x200);
	CHECK(i->line == 65 && !i->inlined);
	i = instruction_at(reader, 1, 0x220);
	CHECK(!i->line && ends_with(file_of(reader, i), "/inline.cu"));
	called = profile_inline(reader, i->inlined);
	CHECK(called && !called->caller && called->line == 28);
	CHECK_TEXT(profile_string(reader, called->name, NULL), "_Z6calledfi");
	inner = profile_inline(reader, instruction_at(reader, 1, 0x2c0)->inlined);
	CHECK(inner && inner->line == 14 && profile_inline(reader, inner->caller)->line == 30);
	CHECK_TEXT(profile_string(reader, profile_inline(reader, inner->caller)->name, NULL),
		"_Z6calledfi");
	profile_reader_close(reader);
}

static void a_device_function_with_samples_of_its_own_is_a_function_of_its_own(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z7chooserPfi", 0, 0);
	(void)sample(&r, image, "$_Z7chooserPfi$_Z6calledfi", 0, 0);
	describe(&r);
	CHECK(r.stats.described == 2);
	reader = end(&r);
	CHECK(instructions_of(reader, 1) == 6272 / 16 && instructions_of(reader, 2) == 3440 / 16);
	CHECK(instruction_at(reader, 1, 0)->line == 62 && instruction_at(reader, 2, 0)->line == 28);
	profile_reader_close(reader);
}

static void a_function_is_found_by_its_name_when_its_index_differs(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	struct profile_reader *reader;

	(void)sample(&r, image, "plain_name", 1, 0);
	(void)sample(&r, image, "no_such_function", 1, 0x10);
	describe(&r);
	CHECK(r.stats.functions == 2 && r.stats.described == 1 && r.stats.not_found == 1);
	reader = end(&r);
	CHECK(instruction_at(reader, 1, 0)->line && !instruction_at(reader, 2, 0x10)->line);
	profile_reader_close(reader);
}

static void functions_beyond_the_limit_are_described_where_samples_fell(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	const struct gpu_code_options options = {
		.images = r.images, .reader = sandbox, .whole_max = 768 / 16 + 20};
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z7climberPf", 0, 0x20);
	(void)sample(&r, image, "_Z7chooserPfi", 0, 0x10);
	(void)sample(&r, image, "_Z7chooserPfi", 0, 0xfffffff0);
	CHECK(!symbolize_gpu_code(r.w, &options, &r.stats));
	CHECK(r.stats.described == 2 && r.stats.instructions == 768 / 16 + 1);
	reader = end(&r);
	CHECK(instructions_of(reader, 1) == 768 / 16 && instructions_of(reader, 2) == 2);
	CHECK(instruction_at(reader, 2, 0x10)->line == 64);
	CHECK(!instruction_at(reader, 2, 0xfffffff0)->line);
	profile_reader_close(reader);
}

static void lines_of_triton_are_those_of_the_python_source(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "triton");
	struct profile_reader *reader;
	size_t python = 0;

	(void)sample(&r, image, "softmax_rows", 0, 0);
	describe(&r);
	reader = end(&r);
	for (uint32_t id = 1; id <= profile_counts(reader).instructions; id++)
		python += ends_with(file_of(reader, profile_instruction(reader, id)), ".py");
	CHECK(python > 10);
	profile_reader_close(reader);
}

static void an_image_without_lines_has_instructions(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "plain");
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z13shared_kernelPf", 0, 0);
	describe(&r);
	CHECK(r.stats.described == 1 && r.stats.without_lines == 1);
	reader = end(&r);
	CHECK_TEXT(text_at(reader, 1, 16), "LDC.64");
	CHECK(instructions_of(reader, 1) == 2816 / 16 && !instruction_at(reader, 1, 16)->file);
	profile_reader_close(reader);
}

static void lines_of_ptx_are_marked_as_such(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "ptx");
	struct profile_reader *reader;

	(void)sample(&r, image, "_Z13shared_kernelPf", 0, 0);
	describe(&r);
	reader = end(&r);
	CHECK_TEXT(file_of(reader, instruction_at(reader, 1, 0x10)), "[PTX]");
	CHECK(instruction_at(reader, 1, 0x10)->line > 0);
	profile_reader_close(reader);
}

static void without_an_image_a_position_stays_as_it_is_and_is_counted(void)
{
	struct recording r = begin();
	uint32_t id = sample(&r, add_module(&r), "_Z7climberPf", 0, 0x20);
	struct profile_reader *reader;

	describe(&r);
	CHECK(r.stats.functions == 1 && r.stats.without_image == 1 && !r.stats.described);
	reader = end(&r);
	CHECK(!profile_instruction(reader, id)->line && profile_counts(reader).instructions == 1);
	CHECK(!profile_loss_count(reader, LOSS_IMAGES_LOST) &&
		!profile_meta(reader, META_GPU_TEXT));
	profile_reader_close(reader);
}

static void an_image_that_could_not_be_kept_is_counted_when_it_is_missed(void)
{
	struct recording r = begin();
	uint32_t module = add_module(&r);
	struct profile_reader *reader;

	CHECK(kept_images_add(r.images, module, 0, 77));
	(void)sample(&r, module, "kernel", 0, 0);
	(void)sample(&r, module, "other", 0, 0);
	describe(&r);
	CHECK(r.stats.without_image == 2);
	reader = end(&r);
	CHECK(profile_loss_count(reader, LOSS_IMAGES_LOST) == 1);
	profile_reader_close(reader);
}

static void what_is_no_image_of_gpu_code_is_passed_over(void)
{
	struct recording r = begin();
	uint32_t module = add_module(&r);
	struct profile_reader *reader;

	keep(&r, module, "\177ELF, but not much of it", 23);
	(void)sample(&r, module, "kernel", 0, 0);
	describe(&r);
	CHECK(r.stats.not_found == 1 && !r.stats.described);
	reader = end(&r);
	profile_reader_close(reader);
}

/* A disassembler that is this shell script: its input is open as number 0. */
static void install(const char *script)
{
	FILE *f = fopen(in_folder("nvdisasm"), "w");

	fprintf(f, "#!/bin/sh\nsize=$(stat -Lc %%s /proc/self/fd/0)\n%s\n", script);
	fclose(f);
	shell("chmod +x nvdisasm");
	setenv("XPUPROF_NVDISASM", in_folder("nvdisasm"), 1);
}

#define PRINT_UP_TO(end)                                                                           \
	"awk -v end=$((" end ")) 'BEGIN { for (i = 0; i < end; i += 16)"                           \
	" printf \"        /*%04x*/   FAKE R%d ;\\n\", i, i / 16 }'"

/* The texts of climber's instructions by that script, and of a function after it. */
static struct profile_reader *disassemble(
	const char *script, uint64_t limit_ns, struct gpu_code_stats *ret)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	/* Root itself runs no program that others could change. */
	const struct gpucode_user nobody = {.uid = 65534, .gid = 65534};
	const struct gpu_code_options options = {.images = r.images,
		.reader = sandbox,
		.text_limit_ns = limit_ns,
		.text_user = geteuid() ? NULL : &nobody};

	install(script);
	(void)sample(&r, image, "_Z7climberPf", 0, 0x20);
	(void)sample(&r, image, "_Z7climberPf", 0, 0x40);
	(void)sample(&r, image, "_Z7chooserPfi", 0, 0x10);
	CHECK(!symbolize_gpu_code(r.w, &options, &r.stats));
	*ret = r.stats;
	return end(&r);
}

static void where_nvdisasm_is_installed_the_text_is_its(void)
{
	struct gpu_code_stats stats;
	struct profile_reader *r = disassemble(PRINT_UP_TO("size"), 10 * NS_PER_SECOND, &stats);

	CHECK(!stats.decoded && !*stats.text_failure);
	CHECK_TEXT(text_at(r, 1, 0), "FAKE R0");
	CHECK_TEXT(text_at(r, 1, 0x2f0), "FAKE R47");
	/* The one with more samples was first in what it was given. */
	CHECK_TEXT(text_at(r, 2, 0), "FAKE R48");
	CHECK_TEXT(text_at(r, 2, 0x10), "FAKE R49");
	CHECK(instruction_at(r, 2, 0x10)->line == 64);
	CHECK_TEXT(profile_meta(r, META_GPU_TEXT), "nvdisasm");
	profile_reader_close(r);
}

static void what_nvdisasm_has_not_printed_in_time_is_decoded(void)
{
	struct gpu_code_stats stats;
	struct profile_reader *r =
		disassemble(PRINT_UP_TO("64") "; exec sleep 100", 3 * NS_PER_SECOND, &stats);

	CHECK(stats.decoded == stats.instructions - 4);
	CHECK_TEXT(text_at(r, 1, 0x30), "FAKE R3");
	CHECK(*text_at(r, 1, 0x40) && strncmp(text_at(r, 1, 0x40), "FAKE", 4));
	CHECK(instruction_at(r, 2, 0x10)->line == 64);
	CHECK_TEXT(profile_meta(r, META_GPU_TEXT), "nvdisasm, decoded");
	profile_reader_close(r);
}

static void an_nvdisasm_that_fails_costs_its_text_and_is_reported(void)
{
	struct gpu_code_stats stats;
	struct profile_reader *r =
		disassemble("echo 'not today' >&2; exit 3", 10 * NS_PER_SECOND, &stats);

	CHECK(stats.decoded == stats.instructions && stats.instructions > 100);
	CHECK(*stats.text_failure);
	CHECK_TEXT(text_at(r, 1, 0), "LDC");
	CHECK_TEXT(profile_meta(r, META_GPU_TEXT), "decoded");
	profile_reader_close(r);
}

static void an_nvdisasm_that_its_user_must_not_run_costs_its_text_and_is_reported(void)
{
	const struct gpucode_user user = {.uid = 65534, .gid = 65534};
	struct recording r = begin();
	const struct gpu_code_options options = {.images = r.images,
		.reader = sandbox,
		.text_limit_ns = 10 * NS_PER_SECOND,
		.text_user = &user};

	(void)sample(&r, add_image(&r, "inline"), "_Z7climberPf", 0, 0x20);
	install(PRINT_UP_TO("size"));
	shell("chmod 700 nvdisasm");
	CHECK(!symbolize_gpu_code(r.w, &options, &r.stats));
	CHECK(r.stats.decoded == r.stats.instructions && r.stats.instructions);
	/* Whoever is not root cannot become another user. */
	CHECK(strstr(
		r.stats.text_failure, geteuid() ? "Operation not permitted" : "Permission denied"));
	profile_reader_close(end(&r));
}

/* As where nothing of the CPU is captured. */
static void describe_by(struct recording *r, const char *program)
{
	const struct gpu_code_options options = {.images = r->images, .program = program};

	(void)sample(r, add_image(r, "inline"), "_Z7climberPf", 0, 0x20);
	CHECK(!symbolize_gpu_code(r->w, &options, &r->stats));
}

static void where_nobody_has_a_reader_one_begins(void)
{
	struct recording r = begin();

	describe_by(&r, "/proc/self/exe");
	CHECK(r.stats.described == 1 && !r.stats.not_found && !*r.stats.unread);
	profile_reader_close(end(&r));
}

static void images_are_read_without_rights_or_not_at_all(void)
{
	static const char *const programs[] = {"/bin/false", "/nowhere/xpuprof"};

	for (size_t i = 0; i < 2; i++) {
		struct recording r = begin();

		describe_by(&r, programs[i]);
		CHECK(!r.stats.described && r.stats.not_found == 1);
		CHECK(strstr(r.stats.unread, "the process that reads GPU code cannot begin: "));
		profile_reader_close(end(&r));
	}
}

static bool stop(void *context)
{
	(void)context;
	return true;
}

static void whoever_waits_can_stop_it(void)
{
	struct recording r = begin();
	uint32_t image = add_image(&r, "inline");
	const struct gpu_code_options options = {
		.images = r.images, .reader = sandbox, .stopped = stop};

	(void)sample(&r, image, "_Z7climberPf", 0, 0);
	CHECK(!symbolize_gpu_code(r.w, &options, &r.stats));
	CHECK(r.stats.stopped && !r.stats.described);
	profile_reader_close(end(&r));
}

static void images_that_are_read_by_another_process_say_the_same(void)
{
	sandbox = child_new("/proc/self/exe", SANDBOX_READER, -1);
	CHECK(sandbox && !child_greet(sandbox));
	every_instruction_of_a_function_that_was_sampled_gets_text_and_line();
	an_inlined_function_stands_in_what_it_was_put_into();
	a_device_function_that_was_not_inlined_stands_below_its_kernel();
	a_device_function_with_samples_of_its_own_is_a_function_of_its_own();
	a_function_is_found_by_its_name_when_its_index_differs();
	functions_beyond_the_limit_are_described_where_samples_fell();
	lines_of_triton_are_those_of_the_python_source();
	an_image_without_lines_has_instructions();
	lines_of_ptx_are_marked_as_such();
	without_an_image_a_position_stays_as_it_is_and_is_counted();
	what_is_no_image_of_gpu_code_is_passed_over();
	whoever_waits_can_stop_it();
	child_free(sandbox);
	sandbox = NULL;
}

/* What an image is that ends its reader. */
static const char deadly[] = "deadly";

static void an_image_that_kills_its_reader_costs_what_it_has_and_is_counted(void)
{
	struct recording r = begin();
	struct profile_module other = {
		.kind = MODULE_GPU_CODE, .build_id_size = 8, .build_id = {1}};
	uint32_t good = add_image(&r, "inline"), bad = 0;
	struct profile_totals totals;

	CHECK(!profile_add_string(r.w, "cubin:another", 13, &other.path));
	CHECK(!profile_add_module(r.w, &other, &bad) && bad != good);
	keep(&r, bad, deadly, sizeof(deadly));
	(void)sample(&r, bad, "_Z7climberPf", 0, 0);
	(void)sample(&r, bad, "_Z7othersPf", 0, 0);
	(void)sample(&r, good, "_Z7climberPf", 0, 0);
	sandbox = child_new("/proc/self/exe", "deadly", -1);
	CHECK(sandbox && !child_greet(sandbox));
	describe(&r);
	child_free(sandbox);
	sandbox = NULL;
	CHECK(r.stats.functions == 3 && r.stats.described == 1 && r.stats.not_found == 2);
	profile_writer_totals(r.w, &totals);
	CHECK(totals.losses[LOSS_FILES_UNREADABLE] == 1);
	profile_reader_close(end(&r));
}

static bool is_deadly(int fd)
{
	char begin[sizeof(deadly)] = "";

	return fd >= 0 && pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	       !memcmp(begin, deadly, sizeof(deadly));
}

struct forwarded {
	bool done;
};

static void forward(void *context, uint64_t tag, struct child_reply *reply)
{
	const int none[MESSAGE_FDS] = {-1, -1};

	(void)tag;
	((struct forwarded *)context)->done = true;
	(void)sandbox_send(SANDBOX_SOCKET, reply->error, reply->data, reply->size, none);
}

/* A reader that a deadly image ends; to other questions another reader knows the answers. */
static int read_images(void)
{
	struct child *real = child_new("/proc/self/exe", SANDBOX_READER, -1);
	struct buf request = BUF_INIT;
	int kind, fds[MESSAGE_FDS];

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		struct forwarded answer = {0};
		const struct child_request r = {.kind = (uint32_t)kind,
			.limit_ns = HELLO_LIMIT_NS,
			.data = request.data,
			.size = request.size,
			.fds = {fds[0], fds[1]},
			.done = forward,
			.context = &answer};

		if (is_deadly(fds[0]))
			raise(SIGKILL);
		CHECK(!child_ask(real, &r));
		(void)child_wait(real, &answer.done, UINT64_MAX);
		sandbox_close(fds);
	}
	child_free(real);
	buf_release(&request);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "deadly"))
		return read_images();
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	RUN(every_instruction_of_a_function_that_was_sampled_gets_text_and_line);
	RUN(an_inlined_function_stands_in_what_it_was_put_into);
	RUN(a_device_function_that_was_not_inlined_stands_below_its_kernel);
	RUN(a_device_function_with_samples_of_its_own_is_a_function_of_its_own);
	RUN(a_function_is_found_by_its_name_when_its_index_differs);
	RUN(functions_beyond_the_limit_are_described_where_samples_fell);
	RUN(lines_of_triton_are_those_of_the_python_source);
	RUN(an_image_without_lines_has_instructions);
	RUN(lines_of_ptx_are_marked_as_such);
	RUN(without_an_image_a_position_stays_as_it_is_and_is_counted);
	RUN(an_image_that_could_not_be_kept_is_counted_when_it_is_missed);
	RUN(what_is_no_image_of_gpu_code_is_passed_over);
	RUN(where_nvdisasm_is_installed_the_text_is_its);
	RUN(what_nvdisasm_has_not_printed_in_time_is_decoded);
	RUN(an_nvdisasm_that_fails_costs_its_text_and_is_reported);
	RUN(an_nvdisasm_that_its_user_must_not_run_costs_its_text_and_is_reported);
	RUN(where_nobody_has_a_reader_one_begins);
	RUN(images_are_read_without_rights_or_not_at_all);
	RUN(whoever_waits_can_stop_it);
	RUN(images_that_are_read_by_another_process_say_the_same);
	RUN(an_image_that_kills_its_reader_costs_what_it_has_and_is_counted);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
