/* SPDX-License-Identifier: MIT */
/*
 * An argument list is written once, as (type, name), (type, name), ...; these macros turn it into a
 * declaration, a list of names or the fields of a struct. At most twelve arguments.
 */
#pragma once

/* clang-format off */

#define ARG_DECLARE(type, name) type name
#define ARG_NAME(type, name)    name
#define ARG_FIELD(type, name)   type name;

#define ARG_COUNT(...) \
	ARG_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ARG_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define ARG_PASTE(a, b)  ARG_PASTE_(a, b)
#define ARG_PASTE_(a, b) a##b

#define ARG_LIST_1(m, p)       m p
#define ARG_LIST_2(m, p, ...)  m p, ARG_LIST_1(m, __VA_ARGS__)
#define ARG_LIST_3(m, p, ...)  m p, ARG_LIST_2(m, __VA_ARGS__)
#define ARG_LIST_4(m, p, ...)  m p, ARG_LIST_3(m, __VA_ARGS__)
#define ARG_LIST_5(m, p, ...)  m p, ARG_LIST_4(m, __VA_ARGS__)
#define ARG_LIST_6(m, p, ...)  m p, ARG_LIST_5(m, __VA_ARGS__)
#define ARG_LIST_7(m, p, ...)  m p, ARG_LIST_6(m, __VA_ARGS__)
#define ARG_LIST_8(m, p, ...)  m p, ARG_LIST_7(m, __VA_ARGS__)
#define ARG_LIST_9(m, p, ...)  m p, ARG_LIST_8(m, __VA_ARGS__)
#define ARG_LIST_10(m, p, ...) m p, ARG_LIST_9(m, __VA_ARGS__)
#define ARG_LIST_11(m, p, ...) m p, ARG_LIST_10(m, __VA_ARGS__)
#define ARG_LIST_12(m, p, ...) m p, ARG_LIST_11(m, __VA_ARGS__)

#define ARG_EACH_1(m, p)       m p
#define ARG_EACH_2(m, p, ...)  m p ARG_EACH_1(m, __VA_ARGS__)
#define ARG_EACH_3(m, p, ...)  m p ARG_EACH_2(m, __VA_ARGS__)
#define ARG_EACH_4(m, p, ...)  m p ARG_EACH_3(m, __VA_ARGS__)
#define ARG_EACH_5(m, p, ...)  m p ARG_EACH_4(m, __VA_ARGS__)
#define ARG_EACH_6(m, p, ...)  m p ARG_EACH_5(m, __VA_ARGS__)
#define ARG_EACH_7(m, p, ...)  m p ARG_EACH_6(m, __VA_ARGS__)
#define ARG_EACH_8(m, p, ...)  m p ARG_EACH_7(m, __VA_ARGS__)
#define ARG_EACH_9(m, p, ...)  m p ARG_EACH_8(m, __VA_ARGS__)
#define ARG_EACH_10(m, p, ...) m p ARG_EACH_9(m, __VA_ARGS__)
#define ARG_EACH_11(m, p, ...) m p ARG_EACH_10(m, __VA_ARGS__)
#define ARG_EACH_12(m, p, ...) m p ARG_EACH_11(m, __VA_ARGS__)

#define ARGS_DECLARE(...) ARG_PASTE(ARG_LIST_, ARG_COUNT(__VA_ARGS__))(ARG_DECLARE, __VA_ARGS__)
#define ARGS_NAMES(...)   ARG_PASTE(ARG_LIST_, ARG_COUNT(__VA_ARGS__))(ARG_NAME, __VA_ARGS__)
#define ARGS_FIELDS(...)  ARG_PASTE(ARG_EACH_, ARG_COUNT(__VA_ARGS__))(ARG_FIELD, __VA_ARGS__)
/* clang-format on */
