// SPDX-License-Identifier: MIT
/* libiberty's demangler, the one the GNU tools use. */
#include "base/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>

void demangle(const char *name, struct buf *b)
{
	char *plain = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);

	buf_puts(b, plain ? plain : name);
	free(plain);
}
