/* SPDX-License-Identifier: MIT */
/*
 * A recording as a page in a browser, or two of them that are compared: what is asked for by its
 * address, and the answers.
 *
 *	browser                             here
 *	/SECRET/                     page.html with its style and script (assets.h)
 *	/SECRET/about.json           what the recording is, and its rows (about.h)
 *	/SECRET/rows.json?...        more of its rows, where there are very many (rows_json.h)
 *	/SECRET/timeline.json?...    boxes and cells of some rows in a range (axis_json.h)
 *	/SECRET/sums.json?...        the same of all rows of a kind together
 *	/SECRET/flame.svg?...        the flame graph of a range, as `xpuprof flame` draws it
 *	/SECRET/report.txt?...       its tables, as `xpuprof report` prints them
 *	/SECRET/differences.txt?...  functions whose share differs, as `xpuprof report --diff` has it
 *	/SECRET/repeats.json?...     what happens again and again (repeats_json.h)
 *	/SECRET/links.json?...       what a box belongs to (links_json.h)
 *	/SECRET/kernel.html?...      a kernel's instructions, as `xpuprof annotate` shows them
 *
 * `file` is which recording, 1 unless given. Ranges are `from` and `to`, nanoseconds from the start
 * of the recording, or some iterations (part.h). A flame graph is a comparison where it is said
 * with what: `base-file`, `base-from` and `base-to`, or the `others` (compared.h). A file is read
 * between answers (recording.h): with `partial=1` about.json and the next three are of what is
 * read by then. One that still grows is read anew when about.json is asked for.
 *
 * Whoever runs on this machine can reach the port: only who knows the secret is answered, by the
 * name of this machine itself, and never the script of another site (access.h).
 */
#pragma once

#include <stdbool.h>

#include "serve/http.h"

struct page;

#define PAGE_RECORDINGS_MAX 2

/* `paths` are borrowed, PAGE_RECORDINGS_MAX at most. 0, or -errno with error_text. */
int page_open(struct page **ret, const char *const *paths, size_t count);
void page_close(struct page *p);
/* Whether there is something to do between answers, and some hundredths of a second of it: 0 or
 * -errno with error_text. */
bool page_has_work(const struct page *p);
int page_work(struct page *p);
/* Where it can be reached, behind "http://ADDRESS": "/0123.../". */
const char *page_path(const struct page *p);
/* Of http_start; the context is the page. */
void page_answer(void *page, const struct http_request *q, struct http_answer *ret);
