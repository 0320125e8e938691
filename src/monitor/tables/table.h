/* SPDX-License-Identifier: MIT */
/*
 * Short forms of what every table is made of (monitor/monitor.h).
 */
#pragma once

#include "monitor/monitor.h"

/* Fields: what we call it, what the kernel calls it. */
// clang-format off
#define NUMBER(ours, kernels)	     {ours, kernels, FIELD_NUMBER}
#define NUMBER_NEEDED(ours, kernels) {ours, kernels, FIELD_NUMBER, .needed = true}
#define PAGES(ours, kernels)	     {ours, kernels, FIELD_NUMBER, .needed = true, .shift = 12}
#define TEXT(ours, kernels)	     {ours, kernels, FIELD_STRING}
#define TEXT_NEEDED(ours, kernels)   {ours, kernels, FIELD_STRING, .needed = true}
#define THREAD(ours)		     {ours, NULL, FIELD_THREAD}
// clang-format on

/* Argument `n` (from 0) of a function, and what a function returns: the lowest bytes of it. */
// clang-format off
#define ARGUMENT(ours, n, size) {ours, NULL, FIELD_NUMBER, .argument = n, .bytes = size}
#define RESULT(ours, size)	{ours, NULL, FIELD_NUMBER, .bytes = size, .is_signed = true}
// clang-format on

/* Sources: event, the module that has it, fields. */
// clang-format off
#define TRACEPOINT(event, of, ...)                                                                 \
	{.kind = SOURCE_TRACEPOINT, .name = event, .module = of, .fields = {__VA_ARGS__}}
#define TRACEPOINT_SINCE(version, event, of, ...)                                                  \
	{.kind = SOURCE_TRACEPOINT,                                                                \
		.name = event,                                                                     \
		.module = of,                                                                      \
		.since = version,                                                                  \
		.fields = {__VA_ARGS__}}
#define FUNCTION(function, of, ...)                                                                \
	{.kind = SOURCE_FUNCTION, .name = function, .module = of, .fields = {__VA_ARGS__}}
#define RETURN(function, of, ...)                                                                  \
	{.kind = SOURCE_RETURN, .name = function, .module = of, .fields = {__VA_ARGS__}}
// clang-format on
