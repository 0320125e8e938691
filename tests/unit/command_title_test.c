// SPDX-License-Identifier: MIT
/* What a recording is called. */
#include "tap.h"
#include "view/fold/command_title.h"

static const char *title(const char *command)
{
	static struct buf b;

	buf_reset(&b);
	command_title(command, &b);
	return buf_text(&b);
}

static void the_program_is_called_without_its_folder(void)
{
	CHECK_TEXT(title("train"), "train");
	CHECK_TEXT(title("/opt/bin/train --data /home/u"), "train --data /home/u");
	CHECK_TEXT(title("./train a=b"), "train a=b");
	CHECK_TEXT(title("/opt/bin/"), "/opt/bin/");
}

static void settings_of_the_environment_are_left_out(void)
{
	CHECK_TEXT(title("env LD_LIBRARY_PATH=/a:/b OMP=1 build/train --x=1"), "train --x=1");
	CHECK_TEXT(title("/usr/bin/env -i -u HOME --chdir /tmp A=1 python3 train.py"),
		"python3 train.py");
	CHECK_TEXT(title("env"), "env");
	CHECK_TEXT(title("env A=1"), "env A=1");
	CHECK_TEXT(title("environment A=1"), "environment A=1");
}

static void it_is_one_line(void)
{
	CHECK_TEXT(title("python3 -c import os\n\nos.sync()\n"), "python3 -c import os os.sync()");
	CHECK_TEXT(title(""), "");
}

int main(void)
{
	RUN(the_program_is_called_without_its_folder);
	RUN(settings_of_the_environment_are_left_out);
	RUN(it_is_one_line);
	return tap_end();
}
