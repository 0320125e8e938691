// SPDX-License-Identifier: MIT
/* The assembler reads the files; paths are from the root of the source tree, where the compiler
 * runs. */
#include "export/svg_assets.h"

#define ASSET(name, file)                                                                          \
	__asm__(".section .rodata\n"                                                               \
		".global " name "_start\n" name "_start:\n"                                        \
		".incbin \"" file "\"\n"                                                           \
		".global " name "_end\n" name "_end:\n"                                            \
		".byte 0\n"                                                                        \
		".previous\n")

ASSET("svg_style", "src/export/flame.css");
ASSET("svg_app_style", "src/export/flame_app.css");
ASSET("svg_script", "src/export/flame.js");
ASSET("annotate_style", "src/export/annotate.css");
ASSET("annotate_script", "src/export/annotate.js");
