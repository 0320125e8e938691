// SPDX-License-Identifier: MIT
/*
 * The files that one recording leaves. The profile itself is written while the program runs; every
 * other form is made from it afterwards. When no profile is asked for, it lives in a temporary file
 * beside the first output that is a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/record/record.h"
#include "cmd/view_args.h"
#include "view/view.h"

/* Beside the first output that is to be a file; where all go to pipes or devices, here. */
static const char *place_of_temporary(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		if (output_is_file(output->path))
			return output->path;
	return "xpuprof";
}

int record_choose_profile(struct record *r)
{
	if (!r->outputs.count)
		r->profile_path = "profile.xpu";
	if (r->profile_path)
		return 0;
	buf_printf(&r->temporary, "%s.%d.xpu", place_of_temporary(r), (int)getpid());
	if (r->temporary.failed)
		return error_memory(NULL);
	r->profile_path = r->temporary.data;
	return 0;
}

/* Finds out now, and not after a long run, that an output cannot be written, or is to be another
 * recorder's. */
int record_claim_outputs(const struct record *r, const struct target_user *u)
{
	int error = 0;

	vec_foreach (output, &r->outputs)
		if (output->exporter)
			error = error ?: output_claim(&output->claim, &u->account, output->path);
	return error;
}

void record_release_outputs(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		output_claim_release(&output->claim);
}

/* Samples of instructions are there to be seen, where there are any and the form can show them. */
static const struct view *view_for(
	const struct record *r, const struct session *s, const struct exporter *e)
{
	bool sampled = r->stalls && session_totals(s)->window_samples;

	return sampled && e->heeds & EXPORT_HEEDS_TREE ? view_by_name("stall") : NULL;
}

static int make_output(const struct record *r, const struct target_user *u, const struct session *s,
	const char *profile, struct output *output)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct export_result result;

	options.view.view = view_for(r, s, output->exporter);
	options.user = &u->account;
	if (export_file(output->exporter, profile, output->path, &options, &result))
		return cmd_failed();
	view_warn(output->exporter, r->profile_path, &result);
	output->made = !result.not_written;
	return EXIT_OK;
}

/* What was recorded: the file that is open, whatever has its name by now. */
static int open_profile(const struct record *r)
{
	struct stat st;
	int error = place_stat(&r->profile, &st);
	int fd = error ?: place_open_present(&r->profile, &st, O_RDONLY);

	return fd < 0 ? place_error(r->profile.user, fd, "read", r->profile_path) : fd;
}

static int make_from(
	struct record *r, const struct target_user *u, const struct session *s, const char *profile)
{
	int status = EXIT_OK;

	vec_foreach (output, &r->outputs) {
		if (!output->exporter)
			continue;
		status = make_output(r, u, s, profile, output) ? EXIT_FAILED : status;
	}
	return status;
}

static bool is_converted(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		if (output->exporter)
			return true;
	return false;
}

int record_make_outputs(struct record *r, const struct target_user *u, const struct session *s)
{
	char path[32];
	int status, fd;

	if (!is_converted(r))
		return EXIT_OK;
	if (r->profile.folder < 0)
		return make_from(r, u, s, r->profile_path);
	fd = open_profile(r);
	if (fd < 0)
		return cmd_failed();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = make_from(r, u, s, path);
	close(fd);
	return status;
}

/* What there is of a profile that could not be written to its end. */
void record_print_rest(const struct record *r)
{
	int fd = r->profile.folder < 0 ? -1 : open_profile(r);

	if (fd < 0)
		return;
	status_rest(r->profile_path, fd);
	close(fd);
}
