/* SPDX-License-Identifier: MIT */
/*
 * Readable names of C++ functions ("void f<A<int> >(A<int>)"), shortened for tables. Kernels of
 * today's libraries have names of hundreds of columns, nearly all of it template arguments.
 */
#pragma once

#include "base/buf.h"

/*
 * Appends the name in at most `columns` columns (0: no limit), of these forms the first that fits:
 *
 *	void a::reduce<512, a::Sum<float, 4> >(a::Sum<float, 4>)    as it is
 *	a::reduce<512, a::Sum<float, 4> >                           without parameters and "void"
 *	a::reduce<512, a::Sum<...>>                                 without arguments of arguments
 *	a::reduce<512, a::S...                                      what fits of that, if nothing else
 *	                                                            of the name is lost by it
 *	a::reduce<...>                                              without arguments, cut if need be
 *
 * As text_fit, it leaves nothing in it that a terminal would obey.
 */
void name_fit(struct buf *b, const char *name, unsigned int columns);

/* Appends "a::reduce": no parameters, no arguments, no type of the result (label_brief). */
void name_plain(struct buf *b, const char *name);
