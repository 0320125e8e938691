// SPDX-License-Identifier: MIT
/* CPU time by function: what counts as a function's own time, and what as its total. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/reader.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/names/launch_path.h"
#include "view/tables/function_sums.h"

#define MS 1000000ull

static char folder[] = "/tmp/function_sums_test.XXXXXX";
static char path[64];

struct fixture {
	struct profile_writer *w;
	struct profile_reader *r;
	uint32_t app, library, python;
	uint64_t address;
	struct stack_sums stacks;
	struct internals internals;
	struct location_texts texts;
	struct function_sums functions;
};

static uint32_t string(struct fixture *f, const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(f->w, text, strlen(text), &id) == 0);
	return id;
}

static uint32_t module(struct fixture *f, const char *name, uint32_t flags)
{
	struct profile_module m = {.kind = MODULE_FILE, .path = string(f, name), .flags = flags};
	uint32_t id = 0;

	CHECK(profile_add_module(f->w, &m, &id) == 0);
	return id;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){0};
	CHECK(profile_writer_open(&f->w, path) == 0);
	f->app = module(f, "/opt/app", 0);
	f->library = module(f, "/opt/lib.so", 0);
	f->python = module(f, "/usr/bin/python3.11", MODULE_PYTHON);
}

/* A stack with one frame more. What symbols say is added as such. */
static uint32_t on(struct fixture *f, uint32_t parent, struct profile_location l)
{
	struct profile_location bare = l;
	uint32_t location = 0, id = 0;

	bare.inlined = 0;
	bare.function = 0;
	CHECK(profile_add_location(f->w, &bare, &location) == 0);
	CHECK(!l.inlined || !profile_add_symbol(f->w, location, l.name, 0, 0, l.inlined));
	CHECK(!l.function || !profile_add_function_start(f->w, location, l.function));
	CHECK(profile_add_stack_node(f->w, parent, location, &id) == 0);
	return id;
}

/* A function on a stack, each time called from another address. */
static uint32_t native(struct fixture *f, uint32_t parent, uint32_t module_id, const char *name)
{
	return on(f, parent,
		(struct profile_location){.kind = FRAME_USER,
			.module = module_id,
			.address = f->address += 16,
			.name = string(f, name)});
}

static uint32_t python(
	struct fixture *f, uint32_t parent, const char *name, const char *file, uint32_t line)
{
	return on(f, parent,
		(struct profile_location){.kind = FRAME_PYTHON,
			.name = string(f, name),
			.file = string(f, file),
			.line = line});
}

static uint32_t note(struct fixture *f, const char *text)
{
	return on(f, 0, (struct profile_location){.kind = FRAME_NOTE, .name = string(f, text)});
}

static void sample(struct fixture *f, uint32_t stack, uint64_t ms)
{
	CHECK(stack_sums_add(&f->stacks, stack, ms * MS) == 0);
}

static void sum(struct fixture *f, bool inlines)
{
	struct profile_event e;

	CHECK(profile_writer_close(f->w) == 0);
	CHECK(profile_reader_open(&f->r, path) == 0);
	CHECK(profile_reader_next(f->r, &e) == 0);
	CHECK(internals_init(&f->internals, f->r) == 0);
	CHECK(location_texts_init(&f->texts, f->r, false) == 0);
	CHECK(function_sums_read(&f->functions, &f->stacks, &f->internals, &f->texts, inlines) ==
		0);
}

static void end(struct fixture *f)
{
	function_sums_release(&f->functions);
	location_texts_release(&f->texts);
	internals_release(&f->internals);
	stack_sums_release(&f->stacks);
	profile_reader_close(f->r);
}

/* The n-th row. */
static bool is_row(
	const struct fixture *f, size_t n, const char *name, uint64_t self_ms, uint64_t total_ms)
{
	const struct function_sum *row =
		n < f->functions.rows.count ? &f->functions.rows.items[n] : NULL;
	bool same = row && !strcmp(row->name, name) && row->self.ns == self_ms * MS &&
		    row->total.ns == total_ms * MS;

	if (!same && row)
		printf("# row %zu is %s, %llu of %llu ns\n", n, row->name,
			(unsigned long long)row->self.ns, (unsigned long long)row->total.ns);
	return same;
}

static void the_innermost_function_has_the_time_itself_and_its_callers_in_total(void)
{
	struct fixture f;
	uint32_t outer, inner;

	begin(&f);
	outer = native(&f, native(&f, 0, f.app, "main"), f.app, "outer");
	inner = native(&f, outer, f.library, "inner");
	sample(&f, outer, 3);
	sample(&f, inner, 4);
	sample(&f, inner, 1);
	sample(&f, native(&f, native(&f, 0, f.app, "main"), f.app, "inner"), 2);
	sum(&f, false);
	CHECK(f.functions.rows.count == 4);
	CHECK(is_row(&f, 0, "inner", 5, 5) &&
		!strcmp(f.functions.rows.items[0].file, "/opt/lib.so"));
	CHECK(f.functions.rows.items[0].self.samples == 2 &&
		f.functions.rows.items[0].total.samples == 2);
	CHECK(is_row(&f, 1, "outer", 3, 8));
	CHECK(is_row(&f, 2, "inner", 2, 2) && !strcmp(f.functions.rows.items[2].file, "/opt/app"));
	/* Both stacks with it go through main and outer. */
	CHECK(f.functions.rows.items[0].stack == outer &&
		f.functions.rows.items[0].stack_ns == 5 * MS);
	CHECK(!f.functions.rows.items[3].stack && !f.functions.rows.items[3].stack_ns);
	CHECK(is_row(&f, 3, "main", 0, 10) && f.functions.rows.items[3].total.samples == 4);
	end(&f);
}

static void the_way_with_most_of_its_time_is_that_of_all_stacks_through_the_same_functions(void)
{
	struct fixture f;
	uint32_t hot, kernel, inner;

	begin(&f);
	/* Each call is at another address. */
	hot = native(&f, native(&f, 0, f.app, "main"), f.app, "hot");
	sample(&f, native(&f, hot, f.app, "work"), 2);
	sample(&f,
		native(&f, native(&f, native(&f, 0, f.app, "main"), f.app, "hot"), f.app, "work"),
		2);
	sample(&f, native(&f, native(&f, 0, f.app, "other"), f.app, "work"), 3);
	/* What the kernel calls in itself does not matter. */
	kernel = on(&f, hot,
		(struct profile_location){
			.kind = FRAME_KERNEL, .address = 1, .name = string(&f, "syscall")});
	inner = on(&f, kernel,
		(struct profile_location){
			.kind = FRAME_KERNEL, .address = 2, .name = string(&f, "read")});
	sample(&f, inner, 1);
	sum(&f, false);
	CHECK(is_row(&f, 0, "work", 7, 7) && f.functions.rows.items[0].stack == hot &&
		f.functions.rows.items[0].stack_ns == 4 * MS);
	CHECK(is_row(&f, 1, "read", 1, 1) && f.functions.rows.items[1].stack == hot &&
		f.functions.rows.items[1].stack_ns == 1 * MS);
	end(&f);
}

static void a_function_that_calls_itself_counts_once_for_each_sample(void)
{
	struct fixture f;
	uint32_t main_stack, fib, again, other;

	begin(&f);
	main_stack = native(&f, 0, f.app, "main");
	fib = native(&f, main_stack, f.app, "fib");
	again = native(&f, native(&f, fib, f.app, "fib"), f.app, "fib");
	other = native(&f, native(&f, again, f.app, "helper"), f.app, "fib");
	sample(&f, fib, 1);
	sample(&f, again, 2);
	sample(&f, other, 4);
	/* Behind the recursion and beside it. */
	sample(&f, native(&f, native(&f, main_stack, f.app, "helper"), f.app, "fib"), 8);
	sum(&f, false);
	CHECK(f.functions.rows.count == 3);
	CHECK(is_row(&f, 0, "fib", 15, 15) && f.functions.rows.items[0].total.samples == 4);
	CHECK(is_row(&f, 1, "main", 0, 15));
	CHECK(is_row(&f, 2, "helper", 0, 12));
	end(&f);
}

static void ways_that_differ_only_in_how_deep_a_function_calls_itself_are_one(void)
{
	struct fixture f;
	uint32_t main_stack, walk, again, last;

	begin(&f);
	main_stack = native(&f, 0, f.app, "main");
	walk = native(&f, main_stack, f.app, "walk");
	again = native(&f, walk, f.app, "walk");
	last = native(&f, again, f.app, "walk");
	sample(&f, native(&f, walk, f.app, "look"), 10);
	sample(&f, native(&f, again, f.app, "look"), 20);
	sample(&f, native(&f, last, f.app, "look"), 30);
	sample(&f, walk, 1);
	sample(&f, last, 2);
	sum(&f, false);
	CHECK(is_row(&f, 0, "look", 60, 60) && f.functions.rows.items[0].stack == walk &&
		f.functions.rows.items[0].stack_ns == 60 * MS);
	CHECK(is_row(&f, 1, "walk", 3, 63) && f.functions.rows.items[1].stack == main_stack &&
		f.functions.rows.items[1].stack_ns == 3 * MS);
	end(&f);
}

static void the_way_has_of_the_interpreter_what_flame_graphs_show(void)
{
	static const char *const shown[] = {"work", "list_sort", "key"};
	uint32_t locations[LAUNCH_PATH_MAX], at;
	struct fixture f;

	begin(&f);
	at = native(&f, native(&f, 0, f.python, "main"), f.python, "_PyEval_EvalFrameDefault");
	at = python(&f, at, "work", "a.py", 3);
	at = native(
		&f, native(&f, at, f.python, "list_sort"), f.python, "_PyEval_EvalFrameDefault");
	at = python(&f, at, "key", "a.py", 8);
	sample(&f, native(&f, at, f.library, "compare"), 5);
	sum(&f, false);
	CHECK(is_row(&f, 0, "compare", 5, 5) && f.functions.rows.items[0].stack_ns == 5 * MS);
	CHECK(launch_path_functions(&f.internals, f.functions.rows.items[0].stack, PATH_SHOWN,
		      LAUNCH_PATH_MAX, locations) == 3);
	for (int n = 0; n < 3; n++)
		CHECK_TEXT(profile_string(f.r, profile_location(f.r, locations[n])->name, NULL),
			shown[n]);
	end(&f);
}

static void inlined_functions_are_functions_when_asked_for(void)
{
	struct fixture f;
	uint32_t inlined = 0, stack;
	struct profile_inline i;

	for (int asked = 0; asked < 2; asked++) {
		begin(&f);
		i = (struct profile_inline){.name = string(&f, "middle")};
		CHECK(profile_add_inline(f.w, &i, &inlined) == 0);
		i = (struct profile_inline){.caller = inlined, .name = string(&f, "innermost")};
		CHECK(profile_add_inline(f.w, &i, &inlined) == 0);
		stack = on(&f, 0,
			(struct profile_location){.kind = FRAME_USER,
				.module = f.app,
				.address = 5,
				.name = string(&f, "outer"),
				.inlined = inlined});
		sample(&f, stack, 3);
		/* The same function once more, where it was not inlined. */
		sample(&f, native(&f, stack, f.app, "middle"), 2);
		sum(&f, asked);
		if (asked) {
			CHECK(f.functions.rows.count == 3);
			CHECK(is_row(&f, 0, "innermost", 3, 5));
			CHECK(is_row(&f, 1, "middle", 2, 5));
			CHECK(is_row(&f, 2, "outer", 0, 5));
		} else {
			CHECK(f.functions.rows.count == 2);
			CHECK(is_row(&f, 0, "outer", 3, 5));
			CHECK(is_row(&f, 1, "middle", 2, 2));
		}
		end(&f);
	}
}

static void what_runs_python_is_no_function_and_what_it_does_for_the_program_is(void)
{
	struct fixture f;
	uint32_t start, before_python, outer, inner, outside, sort;

	begin(&f);
	start = native(&f, native(&f, 0, f.python, "_start"), f.python, "Py_BytesMain");
	before_python = native(&f, start, f.python, "Py_Initialize");
	outer = python(&f, native(&f, start, f.python, "_PyEval_EvalFrameDefault"), "<module>",
		"/a/train.py", 1);
	inner = python(&f, outer, "step", "/a/train.py", 7);
	outside = native(
		&f, native(&f, inner, f.python, "PyObject_Call"), f.library, "_ZN4math4stepEi");
	sort = native(&f, native(&f, inner, f.python, "cfunction_vectorcall_O.cold"), f.python,
		"list_sort");
	sample(&f, before_python, 1);
	sample(&f, sort, 2);
	sample(&f, native(&f, sort, f.python, "_PyFunction_Vectorcall"), 1);
	sample(&f, python(&f, outer, "step", "/a/train.py", 8), 4);
	sample(&f, outside, 8);
	sample(&f, python(&f, outside, "step", "/b/train.py", 1), 16);
	sum(&f, false);
	CHECK(is_row(&f, 0, "step (b/train.py)", 16, 16) &&
		!strcmp(f.functions.rows.items[0].file, "/b/train.py"));
	CHECK(is_row(&f, 1, "math::step(int)", 8, 24) &&
		f.functions.rows.items[1].kind == TREE_CXX);
	CHECK(is_row(&f, 2, "step (a/train.py)", 4, 31));
	CHECK(is_row(&f, 3, "list_sort", 3, 3));
	CHECK(is_row(&f, 4, "Py_Initialize", 1, 1));
	CHECK(is_row(&f, 5, "<module> (a/train.py)", 0, 31));
	/* What starts Python is shown of the stack without Python only. */
	CHECK(is_row(&f, 6, "Py_BytesMain", 0, 1) && is_row(&f, 7, "_start", 0, 1));
	CHECK(f.functions.rows.count == 8);
	end(&f);
}

static void an_interpreter_without_symbols_is_one_function_where_it_works_itself(void)
{
	struct fixture f;
	uint32_t outer, call, inner;

	begin(&f);
	outer = python(&f, native(&f, native(&f, 0, f.python, ""), f.python, "Py_BytesMain"),
		"outer", "/a/f.py", 1);
	call = native(&f, native(&f, outer, f.python, ""), f.python, "PyObject_Call");
	sample(&f, native(&f, call, f.python, ""), 1);
	sample(&f, native(&f, native(&f, call, f.python, ""), f.python, "PyList_New"), 2);
	sample(&f, native(&f, call, f.library, "outside"), 4);
	inner = python(&f, call, "inner", "/a/f.py", 7);
	sample(&f, inner, 8);
	sample(&f, native(&f, native(&f, inner, f.python, ""), f.python, ""), 16);
	sum(&f, false);
	CHECK(is_row(&f, 0, "python3.11 [no symbols]", 17, 19) &&
		!strcmp(f.functions.rows.items[0].file, "/usr/bin/python3.11"));
	CHECK(is_row(&f, 1, "inner (f.py)", 8, 24));
	CHECK(is_row(&f, 2, "outside", 4, 4));
	CHECK(is_row(&f, 3, "PyList_New", 2, 2));
	CHECK(is_row(&f, 4, "outer (f.py)", 0, 31));
	CHECK(f.functions.rows.count == 5);
	end(&f);
}

static void a_program_of_its_own_below_python_stays(void)
{
	struct fixture f;
	uint32_t run;

	begin(&f);
	run = native(&f, native(&f, 0, f.app, "main"), f.app, "run");
	sample(&f, python(&f, native(&f, run, f.python, "PyRun_String"), "f", "/a/f.py", 1), 4);
	sample(&f, run, 1);
	/* Beside it a stack that is Python's from its start on: the same main is hidden there. */
	sample(&f,
		python(&f, native(&f, native(&f, 0, f.app, "main"), f.python, "Py_Main"), "f",
			"/a/f.py", 2),
		2);
	sum(&f, false);
	CHECK(f.functions.rows.count == 3);
	CHECK(is_row(&f, 0, "f (f.py)", 6, 6));
	CHECK(is_row(&f, 1, "run", 1, 5));
	CHECK(is_row(&f, 2, "main", 0, 5));
	end(&f);
}

static void notes_have_rows_too(void)
{
	struct fixture f;

	begin(&f);
	sample(&f, native(&f, note(&f, "[incomplete stack: no unwind information]"), f.app, "leaf"),
		1);
	sample(&f, note(&f, "[unknown]"), 2);
	sample(&f, 0, 4);
	sample(&f,
		on(&f, 0,
			(struct profile_location){.kind = FRAME_KERNEL,
				.address = 5,
				.name = string(&f, "do_syscall_64")}),
		3);
	sum(&f, false);
	CHECK(f.functions.rows.count == 5);
	CHECK(is_row(&f, 0, "[no stack]", 4, 4));
	CHECK(is_row(&f, 1, "do_syscall_64", 3, 3) &&
		!strcmp(f.functions.rows.items[1].file, "[kernel]"));
	CHECK(is_row(&f, 2, "[unknown]", 2, 2) && f.functions.rows.items[2].kind == TREE_NOTE);
	CHECK(is_row(&f, 3, "leaf", 1, 1));
	CHECK(is_row(&f, 4, "[incomplete stack: no unwind information]", 0, 1));
	end(&f);
}

static void code_without_a_name_is_identified_by_where_its_function_begins(void)
{
	struct fixture f;

	begin(&f);
	for (uint64_t address = 0x1010; address < 0x1040; address += 16)
		sample(&f,
			on(&f, 0,
				(struct profile_location){.kind = FRAME_USER,
					.module = f.library,
					.address = address,
					.function = 0x1000}),
			1);
	/* Where that is not known, each location is a function of its own. */
	sample(&f,
		on(&f, 0,
			(struct profile_location){
				.kind = FRAME_USER, .module = f.library, .address = 0x2010}),
		2);
	sample(&f,
		on(&f, 0,
			(struct profile_location){
				.kind = FRAME_USER, .module = f.library, .address = 0x2020}),
		1);
	sum(&f, false);
	CHECK(f.functions.rows.count == 3);
	CHECK(is_row(&f, 0, "lib.so+0x1000", 3, 3));
	CHECK(is_row(&f, 1, "lib.so+0x2010", 2, 2));
	CHECK(is_row(&f, 2, "lib.so+0x2020", 1, 1));
	end(&f);
}

static void without_samples_there_are_no_functions(void)
{
	struct fixture f;

	begin(&f);
	(void)native(&f, 0, f.app, "main");
	sum(&f, false);
	CHECK(f.functions.rows.count == 0);
	end(&f);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/p.xpu", folder);
	RUN(the_innermost_function_has_the_time_itself_and_its_callers_in_total);
	RUN(the_way_with_most_of_its_time_is_that_of_all_stacks_through_the_same_functions);
	RUN(a_function_that_calls_itself_counts_once_for_each_sample);
	RUN(ways_that_differ_only_in_how_deep_a_function_calls_itself_are_one);
	RUN(the_way_has_of_the_interpreter_what_flame_graphs_show);
	RUN(inlined_functions_are_functions_when_asked_for);
	RUN(what_runs_python_is_no_function_and_what_it_does_for_the_program_is);
	RUN(an_interpreter_without_symbols_is_one_function_where_it_works_itself);
	RUN(a_program_of_its_own_below_python_stays);
	RUN(notes_have_rows_too);
	RUN(code_without_a_name_is_identified_by_where_its_function_begins);
	RUN(without_samples_there_are_no_functions);
	unlink(path);
	rmdir(folder);
	return tap_end();
}
