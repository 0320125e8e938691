// SPDX-License-Identifier: MIT
/*
 * Puts probes into a file of PTX and prints it, for assemblers to try.
 *
 *	splice_ptx FILE [entry|exit|load|store|access|all [GLOB]]
 *
 * The bodies name every register that a body may have at its site, so that all of them are written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/splice.h"

#define ALWAYS                                                                                     \
	"	.reg .b64 %a, %b; .reg .b32 %c;\n"                                                       \
	"	cvt.u64.u32 %a, %xpu_lanes; cvt.u64.u32 %b, %xpu_active; add.u64 %a, %a, %b;\n"          \
	"	add.u64 %a, %a, %xpu_kernel; cvt.u64.u32 %b, %xpu_argc; add.u64 %a, %a, %b;\n"           \
	"	add.u64 %a, %a, %xpu_arg0; add.u64 %a, %a, %xpu_arg1; add.u64 %a, %a, "                  \
	"%xpu_arg5;\n"                                                                             \
	"	add.u64 %a, %a, %xpu_arg11;\n"
#define MEMORY                                                                                     \
	"	add.u64 %a, %a, %xpu_addr; cvt.u64.u32 %b, %xpu_size; add.u64 %a, %a, %b;\n"             \
	"	add.s32 %c, %xpu_kind, %xpu_insn;\n"                                                     \
	"	cvt.u64.u32 %b, %c; add.u64 %a, %a, %b;\n"
#define LINES "	cvt.u64.u32 %b, %xpu_lines; add.u64 %a, %a, %b;\n"
#define ADD   "	red.global.add.u64 [%xpu_arena+8], %a;\n"

// clang-format off
static const struct ptx_body bodies[] = {
	{PTX_AT_ENTRY, true, 1, "*", "{\n" ALWAYS ADD "	mov.u64 %xpu_cookie, %globaltimer;\n}", 1, 0, 0},
	{PTX_AT_ENTRY, false, 2, "*", "{\n" ALWAYS "	mov.u64 %xpu_cookie, %a; .reg .pred %p; setp.eq.u64 %p, %a, 3; @%p bra L;\n" ADD "L:\n}", 0, 0, 0},
	{PTX_AT_EXIT, true, 1, "*", "{\n" ALWAYS "	sub.u64 %a, %a, %xpu_cookie;\n" ADD "}", 0, 0, 0},
	{PTX_AT_EXIT, false, 2, "*", "{\n" ALWAYS "	sub.u64 %a, %a, %xpu_cookie;\n" ADD "}", 0, 0, 0},
	{PTX_AT_LOAD, false, PTX_NO_PAIR, "*", "{\n" ALWAYS MEMORY ADD "}", 0, 0, 0},
	{PTX_AT_STORE, true, PTX_NO_PAIR, "*", "{\n" ALWAYS MEMORY ADD "}", 0, 0, 0},
	{PTX_AT_ACCESS, true, PTX_NO_PAIR, "*", "{\n" ALWAYS MEMORY LINES
		"	call (%a), twice, (%a);\n" ADD "}", 2, 0, 70},
};
// clang-format on

static const struct ptx_declaration declarations[] = {
	{".global .align 8 .u64 unused_word;"},
	{".func (.reg .b64 %r) twice (.reg .b64 %v)\n{\n	add.u64 %r, %v, %v;\n	ret;\n}"},
};

static const char *const sites[] = {"entry", "exit", "load", "store", "access"};

static char *read_all(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t size = file ? getdelim(&text, &room, 0, file) : -1;

	if (file)
		fclose(file);
	*ret_size = size > 0 ? (size_t)size : 0;
	return text;
}

int main(int argc, char **argv)
{
	struct ptx_body chosen[sizeof(bodies) / sizeof(*bodies)];
	struct ptx_probes probes = {chosen, 0, declarations, 2};
	const char *site = argc > 2 ? argv[2] : "all";
	struct ptx_spliced spliced;
	size_t size;
	char *text = argc > 1 ? read_all(argv[1], &size) : NULL;

	if (!text)
		return 2;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct ptx_body *b = &chosen[probes.body_count];

		*b = bodies[i];
		if (argc > 3)
			b->kernels = argv[3];
		probes.body_count += !strcmp(site, "all") || !strcmp(site, sites[b->site]);
	}
	if (ptx_splice(text, size, &probes, &spliced) < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], error_text());
		free(text);
		return 1;
	}
	fwrite(spliced.text.data, 1, spliced.text.size, stdout);
	fprintf(stderr, "%zu kernels, %zu accesses, %u exits and %u accesses not seen\n",
		spliced.kernels.count, spliced.lines.count, spliced.unseen_exits,
		spliced.unseen_accesses);
	ptx_spliced_release(&spliced);
	free(text);
	return 0;
}
