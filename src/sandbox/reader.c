// SPDX-License-Identifier: MIT
#include "sandbox/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "sandbox/confine.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "unwind/cfi.h"

#define NAME "the file of a mapping"

static const int no_fds[MESSAGE_FDS] = {-1, -1};

static int open_copy(int fd, int debug_fd, struct elf_file **ret)
{
	const struct debug_search search = {.is_given = true, .fd = debug_fd};
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int error = own < 0 ? -errno : elf_file_open_fd(ret, own, NAME);

	if (!error)
		elf_file_search(*ret, &search);
	return error;
}

/* False: there are more. */
static bool list_code(struct elf_file *elf, struct elf_code code[FILE_CODE_MAX], uint32_t *ret)
{
	struct elf_code beyond;

	*ret = 0;
	while (*ret < FILE_CODE_MAX && elf_file_code_at(elf, *ret, &code[*ret]))
		++*ret;
	return !elf_file_code_at(elf, FILE_CODE_MAX, &beyond);
}

int reader_inspect(int fd, struct file_facts *ret)
{
	struct elf_file *elf = NULL;
	int error = open_copy(fd, -1, &elf);

	*ret = (struct file_facts){0};
	if (error)
		return error;
	ret->build_id_size = (uint32_t)elf_file_build_id(elf, ret->build_id);
	/* One that cannot be read counts as no interpreter: most files are none. */
	if (python_file_inspect(elf, &ret->python))
		ret->python = (struct python_file){0};
	if (!list_code(elf, ret->code, &ret->code_count))
		error = -EFBIG;
	elf_file_debug_link(elf, ret->debug_link, sizeof(ret->debug_link));
	elf_file_close(elf);
	return error;
}

int reader_code_facts(int fd, const char *names, size_t size, struct code_facts *ret)
{
	const char *name = names, *end = names + size;
	struct elf_file *elf = NULL;
	int error = size && end[-1] ? -EINVAL : open_copy(fd, -1, &elf);

	*ret = (struct code_facts){0};
	if (error)
		return error;
	ret->machine = elf_file_machine(elf);
	ret->is_64bit = elf_file_is_64bit(elf);
	(void)list_code(elf, ret->code, &ret->code_count);
	for (; name < end && ret->function_count < FUNCTIONS_MAX; name += strlen(name) + 1) {
		uint64_t *offset = &ret->functions[ret->function_count++];

		if (elf_file_find_function(elf, name, offset))
			*offset = 0;
	}
	elf_file_close(elf);
	return name < end ? -E2BIG : 0;
}

int reader_build_table(int fd, int debug_fd, uint32_t **ret_words, size_t *ret_count)
{
	struct elf_file *elf = NULL;
	int error = open_copy(fd, debug_fd, &elf);

	error = error ?: unwind_build(elf, ret_words, NULL);
	elf_file_close(elf);
	if (!error)
		*ret_count = ((const struct walk_table_header *)*ret_words)->words;
	return error;
}

int reader_is_thread_start(int fd, const struct thread_start_question *q, uint32_t *ret)
{
	if (q->at > ROOT_INTERRUPTED_NO_STACK)
		return -EINVAL;
	*ret = thread_starts_at(fd, q->offset, (enum root_address)q->at);
	return 0;
}

/* A probe on a 5-byte nop becomes a call, of which Linux 6.18 loses the target in children that are
 * forked then. */
static bool can_be_probed(const struct elf_file *elf, uint64_t offset)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	uint8_t code[sizeof(nop5)];

	return pread(elf_file_fd(elf), code, sizeof(code), (off_t)offset) == sizeof(code) &&
	       memcmp(code, nop5, sizeof(code)) != 0;
}

int reader_functions(int fd, const char *names, size_t size, struct buf *ret)
{
	struct elf_file *elf = NULL;
	int error = size && names[size - 1] ? -EINVAL : open_copy(fd, -1, &elf);

	for (const char *name = names; !error && name < names + size; name += strlen(name) + 1) {
		uint64_t offset;

		if (elf_file_find_function(elf, name, &offset) || !can_be_probed(elf, offset))
			offset = 0;
		buf_append(ret, &offset, sizeof(offset));
	}
	elf_file_close(elf);
	return error ?: ret->failed ? -ENOMEM : 0;
}

int reader_probes(int fd, const char *names, size_t size, struct buf *ret)
{
	struct usdt_site *sites = calloc(USDT_SITES_MAX, sizeof(*sites));
	struct elf_file *elf = NULL;
	size_t count = 0;
	int error = sites ? open_copy(fd, -1, &elf) : -ENOMEM;

	error = error ?: usdt_find(elf, names, size, sites, &count);
	for (size_t i = 0; i < count; i++)
		sites[i].cannot = !can_be_probed(elf, sites[i].offset);
	if (!error)
		buf_append(ret, sites, count * sizeof(*sites));
	elf_file_close(elf);
	free(sites);
	return error ?: ret->failed ? -ENOMEM : 0;
}

int reader_lines(struct names_file *f, const struct names_question *q,
	int (*put)(void *context, struct buf *results), void *context, struct buf *ret)
{
	uint64_t *vaddrs = calloc(q->count + 1, sizeof(*vaddrs));
	struct lines_request r = {
		.fd = -1, .vaddrs = vaddrs, .count = q->count, .put = put, .context = context};
	int error = vaddrs ? names_dwarf(f, q, vaddrs, &r.fd) : -ENOMEM;

	names_file_close(f); /* both would be much memory */
	error = error ?: lines_write(&r, ret);
	if (r.fd >= 0)
		close(r.fd);
	free(vaddrs);
	return error;
}

/* --- facts that came -------------------------------------------------------------------------- */

static bool code_is_sound(const struct elf_code *code)
{
	return code->size <= UINT64_MAX - code->offset && code->size <= UINT64_MAX - code->vaddr;
}

static bool all_code_is_sound(const struct elf_code code[FILE_CODE_MAX], uint32_t count)
{
	if (count > FILE_CODE_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!code_is_sound(&code[i]))
			return false;
	return true;
}

bool file_facts_are_sound(const struct file_facts *facts)
{
	return facts->build_id_size <= ELF_BUILD_ID_MAX &&
	       memchr(facts->debug_link, '\0', sizeof(facts->debug_link)) &&
	       all_code_is_sound(facts->code, facts->code_count);
}

bool code_facts_are_sound(const struct code_facts *facts)
{
	return facts->function_count <= FUNCTIONS_MAX &&
	       all_code_is_sound(facts->code, facts->code_count);
}

/* --- the process ------------------------------------------------------------------------------ */

static int reply_facts(int socket, int fd)
{
	struct file_facts facts;
	int result = reader_inspect(fd, &facts);

	return sandbox_send(socket, result, &facts, sizeof(facts), no_fds);
}

static int reply_code_facts(int socket, int fd, const struct buf *request)
{
	struct code_facts facts;
	int result = reader_code_facts(fd, request->data, request->size, &facts);

	return sandbox_send(socket, result, &facts, result ? 0 : sizeof(facts), no_fds);
}

static int reply_table(int socket, const int fds[MESSAGE_FDS])
{
	uint32_t *words = NULL;
	size_t count = 0;
	int result = reader_build_table(fds[0], fds[1], &words, &count), error;

	error = sandbox_send(socket, result, words, result ? 0 : count * sizeof(*words), no_fds);
	free(words);
	return error;
}

static int reply_functions(int socket, int fd, const struct buf *request)
{
	struct buf b = BUF_INIT;
	int result = reader_functions(fd, request->data, request->size, &b), error;

	error = sandbox_send(socket, result, b.data, result ? 0 : b.size, no_fds);
	buf_release(&b);
	return error;
}

static int reply_probes(int socket, int fd, const struct buf *request)
{
	struct buf b = BUF_INIT;
	int result = reader_probes(fd, request->data, request->size, &b), error;

	error = sandbox_send(socket, result, b.data, result ? 0 : b.size, no_fds);
	buf_release(&b);
	return error;
}

static int reply_thread_start(int socket, int fd, const struct buf *request)
{
	struct thread_start_question q;
	uint32_t answer = 0;
	int result = -EINVAL;

	if (request->size == sizeof(q)) {
		memcpy(&q, request->data, sizeof(q));
		result = reader_is_thread_start(fd, &q, &answer);
	}
	return sandbox_send(socket, result, &answer, sizeof(answer), no_fds);
}

/* No other file has seals. */
static bool is_one_memory(const int fds[MESSAGE_FDS])
{
	return fds[0] >= 0 && fds[1] < 0 && fcntl(fds[0], F_GET_SEALS) >= 0;
}

static int reply_passed(int socket, int connection)
{
	char message[READER_PASSED_BYTES];
	int fds[MESSAGE_FDS] = {-1, -1}, error;
	long got = sandbox_receive_bytes(connection, message, sizeof(message), fds);

	if (!is_one_memory(fds))
		sandbox_close(fds);
	error = sandbox_send(
		socket, got < 0 ? (int)got : 0, message, got < 0 ? 0 : (size_t)got, fds);
	sandbox_close(fds);
	return error;
}

/* A message without bytes and descriptors looks like the end. */
static int reply_empty(int socket, int connection)
{
	bool any = true;

	for (int n = 0; any && n < READER_EMPTY_MAX; n++) {
		char message[READER_PASSED_BYTES];
		int fds[MESSAGE_FDS] = {-1, -1};

		any = sandbox_receive_bytes(connection, message, sizeof(message), fds) > 0 ||
		      fds[0] >= 0;
		sandbox_close(fds);
	}
	return sandbox_send(socket, 0, NULL, 0, no_fds);
}

/* The places of a request, which are moved to its front, where they are aligned. */
static int read_places(struct buf *request, const int fds[MESSAGE_FDS], struct names_question *ret)
{
	struct places head;

	if (request->size < sizeof(head))
		return -EINVAL;
	memcpy(&head, request->data, sizeof(head));
	if (head.count > PLACES_MAX ||
		request->size != sizeof(head) + head.count * sizeof(uint64_t))
		return -EINVAL;
	memmove(request->data, request->data + sizeof(head), head.count * sizeof(uint64_t));
	*ret = (struct names_question){.fd = fds[0],
		.debug_fd = fds[1],
		.are_vaddrs = head.are_vaddrs,
		.places = (const uint64_t *)(const void *)request->data,
		.count = head.count};
	return 0;
}

static void limit_data(size_t most)
{
	struct rlimit limits;

	if (SANITIZED || getrlimit(RLIMIT_DATA, &limits))
		return;
	limits.rlim_cur = most < limits.rlim_max ? most : limits.rlim_max;
	(void)setrlimit(RLIMIT_DATA, &limits);
}

/* libdw has no limits of its own. */
static int lines_within_limits(
	struct names_file *file, const struct names_question *q, struct buf *ret)
{
	int error;

	limit_data(LINES_DATA_BYTES);
	error = reader_lines(file, q, NULL, NULL, ret);
	limit_data(READER_DATA_BYTES);
	return error;
}

static int reply_places(int socket, int kind, const int fds[MESSAGE_FDS], struct buf *request,
	struct names_file *file)
{
	struct names_question q;
	struct buf b = BUF_INIT;
	int result = read_places(request, fds, &q), error;

	if (!result && kind == READER_NAMES)
		result = names_write(file, &q, &b);
	else if (!result && kind == READER_LINES)
		result = lines_within_limits(file, &q, &b);
	else if (!result)
		result = names_write_map(q.fd, q.places, q.count, &b);
	error = sandbox_send(socket, result, b.data, b.size, no_fds);
	buf_release(&b);
	return error;
}

static int read_jit_places(struct buf *request, size_t *ret_count)
{
	struct places head;

	if (request->size < sizeof(head))
		return -EINVAL;
	memcpy(&head, request->data, sizeof(head));
	if (head.count > JIT_PLACES_MAX ||
		request->size != sizeof(head) + head.count * sizeof(struct jit_place))
		return -EINVAL;
	memmove(request->data, request->data + sizeof(head), request->size - sizeof(head));
	*ret_count = head.count;
	return 0;
}

static int reply_jitdump(int socket, int fd, struct buf *request)
{
	struct buf b = BUF_INIT;
	size_t count = 0;
	int result = read_jit_places(request, &count), error;

	if (!result)
		result = jitdump_write(fd, (const void *)request->data, count, &b);
	error = sandbox_send(socket, result, b.data, result ? 0 : b.size, no_fds);
	buf_release(&b);
	return error;
}

/* --- images of GPU code ----------------------------------------------------------------------- */

/* What was asked about last stays open: names of a file, or an image, which is mapped. */
struct last {
	struct names_file file;
	struct gpucode code;
	struct file_identity image;
	void *data;
	size_t size;
};

static void close_image(struct last *last)
{
	gpucode_close(&last->code);
	if (last->data)
		munmap(last->data, last->size);
	last->data = NULL;
}

static int map_image(struct last *last, int fd, size_t size)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (data == MAP_FAILED)
		return -errno;
	last->data = data;
	last->size = size;
	return 0;
}

static int open_image(struct last *last, int fd, const char *module)
{
	struct file_identity identity;
	struct stat st;
	int error;

	if (fstat(fd, &st))
		return -errno;
	identity = file_identity_of(&st);
	if (last->data && !memcmp(&identity, &last->image, sizeof(identity)))
		return 0;
	close_image(last);
	if (st.st_size <= 0)
		return -EINVAL;
	error = map_image(last, fd, (size_t)st.st_size);
	error = error ?: gpucode_open(&last->code, module, last->data, last->size);
	last->image = identity;
	if (error)
		close_image(last);
	return error;
}

static int write_kernels(const struct gpucode *g, struct buf *ret)
{
	struct gpucode_kernel k;

	for (size_t i = 0; i < KERNELS_MAX && ret->size < KERNELS_BYTES_MAX && g->format->kernel &&
			   g->format->kernel(g->image, i, &k);
		i++) {
		struct code_kernel head = {.address = k.address,
			.size = k.size,
			.name_size = (uint32_t)strnlen(k.name, GPUCODE_KERNEL_NAME_MAX)};

		buf_append(ret, &head, sizeof(head));
		buf_append(ret, k.name, head.name_size);
	}
	return ret->failed ? -ENOMEM : 0;
}

int reader_kernels(int fd, const char *module, struct buf *ret)
{
	struct last last = {0};
	int error = open_image(&last, fd, module);

	error = error ?: write_kernels(&last.code, ret);
	close_image(&last);
	return error;
}

static int read_code(
	struct last *last, int kind, int fd, const struct buf *request, struct buf *ret)
{
	struct code_question q;
	const char *functions = request->data + sizeof(q);
	size_t size = request->size - sizeof(q);
	int error;

	if (request->size < sizeof(q))
		return -EINVAL;
	memcpy(&q, request->data, sizeof(q));
	q.module[sizeof(q.module) - 1] = '\0';
	error = open_image(last, fd, q.module);
	if (error)
		return error;
	if (kind == READER_CODE_KERNELS)
		return write_kernels(&last->code, ret);
	if (kind == READER_CODE_FRAMES)
		return gpucode_write_frames(&last->code, functions, size, ret);
	return gpucode_write_functions(&last->code, last->data, functions, size, ret);
}

static int reply_code(int socket, int kind, int fd, const struct buf *request, struct last *last)
{
	struct buf b = BUF_INIT;
	int result = read_code(last, kind, fd, request, &b), error;

	error = sandbox_send(socket, result, b.data, result ? 0 : b.size, no_fds);
	buf_release(&b);
	return error;
}

static bool is_about_code(int kind)
{
	return kind == READER_CODE_FUNCTIONS || kind == READER_CODE_FRAMES ||
	       kind == READER_CODE_KERNELS;
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool is_about_places(int kind)
{
	return kind == READER_NAMES || kind == READER_LINES || kind == READER_MAP;
}

static int reply(
	int socket, int kind, const int fds[MESSAGE_FDS], struct buf *request, struct last *last)
{
	if (kind != READER_NAMES && kind != READER_LINES)
		names_file_close(&last->file);
	if (!is_about_code(kind))
		close_image(last);
	if (kind == REQUEST_HELLO)
		return sandbox_send(socket, 0, NULL, 0, no_fds);
	if (fds[0] >= 0 && kind == READER_INSPECT)
		return reply_facts(socket, fds[0]);
	if (fds[0] >= 0 && kind == READER_CODE_FACTS)
		return reply_code_facts(socket, fds[0], request);
	if (fds[0] >= 0 && kind == READER_TABLE)
		return reply_table(socket, fds);
	if (fds[0] >= 0 && kind == READER_THREAD_START)
		return reply_thread_start(socket, fds[0], request);
	if (fds[0] >= 0 && kind == READER_FUNCTIONS)
		return reply_functions(socket, fds[0], request);
	if (fds[0] >= 0 && kind == READER_PROBES)
		return reply_probes(socket, fds[0], request);
	if (fds[0] >= 0 && kind == READER_PASSED)
		return reply_passed(socket, fds[0]);
	if (fds[0] >= 0 && kind == READER_EMPTY)
		return reply_empty(socket, fds[0]);
	if (fds[0] >= 0 && kind == READER_JITDUMP)
		return reply_jitdump(socket, fds[0], request);
	if (fds[0] >= 0 && is_about_places(kind))
		return reply_places(socket, kind, fds, request, &last->file);
	if (fds[0] >= 0 && is_about_code(kind))
		return reply_code(socket, kind, fds[0], request, last);
	return sandbox_send(socket, -EINVAL, NULL, 0, no_fds);
}

int reader_run(int socket)
{
	struct last last = {0};
	struct buf request = BUF_INIT;
	int kind, fds[MESSAGE_FDS], error = 0;

	while (!error && !(error = sandbox_receive(socket, &request, REQUEST_BYTES, &kind, fds))) {
		error = reply(socket, kind, fds, &request, &last);
		sandbox_close(fds);
	}
	names_file_close(&last.file);
	close_image(&last);
	buf_release(&request);
	return error == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
