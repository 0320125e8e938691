// SPDX-License-Identifier: MIT
/* What a monitor's series and labels are called in metrics, against what Prometheus takes. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/intern.h"
#include "checks/monitor.h"
#include "monitor/metrics/families.h"
#include "monitor/metrics/metrics.h"

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	return text && *text && strchr(letters, *text) &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

/* As the metrics have it: in lower case. */
static bool is_label_name(const char *text)
{
	char lower[METRICS_LABEL_BYTES] = "";

	for (size_t i = 0; text[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)tolower((unsigned char)text[i]);
	return *lower != '_' && is_name(lower);
}

static int check_labels(const struct monitor *m, const struct monitor_series *s)
{
	static const char *const ours[] = {"monitor", "pid", "comm", "container", "le", "quantile"};

	for (size_t i = 0; i < MONITOR_LABELS; i++) {
		if (!s->label[i])
			continue;
		if (!is_label_name(s->label[i]) || strlen(s->label[i]) >= METRICS_LABEL_BYTES)
			return error_set(-EINVAL, "%s, series '%s': no label name: '%s'", m->name,
				s->name, s->label[i]);
		for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++)
			if (!strcasecmp(s->label[i], ours[k]))
				return error_set(-EINVAL, "%s, series '%s': label '%s' is taken",
					m->name, s->name, s->label[i]);
	}
	return 0;
}

static int check_families(const struct monitor *m, size_t series, struct interner *names)
{
	int error = 0, added;
	uint32_t id;

	for (enum metric_level level = METRIC_ALL; level < METRIC_LEVELS; level++) {
		struct metric_families f = {.count = 0};

		metric_series_families(m, series, level, &f);
		metric_busy_families(m, series, level, &f);
		for (size_t i = 0; i < f.count && !error; i++) {
			error = interner_add(
				names, f.family[i].name, strlen(f.family[i].name), &id, &added);
			if (!error && !added)
				error = error_set(-EINVAL, "%s has two metrics called '%s'",
					m->name, f.family[i].name);
		}
	}
	return error;
}

int metrics_check(const struct monitor *m)
{
	struct interner *names;
	int error = interner_new(&names);

	if (error)
		return error_set(error, "out of memory");
	for (size_t i = 0; m->series && m->series[i].name && !error; i++) {
		const struct monitor_series *s = &m->series[i];

		if (!s->metric)
			continue;
		if (!is_name(s->metric) || !s->help)
			error = error_set(-EINVAL, "%s, series '%s': metric without a name or help",
				m->name, s->name);
		error = error ?: check_labels(m, s);
		error = error ?: check_families(m, i, names);
	}
	interner_free(names);
	return error;
}
