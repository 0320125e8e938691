/* SPDX-License-Identifier: MIT */
/* The files that become part of every SVG and of pages: styles and scripts, as they are in this
 * folder and in flame/. */
#pragma once

/* Each begins at its start and ends before its end. */
extern const char svg_style_start[], svg_style_end[];
extern const char svg_app_style_start[], svg_app_style_end[];
extern const char svg_script_start[], svg_script_end[];
/* Of annotate_html.h. */
extern const char annotate_style_start[], annotate_style_end[];
extern const char annotate_script_start[], annotate_script_end[];
