// SPDX-License-Identifier: MIT
#include "probe/typed.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"

#define DEPTH_MAX    16
#define ELEMENTS_MAX 256

static uint64_t unsigned_of(const uint8_t *bytes, uint64_t size)
{
	uint64_t n = 0;

	memcpy(&n, bytes, size < 8 ? size : 8);
	return n;
}

static int64_t signed_of(const uint8_t *bytes, uint64_t size)
{
	unsigned int shift = size < 8 ? 64 - 8 * (unsigned int)size : 0;

	return (int64_t)(unsigned_of(bytes, size) << shift) >> shift;
}

static double real_of(const uint8_t *bytes, uint64_t size)
{
	float f = 0;
	double d = 0;

	if (size == 4) {
		memcpy(&f, bytes, 4);
		return f;
	}
	memcpy(&d, bytes, size < 8 ? size : 8);
	return d;
}

/* A text in an array of characters. */
static bool is_text(const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes, uint64_t size)
{
	uint32_t element;
	size_t length = strnlen((const char *)bytes, size);

	if (!ebpf_btf_elements(btf, type, &element))
		return false;
	element = ebpf_btf_plain(btf, element);
	if (ebpf_btf_kind(btf, element) != BTF_KIND_INT || ebpf_btf_size(btf, element) != 1 ||
		!length || length == size)
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isprint(bytes[i]))
			return false;
	return true;
}

/* What one value is, without its parts. */
struct scalar {
	bool is_signed, is_real;
};

/* Whether it is a number, and of which kind. */
static bool is_number(const struct ebpf_btf *btf, uint32_t type, uint64_t size, struct scalar *ret)
{
	*ret = (struct scalar){0};
	switch (ebpf_btf_kind(btf, type)) {
	case BTF_KIND_INT:
		ret->is_signed = ebpf_btf_encoding(btf, type) & BTF_INT_SIGNED;
		return size <= 8;
	case BTF_KIND_FLOAT:
		ret->is_real = true;
		return size == 4 || size == 8;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ARRAY:
		return false;
	default:
		return size <= 8;
	}
}

/* A member's bytes; false: it is not inside of them. */
static bool member_at(const struct ebpf_btf *btf, const struct ebpf_btf_member *m, uint64_t size,
	uint64_t *ret_offset, uint64_t *ret_size)
{
	*ret_offset = m->bit_offset / 8;
	*ret_size = ebpf_btf_size(btf, m->type);
	return !m->bit_size && *ret_size && *ret_offset <= size && *ret_size <= size - *ret_offset;
}

/* The bits of a bit field, as the number that they are; false: they are not inside of the bytes. */
static bool bits_at(const struct ebpf_btf *btf, const struct ebpf_btf_member *m,
	const uint8_t *bytes, uint64_t size, int64_t *ret)
{
	uint64_t at = m->bit_offset / 8, shift = m->bit_offset % 8, n;
	bool is_signed = ebpf_btf_encoding(btf, ebpf_btf_plain(btf, m->type)) & BTF_INT_SIGNED;

	if (!m->bit_size || m->bit_size + shift > 64 || at > size ||
		(m->bit_size + shift + 7) / 8 > size - at)
		return false;
	n = unsigned_of(bytes + at, size - at) << (64 - m->bit_size - shift);
	*ret = is_signed ? (int64_t)n >> (64 - m->bit_size) : (int64_t)(n >> (64 - m->bit_size));
	return true;
}

static void put_words(struct buf *out, const uint8_t *bytes, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += 8)
		buf_printf(out, "%s0x%" PRIx64, at ? " " : "",
			unsigned_of(bytes + at, size - at < 8 ? size - at : 8));
}

static void put(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size, unsigned int depth);

static void put_members(struct buf *out, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	struct ebpf_btf_member m;
	uint64_t at, bytes_of;
	bool any = false;
	int64_t bits;

	for (uint32_t n = 0; ebpf_btf_member(btf, type, n, &m); n++) {
		bool is_whole = member_at(btf, &m, size, &at, &bytes_of);

		if (!is_whole && !bits_at(btf, &m, bytes, size, &bits))
			continue;
		buf_printf(out, "%s%s=", any ? " " : "", m.name);
		if (is_whole)
			put(out, btf, m.type, bytes + at, bytes_of, depth + 1);
		else
			buf_printf(out, "%" PRId64, bits);
		any = true;
	}
}

/* In braces where it is a part of something. */
static void put_struct(struct buf *out, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	buf_puts(out, depth ? "{" : "");
	put_members(out, btf, type, bytes, size, depth);
	buf_puts(out, depth ? "}" : "");
}

static void put_elements(struct buf *out, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	uint32_t element, count = ebpf_btf_elements(btf, type, &element);
	uint64_t each = ebpf_btf_size(btf, element);

	buf_putc(out, '[');
	for (uint32_t i = 0; each && i < count && i < ELEMENTS_MAX && (i + 1) * each <= size; i++) {
		buf_puts(out, i ? " " : "");
		put(out, btf, element, bytes + i * each, each, depth + 1);
	}
	buf_puts(out, count > ELEMENTS_MAX ? " ...]" : "]");
}

static void put(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size, unsigned int depth)
{
	struct scalar s;

	type = ebpf_btf_plain(btf, type);
	if (depth > DEPTH_MAX)
		buf_puts(out, "...");
	else if (is_number(btf, type, size, &s) && s.is_real)
		buf_printf(out, "%g", real_of(bytes, size));
	else if (is_number(btf, type, size, &s) && s.is_signed)
		buf_printf(out, "%" PRId64, signed_of(bytes, size));
	else if (is_number(btf, type, size, &s))
		buf_printf(out, "%" PRIu64, unsigned_of(bytes, size));
	else if (is_text(btf, type, bytes, size))
		buf_printf(out, "\"%s\"", (const char *)bytes);
	else if (ebpf_btf_kind(btf, type) == BTF_KIND_ARRAY)
		put_elements(out, btf, type, bytes, size, depth);
	else if (ebpf_btf_kind(btf, type) == BTF_KIND_UNKN)
		put_words(out, bytes, size);
	else
		put_struct(out, btf, type, bytes, size, depth);
}

void typed_text(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size)
{
	put(out, btf, type, bytes, size, 0);
}

void typed_part(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size)
{
	put(out, btf, type, bytes, size, 1);
}

static void json(struct json_writer *w, const char *name, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth);

static void json_signed(struct json_writer *w, const char *name, int64_t n)
{
	json_key(w, name);
	buf_printf(w->out, "%" PRId64, n);
}

static void json_members(struct json_writer *w, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	struct ebpf_btf_member m;
	uint64_t at, bytes_of;
	int64_t bits;

	for (uint32_t n = 0; ebpf_btf_member(btf, type, n, &m); n++)
		if (member_at(btf, &m, size, &at, &bytes_of))
			json(w, m.name, btf, m.type, bytes + at, bytes_of, depth + 1);
		else if (bits_at(btf, &m, bytes, size, &bits))
			json_signed(w, m.name, bits);
}

static void json_elements(struct json_writer *w, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	uint32_t element, count = ebpf_btf_elements(btf, type, &element);
	uint64_t each = ebpf_btf_size(btf, element);

	for (uint32_t i = 0; each && i < count && (i + 1) * each <= size; i++)
		json(w, NULL, btf, element, bytes + i * each, each, depth + 1);
}

static void json_compound(struct json_writer *w, const char *name, const struct ebpf_btf *btf,
	uint32_t type, const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	bool is_struct = ebpf_btf_kind(btf, type) == BTF_KIND_STRUCT ||
			 ebpf_btf_kind(btf, type) == BTF_KIND_UNION;

	json_begin(w, name, is_struct ? '{' : '[');
	if (is_struct)
		json_members(w, btf, type, bytes, size, depth);
	else if (ebpf_btf_kind(btf, type) == BTF_KIND_ARRAY)
		json_elements(w, btf, type, bytes, size, depth);
	else
		for (uint64_t at = 0; at < size; at += 8)
			json_number(
				w, NULL, unsigned_of(bytes + at, size - at < 8 ? size - at : 8));
	json_end(w, is_struct ? '}' : ']');
}

static void json(struct json_writer *w, const char *name, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size, unsigned int depth)
{
	struct scalar s;

	type = ebpf_btf_plain(btf, type);
	if (depth > DEPTH_MAX)
		json_text(w, name, NULL);
	else if (!is_number(btf, type, size, &s) && is_text(btf, type, bytes, size))
		json_text(w, name, (const char *)bytes);
	else if (!is_number(btf, type, size, &s))
		json_compound(w, name, btf, type, bytes, size, depth);
	else if (s.is_real)
		json_real(w, name, real_of(bytes, size));
	else if (s.is_signed)
		json_signed(w, name, signed_of(bytes, size));
	else
		json_number(w, name, unsigned_of(bytes, size));
}

void typed_json(struct json_writer *w, const char *name, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size)
{
	json(w, name, btf, type, bytes, size, 0);
}

/* One conversion, from behind its '%': what follows it. Texts are not there: they were addresses on
 * the GPU. */
static const char *put_conversion(struct buf *out, const char *at, uint64_t n)
{
	unsigned int longs = 0;

	at += strspn(at, "-+ #0123456789.");
	for (; *at == 'l' || *at == 'h' || *at == 'z'; at++)
		longs += *at == 'l' || *at == 'z';
	switch (*at) {
	case 'd':
	case 'i':
		buf_printf(out, "%" PRId64, longs ? (int64_t)n : (int32_t)n);
		break;
	case 'u':
		buf_printf(out, "%" PRIu64, longs ? n : (uint32_t)n);
		break;
	case 'x':
	case 'X':
		buf_printf(out, "%" PRIx64, longs ? n : (uint32_t)n);
		break;
	case 'c':
		buf_putc(out, isprint((unsigned char)n) ? (char)n : '?');
		break;
	case '\0':
		return at;
	default: /* %p, %s and their kind */
		buf_printf(out, "0x%" PRIx64, n);
	}
	return at + 1;
}

void typed_print(struct buf *out, const char *format, const uint64_t arguments[3])
{
	unsigned int n = 0;

	for (const char *at = format; *at;) {
		if (*at != '%') {
			buf_putc(out, *at++);
		} else if (at[1] == '%') {
			buf_putc(out, '%');
			at += 2;
		} else {
			at = put_conversion(out, at + 1, n < 3 ? arguments[n] : 0);
			n++;
		}
	}
	while (out->size && out->data[out->size - 1] == '\n')
		out->data[--out->size] = 0;
}
