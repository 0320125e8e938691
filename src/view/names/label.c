// SPDX-License-Identifier: MIT
#include "view/names/label.h"

#include <string.h>

#include "base/demangle.h"

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
}

static void put_native(const char *name, struct buf *b)
{
	if (is_mangled(name))
		demangle(name, b);
	else
		buf_puts(b, name);
}

/* Behind the mark that GPU frames have in folded text ("[GPU_Kernel]"), which stays only when it
 * names a device: the kind is shown by colour. */
static const char *skip_gpu_mark(const char *name, struct buf *b)
{
	const char *end;

	if (strncmp(name, "[GPU", 4))
		return name;
	end = strchr(name, ']');
	if (!end || !end[1])
		return name;
	if (name[4] >= '0' && name[4] <= '9') {
		buf_puts(b, "GPU ");
		buf_append(b, name + 4, strspn(name + 4, "0123456789"));
		buf_puts(b, ": ");
	}
	return end + 1;
}

static void put_numbered(const struct tree_frame *f, struct buf *b)
{
	buf_append(b, f->name, f->size);
	buf_printf(b, " (%u)", f->number);
}

/* Without the mark behind the name that frames have in folded text. */
static void put_marked(const struct tree_frame *f, const char *mark, struct buf *b)
{
	size_t size = f->size, mark_size = strlen(mark);

	if (size > mark_size && !memcmp(f->name + size - mark_size, mark, mark_size))
		size -= mark_size;
	buf_append(b, f->name, size);
}

void tree_label(const struct tree_frame *f, struct buf *b)
{
	switch (f->kind) {
	case TREE_PROCESS:
	case TREE_THREAD:
		put_numbered(f, b);
		break;
	case TREE_DEVICE:
		buf_printf(b, "GPU %u%s%s", f->number, f->size ? ": " : "", f->name);
		break;
	case TREE_STREAM:
		buf_printf(b, "stream %u", f->number);
		break;
	case TREE_CXX:
		put_native(f->name, b);
		break;
	case TREE_KERNEL:
		put_marked(f, "_[k]", b);
		break;
	case TREE_GPU_SOURCE:
		put_marked(f, "_[G]", b);
		break;
	case TREE_GPU_CODE:
		put_marked(f, "_[g]", b);
		break;
	case TREE_GPU_KERNEL:
		put_native(skip_gpu_mark(f->name, b), b);
		break;
	case TREE_GPU_COPY:
		buf_printf(b, "copy %s", skip_gpu_mark(f->name, b));
		break;
	case TREE_GPU_SET:
		buf_puts(b, "memset");
		break;
	default:
		buf_append(b, f->name, f->size);
		break;
	}
	if (!b->size)
		buf_puts(b, "(no name)");
}

static bool begins(const char *at, const char *end, const char *with)
{
	size_t size = strlen(with);

	return (size_t)(end - at) >= size && !memcmp(at, with, size);
}

/* How much of a name to copy as it is: "operator<<" and the like, and nothing of another name. */
static size_t operator_size(const char *at, const char *end)
{
	static const char word[] = "operator";
	size_t size = sizeof(word) - 1;

	if (!begins(at, end, word))
		return 0;
	if (begins(at + size, end, "()"))
		return size + 2;
	if (begins(at + size, end, " "))
		return (size_t)(end - at); /* of a type, which may be anything */
	while (at + size < end && memchr("<>=!+-*/%&|^~,[]", at[size], 16))
		size++;
	return size > sizeof(word) - 1 ? size : 0;
}

/* Without what stands in < > and ( ), and without the type that stands before the name. */
static void put_bare(const char *at, const char *end, struct buf *b)
{
	static const char anonymous[] = "(anonymous namespace)::";
	const char *begin = at;
	size_t start = b->size, nested = 0;
	bool arguments = false;

	for (size_t size; at < end; at += size) {
		size = nested ? 0 : operator_size(at, end);
		if (size)
			buf_append(b, at, size);
		else if (!nested && begins(at, end, anonymous))
			size = sizeof(anonymous) - 1;
		else if (!nested && *at == ' ' && (arguments || begins(at, end, " (")))
			break; /* " const", a location, or " [clone .1]" */
		else if (!nested && *at == ' ')
			b->size = at > begin && at[-1] == '<' ? b->size
							      : start; /* "operator< <int>" */
		else if (*at == '<' || *at == '(')
			nested++;
		else if (nested && ((*at == '>' && at[-1] != '-') || *at == ')'))
			arguments = !--nested && *at == ')';
		else if (!nested)
			buf_putc(b, *at);
		size += !size;
	}
}

/* Functions that do what the class or namespace before them is called. */
static bool is_word_for_any(const char *name, size_t size)
{
	static const char *const words[] = {"call", "operator()", "redispatch", "run", "apply",
		"invoke", "execute", "launch", "impl", "forward", "_M_invoke", "do_call",
		"call_once"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (size == strlen(words[i]) && !memcmp(name, words[i], size))
			return true;
	return false;
}

/* Behind the first `count` qualifiers; NULL if it has not so many, or too little would be left.
 * That of "<T as Trait>::f" may contain others. */
static const char *skip_qualifiers(const char *text, size_t size, int count)
{
	const char *end = text + size, *at = text;
	bool whole = *text == '<';

	for (; count && at; count--)
		do {
			at = memmem(text, (size_t)(end - text), "::", 2);
			text = at ? at + 2 : text;
		} while (whole && memmem(text, (size_t)(end - text), "::", 2));
	return at && !is_word_for_any(text, (size_t)(end - text)) ? text : NULL;
}

/* How much stands before the reason in "[waiting: lock]", "[waiting for the GPU]"; 0: it is none of
 * these. */
static size_t waiting_size(const char *label, size_t size)
{
	static const char *const words[] = {"[waiting: ", "[waiting for the "};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (size > strlen(words[i]) && begins(label, label + size, words[i]))
			return strlen(words[i]);
	return 0;
}

void label_brief(const char *label, size_t size, int level, struct buf *b)
{
	size_t before_reason = waiting_size(label, size);
	const char *slash = memrchr(label, '/', size), *part;
	size_t start = b->size;

	if (before_reason) {
		buf_append(b, label + before_reason, size - before_reason - 1);
	} else if (size && *label == '<') {
		buf_append(b, label, size); /* "<T as Trait>::f" of Rust would lose its type */
	} else if (slash && !memchr(label, '(', size)) {
		buf_puts(b, "...");
		buf_append(b, slash, size - (size_t)(slash - label));
	} else {
		put_bare(label, label + size, b);
	}
	if (level > 1 && !b->failed && b->size > start) {
		part = skip_qualifiers(b->data + start, b->size - start, level - 1);
		b->size = part ? b->size - ((size_t)(part - b->data) - start) : start;
		memmove(b->data + start, part ? part : b->data + start, b->size - start);
	}
	if (b->size - start >= size)
		b->size = start;
	if (b->size < b->capacity)
		b->data[b->size] = '\0';
}

bool label_is_c_library(const char *path)
{
	static const char *const libraries[] = {
		"libc.so", "libc-2.", "libpthread", "ld-linux", "ld-musl", "libc.musl"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}
