/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events with the names, the fields and the text of a driver's own, whose values come from a line (lines.h). To
 * be included by the events' headers, on each pass over them.
 *
 * STAND_IN(NAME, FIELDS, ASSIGNMENTS, FORMAT...) is an event; a class of them is STAND_IN_CLASS, with events of it by
 * STAND_IN_OF. NUMBER and TEXT assign the value that is called as the field is.
 */
#undef STAND_IN
#define STAND_IN(name, fields, assign, print...) \
	TRACE_EVENT(name, TP_PROTO(const struct line *line), TP_ARGS(line), TP_STRUCT__entry(fields), \
		    TP_fast_assign(assign), TP_printk(print))

#undef STAND_IN_CLASS
#define STAND_IN_CLASS(name, fields, assign, print...) \
	DECLARE_EVENT_CLASS(name, TP_PROTO(const struct line *line), TP_ARGS(line), TP_STRUCT__entry(fields), \
			    TP_fast_assign(assign), TP_printk(print))

#undef STAND_IN_OF
#define STAND_IN_OF(class_name, name) \
	DEFINE_EVENT(class_name, name, TP_PROTO(const struct line *line), TP_ARGS(line))

#undef NUMBER
#define NUMBER(field) (__entry->field = (typeof(__entry->field))line_number(line, #field))

#undef STRING
#define STRING(field) __string(field, line_text(line, #field))

#undef TEXT
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define TEXT(field) __assign_str(field)
#else
#define TEXT(field) __assign_str(field, line_text(line, #field))
#endif
