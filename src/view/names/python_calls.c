// SPDX-License-Identifier: MIT
/*
 * The names are those of CPython, checked against the symbols of 3.8 to 3.14, and against what perf
 * names in a 3.15 before its release: Python/ceval.c, Objects/call.c, methodobject.c,
 * descrobject.c, classobject.c, genobject.c, typeobject.c (slots), Python/import.c and
 * pythonrun.c. They stand between any two functions of a Python program, in
 * another order in each version, and say nothing that the two do not say. All others of the
 * interpreter do what the program asked for (sort a list, match a pattern, collect garbage), so
 * they are not here: a function that is missing here is a frame too many, one too many hides work.
 */
#include "view/names/python_calls.h"

#include <stddef.h>
#include <string.h>

/* One with '*' stands for all names that begin so. */
// clang-format off
static const char *const names[] = {
	/* the evaluation loop, and what enters it */
	"_PyEval_EvalFrame*", "PyEval_EvalFrame*", "_PyEval_EvalCode*", "PyEval_EvalCode*", "_PyEval_Vector",
	"_PyEvalFramePushAndInit*", "_PyEvalFrameClearAndPop", "_PyEval_FrameClearAndPop", "_PyEval_MakeFrameVector",
	"_TAIL_CALL_*", "_PyJIT_Entry", "py_trampoline_evaluator", "_Py_trampoline_func_start", "run_eval_code_obj", "run_mod",
	"PyRun_*", "_PyRun_*", "builtin_exec*", "builtin_eval", "builtin_eval_impl",
	/* calls of any object */
	"PyObject_Call", "PyObject_CallFunction*", "PyObject_CallMethod*", "PyObject_CallNoArgs",
	"PyObject_CallOneArg", "PyObject_CallObject", "PyObject_CallFinalizer*", "PyObject_Vectorcall*",
	"_PyObject_Call", "_PyObject_CallFunction*", "_PyObject_CallMethod*", "_PyObject_CallNoArg*",
	"_PyObject_CallOneArg", "_PyObject_Call_Prepend", "_PyObject_FastCall*", "_PyObject_MakeTpCall",
	"_PyObject_Vectorcall*", "PyEval_Call*", "PyVectorcall_Call", "_PyVectorcall_Call", "object_vacall",
	"callmethod", "call_function", "do_call", "do_call_core", "fast_function", "ext_do_call", "vectorcall_maybe*",
	"vectorcall_method*", "vectorcall_unbound*", "call_method", "call_maybe", "call_unbound*", "type_call",
	"maybe_call_special_*", "_PyObject_MaybeCallSpecial*", "_Py_VectorCall*",
	/* of functions and methods that are written in Python, and of generators */
	"function_call", "function_code_fastcall", "_PyFunction_Vectorcall*", "_PyFunction_FastCall*",
	"method_vectorcall", "method_call", "instancemethod_call", "gen_iternext", "gen_send*", "_PyGen_Send", "PyGen_am_send", "PyIter_Next*", "PyIter_Send",
	"coro_wrapper_iternext", "coro_wrapper_send", "async_gen_asend_iternext", "async_gen_asend_send",
	"async_gen_athrow_iternext", "async_gen_athrow_send",
	/* of functions and methods that are written in C */
	"cfunction_call*", "cfunction_vectorcall_*", "method_vectorcall_*", "PyCFunction_Call", "_PyCFunction_FastCall*",
	"_PyCFunction_Vectorcall", "_PyMethodDef_RawFastCall*", "classmethoddescr_call", "methoddescr_call",
	"wrapperdescr_call", "wrapperdescr_raw_call", "wrapper_call", "_Py_BuiltinCallFast*", "_Py_CallBuiltinClass*",
	"_PyCallMethodDescriptor*",
	/* from a slot of a type to a method ("__init__") and back */
	"slot_*", "_Py_slot_tp_*", "wrap_binaryfunc*", "wrap_buffer", "wrap_call", "wrap_del", "wrap_delattr",
	"wrap_delitem", "wrap_descr_*", "wrap_hashfunc", "wrap_indexargfunc", "wrap_init", "wrap_inquirypred",
	"wrap_lenfunc", "wrap_next", "wrap_objobjargproc", "wrap_objobjproc", "wrap_releasebuffer", "wrap_richcmpfunc",
	"wrap_setattr", "wrap_sq_*", "wrap_ternaryfunc*", "wrap_unaryfunc", "richcmp_eq", "richcmp_ge", "richcmp_gt",
	"richcmp_le", "richcmp_lt", "richcmp_ne",
	/* from an import to the functions of importlib, which are written in Python */
	"PyImport_Import*", "import_name", "_PyEval_ImportName", "import_find_and_load",
	"builtin___import__*", "PyImport_ExecCodeModule*",
};
// clang-format on

static bool is_named(const char *name, size_t size, const char *pattern)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] == '*')
		return size >= length - 1 && !memcmp(name, pattern, length - 1);
	return size == length && !memcmp(name, pattern, length);
}

bool python_calls_has(const char *name)
{
	size_t size = strcspn(name, ".");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_named(name, size, names[i]))
			return true;
	return false;
}
