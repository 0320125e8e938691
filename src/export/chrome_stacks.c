// SPDX-License-Identifier: MIT
#include "export/chrome_stacks.h"

#include "base/error.h"
#include "base/json.h"
#include "view/names/label.h"

int chrome_stacks(const struct tree *t, struct output *o)
{
	const struct tree_node *nodes = tree_nodes(t);
	struct buf label = BUF_INIT, text = BUF_INIT;
	bool failed = false;

	output_puts(o, "\n],\n\"stackFrames\":{");
	for (uint32_t i = 1; !failed && i < tree_node_count(t); i++) {
		const struct tree_frame *f = &tree_frames(t)[nodes[i].frame];

		buf_reset(&label);
		buf_reset(&text);
		tree_label(f, &label);
		json_string(&text, buf_text(&label), label.size);
		output_printf(o, "%s\n\"%u\":{\"name\":", i > 1 ? "," : "", i);
		output_puts(o, buf_text(&text));
		output_printf(o, ",\"category\":\"%s\"", tree_kind_name(f->kind));
		if (nodes[i].parent != TREE_ROOT_NODE)
			output_printf(o, ",\"parent\":\"%u\"", nodes[i].parent);
		output_putc(o, '}');
		failed = label.failed || text.failed;
	}
	output_puts(o, "}");
	buf_release(&label);
	buf_release(&text);
	return failed ? error_memory("the stacks of the timeline") : output_error(o);
}
