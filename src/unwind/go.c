// SPDX-License-Identifier: MIT
#include "unwind/go.h"

#include <errno.h>
#include <string.h>

#include "elf/go_functions.h"

#define STACK_USE_MAX (1 << 30)

/* What a signal handler returns to. Nobody calls it: its very beginning is the return address. */
static bool is_signal_return(const struct go_function *f)
{
	return !strcmp(f->name, "runtime.sigreturn") ||
	       !strcmp(f->name, "runtime.sigreturn__sigaction");
}

static void add_by_stack(
	struct table_builder *b, const struct go_functions *g, const struct go_function *f)
{
	struct walk_rule rule = {.cfa = WALK_CFA_SP, .ra = WALK_SAVED_CFA, .ra_offset = -8};
	struct go_stack_use use = {0};
	bool any = false;

	builder_begin(b, f->start, f->size);
	while (go_functions_stack(g, f, &use)) {
		if (use.bytes < 0 || use.bytes > STACK_USE_MAX)
			break;
		rule.cfa_offset = (int32_t)use.bytes + 8;
		builder_row(b, use.offset, &rule);
		any = true;
	}
	if (any)
		builder_end(b);
	else
		builder_drop(b);
}

static void add_one_rule(struct table_builder *b, uint64_t start, uint32_t size, enum walk_cfa cfa)
{
	const struct walk_rule rule = {.cfa = (uint8_t)cfa};

	builder_begin(b, start, size);
	builder_row(b, 0, &rule);
	builder_end(b);
}

static void add_function(
	struct table_builder *b, const struct go_functions *g, const struct go_function *f)
{
	if (is_signal_return(f))
		add_one_rule(b, f->start - 1, f->size + 1, WALK_CFA_SIGNAL);
	else if (f->flags & GO_TOP_FRAME)
		add_one_rule(b, f->start, f->size, WALK_CFA_END);
	else if (f->flags & GO_WRITES_STACK)
		add_one_rule(b, f->start, f->size, WALK_CFA_UNSUPPORTED);
	else
		add_by_stack(b, g, f);
}

static void add_functions(struct elf_file *f, struct table_builder *b, const struct go_functions *g)
{
	struct go_function function;
	uint64_t start = 0, end = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		if (!go_functions_at(g, i, &function))
			continue;
		if ((function.start < start || function.start >= end) &&
			elf_file_code_range(f, function.start, &start, &end))
			continue;
		add_function(b, g, &function);
	}
}

int go_add(struct elf_file *f, struct table_builder *b)
{
	struct go_functions g;
	int error = go_functions_open(f, &g);

	if (error)
		return error == -ENOENT ? 0 : error;
	add_functions(f, b, &g);
	go_functions_release(&g);
	return b->error;
}
