// SPDX-License-Identifier: MIT
/* Mangled names are readable soon, or stay as they are; libFuzzer's time limit is the check. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/demangle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = strndup((const char *)data, size);
	struct buf b = BUF_INIT;

	demangle(name, &b);
	require(b.size <= DEMANGLED_MAX_BYTES + size);
	buf_release(&b);
	free(name);
	return 0;
}
