// SPDX-License-Identifier: MIT
#include "page/pictures.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "export/text.h"

#define PICTURE_MAX ((size_t)1 << 30)

static void say_nothing(const struct export_result *r, struct buf *out)
{
	const char *lacking = r->lacking ? r->lacking : "time";

	buf_puts(out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Nothing"
		"</title><style>body{font:14px system-ui,sans-serif;color-scheme:light dark;"
		"padding:1em}</style></head><body><p>There is no ");
	text_xml(out, lacking, strlen(lacking));
	buf_puts(out, " here.");
	if (r->help) {
		buf_putc(out, ' ');
		text_xml(out, r->help, strlen(r->help));
	}
	buf_puts(out, "</p></body></html>\n");
}

/* A file in memory, by name. */
static int open_memory(char name[32])
{
	int fd = memfd_create("xpuprof-picture", MFD_CLOEXEC);

	if (fd < 0)
		return error_errno(-errno, "cannot make room for a picture");
	snprintf(name, 32, "/dev/fd/%d", fd);
	return fd;
}

static int read_memory(int fd, struct buf *ret)
{
	int error = io_read_rest(fd, PICTURE_MAX, ret);

	return error ? error_errno(error, "cannot read a picture") : 0;
}

int picture_write(int (*write)(void *arg, struct output *o), void *arg, struct buf *ret)
{
	char name[32];
	struct output *o;
	int fd = open_memory(name), error;

	if (fd < 0)
		return fd;
	error = output_open(&o, NULL, name);
	if (!error) {
		error = write(arg, o);
		if (error)
			output_abort(o);
		else
			error = output_commit(o);
	}
	error = error ?: read_memory(fd, ret);
	close(fd);
	return error;
}

int picture_flame(const char *path, const struct export_options *options, struct http_answer *ret)
{
	struct export_result result = {0};
	char name[32];
	int fd = open_memory(name), error;

	if (fd < 0)
		return fd;
	error = export_file(exporter_by_name("svg"), path, name, options, &result);
	if (!error && result.not_written) {
		ret->type = "text/html; charset=utf-8";
		say_nothing(&result, &ret->text);
	} else if (!error) {
		ret->type = "image/svg+xml";
		error = read_memory(fd, &ret->text);
	}
	close(fd);
	return error;
}
