// SPDX-License-Identifier: MIT
/* The assembler reads the files; paths are from the root of the source tree, where the compiler
 * runs. */
#include "export/svg_assets.h"

#define FILE_TEXT(file) ".incbin \"" file "\"\n"

#define ASSET(name, text)                                                                          \
	__asm__(".section .rodata\n"                                                               \
		".global " name "_start\n" name "_start:\n" text ".global " name "_end\n" name     \
		"_end:\n"                                                                          \
		".byte 0\n"                                                                        \
		".previous\n")

ASSET("svg_style", FILE_TEXT("src/export/flame/colours.css"));
ASSET("svg_app_style", FILE_TEXT("src/export/flame/page.css"));
/* One function, so that the files share their names and the page gets none of them. */
// clang-format off
ASSET("svg_script",
	".ascii \"(function () {\\n\\\"use strict\\\";\\n\"\n"
	FILE_TEXT("src/export/flame/tree.js")
	FILE_TEXT("src/export/flame/page.js")
	FILE_TEXT("src/export/flame/colours.js")
	FILE_TEXT("src/export/flame/draw.js")
	FILE_TEXT("src/export/flame/pointer.js")
	FILE_TEXT("src/export/flame/zoom.js")
	FILE_TEXT("src/export/flame/search.js")
	FILE_TEXT("src/export/flame/keys.js")
	FILE_TEXT("src/export/flame/begin.js")
	".ascii \"})();\\n\"\n");
// clang-format on
ASSET("annotate_style", FILE_TEXT("src/export/annotate.css"));
ASSET("annotate_script", FILE_TEXT("src/export/annotate.js"));
