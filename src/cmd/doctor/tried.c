// SPDX-License-Identifier: MIT
/* How far each vendor's part has been tried, on any machine: it is for users to know whether what
 * they see was ever seen on such a GPU. */
#include <string.h>

#include "base/json.h"
#include "cmd/doctor/doctor.h"
#include "vendor/vendor.h"

/* "measured: this, that; run: another". */
static void text_features(struct buf *out, const struct vendor_feature *features)
{
	for (const struct vendor_feature *f = features; f->name; f++) {
		if (f == features || f->trial != f[-1].trial)
			buf_printf(out, "%s%s: ", f == features ? "" : "; ",
				vendor_trial_name(f->trial));
		else
			buf_puts(out, ", ");
		buf_puts(out, f->name);
	}
	buf_puts(out, "\n");
}

void tried_text(struct buf *out)
{
	vendors_foreach(v)
	{
		if (!(*v)->features)
			continue;
		buf_printf(out, "%-8s %-14s ", "tried", (*v)->name);
		text_features(out, (*v)->features);
	}
}

static void json_text(struct buf *out, const char *name, const char *text, const char *after)
{
	buf_printf(out, "\"%s\": ", name);
	json_string(out, text, strlen(text));
	buf_puts(out, after);
}

void tried_json(struct buf *out)
{
	const char *before = "";

	buf_puts(out, "  \"tried\": [");
	vendors_foreach(v) for (const struct vendor_feature *f = (*v)->features; f && f->name; f++)
	{
		buf_printf(out, "%s\n    {", before);
		json_text(out, "vendor", (*v)->name, ", ");
		json_text(out, "feature", f->name, ", ");
		json_text(out, "trial", vendor_trial_name(f->trial), "}");
		before = ",";
	}
	buf_puts(out, "\n  ],\n");
}
