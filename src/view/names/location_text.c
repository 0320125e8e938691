// SPDX-License-Identifier: MIT
#include "view/names/location_text.h"

#include <string.h>

#include "base/demangle.h"
#include "vendor/vendor.h"
#include "view/names/label.h"

int location_texts_init(struct location_texts *t, const struct profile_reader *r, bool lines)
{
	*t = (struct location_texts){.reader = r, .lines = lines};
	return python_files_init(&t->files, r) ?: file_addresses_init(&t->addresses, r);
}

void location_texts_release(struct location_texts *t)
{
	python_files_release(&t->files);
	file_addresses_release(&t->addresses);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool location_is_nameless_jit(const struct profile_reader *r, const struct profile_location *l)
{
	const struct profile_module *m = l ? profile_module(r, l->module) : NULL;

	return m && l->kind == FRAME_USER && m->kind == MODULE_ANON &&
	       !*profile_string(r, l->name, NULL) &&
	       strcmp(profile_string(r, m->path, NULL), FILES_LEFT_OUT) != 0;
}

/* "module+0xaddress" for code without a name: one for all of a function, if its start was found. */
static void put_address(
	const struct location_texts *t, const struct profile_location *l, struct buf *b)
{
	const struct profile_module *m = profile_module(t->reader, l->module);
	uint64_t address = l->function ? l->function : l->address;
	const char *name = "";

	if (m && m->kind == MODULE_FILE) {
		name = base_name(profile_string(t->reader, m->path, NULL));
		address = file_address(&t->addresses, l->module, address);
	} else if (m) {
		name = m->kind == MODULE_KERNEL ? "[kernel]"
		       : m->kind == MODULE_VDSO ? "[vdso]"
						: FILES_LEFT_OUT;
	}
	buf_printf(b, "%s%s0x%llx", name, *name ? "+" : "", (unsigned long long)address);
}

static void put_file(const struct location_texts *t, const struct profile_location *l,
	const char *file, struct buf *b)
{
	if (*file && l->line && t->lines)
		buf_printf(b, " (%s:%u)", file, l->line);
	else if (*file)
		buf_printf(b, " (%s)", file);
}

/* The function of "$kernel$function", which is what the compiler calls one of GPU code that it made
 * for a kernel. */
static const char *skip_owner(const char *name)
{
	const char *second = *name == '$' ? strchr(name + 1, '$') : NULL;

	return second && second[1] ? second + 1 : name;
}

static enum tree_kind put_native(
	const struct location_texts *t, const struct profile_location *l, struct buf *b)
{
	const char *name = skip_owner(profile_string(t->reader, l->name, NULL));
	enum tree_kind kind;

	if (location_is_nameless_jit(t->reader, l)) {
		buf_puts(b, NAME_OF_NAMELESS_JIT);
		return TREE_C;
	}
	if (!*name) {
		put_address(t, l, b);
		return TREE_C;
	}
	demangle(name, b);
	/* The same frame as that of the call: what it costs the CPU and what it asks of the GPU. */
	if (vendor_api_of(name, strlen(name)))
		return TREE_API;
	kind = strcmp(name, buf_text(b)) || strstr(name, "::") ? TREE_CXX : TREE_C;
	if (t->lines && l->line)
		put_file(t, l, base_name(profile_string(t->reader, l->file, NULL)), b);
	return kind;
}

enum tree_kind location_text(
	const struct location_texts *t, const struct profile_location *l, struct buf *b)
{
	if (!l) {
		buf_puts(b, "[damaged]");
		return TREE_NOTE;
	}
	if (l->kind == FRAME_USER)
		return put_native(t, l, b);
	if (l->kind == FRAME_KERNEL && !*profile_string(t->reader, l->name, NULL))
		put_address(t, l, b);
	else
		buf_puts(b, profile_string(t->reader, l->name, NULL));
	if (l->kind == FRAME_PYTHON)
		put_file(t, l, python_file_name(&t->files, l->file), b);
	return l->kind == FRAME_KERNEL	 ? TREE_KERNEL
	       : l->kind == FRAME_PYTHON ? TREE_PYTHON
					 : TREE_NOTE;
}

enum tree_kind location_text_nameless(
	const struct location_texts *t, const struct profile_location *l, struct buf *b)
{
	const struct profile_module *m = profile_module(t->reader, l->module);

	buf_printf(
		b, "%s [no symbols]", m ? base_name(profile_string(t->reader, m->path, NULL)) : "");
	return TREE_C;
}

size_t inline_chain(const struct profile_reader *r, uint32_t innermost, uint32_t ret[INLINES_MAX])
{
	const struct profile_inline *i;
	size_t count = 0;

	for (uint32_t id = innermost; (i = profile_inline(r, id)) && count < INLINES_MAX;
		id = i->caller)
		ret[count++] = id;
	for (size_t n = 0; n < count / 2; n++) {
		uint32_t inner = ret[n];

		ret[n] = ret[count - 1 - n];
		ret[count - 1 - n] = inner;
	}
	return count;
}

size_t location_inlines(
	const struct profile_reader *r, uint32_t location, uint32_t ret[INLINES_MAX])
{
	const struct profile_location *l = profile_location(r, location);

	return l ? inline_chain(r, l->inlined, ret) : 0;
}

struct profile_location location_of_inline(const struct profile_reader *r, uint32_t inlined)
{
	const struct profile_inline *i = profile_inline(r, inlined);

	return (struct profile_location){
		.kind = FRAME_USER, .name = i->name, .file = i->file, .line = i->line};
}
