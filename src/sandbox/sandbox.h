/* SPDX-License-Identifier: MIT */
/*
 * Files of programs that are recorded are opened by one process and read by another (their memory
 * is read by a third one, memory.h):
 *
 *	recorder --- a mapping ----> opener
 *	         <-- a descriptor --
 *	         --- the same -----> reader
 *	         <-- facts ---------
 *
 * The recorder is often root, and such files belong to strangers. The opener (opener.h) may open
 * what others mapped, and never looks into it. The reader (reader.h) parses, and has no rights: a
 * file that crashes it, holds it up or makes it take memory harms one process that is begun anew
 * (child.h), and one that takes it over has won what is sent to it. Where these processes can
 * begin, the recorder itself neither opens nor reads such files, and waits for none for long.
 *
 * All are our own program, executed with the command SANDBOX_COMMAND, which nobody else has a use
 * for.
 */
#pragma once

#define SANDBOX_COMMAND "sandbox"
#define SANDBOX_OPENER	"opener"
#define SANDBOX_READER	"reader"
/* With ":FORMAT:PATH" behind it: of GPU code, of the library that writes its text (writer.h). */
#define SANDBOX_WRITER "writer"
#define SANDBOX_MEMORY "memory"
#define SANDBOX_SOCKET 3 /* the number of its descriptor in these processes */

/* What the command does: until the recorder is gone. The exit status. */
int sandbox_run(const char *role);
