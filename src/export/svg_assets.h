/* SPDX-License-Identifier: MIT */
/* The files that become part of every SVG: style and script, as they are in this folder. */
#pragma once

/* Each begins at its start and ends before its end. */
extern const char svg_style_start[], svg_style_end[];
extern const char svg_app_style_start[], svg_app_style_end[];
extern const char svg_script_start[], svg_script_end[];
