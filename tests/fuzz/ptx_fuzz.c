// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as a fatbin, and as PTX with probes at every kind of site. What the
 * splicer returns reads as a module with the same functions, is the same when it is made again, and
 * is not spliced twice.
 */
#include <errno.h>
#include <string.h>

#include "ptx/code_names.h"
#include "ptx/fatbin.h"
#include "ptx/module.h"
#include "ptx/splice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (1u << 20) /* of an entry */

// clang-format off
static const struct ptx_body bodies[] = {
	{PTX_AT_ENTRY, true, 1, "*", "{ mov.u64 %xpu_cookie, %xpu_arg0; }", 1, 70, 0},
	{PTX_AT_EXIT, false, 1, "*", "{ mov.u64 %a, %xpu_cookie; mov.u64 %a, %xpu_arg3; }", 0, 0, 0},
	{PTX_AT_LOAD, true, PTX_NO_PAIR, "*", "{ mov.u64 %a, %xpu_addr; mov.u32 %b, %xpu_size; }", 0, 0, 0},
	{PTX_AT_ACCESS, false, PTX_NO_PAIR, "*k*", "{ mov.u32 %b, %xpu_lines; mov.u32 %b, %xpu_insn; }", 0, 0, 0},
};
// clang-format on
static const struct ptx_declaration declaration = {".global .u32 xpu_declared;"};
static const struct ptx_probes probes = {.bodies = bodies,
	.body_count = sizeof(bodies) / sizeof(*bodies),
	.declarations = &declaration,
	.declaration_count = 1};

static void check(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_spliced(const char *text, size_t size, const struct ptx_spliced *s)
{
	struct ptx_module before, after;
	struct ptx_spliced again = {0};

	check(!ptx_module_read(text, strnlen(text, size), &before));
	check(!ptx_module_read(s->text.data, s->text.size, &after));
	check(before.functions.count == after.functions.count);
	for (size_t i = 0; i < before.functions.count; i++)
		check(before.functions.items[i].name.size == after.functions.items[i].name.size);
	check(ptx_splice(s->text.data, s->text.size, &probes, &again) == -EINVAL);
	check(!ptx_splice(text, size, &probes, &again));
	check(again.text.size == s->text.size &&
		!memcmp(again.text.data, s->text.data, s->text.size));
	ptx_spliced_release(&again);
	ptx_module_release(&before);
	ptx_module_release(&after);
}

/* Each entry of a fatbin; what it unpacks to is no longer than it says. */
static void read_fatbin(const uint8_t *data, size_t size)
{
	struct ptx_fatbin_entry e;
	struct ptx_fatbin f;

	if (ptx_fatbin_open(data, size, &f))
		return;
	while (ptx_fatbin_next(&f, &e) > 0) {
		struct buf text = BUF_INIT;

		if (e.bytes < MOST_BYTES && !ptx_fatbin_text(&e, &text))
			check(text.size <= e.bytes);
		buf_release(&text);
	}
}

static int take_name(void *context, const char *name)
{
	check(*name && strlen(name) <= *(const size_t *)context);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptx_spliced s;

	read_fatbin(data, size);
	check(!text_names((const char *)data, size, take_name, &size));
	if (!size || ptx_splice((const char *)data, size, &probes, &s))
		return 0;
	if (!s.is_as_before)
		check_spliced((const char *)data, size, &s);
	ptx_spliced_release(&s);
	return 0;
}
