// SPDX-License-Identifier: MIT
/* Which frames of Python's interpreter are shown: how a stack looks in a tree, whatever was added
 * to it before. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"
#include "tap.h"
#include "view/fold/stacks.h"
#include "view/names/label.h"
#include "view/names/python_calls.h"

static char path[] = "/tmp/internals_test.XXXXXX";

struct fixture {
	struct profile_writer *w;
	uint32_t modules[3]; /* by the letter before a name: "p:" the interpreter, "l:" a library,
			      * "c:" the C library */
	uint64_t address;
};

static uint32_t string(struct fixture *f, const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(f->w, text, strlen(text), &id));
	return id;
}

static void begin(struct fixture *f)
{
	static const char *const paths[] = {"/usr/bin/python3.9", "/opt/lib.so", "/lib/libc.so.6"};

	*f = (struct fixture){0};
	CHECK(!profile_writer_open(&f->w, path));
	for (int i = 0; i < 3; i++) {
		struct profile_module m = {.kind = MODULE_FILE,
			.path = string(f, paths[i]),
			.flags = i ? 0 : MODULE_PYTHON};

		CHECK(!profile_add_module(f->w, &m, &f->modules[i]));
	}
}

/* A frame more: "p:list_sort", "p:" without a name, "main (a.py)" of Python. */
static uint32_t add_frame(struct fixture *f, uint32_t parent, const char *text)
{
	struct profile_location l = {.kind = FRAME_USER, .address = f->address += 16};
	const char *letter = text[1] == ':' ? strchr("plc", text[0]) : NULL;
	uint32_t location = 0, id = 0;

	if (letter) {
		l.module = f->modules[*letter == 'p' ? 0 : *letter == 'l' ? 1 : 2];
		l.name = string(f, text + 2);
	} else {
		l = (struct profile_location){.kind = FRAME_PYTHON,
			.name = string(f, text),
			.file = string(f, "/a.py"),
			.line = 1};
	}
	CHECK(!profile_add_location(f->w, &l, &location));
	CHECK(!profile_add_stack_node(f->w, parent, location, &id));
	return id;
}

static uint32_t add_stack(struct fixture *f, uint32_t parent, const char *frames)
{
	char *copy = strdup(frames), *rest = copy, *frame;

	while ((frame = strsep(&rest, ";")))
		parent = add_frame(f, parent, frame);
	free(copy);
	return parent;
}

static void check_node(const struct tree *t, uint32_t node, const char *expected)
{
	struct buf b = BUF_INIT, label = BUF_INIT, whole = BUF_INIT;

	for (; node != TREE_ROOT_NODE; node = tree_nodes(t)[node].parent) {
		buf_reset(&label);
		tree_label(&tree_frames(t)[tree_nodes(t)[node].frame], &label);
		buf_reset(&b);
		buf_printf(&b, "%s%s%s", buf_text(&label), whole.size ? ";" : "", buf_text(&whole));
		buf_reset(&whole);
		buf_puts(&whole, buf_text(&b));
	}
	CHECK_TEXT(buf_text(&whole), expected);
	buf_release(&b);
	buf_release(&label);
	buf_release(&whole);
}

/* Adds all stacks to a tree, in this order or the other, twice. */
static void check_stacks(
	const uint32_t *ids, const char *const *expected, size_t count, bool backwards)
{
	struct profile_reader *r = NULL;
	struct profile_event e;
	struct stacks stacks;
	struct tree *t;

	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	CHECK(!tree_new(&t));
	CHECK(!stacks_init(&stacks, r, t, &(struct stacks_options){0}));
	for (size_t n = 0; n < 2 * count; n++) {
		size_t i = backwards ? count - 1 - n % count : n % count;
		uint32_t node = 0;

		CHECK(!stacks_add(&stacks, TREE_ROOT_NODE, ids[i], &node));
		check_node(t, node, expected[i]);
	}
	stacks_release(&stacks);
	tree_free(t);
	profile_reader_close(r);
}

#define START "p:_start;c:libc;p:Py_BytesMain;p:_PyEval_EvalFrameDefault;"
#define EVAL  "p:_PyFunction_Vectorcall;p:_PyEval_EvalFrameDefault;"

static void built_in_functions_stand_on_their_callers_without_what_calls_them(void)
{
	static const char *const expected[] = {
		"main (a.py);builtin_sorted;list_sort_impl.isra.0;unsafe_float_compare",
		"main (a.py);builtin_sorted;key (a.py);PyNumber_Add;malloc",
		"main (a.py)",
		"main (a.py);outside;PyDict_SetItem",
	};
	struct fixture f;
	uint32_t main_stack, sorted, ids[4];

	begin(&f);
	main_stack = add_stack(&f, 0, START "main");
	sorted = add_stack(
		&f, main_stack, "p:PyObject_Vectorcall;p:cfunction_call;p:builtin_sorted");
	ids[0] = add_stack(&f, sorted, "p:list_sort_impl.isra.0;p:unsafe_float_compare");
	ids[1] = add_stack(&f, sorted, EVAL "key;p:slot_nb_add;p:PyNumber_Add;c:malloc");
	ids[2] = add_stack(&f, main_stack, "p:_PyEval_EvalFrameDefault");
	ids[3] = add_stack(&f, main_stack,
		"p:cfunction_vectorcall_NOARGS.cold;l:outside;p:PyObject_Call;p:PyDict_SetItem");
	CHECK(!profile_writer_close(f.w));
	check_stacks(ids, expected, 4, false);
	check_stacks(ids, expected, 4, true);
}

static void an_interpreter_without_symbols_is_one_row_where_nothing_of_the_program_follows(void)
{
	static const char *const expected[] = {
		"main (a.py);python3.9 [no symbols]",
		"main (a.py);python3.9 [no symbols];PyUnicode_Join;memcpy",
		"main (a.py);key (a.py)",
		"main (a.py);key (a.py);python3.9 [no symbols]",
		"main (a.py);outside",
		"main (a.py);outside;python3.9 [no symbols];malloc",
		"_start;libc;python3.9+0x30",
	};
	struct fixture f;
	uint32_t root, main_stack, work, ids[7];

	begin(&f);
	root = add_stack(&f, 0, "p:_start;c:libc");
	ids[6] = add_frame(&f, root, "p:");
	main_stack = add_stack(&f, ids[6], "p:Py_BytesMain;main");
	work = add_stack(&f, main_stack, "p:;p:PyObject_Call;p:");
	ids[0] = add_stack(&f, work, "p:");
	ids[1] = add_stack(&f, work, "p:PyUnicode_Join;p:;c:memcpy");
	ids[2] = add_stack(&f, work, "p:;key");
	ids[3] = add_stack(&f, ids[2], "p:;p:");
	ids[4] = add_stack(&f, work, "l:outside");
	ids[5] = add_stack(&f, ids[4], "p:;c:malloc");
	CHECK(!profile_writer_close(f.w));
	check_stacks(ids, expected, 7, false);
	check_stacks(ids, expected, 7, true);
}

static void what_calls_is_distinguished_from_what_works(void)
{
	static const char *const calls[] = {"_Py_VectorCall_StackRefSteal",
		"_Py_BuiltinCallFastWithKeywords_StackRefSteal",
		"_PyCallMethodDescriptorFast_StackRefSteal", "_PyJIT_Entry",
		"_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault.cold",
		"_PyFunction_Vectorcall", "PyObject_Call", "PyObject_CallFunctionObjArgs",
		"_PyObject_MakeTpCall", "method_vectorcall_FASTCALL_KEYWORDS",
		"cfunction_vectorcall_O", "slot_tp_init", "slot_nb_add.lto_priv.0", "object_vacall",
		"gen_iternext", "type_call", "wrap_init", "_TAIL_CALL_BINARY_OP",
		"_PyObject_MaybeCallSpecialNoArgs"};
	static const char *const work[] = {"_Py_BuildString_StackRefSteal", "PyObject_Calloc",
		"_PyObject_Calloc", "sre_ucs1_match", "list_sort", "list_sort_impl.isra.0",
		"scan_once_unicode", "PyDict_SetItem", "_PyObject_Malloc", "long_mul",
		"gc_collect_main", "take_gil", "type_new", "list_vectorcall", "PyObject_GetAttr",
		"wrap_strftime", ""};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		CHECK(python_calls_has(calls[i]));
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		CHECK(!python_calls_has(work[i]));
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(built_in_functions_stand_on_their_callers_without_what_calls_them);
	RUN(an_interpreter_without_symbols_is_one_row_where_nothing_of_the_program_follows);
	RUN(what_calls_is_distinguished_from_what_works);
	unlink(path);
	return tap_end();
}
