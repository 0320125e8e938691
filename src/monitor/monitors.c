// SPDX-License-Identifier: MIT
/* The table of monitors: one row each. */
#include "monitor/monitor.h"

#include <string.h>
#include <strings.h>

extern const struct monitor monitor_drm, monitor_vblank;
extern const struct monitor monitor_i915, monitor_xe, monitor_amdgpu, monitor_nvidia;

static const struct monitor *const monitors[] = {
	&monitor_drm,
	&monitor_i915,
	&monitor_amdgpu,
	&monitor_xe,
	&monitor_vblank,
	&monitor_nvidia,
};

#define MONITOR_COUNT (sizeof(monitors) / sizeof(monitors[0]))

const struct monitor *monitor_at(size_t n)
{
	return n < MONITOR_COUNT ? monitors[n] : NULL;
}

const struct monitor *monitor_find(const char *name)
{
	for (size_t n = 0; n < MONITOR_COUNT; n++)
		if (!strcmp(monitors[n]->name, name))
			return monitors[n];
	return NULL;
}

size_t monitor_event_count(const struct monitor *m)
{
	size_t count = 0;

	while (m->events[count].name)
		count++;
	return count;
}

int monitor_event_find(const struct monitor *m, const char *name)
{
	for (size_t n = 0; m->events[n].name; n++)
		if (!strcasecmp(m->events[n].name, name))
			return (int)n;
	return -1;
}

const struct monitor_list *monitor_list_find(const struct monitor *m, const char *list)
{
	for (const struct monitor_list *l = m->lists; l && l->name; l++)
		if (!strcmp(l->name, list))
			return l;
	return NULL;
}

const char *monitor_list_name(const struct monitor *m, const char *list, uint64_t value)
{
	const struct monitor_list *l = monitor_list_find(m, list);

	for (const struct monitor_name *n = l ? l->names : NULL; n && n->name; n++)
		if (n->value == value)
			return n->name;
	for (const struct monitor_range *r = l ? l->ranges : NULL; r && r->name; r++)
		if (value >= r->first && value <= r->last)
			return r->name;
	return NULL;
}
