// SPDX-License-Identifier: MIT
/*
 * Our own description of rocprofiler-sdk's binary interface (inject/rocprofiler/abi.h), and places
 * of arguments (vendor/amd/calls.h), beside what AMD's headers say (tests/rocm/layouts.inc): beside
 * what was written down of those of two versions (tests/data/rocprofiler), and at compile time
 * beside the headers themselves, where those are installed.
 *
 *	rocprofiler_abi_test.t --print	what the headers say, to be written down
 */
#include <stdlib.h>

#include "inject/rocprofiler/abi.h"
#include "tap.h"
#include "vendor/amd/calls.h"

#define DATA "tests/data/rocprofiler/"

#if __has_include(<rocprofiler-sdk/rocprofiler.h>) && __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#include <rocprofiler-sdk/registration.h>
#include <rocprofiler-sdk/rocprofiler.h>
#define HEADERS 1
#endif

#define PLACE_OF(number, kind, name, stream) PLACE_OF_##name = (stream),
enum { AMD_CALLS(PLACE_OF) AMD_EVENTS(PLACE_OF) };

#define POINTER ((void *)8)

#define PLACE(ours, member, theirs, their_member)                                                  \
	SAME(offsetof(struct rocprofiler_##ours, member),                                          \
		offsetof(rocprofiler_##theirs, their_member))
#define BEGINS(ours, theirs) WITHIN(sizeof(struct rocprofiler_##ours), sizeof(rocprofiler_##theirs))
#define LAST(theirs, member, type)                                                                 \
	SAME(0, sizeof(rocprofiler_##theirs) - sizeof(rocprofiler_##type) -                        \
			offsetof(rocprofiler_##theirs, member))
#define STREAM(call) ARGUMENT(call, stream, PLACE_OF_##call)
#define ARGUMENT(call, argument, place)                                                            \
	SAME(place, offsetof(rocprofiler_hip_api_args_t, call.argument) -                          \
			    offsetof(rocprofiler_hip_api_args_t, call))

/* --- ours, by the names of theirs */

#define STEP 99 /* all of them */

static const struct {
	const char *name;
	long long value;
	bool may_be_less;
} ours[] = {
#define SAME(ours, theirs)   {#theirs, (long long)(ours), false},
#define WITHIN(ours, theirs) {#theirs, (long long)(ours), true},
#define CALLED(name, arguments)
#include "rocm/layouts.inc"
#undef SAME
#undef WITHIN
#undef CALLED
};

#define OURS (sizeof(ours) / sizeof(ours[0]))

#define HANDLE(type) 0
#define SAME(ours, theirs)
#define WITHIN(ours, theirs)
#define CALLED(name, arguments)                                                                    \
	_Static_assert(sizeof(((struct rocprofiler_functions *)NULL)->name arguments), #name);
#include "rocm/layouts.inc"
#undef STEP
#undef HANDLE
#undef SAME
#undef WITHIN
#undef CALLED

/* One line of a version: a name, a tab and a number. Whether it is as ours is. */
static bool is_ours(char *line, bool *seen)
{
	char *value = strchr(line, '\t');

	if (!value)
		return false;
	*value++ = 0;
	for (size_t n = 0; n < OURS; n++) {
		if (strcmp(ours[n].name, line))
			continue;
		seen[n] = true;
		return ours[n].may_be_less ? ours[n].value <= atoll(value)
					   : ours[n].value == atoll(value);
	}
	return false;
}

/* Those of a version, however many there are; else says which are not so. */
static size_t compare(const char *path, bool *seen)
{
	FILE *file = fopen(path, "r");
	char line[256];
	size_t count = 0;

	CHECK(file);
	while (file && fgets(line, sizeof(line), file)) {
		bool same = *line == '#' || is_ours(line, seen);

		CHECK(same);
		if (!same)
			printf("# %s: %s\n", path, line);
		count += *line != '#';
	}
	if (file)
		fclose(file);
	return count;
}

static void structures_numbers_and_places_are_those_of_two_versions(void)
{
	bool seen[OURS] = {false};
	size_t seen_count = 0;

	CHECK(compare(DATA "7.0", seen) > 150);
	CHECK(compare(DATA "7.1", seen) > 150);
	for (size_t n = 0; n < OURS; n++)
		seen_count += seen[n];
	CHECK(seen_count == OURS);
}

#ifdef HEADERS

/* --- theirs */

typedef rocprofiler_callback_tracing_code_object_load_data_t rocprofiler_object;
typedef rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t rocprofiler_symbol;
typedef rocprofiler_callback_tracing_code_object_host_kernel_symbol_register_data_t
	rocprofiler_host;
typedef rocprofiler_buffer_tracing_kernel_dispatch_record_t rocprofiler_kernel_record;
typedef rocprofiler_buffer_tracing_memory_copy_record_t rocprofiler_copy_record;

#define STEP			HIP_RUNTIME_API_TABLE_STEP_VERSION
#define HANDLE(type)		((rocprofiler_##type##_id_t){0})
#define SAME(ours, theirs)	_Static_assert((long long)(ours) == (long long)(theirs), #theirs);
#define WITHIN(ours, theirs)	_Static_assert((long long)(ours) <= (long long)(theirs), #theirs);
#define CALLED(name, arguments) _Static_assert(sizeof(rocprofiler_##name arguments), #name);
#include "rocm/layouts.inc"
#undef SAME
#undef WITHIN
#undef CALLED

static int print(void)
{
#define SAME(ours, theirs)   printf("%s\t%lld\n", #theirs, (long long)(theirs));
#define WITHIN(ours, theirs) SAME(ours, theirs)
#define CALLED(name, arguments)
#include "rocm/layouts.inc"
	return 0;
}

static void bits_are_those_of_the_real_headers(void)
{
	union {
		rocprofiler_pc_sampling_record_stochastic_v0_t theirs;
		struct rocprofiler_stochastic ours;
	} issued = {.theirs = {.wave_issued = 1}},
	  waits = {.theirs = {.snapshot = {.reason_not_issued = 9}}};

	CHECK((issued.ours.issued & 1) && !(issued.ours.snapshot & 15));
	CHECK(!(waits.ours.issued & 1) && (waits.ours.snapshot & 15) == 9);
}

#else

static int print(void)
{
	return 1;
}

static void bits_are_those_of_the_real_headers(void)
{
	SKIP("the headers of rocprofiler-sdk are not installed");
}

#endif

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--print"))
		return print();
	RUN(structures_numbers_and_places_are_those_of_two_versions);
	RUN(bits_are_those_of_the_real_headers);
	return tap_end();
}
