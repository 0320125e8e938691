// SPDX-License-Identifier: MIT
/*
 * tracefs is searched for in its usual folders, then in the list of mounts; a folder counts when
 * its events can be listed. If it is nowhere, it is mounted in the usual folder.
 *
 * A format file is parsed line by line (kernel/trace/trace_events.c: f_show() prints it):
 *
 *	name: drm_run_job
 *	ID: 1281
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *
 *		field:const char * name;	offset:24;	size:8;	signed:0;
 *
 *	print fmt: "..."
 *
 * The type is C text as the driver's author wrote it. What it means for us follows from the type's
 * words and from the size that the kernel measured; where the two contradict each other, the field
 * is not read. (Events of system calls are such: an `int` has the 8 bytes of the register it came
 * in, of which the upper half means nothing.)
 */
#include "monitor/kernel/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"

#define FORMAT_BYTES_MAX (1 << 20)
#define MOUNTS_BYTES_MAX (16 << 20)
#define TRACING_DIR	 "/sys/kernel/tracing"

#define NEEDS_RIGHTS "needs root, or CAP_PERFMON and read access to " TRACING_DIR

/* ------------------------------------------------------------------ where tracefs is */

/* Accepts a folder, below root, if tracefs is there and can be read: 0, or -errno without
 * error_text. */
static int try_folder(const char *root, const char *folder, size_t length, const char *below,
	struct buf *ret_path)
{
	struct buf path = BUF_INIT, events = BUF_INIT;
	int fd, err = 0;

	buf_printf(&path, "%s%.*s%s", root, (int)length, folder, below);
	buf_printf(&events, "%s/events", buf_text(&path));
	if (path.failed || events.failed) {
		err = -ENOMEM;
	} else {
		fd = open(buf_text(&events), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
	}
	buf_release(&events);
	if (err) {
		buf_release(&path);
		return err;
	}
	buf_release(ret_path);
	*ret_path = path;
	return 0;
}

/* The next word of a line of /proc/mounts, behind `*at`: its length. */
static size_t mounts_word(const char **at, const char *end, const char **ret)
{
	while (*at < end && **at == ' ')
		(*at)++;
	*ret = *at;
	while (*at < end && **at != ' ')
		(*at)++;
	return (size_t)(*at - *ret);
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Undoes the octal escapes of /proc/mounts, in place: the new length. */
static size_t unescape(char *text, size_t length)
{
	size_t to = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\\' && length - i > 3 && is_octal(text[i + 1]) &&
			is_octal(text[i + 2]) && is_octal(text[i + 3])) {
			text[to++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					    (text[i + 3] - '0'));
			i += 3;
		} else {
			text[to++] = text[i];
		}
	}
	return to;
}

static bool is_word(const char *word, size_t length, const char *text)
{
	return length == strlen(text) && !memcmp(word, text, length);
}

/* One line of /proc/mounts: as try_folder; -ENOENT when it is about something else. */
static int try_mount_line(const char *root, const char *at, const char *end, struct buf *ret_path)
{
	const char *device, *folder, *type;
	char decoded[256];
	size_t length, type_length;
	bool debugfs;

	mounts_word(&at, end, &device);
	length = mounts_word(&at, end, &folder);
	type_length = mounts_word(&at, end, &type);
	debugfs = is_word(type, type_length, "debugfs");
	if ((!debugfs && !is_word(type, type_length, "tracefs")) || length > sizeof(decoded))
		return -ENOENT;
	memcpy(decoded, folder, length);
	return try_folder(
		root, decoded, unescape(decoded, length), debugfs ? "/tracing" : "", ret_path);
}

static int try_mounts(const char *root, struct buf *ret_path)
{
	struct buf text = BUF_INIT, path = BUF_INIT;
	int err = -ENOENT;

	buf_printf(&path, "%s/proc/mounts", root);
	if (!path.failed && !io_read_file(path.data, MOUNTS_BYTES_MAX, &text)) {
		const char *at = text.data, *end = at + text.size;

		while (at < end && err == -ENOENT) {
			const char *line_end = memchr(at, '\n', (size_t)(end - at));

			line_end = line_end ? line_end : end;
			err = try_mount_line(root, at, line_end, ret_path);
			at = line_end + 1;
		}
	}
	buf_release(&text);
	buf_release(&path);
	return err;
}

int tracefs_find_below(const char *root, struct buf *ret_path)
{
	static const char *const usual[] = {TRACING_DIR, "/sys/kernel/debug/tracing"};
	bool denied = false;
	int err;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		err = try_folder(root, usual[i], strlen(usual[i]), "", ret_path);
		if (!err)
			return 0;
		denied = denied || err == -EACCES || err == -EPERM;
	}
	err = try_mounts(root, ret_path);
	if (!err)
		return 0;
	if (denied || err == -EACCES || err == -EPERM)
		return error_set(-EACCES, NEEDS_RIGHTS);
	return error_set(-ENOENT,
		"tracefs is not mounted: as root, 'mount -t tracefs nodev " TRACING_DIR
		"' mounts it");
}

int tracefs_find(struct buf *ret_path)
{
	int err = tracefs_find_below("", ret_path);

	if (err != -ENOENT)
		return err;
	if (!mount("nodev", TRACING_DIR, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return tracefs_find_below("", ret_path);
	switch (errno) {
	case ENODEV:
		return error_set(-ENODEV,
			"this kernel has no tracefs (it was built without CONFIG_TRACING)");
	case ENOENT:
		return error_set(-ENODEV, "there is no " TRACING_DIR
					  ": this kernel has no tracefs (CONFIG_TRACING), or "
					  "sysfs is not mounted");
	case EPERM:
	case EACCES:
		return err; /* says already what to do */
	default:
		return error_errno(-errno, "cannot mount tracefs at '%s'", TRACING_DIR);
	}
}

/* ------------------------------------------------------------------ formats */

struct format_parser {
	const char *at;
	const char *end;
	size_t line; /* from 1 */
	struct trace_format *format;
};

/* The next line, without its end: false when there is none. */
static bool next_line(struct format_parser *p, const char **ret, size_t *ret_length)
{
	const char *newline;

	if (p->at >= p->end)
		return false;
	newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
	*ret = p->at;
	*ret_length = (size_t)((newline ? newline : p->end) - p->at);
	p->at = newline ? newline + 1 : p->end;
	p->line++;
	return true;
}

static int bad_line(const struct format_parser *p, const char *why)
{
	return error_set(-EINVAL, "line %zu of the event's format: %s", p->line, why);
}

static bool is_identifier_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Goes past `text` at the front of a line. */
static bool skip(const char **at, const char *end, const char *text)
{
	size_t length = strlen(text);

	if ((size_t)(end - *at) < length || memcmp(*at, text, length))
		return false;
	*at += length;
	return true;
}

static bool parse_number(const char **at, const char *end, uint32_t *ret)
{
	const char *start = *at;
	uint64_t value = 0;

	while (*at < end && **at >= '0' && **at <= '9' && value <= UINT32_MAX)
		value = value * 10 + (uint64_t)(*(*at)++ - '0');
	if (*at == start || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static bool copy_name(const char *from, size_t length, char to[TRACE_NAME_BYTES])
{
	if (!length || length >= TRACE_NAME_BYTES)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_identifier_char(from[i]))
			return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

/* A type's words with one space between them, stars apart, without const and volatile. */
#define TYPE_TEXT_BYTES 128

static bool normalize_type(const char *at, const char *end, char ret[TYPE_TEXT_BYTES])
{
	size_t size = 0;

	while (at < end) {
		const char *word = at;
		size_t length;

		while (at < end && *at != ' ' && *at != '*')
			at++;
		if (at == word && *at == '*')
			at++;
		length = (size_t)(at - word);
		while (at < end && *at == ' ')
			at++;
		if (!length || is_word(word, length, "const") || is_word(word, length, "volatile"))
			continue;
		if (size + length + 2 > TYPE_TEXT_BYTES)
			return false;
		if (size)
			ret[size++] = ' ';
		memcpy(ret + size, word, length);
		size += length;
	}
	ret[size] = '\0';
	return size > 0;
}

/* Types whose size is known; others (enums, the kernel's own) have the one that the kernel says. */
static const struct {
	uint32_t size;
	const char *types;
} known_sizes[] = {
	{1, "|bool|char|signed char|unsigned char|s8|u8|__s8|__u8|int8_t|uint8_t|"},
	{2, "|short|unsigned short|s16|u16|__s16|__u16|int16_t|uint16_t|"},
	{4, "|int|unsigned|unsigned "
	    "int|s32|u32|__s32|__u32|int32_t|uint32_t|pid_t|uid_t|gid_t|dev_t|"},
	{8, "|long|unsigned long|long long|unsigned long long|s64|u64|__s64|__u64|int64_t|uint64_t|"
	    "size_t|ssize_t|loff_t|ktime_t|uintptr_t|"},
};

/* 0: not known. */
static uint32_t known_size(const char *type)
{
	char wanted[TYPE_TEXT_BYTES + 2];

	snprintf(wanted, sizeof(wanted), "|%s|", type);
	for (size_t i = 0; i < sizeof(known_sizes) / sizeof(known_sizes[0]); i++)
		if (strstr(known_sizes[i].types, wanted))
			return known_sizes[i].size;
	return 0;
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static enum trace_field_type number_type(const char *type, uint32_t size, bool is_signed)
{
	uint32_t expected = known_size(type);

	if (starts_with(type, "struct ") || starts_with(type, "union ") || strchr(type, '['))
		return TRACE_OTHER;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return TRACE_OTHER;
	if (expected && expected != size)
		return TRACE_OTHER;
	return is_signed ? TRACE_SIGNED : TRACE_UNSIGNED;
}

static enum trace_field_type field_type(const char *type, bool array, uint32_t size, bool is_signed)
{
	if (starts_with(type, "__data_loc "))
		return !strcmp(type, "__data_loc char[]") && size == 4 ? TRACE_DATA_LOC
								       : TRACE_OTHER;
	if (starts_with(type, "__rel_loc "))
		return !strcmp(type, "__rel_loc char[]") && size == 4 ? TRACE_REL_LOC : TRACE_OTHER;
	if (array)
		return !strcmp(type, "char") && size ? TRACE_CHARS : TRACE_OTHER;
	if (strchr(type, '*')) {
		if (size != sizeof(uint64_t))
			return TRACE_OTHER;
		return !strcmp(type, "char *") ? TRACE_POINTER : TRACE_UNSIGNED;
	}
	return number_type(type, size, is_signed);
}

/* Removes dimensions from the end of a declaration: where it ends then, or NULL when they are not
 * in pairs. What is between them is any C expression. */
static const char *before_dimensions(const char *start, const char *end)
{
	while (end > start && end[-1] == ']') {
		size_t depth = 0;

		do {
			end--;
			depth += *end == ']';
			depth -= *end == '[';
		} while (depth && end > start);
		if (depth)
			return NULL;
	}
	return end;
}

struct declaration {
	char type[TYPE_TEXT_BYTES];
	bool array;
};

/* "char comm[16]", "const char * name", "__data_loc char[] name" */
static int parse_declaration(struct format_parser *p, const char *start, const char *end,
	struct declaration *ret, char ret_name[TRACE_NAME_BYTES])
{
	const char *name_end = before_dimensions(start, end), *name;

	if (!name_end)
		return bad_line(p, "brackets that do not pair");
	name = name_end;
	while (name > start && is_identifier_char(name[-1]))
		name--;
	if (!copy_name(name, (size_t)(name_end - name), ret_name))
		return bad_line(p, "no field name, or too long a one");
	if (!normalize_type(start, name, ret->type))
		return bad_line(p, "no type, or too long a one");
	ret->array = name_end != end;
	return 0;
}

static int check_range(struct format_parser *p, const struct trace_field *new)
{
	if (new->size > TRACE_RECORD_MAX || new->offset > TRACE_RECORD_MAX - new->size)
		return bad_line(p, "the field is outside of any record");
	for (size_t i = 0; i < p->format->field_count; i++) {
		const struct trace_field *f = &p->format->fields[i];

		if (new->offset < f->offset + f->size && f->offset < new->offset + new->size)
			return bad_line(p, "the field overlaps another");
	}
	return 0;
}

/* A driver may describe two fields by one name (amdgpu_vm_grab_id): then it is not clear which one
 * is meant. */
static void hide_namesakes(struct trace_format *format, struct trace_field *new)
{
	for (size_t i = 0; i < format->field_count; i++)
		if (!strcmp(format->fields[i].name, new->name))
			format->fields[i].type = new->type = TRACE_OTHER;
}

/* What comes behind "\tfield:". */
static int parse_field(struct format_parser *p, const char *at, const char *end)
{
	const char *semicolon = memchr(at, ';', (size_t)(end - at));
	struct trace_field field = {0};
	struct declaration d;
	uint32_t is_signed;
	int err;

	if (!semicolon)
		return bad_line(p, "a field without an end");
	err = parse_declaration(p, at, semicolon, &d, field.name);
	if (err)
		return err;
	at = semicolon;
	if (!skip(&at, end, ";\toffset:") || !parse_number(&at, end, &field.offset) ||
		!skip(&at, end, ";\tsize:") || !parse_number(&at, end, &field.size) ||
		!skip(&at, end, ";\tsigned:") || !parse_number(&at, end, &is_signed) ||
		!skip(&at, end, ";") || at != end || is_signed > 1)
		return bad_line(p, "no 'offset:N; size:N; signed:N;'");
	err = check_range(p, &field);
	if (err)
		return err;
	if (p->format->field_count == TRACE_FIELDS_MAX)
		return bad_line(p, "too many fields");
	field.type = field_type(d.type, d.array, field.size, is_signed);
	hide_namesakes(p->format, &field);
	p->format->fields[p->format->field_count++] = field;
	return 0;
}

static int parse_head(struct format_parser *p)
{
	const char *at, *end;
	size_t length;

	if (!next_line(p, &at, &length))
		return error_set(-EINVAL, "the event's format is empty");
	end = at + length;
	if (!skip(&at, end, "name: ") || !copy_name(at, (size_t)(end - at), p->format->name))
		return bad_line(p, "no 'name: NAME'");
	if (!next_line(p, &at, &length))
		return error_set(-EINVAL, "the event's format has no ID");
	end = at + length;
	if (!skip(&at, end, "ID: ") || !parse_number(&at, end, &p->format->id) || at != end)
		return bad_line(p, "no 'ID: NUMBER'");
	if (!next_line(p, &at, &length) || !is_word(at, length, "format:"))
		return bad_line(p, "no 'format:'");
	return 0;
}

int trace_format_parse(const char *text, size_t size, struct trace_format *ret)
{
	struct trace_format format = {0};
	struct format_parser p = {text, text + size, 0, &format};
	const char *at;
	size_t length;
	int err = parse_head(&p);

	while (!err && next_line(&p, &at, &length)) {
		const char *end = at + length;

		if (skip(&at, end, "print fmt:")) {
			*ret = format;
			return 0;
		}
		if (skip(&at, end, "\tfield:"))
			err = parse_field(&p, at, end);
		else if (length)
			err = bad_line(&p, "neither a field nor the way to print them");
	}
	return err ? err : error_set(-EINVAL, "the event's format stops before its end");
}

/* "group:event" as part of a path. */
static int event_path(const char *tracefs, const char *event, struct buf *path)
{
	const char *colon = strchr(event, ':');

	if (!colon || colon == event || !colon[1])
		return error_set(-EINVAL, "'%s' is not an event's name, GROUP:EVENT", event);
	for (const char *c = event; *c; c++)
		if (c != colon && !is_identifier_char(*c) && *c != '-')
			return error_set(
				-EINVAL, "'%s' is not an event's name, GROUP:EVENT", event);
	buf_printf(
		path, "%s/events/%.*s/%s/format", tracefs, (int)(colon - event), event, colon + 1);
	return path->failed ? error_memory(NULL) : 0;
}

int trace_format_read(const char *tracefs, const char *event, struct trace_format *ret)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	struct trace_format format;
	int err = event_path(tracefs, event, &path);

	if (!err) {
		err = io_read_file(path.data, FORMAT_BYTES_MAX, &text);
		if (err)
			error_errno(err, "cannot read '%s'", path.data);
	}
	if (!err)
		err = trace_format_parse(buf_text(&text), text.size, &format);
	if (!err && strcmp(format.name, strchr(event, ':') + 1))
		err = error_set(-EINVAL, "'%s' is about an event '%s'", path.data, format.name);
	if (!err)
		*ret = format;
	buf_release(&path);
	buf_release(&text);
	return err;
}

const struct trace_field *trace_format_field(const struct trace_format *f, const char *name)
{
	for (size_t i = 0; i < f->field_count; i++)
		if (!strcmp(f->fields[i].name, name))
			return &f->fields[i];
	return NULL;
}
