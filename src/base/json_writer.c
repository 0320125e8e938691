// SPDX-License-Identifier: MIT
#include "base/json_writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/decimal.h"
#include "base/json.h"

void json_key(struct json_writer *w, const char *name)
{
	if (w->comma)
		buf_putc(w->out, ',');
	w->comma = true;
	if (!name)
		return;
	json_string(w->out, name, strlen(name));
	buf_putc(w->out, ':');
}

void json_begin(struct json_writer *w, const char *name, char bracket)
{
	json_key(w, name);
	buf_putc(w->out, bracket);
	w->comma = false;
}

void json_end(struct json_writer *w, char bracket)
{
	buf_putc(w->out, bracket);
	w->comma = true;
}

void json_number(struct json_writer *w, const char *name, uint64_t value)
{
	struct buf *out = w->out;

	json_key(w, name);
	if (!buf_reserve(out, DECIMAL_MAX))
		return;
	out->size = (size_t)(decimal_put(out->data + out->size, value) - out->data);
	out->data[out->size] = '\0';
}

void json_real(struct json_writer *w, const char *name, double value)
{
	json_key(w, name);
	buf_printf(w->out, "%.6g", value);
}

void json_bool(struct json_writer *w, const char *name, bool value)
{
	json_key(w, name);
	buf_puts(w->out, value ? "true" : "false");
}

void json_text(struct json_writer *w, const char *name, const char *value)
{
	json_key(w, name);
	if (value)
		json_string(w->out, value, strlen(value));
	else
		buf_puts(w->out, "null");
}

void json_text_lines(struct json_writer *w, const char *name, const char *value)
{
	json_key(w, name);
	if (value)
		json_lines(w->out, value, strlen(value));
	else
		buf_puts(w->out, "null");
}
