// SPDX-License-Identifier: MIT
/*
 * NVTX as CUPTI has it. NVTX is in the program's own code: its first call loads the library that
 * $NVTX_INJECTION64_PATH names, and has it put its functions in the place of those that do nothing.
 * Here they make records of markers. A range has the same number at its begin and at its end.
 *
 * Only functions with texts of bytes. Texts are kept for ever, each once.
 */
#include "cupti_sim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXTS = 4096,
	DEPTH = 32 /* little room for thread-local memory */,
	MODULE_CORE = 1,
	MODULE_CORE2 = 5,
	TABLE_CALLBACKS = 1
};

/* Numbers of functions in the tables of the two modules. */
enum { MARK_EX = 1, MARK_A, START_EX = 4, START_A, RANGE_END = 7, PUSH_EX, PUSH_A, POP = 11 };
enum {
	DOMAIN_MARK_EX = 1,
	DOMAIN_START_EX,
	DOMAIN_END,
	DOMAIN_PUSH_EX,
	DOMAIN_POP,
	DOMAIN_STRING_A = 10,
	DOMAIN_CREATE_A = 12,
	DOMAIN_DESTROY = 14
};

enum { MESSAGE_TEXT = 1, MESSAGE_REGISTERED = 3 };

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message; /* a registered one is its text here */
};

typedef void (*function)(void);

struct callbacks {
	size_t size;
	int (*table)(int module, function ***ret, unsigned int *ret_size);
};

typedef const void *(*export_table)(uint32_t id);

int InitializeInjectionNvtx2(export_table get);

/* One stack for all domains of a thread: pops of different domains may not cross here. */
static _Thread_local uint32_t stack[DEPTH];
static _Thread_local unsigned int depth;
static _Atomic uint32_t last_id;

static const char *keep(const char *text)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char *texts[TEXTS];
	static int count;
	const char *kept = "";

	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		if (!strcmp(texts[i], text))
			kept = texts[i];
	if (!*kept && count < TEXTS && (texts[count] = strdup(text)))
		kept = texts[count++];
	pthread_mutex_unlock(&lock);
	return kept;
}

static const char *message(const struct attributes *a)
{
	return a->message_type == MESSAGE_TEXT || a->message_type == MESSAGE_REGISTERED
		       ? keep(a->message)
		       : "";
}

static void mark(const char *domain, const char *name)
{
	sim_cupti_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, ++last_id, name, domain);
}

static uint64_t start(const char *domain, const char *name)
{
	uint32_t id = ++last_id;

	sim_cupti_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, name, domain);
	return id;
}

static void end(const char *domain, uint64_t id)
{
	sim_cupti_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, (uint32_t)id, NULL, domain);
}

static int push(const char *domain, const char *name)
{
	if (depth < DEPTH)
		stack[depth] = (uint32_t)start(domain, name);
	return (int)depth++;
}

static int pop(const char *domain)
{
	if (!depth)
		return -1;
	if (--depth < DEPTH)
		end(domain, stack[depth]);
	return (int)depth;
}

static void mark_a(const char *text)
{
	mark(NULL, keep(text));
}

static void mark_ex(const struct attributes *a)
{
	mark(NULL, message(a));
}

static uint64_t start_a(const char *text)
{
	return start(NULL, keep(text));
}

static uint64_t start_ex(const struct attributes *a)
{
	return start(NULL, message(a));
}

static void range_end(uint64_t id)
{
	end(NULL, id);
}

static int push_a(const char *text)
{
	return push(NULL, keep(text));
}

static int push_ex(const struct attributes *a)
{
	return push(NULL, message(a));
}

static int pop_default(void)
{
	return pop(NULL);
}

/* A domain's handle is its name. */
static const char *domain_create(const char *name)
{
	return keep(name);
}

static void domain_destroy(const char *domain)
{
}

static const char *domain_string(const char *domain, const char *text)
{
	return keep(text);
}

static void domain_mark(const char *domain, const struct attributes *a)
{
	mark(domain, message(a));
}

static uint64_t domain_start(const char *domain, const struct attributes *a)
{
	return start(domain, message(a));
}

static int domain_push(const char *domain, const struct attributes *a)
{
	return push(domain, message(a));
}

static const struct {
	int module;
	unsigned int number;
	function function;
} functions[] = {
	{MODULE_CORE, MARK_EX, (function)mark_ex},
	{MODULE_CORE, MARK_A, (function)mark_a},
	{MODULE_CORE, START_EX, (function)start_ex},
	{MODULE_CORE, START_A, (function)start_a},
	{MODULE_CORE, RANGE_END, (function)range_end},
	{MODULE_CORE, PUSH_EX, (function)push_ex},
	{MODULE_CORE, PUSH_A, (function)push_a},
	{MODULE_CORE, POP, (function)pop_default},
	{MODULE_CORE2, DOMAIN_MARK_EX, (function)domain_mark},
	{MODULE_CORE2, DOMAIN_START_EX, (function)domain_start},
	{MODULE_CORE2, DOMAIN_END, (function)end},
	{MODULE_CORE2, DOMAIN_PUSH_EX, (function)domain_push},
	{MODULE_CORE2, DOMAIN_POP, (function)pop},
	{MODULE_CORE2, DOMAIN_STRING_A, (function)domain_string},
	{MODULE_CORE2, DOMAIN_CREATE_A, (function)domain_create},
	{MODULE_CORE2, DOMAIN_DESTROY, (function)domain_destroy},
};

SIM_EXPORT int InitializeInjectionNvtx2(export_table get)
{
	const struct callbacks *callbacks = get(TABLE_CALLBACKS);

	if (!callbacks || callbacks->size < sizeof(*callbacks))
		return 0;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function **table;
		unsigned int size;

		if (!callbacks->table(functions[i].module, &table, &size) ||
			functions[i].number >= size)
			return 0;
		*table[functions[i].number] = functions[i].function;
	}
	return 1;
}
