// SPDX-License-Identifier: MIT
/* The assembler reads the files; paths are from the root of the source tree, where the compiler
 * runs. Pages have the script without what is for its readers only: lines of comment, and tabs at
 * the begin of lines, of which nothing depends (no text in it goes over a line's end). */
#include "page/assets.h"

#include <stdbool.h>
#include <string.h>

#define FILE_TEXT(file) ".incbin \"src/page/" file "\"\n"

#define ASSET(name, text)                                                                          \
	__asm__(".section .rodata\n"                                                               \
		".global " name "_start\n" name "_start:\n" text ".global " name "_end\n" name     \
		"_end:\n"                                                                          \
		".byte 0\n"                                                                        \
		".previous\n")

extern const char page_style_start[], page_style_end[];
extern const char page_body_start[], page_body_end[];
extern const char page_script_start[], page_script_end[];

ASSET("page_style", FILE_TEXT("page.css"));
ASSET("page_body", FILE_TEXT("body.html"));
/* One function, so that the files share their names and the page gets none of them. */
// clang-format off
ASSET("page_script",
	".ascii \"(function () {\\n\\\"use strict\\\";\\n\"\n"
	FILE_TEXT("script/state.js")
	FILE_TEXT("script/files.js")
	FILE_TEXT("script/refill.js")
	FILE_TEXT("script/fetch.js")
	FILE_TEXT("script/file.js")
	FILE_TEXT("script/file_find.js")
	FILE_TEXT("script/tree.js")
	FILE_TEXT("script/file_tree.js")
	FILE_TEXT("script/file_diff.js")
	FILE_TEXT("script/file_heat.js")
	FILE_TEXT("script/file_events.js")
	FILE_TEXT("script/graph.js")
	FILE_TEXT("script/filters.js")
	FILE_TEXT("script/functions.js")
	FILE_TEXT("script/calltree.js")
	FILE_TEXT("script/scale.js")
	FILE_TEXT("script/heat.js")
	FILE_TEXT("script/heat_rows.js")
	FILE_TEXT("script/listed.js")
	FILE_TEXT("script/rows.js")
	FILE_TEXT("script/markers.js")
	FILE_TEXT("script/timeline.js")
	FILE_TEXT("script/seek.js")
	FILE_TEXT("script/links.js")
	FILE_TEXT("script/pointer.js")
	FILE_TEXT("script/heat_keys.js")
	FILE_TEXT("script/repeats.js")
	FILE_TEXT("script/compare.js")
	FILE_TEXT("script/panes.js")
	FILE_TEXT("script/paper.js")
	FILE_TEXT("script/begin.js")
	".ascii \"})();\\n\"\n");
// clang-format on

static void put(struct buf *b, const char *start, const char *end)
{
	buf_append(b, start, (size_t)(end - start));
}

static void put_head(struct buf *b, const char *more)
{
	buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	buf_puts(b, more);
	buf_puts(b, "<meta name=\"viewport\" content=\"width=device-width\">\n"
		    "<title>xpuprof</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n");
	put(b, page_style_start, page_style_end);
	buf_puts(b, "</style>\n</head>\n<body>\n");
	put(b, page_body_start, page_body_end);
}

static bool is_comment(const char *line, const char *end)
{
	return end - line >= 2 && line[0] == '/' && line[1] == '/';
}

static void put_code(struct buf *b, const char *start, const char *end)
{
	for (const char *line = start, *next; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		while (*line == '\t')
			line++;
		if (*line != '\n' && !is_comment(line, next))
			put(b, line, next);
	}
}

static void put_script(struct buf *b)
{
	buf_puts(b, "<script>\n// SPDX-License-Identifier: MIT\n");
	put_code(b, page_script_start, page_script_end);
	buf_puts(b, "</script>\n</body>\n</html>\n");
}

void assets_page(struct buf *b)
{
	put_head(b, "");
	put_script(b);
}

void assets_file_head(struct buf *b)
{
	put_head(b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
		    "frame-src blob:; base-uri 'none'; form-action 'none'\">\n");
	buf_puts(b, "<script type=\"application/json\" id=\"data\">\n");
}

void assets_file_end(struct buf *b)
{
	buf_puts(b, "\n</script>\n");
	put_script(b);
}
