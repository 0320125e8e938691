// SPDX-License-Identifier: MIT
/* The C side of pychains.py: an extension module that says where the program is, launches, and
 * calls back. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "truth.h"

/* Names are kept: few, and used until the end. */
static const char *keep(const char *name)
{
	static char *names[256];
	int i = 0;

	while (i < 255 && names[i] && strcmp(names[i], name))
		i++;
	if (!names[i])
		names[i] = strdup(name);
	return names[i];
}

static PyObject *enter(PyObject *self, PyObject *arguments)
{
	const char *name;

	if (!PyArg_ParseTuple(arguments, "s", &name))
		return NULL;
	truth_enter(keep(name));
	truth_here();
	Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
	truth_leave();
	Py_RETURN_NONE;
}

static PyObject *begin(PyObject *self, PyObject *unused)
{
	truth_begin();
	Py_RETURN_NONE;
}

/* Launches and computes, as an extension does that keeps the interpreter's lock. */
KNOWN static PyObject *ext_point(PyObject *self, PyObject *unused)
{
	truth_enter("~py");
	truth_enter("ext_point");
	truth_point();
	truth_leave();
	truth_leave();
	Py_RETURN_NONE;
}

/* And as one does that releases it. */
KNOWN static PyObject *ext_point_unlocked(PyObject *self, PyObject *unused)
{
	truth_enter("~py");
	truth_enter("ext_point_unlocked!");
	Py_BEGIN_ALLOW_THREADS truth_point();
	Py_END_ALLOW_THREADS truth_leave();
	truth_leave();
	Py_RETURN_NONE;
}

KNOWN static PyObject *call_back(PyObject *function)
{
	PyObject *result;

	truth_enter("call_back!");
	result = PyObject_CallObject(function, NULL);
	truth_leave();
	return result;
}

KNOWN static PyObject *ext_call(PyObject *self, PyObject *function)
{
	PyObject *result;

	truth_enter("~py");
	truth_enter("ext_call!");
	result = call_back(function);
	truth_leave();
	truth_leave();
	return result;
}

static PyMethodDef methods[] = {
	{"enter", enter, METH_VARARGS, NULL},
	{"leave", leave, METH_NOARGS, NULL},
	{"begin", begin, METH_NOARGS, NULL},
	{"point", ext_point, METH_NOARGS, NULL},
	{"point_unlocked", ext_point_unlocked, METH_NOARGS, NULL},
	{"call", ext_call, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "pyext", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_pyext(void)
{
	return PyModule_Create(&module);
}
