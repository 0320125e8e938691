// SPDX-License-Identifier: MIT
#include "ebpf/verifier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "ebpf/verifier_copy.h"

#define LOG_BYTES ((size_t)1 << 20)

static bool is_about_numbers(const char *line, size_t size)
{
	static const char *const begins[] = {"processed ", "verification time", "stack depth",
		"max_states", " old state:", "old state:", " cur state:", "cur state:"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (size >= strlen(begins[i]) && !memcmp(line, begins[i], strlen(begins[i])))
			return true;
	return !size;
}

/* The verifier's last words, but for its statistics. */
static void last_words(const char *log, struct buf *text)
{
	size_t end = strlen(log), begin = end;

	do {
		end = begin;
		while (end && log[end - 1] == '\n')
			end--;
		begin = end;
		while (begin && log[begin - 1] != '\n')
			begin--;
	} while (begin && is_about_numbers(log + begin, end - begin));
	buf_append(text, log + begin, end - begin);
}

static int load(const struct verifier_copy *c, char *log)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = (uint32_t)c->insns.count,
		.prog_flags = BPF_F_STRICT_ALIGNMENT};

	attr.insns = (uint64_t)(uintptr_t)c->insns.items;
	attr.license = (uint64_t)(uintptr_t)c->object->license;
	memcpy(attr.prog_name, "xpuprof_asks", sizeof("xpuprof_asks"));
	if (log) {
		attr.log_level = 1;
		attr.log_size = LOG_BYTES;
		attr.log_buf = (uint64_t)(uintptr_t)log;
	}
	return kernel_bpf(BPF_PROG_LOAD, &attr);
}

static int ask(const struct verifier_copy *c, enum verdict *ret, struct buf *text)
{
	int fd = load(c, NULL);
	char *log;

	*ret = VERDICT_ACCEPTED;
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	*ret = VERDICT_REFUSED;
	log = calloc(1, LOG_BYTES);
	if (!log)
		return error_memory("the verifier's words");
	fd = load(c, log);
	if (fd >= 0)
		close(fd);
	log[LOG_BYTES - 1] = 0;
	last_words(log, text);
	if (!*log) {
		*ret = fd == -EPERM ? VERDICT_NOT_ALLOWED : VERDICT_NOT_ASKED;
		buf_puts(text, strerror(-fd));
	}
	free(log);
	return text->failed ? error_memory("the verifier's words") : 0;
}

int ebpf_ask_kernel(const struct ebpf_object *o, const struct ebpf_program *p, enum verdict *ret,
	struct buf *text)
{
	struct verifier_copy c;
	int error = verifier_copy_make(&c, o, p);

	if (!error && c.lacks) {
		*ret = VERDICT_NOT_ASKED;
		buf_puts(text, c.lacks);
	} else if (!error && c.denied) {
		*ret = c.denied == -EPERM ? VERDICT_NOT_ALLOWED : VERDICT_NOT_ASKED;
		buf_printf(text, "the kernel makes none of its maps: %s", strerror(-c.denied));
	} else if (!error) {
		error = ask(&c, ret, text);
	}
	verifier_copy_release(&c);
	return error;
}
