// SPDX-License-Identifier: MIT
/* Members of structs by type information (BTF) that we make ourselves, and by this kernel's. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "folder.h"
#include "monitor/plan.h"
#include "monitor/kernel/types.h"
#include "tap.h"

static struct monitor_kernel kernel;
static int integer, base_struct;

static void write_types(const struct btf *types, const char *name)
{
	char path[64];
	uint32_t size;
	const void *data = btf__raw_data(types, &size);
	FILE *file;

	snprintf(path, sizeof(path), "sys/kernel/btf/%s", name);
	file = fopen(in_folder(path), "w");
	CHECK(file && data && fwrite(data, 1, size, file) == size);
	if (file)
		fclose(file);
}

/* struct kernel_object { int a; union { struct { int pad; int inner; }; int other; }; int low : 4;
 * }; */
static void add_kernel_types(struct btf *t)
{
	int inner, choice;

	integer = btf__add_int(t, "int", 4, BTF_INT_SIGNED);
	inner = btf__add_struct(t, "", 8);
	btf__add_field(t, "pad", integer, 0, 0);
	btf__add_field(t, "inner", integer, 32, 0);
	choice = btf__add_union(t, "", 8);
	btf__add_field(t, "", inner, 0, 0);
	btf__add_field(t, "other", integer, 0, 0);
	base_struct = btf__add_struct(t, "kernel_object", 16);
	btf__add_field(t, "a", integer, 0, 0);
	btf__add_field(t, "", choice, 32, 0);
	btf__add_field(t, "low", integer, 96, 4);
}

/* struct driver_bo { int flags; base_t base; }; where base_t is const struct kernel_object; two
 * structs "twice". */
static void add_driver_types(struct btf *t)
{
	int name = btf__add_typedef(t, "base_t", btf__add_const(t, base_struct));

	btf__add_struct(t, "driver_bo", 24);
	btf__add_field(t, "flags", integer, 0, 0);
	btf__add_field(t, "base", name, 64, 0);
	btf__add_struct(t, "twice", 8);
	btf__add_field(t, "same", integer, 0, 0);
	btf__add_field(t, "moved", integer, 32, 0);
	btf__add_struct(t, "twice", 12);
	btf__add_field(t, "same", integer, 0, 0);
	btf__add_field(t, "moved", integer, 64, 0);
}

/* int driver_call(struct driver_bo *bo, int command, struct twice by_value, int behind); void
 * driver_free(void *bo); */
static void add_driver_functions(struct btf *t)
{
	int bo = btf__find_by_name_kind(t, "driver_bo", BTF_KIND_STRUCT);
	int large = btf__add_struct(t, "large", 24), pointer = btf__add_ptr(t, bo), prototype;

	prototype = btf__add_func_proto(t, integer);
	btf__add_func_param(t, "bo", pointer);
	btf__add_func_param(t, "command", integer);
	btf__add_func_param(t, "by_value", large);
	btf__add_func_param(t, "behind", integer);
	btf__add_func(t, "driver_call", BTF_FUNC_STATIC, prototype);
	prototype = btf__add_func_proto(t, 0);
	btf__add_func_param(t, "bo", pointer);
	btf__add_func(t, "driver_free", BTF_FUNC_STATIC, prototype);
}

static void make_types(void)
{
	struct btf *base = btf__new_empty(), *split;

	add_kernel_types(base);
	split = btf__new_empty_split(base);
	add_driver_types(split);
	add_driver_functions(split);
	CHECK(shell("mkdir -p sys/kernel/btf"));
	write_types(base, "vmlinux");
	write_types(split, "driver");
	btf__free(split);
	btf__free(base);
	CHECK(shell(
		"mkdir -p proc && printf '0 t driver_free [driver]\\n0 t driver_call [driver]\\n' "
		">proc/kallsyms"));
	kernel.root = folder;
	kernel.kprobes = true;
}

/* The offset of a member, or -1. */
static long member(const char *module, const char *path)
{
	uint32_t offset;
	int err = types_member(&kernel, module, path, &offset);

	CHECK(!err || err == -ENOENT);
	return err ? -1 : (long)offset;
}

static void a_member_is_found_in_its_struct(void)
{
	CHECK(member("driver", "driver_bo.flags") == 0);
	CHECK(member("driver", "driver_bo.base") == 8);
	CHECK(member(NULL, "kernel_object.a") == 0);
	CHECK(member("driver", "kernel_object.a") == 0);
}

static void members_of_members_and_of_unnamed_ones_are_found(void)
{
	CHECK(member("driver", "driver_bo.base.a") == 8);
	CHECK(member(NULL, "kernel_object.inner") == 8);
	CHECK(member(NULL, "kernel_object.other") == 4);
	CHECK(member("driver", "driver_bo.base.inner") == 16);
}

static void what_is_not_there_is_not_found(void)
{
	CHECK(member("driver", "driver_bo.bas") == -1);
	CHECK(member("driver", "driver_bo.flags.x") == -1);
	CHECK(member("driver", "driver.flags") == -1);
	CHECK(member("driver", "driver_bo.") == -1);
	CHECK(member(NULL, "kernel_object.") == -1);
	CHECK(member(NULL, "driver_bo.flags") == -1);
	CHECK(member(NULL, "kernel_object.low") == -1);
	CHECK(strstr(error_text(), "kernel_object.low"));
}

static void of_two_structs_with_one_name_only_what_they_agree_on_is_found(void)
{
	CHECK(member("driver", "twice.same") == 0);
	CHECK(member("driver", "twice.moved") == -1);
	CHECK_TEXT(error_text(), "the kernel has several structs 'twice'");
}

static void a_module_without_types_is_named(void)
{
	CHECK(member("other", "other_bo.base") == -1);
	CHECK_TEXT(error_text(),
		"module other has no type information (CONFIG_DEBUG_INFO_BTF_MODULES)");
	CHECK(member("other", "kernel_object.a") == 0);
}

/* The size of an argument, of the result (-1), or what is wrong. */
static int size_of(const char *function, int argument)
{
	uint32_t size;
	int err = argument < 0 ? types_result(&kernel, "driver", function, &size)
			       : types_argument(&kernel, "driver", function, argument, &size);

	return err ? err : (int)size;
}

static void arguments_and_results_have_their_sizes(void)
{
	CHECK(size_of("driver_call", 0) == 8);
	CHECK(size_of("driver_call", 1) == 4);
	CHECK(size_of("driver_call", -1) == 4);
	CHECK(size_of("driver_nothing", 0) == -ENOENT);
	CHECK_TEXT(error_text(), "the kernel's type information has no 'driver_nothing'");
}

static void an_argument_that_is_not_in_a_register_is_none(void)
{
	CHECK(size_of("driver_call", 2) == -ERANGE);
	CHECK(size_of("driver_call", 3) == -ERANGE);
	CHECK(size_of("driver_call", 4) == -ERANGE);
	CHECK_TEXT(error_text(), "the kernel's driver_call has no argument 4");
	CHECK(size_of("driver_free", -1) == -ERANGE);
	CHECK_TEXT(error_text(), "the kernel's driver_free returns nothing");
}

static void what_is_kept_of_types_is_what_they_say(void)
{
	struct monitor_kernel keeps;

	monitor_kernel_look(folder, &keeps);
	for (int i = 0; i < 2; i++) {
		uint32_t offset, size;

		CHECK(!types_member(&keeps, "driver", "driver_bo.base", &offset) && offset == 8);
		CHECK(types_member(&keeps, "other", "driver_bo.base", &offset) == -ENOENT);
		CHECK(!types_argument(&keeps, "driver", "driver_call", 1, &size) && size == 4);
		CHECK(types_member(&keeps, NULL, "driver_bo.base", &offset) == -ENOENT);
		CHECK(!types_member(&keeps, NULL, "kernel_object.a", &offset) && offset == 0);
	}
	monitor_kernel_release(&keeps);
}

static void types_that_are_no_types_are_not_used(void)
{
	CHECK(shell("printf garbage >sys/kernel/btf/driver"));
	CHECK(member("driver", "driver_bo.flags") == -1);
	CHECK(shell("rm sys/kernel/btf/vmlinux"));
	CHECK(member("driver", "driver_bo.flags") == -1);
	CHECK_TEXT(error_text(), "this kernel has no type information (CONFIG_DEBUG_INFO_BTF)");
}

static const struct monitor_event events[] = {
	{.name = "CALL",
		.says = "the driver is called",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = "driver_call",
			.module = "driver",
			.fields = {{"bo", NULL, FIELD_NUMBER, .needed = true, .bytes = 8,
					   .within = "driver_bo.base", .add = 3},
				{"gone", NULL, FIELD_NUMBER, .bytes = 8,
					.within = "driver_bo.gone"},
				{"command", NULL, FIELD_NUMBER, .argument = 1, .bytes = 4},
				{"behind", NULL, FIELD_NUMBER, .argument = 3, .bytes = 4}}}}},
	{.name = "NARROW",
		.says = "an argument that is no pointer",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = "driver_call",
			.module = "driver",
			.fields = {{"command", NULL, FIELD_NUMBER, .argument = 1, .bytes = 4,
				.within = "driver_bo.base"}}}}},
	{.name = "WIDE",
		.says = "an argument that is not so large",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = "driver_call",
			.module = "driver",
			.fields = {{"command", NULL, FIELD_NUMBER, .argument = 1, .bytes = 8}}}}},
	{.name = "RESULT",
		.says = "the result of what returns nothing",
		.sources = {{.kind = SOURCE_RETURN,
			.name = "driver_free",
			.module = "driver",
			.fields = {{"result", NULL, FIELD_NUMBER, .needed = true, .bytes = 4}}}}},
	{0},
};

static const struct monitor table = {.name = "table", .events = events};

static void functions_of_another_kind_are_not_watched(void)
{
	struct monitor_event_plan plan;

	monitor_event_plan(&table, 1, &kernel, &plan);
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(plan.reason, "field 'command' of the kernel's driver_call is not a pointer");
	monitor_event_plan(&table, 2, &kernel, &plan);
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(plan.reason, "field 'command' of the kernel's driver_call has 4 bytes, not 8");
	monitor_event_plan(&table, 3, &kernel, &plan);
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(plan.reason, "the kernel's driver_free returns nothing");
}

static void a_plan_comes_from_the_member_to_the_struct(void)
{
	struct monitor_event_plan plan;

	monitor_event_plan(&table, 0, &kernel, &plan);
	CHECK_TEXT(plan.reason, "");
	CHECK(plan.presence == PRESENT);
	CHECK(plan.plan.field[0].read == READ_ARGUMENT && plan.plan.field[0].subtract == 8 - 3);
	CHECK(plan.plan.field[1].read == READ_NOTHING);
	CHECK(plan.plan.field[2].read == READ_ARGUMENT && plan.plan.field[2].size == 4);
	CHECK(plan.plan.field[3].read == READ_NOTHING);
}

static void structs_of_this_kernel_have_their_members(void)
{
	uint32_t pid, tgid;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		SKIP("this kernel has no type information");
		return;
	}
	kernel.root = "";
	CHECK(!types_member(&kernel, NULL, "task_struct.pid", &pid));
	CHECK(!types_member(&kernel, NULL, "task_struct.tgid", &tgid));
	CHECK(tgid == pid + 4);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	make_types();
	RUN(a_member_is_found_in_its_struct);
	RUN(members_of_members_and_of_unnamed_ones_are_found);
	RUN(what_is_not_there_is_not_found);
	RUN(of_two_structs_with_one_name_only_what_they_agree_on_is_found);
	RUN(a_module_without_types_is_named);
	RUN(arguments_and_results_have_their_sizes);
	RUN(an_argument_that_is_not_in_a_register_is_none);
	RUN(what_is_kept_of_types_is_what_they_say);
	RUN(a_plan_comes_from_the_member_to_the_struct);
	RUN(functions_of_another_kind_are_not_watched);
	RUN(types_that_are_no_types_are_not_used);
	RUN(structs_of_this_kernel_have_their_members);
	shell("rm -rf \"$PWD\"");
	return tap_end();
}
