// SPDX-License-Identifier: MIT
/*
 * When a program is refused, libbpf loads it again with a log, into our memory if we provide any.
 * The verifier logs all that it looks at, then why it refuses, then lines of figures. The memory
 * costs nothing until it is written to.
 */
#include "bpfload/refusal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

#define LOCKDOWN_PATH "/sys/kernel/security/lockdown"

#define TRIES_MAX 5

#define LOG_BYTES ((size_t)16 << 20) /* the log of 20,000 instructions has 2 MiB */

bool refusal_was_interruption(int error, int tries)
{
	return error == -EAGAIN && tries < TRIES_MAX;
}

static bool is_figure(const char *line)
{
	static const char *const figures[] = {
		"processed ", "verification time ", "stack depth ", "insns processed ", ";"};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (!strncmp(line, figures[i], strlen(figures[i])))
			return true;
	return !*line;
}

/* The last line that is not figures; the log is cut to pieces. */
static const char *last_words(char *log)
{
	char *end = log + strlen(log), *line = end;

	do {
		while (line > log && line[-1] != '\n')
			line--;
		if (!is_figure(line))
			return line;
		*(line > log ? --line : line) = '\0';
	} while (line > log);
	return "";
}

static void give_logs(struct bpf_object *object, char *logs)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		(void)bpf_program__set_log_buf(program, logs, LOG_BYTES);
		logs += LOG_BYTES;
	}
}

static size_t count_programs(const struct bpf_object *object)
{
	struct bpf_program *program;
	size_t count = 0;

	bpf_object__for_each_program(program, object) count++;
	return count;
}

void refusal_find(struct bpf_object *object, struct buf *ret)
{
	size_t size = count_programs(object) * LOG_BYTES;
	char *logs = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct bpf_program *program;
	char *log = logs;

	if (logs == MAP_FAILED)
		return;
	give_logs(object, logs);
	if (bpf_object__load(object))
		bpf_object__for_each_program(program, object)
		{
			if (*log)
				buf_printf(ret, "'%s': %s", bpf_program__name(program),
					last_words(log));
			log += LOG_BYTES;
		}
	munmap(logs, size);
}

static bool locked_down(void)
{
	struct buf text = BUF_INIT;
	bool locked = !io_read_file(LOCKDOWN_PATH, 4096, &text);

	buf_puts(&text, "");
	locked = locked && strstr(buf_text(&text), "[confidentiality]");
	buf_release(&text);
	return locked;
}

int refusal_explain(int error, const char *what)
{
	if (error == -EAGAIN)
		return error_set(error,
			"cannot %s: signals interrupt it again and again (is this process being "
			"stopped and continued?)",
			what);
	if (error != -EPERM && error != -EACCES)
		return error_errno(error, "cannot %s", what);
	if (locked_down())
		return error_set(error,
			"cannot %s: the kernel is locked down ('%s' says confidentiality)", what,
			LOCKDOWN_PATH);
	return error_set(error,
		"cannot %s: this needs root, or the capabilities CAP_BPF and CAP_PERFMON", what);
}
