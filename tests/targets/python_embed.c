// SPDX-License-Identifier: MIT
/* python_embed LIBPYTHON ARGUMENTS...: a program that loads an interpreter at run time and is one
 * from then on. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*run)(int, char **) = NULL;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;

	if (library)
		*(void **)&run = dlsym(library, "Py_BytesMain");
	if (!run) {
		fprintf(stderr, "python_embed: %s\n", argc > 1 ? dlerror() : "which library?");
		return 1;
	}
	return run(argc - 1, argv + 1);
}
