// SPDX-License-Identifier: MIT
/*
 * Stands in for libiga64 where it is loaded (src/gpucode/intel/iga.h), well or badly. The name of
 * its file says how it behaves:
 *
 *	texts		writes the opcode and what is to be cleaned of a text
 *	rights		writes who it was when it was loaded, with what capabilities, and whether it can
 *			open a file, run a program or connect now
 *	unknown		knows no GPU
 *	dies		at the third instruction
 *	hangs		there
 *	stuck		when it is loaded
 *	greedy		takes memory without end
 *	long		writes a mebibyte for each instruction
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT	    __attribute__((visibility("default")))
#define UNSUPPORTED 10
#define THIRD	    3
#define LONG_BYTES  (1u << 20)
#define STEP_BYTES  (16u << 20)

struct context_options {
	size_t bytes;
	int platform;
};

EXPORT int iga_context_create(const struct context_options *options, void **ret);
EXPORT int iga_context_release(void *context);
EXPORT int iga_context_disassemble_instruction(void *context, const uint32_t *options,
	const uint8_t *instruction, const void *label, void *label_context, char **ret_text);

static char text[LONG_BYTES + 1];
static unsigned int uid, instructions;
static uint64_t capabilities;

static bool is(const char *behaviour)
{
	Dl_info info;
	const char *name = dladdr(&uid, &info) ? strrchr(info.dli_fname, '/') : NULL;

	return name && !strncmp(name + 1, behaviour, strlen(behaviour));
}

static void hang(void)
{
	for (volatile bool forever = true; forever;)
		;
}

static void take_memory(void)
{
	for (;;) {
		char *more = malloc(STEP_BYTES);

		if (!more)
			abort();
		*(volatile char *)more = 1;
	}
}

__attribute__((constructor)) static void note_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	uid = geteuid();
	if (!syscall(SYS_capget, &header, data))
		capabilities = data[0].permitted | (uint64_t)data[1].permitted << 32;
	if (is("stuck"))
		hang();
}

int iga_context_create(const struct context_options *options, void **ret)
{
	if (options->bytes != sizeof(*options) || is("unknown"))
		return UNSUPPORTED;
	*ret = text;
	return 0;
}

int iga_context_release(void *context)
{
	return 0;
}

int iga_context_disassemble_instruction(void *context, const uint32_t *options,
	const uint8_t *instruction, const void *label, void *label_context, char **ret_text)
{
	instructions++;
	if (context != text || *options != 4 * sizeof(*options) || label || label_context)
		return 1;
	*ret_text = text;
	if (is("rights"))
		snprintf(text, sizeof(text), "user=%u,capabilities=%llx,file=%s", uid,
			(unsigned long long)capabilities,
			open("/proc/self/maps", O_RDONLY) < 0 ? "no" : "yes");
	else if (is("long"))
		memset(text, 'x', LONG_BYTES);
	else
		snprintf(text, sizeof(text), "(W&~f0.0) \t is%02x.%c   (1|M0)\n r1\x1b",
			instruction[0] & 0x7f, instruction[3] & 0x20 ? 'c' : 'w');
	if (instructions < THIRD)
		return 0;
	if (is("dies"))
		abort();
	if (is("hangs"))
		hang();
	if (is("greedy"))
		take_memory();
	return 0;
}
