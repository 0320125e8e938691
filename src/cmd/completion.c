// SPDX-License-Identifier: MIT
#include "cmd/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

struct shell {
	const char *name;
	void (*begin)(const struct completion_command *commands);
	void (*command)(const struct option_usage *usage, const struct option_spec *specs);
	void (*end)(void);
};

static bool is(const char *text, const char *other)
{
	return text && !strcmp(text, other);
}

/* The name of an argument that is a file: "FILE", "[FORM:]FILE". */
static bool is_file(const char *argument)
{
	size_t length = argument ? strlen(argument) : 0;

	return length >= 4 && !strcmp(argument + length - 4, "FILE");
}

/* Text between single quotes; `escaped` are characters that get a backslash. */
static void put_quoted(const char *text, const char *escaped, const char *quote)
{
	for (; *text; text++) {
		if (strchr(escaped, *text))
			putchar('\\');
		if (*text == '\'')
			fputs(quote, stdout);
		else
			putchar(*text == '\n' ? ' ' : *text);
	}
}

/* ------------------------------------------------------------------ bash */

static void bash_begin(const struct completion_command *commands)
{
	printf("# Completion of xpuprof for bash.\n"
	       "_xpuprof() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal names='' valued=' ' operands='' tools='' choices='' files='' i word "
	       "value=''\n"
	       "\tCOMPREPLY=()\n"
	       "\tlocal commands='");
	for (; commands->name; commands++)
		printf("%s%s", commands->name, commands[1].name ? " " : "");
	printf("'\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$commands help --help --version\" -- \"$cur\"))\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\t[ \"$cur\" = = ] && cur=''\n"
	       "\t[ \"$prev\" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	       "\tcase ${COMP_WORDS[1]} in\n"
	       "\thelp) operands=$commands ;;\n");
}

static void bash_names(const struct option_spec *specs, bool only_valued)
{
	for (const struct option_spec *s = specs; s->type != OPTION_TYPE_END; s++) {
		if (only_valued && (!s->argument || s->type == OPTION_TYPE_MAYBE))
			continue;
		if (s->letter)
			printf("-%c ", s->letter);
		if (s->name)
			printf("--%s ", s->name);
	}
}

/* "-o|--output" */
static void bash_pattern(const struct option_spec *s)
{
	printf("\t\t");
	if (s->letter)
		printf("-%c%s", s->letter, s->name ? "|" : "");
	printf("%s%s)", s->name ? "--" : "", s->name ? s->name : "");
}

static void bash_command(const struct option_usage *usage, const struct option_spec *specs)
{
	printf("\t%s)\n\t\tnames='", usage->command);
	bash_names(specs, false);
	printf("-h --help'\n\t\tvalued=' ");
	bash_names(specs, true);
	printf("'\n\t\toperands='%s'\n", usage->operands ? usage->operands : "");
	if (usage->tools)
		printf("\t\ttools=' %s '\n", usage->tools);
	printf("\t\tcase $prev in\n");
	for (const struct option_spec *s = specs; s->type != OPTION_TYPE_END; s++) {
		if (!s->values && !is_file(s->argument) && !is(s->argument, "DIR"))
			continue;
		bash_pattern(s);
		if (s->values)
			printf(" choices='%s' ;;\n", s->values);
		else
			printf(" files=%s ;;\n", is(s->argument, "DIR") ? "-d" : "-f");
	}
	printf("\t\tesac\n\t\t;;\n");
}

static void bash_end(void)
{
	fputs("\tesac\n"
	      "\tif [ -n \"$choices\" ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\telif [ -n \"$files\" ]; then\n"
	      "\t\tcompopt -o filenames 2>/dev/null\n"
	      "\t\tCOMPREPLY=($(compgen $files -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $valued in *\" $prev \"*) return ;; esac\n"
	      "\tif [ \"$operands\" = COMMAND ]; then\n"
	      "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t\tword=${COMP_WORDS[i]}\n"
	      "\t\t\tif [ -n \"$value\" ]; then\n"
	      "\t\t\t\tvalue=''\n"
	      "\t\t\t\tcontinue\n"
	      "\t\t\tfi\n"
	      "\t\t\tcase $word in\n"
	      "\t\t\t--) i=$((i + 1)); break ;;\n"
	      "\t\t\t=) value=1 ;;\n"
	      "\t\t\t-*)\n"
	      "\t\t\t\tcase $valued in *\" $word \"*) value=1 ;; esac\n"
	      "\t\t\t\tcase $word in -e* | --ebpf*) tools='' ;; esac\n"
	      "\t\t\t\t;;\n"
	      "\t\t\t*)\n"
	      "\t\t\t\tcase $tools in *\" $word \"*) ;; *) break ;; esac\n"
	      "\t\t\t\ttools=''\n"
	      "\t\t\t\t;;\n"
	      "\t\t\tesac\n"
	      "\t\tdone\n"
	      "\t\tif [ \"$i\" -lt \"$COMP_CWORD\" ] || [ \"$prev\" = -- ]; then\n"
	      "\t\t\tif declare -F _command_offset >/dev/null; then\n"
	      "\t\t\t\t_command_offset \"$i\"\n"
	      "\t\t\telif [ \"$i\" -eq \"$COMP_CWORD\" ]; then\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\t\t\telse\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t\t\tfi\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\tfi\n"
	      "\tcase $cur in\n"
	      "\t-*) COMPREPLY=($(compgen -W \"$names\" -- \"$cur\")) ;;\n"
	      "\t*)\n"
	      "\t\tcase $operands in\n"
	      "\t\tFILE)\n"
	      "\t\t\tcompopt -o filenames 2>/dev/null\n"
	      "\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t\t\t;;\n"
	      "\t\tCOMMAND)\n"
	      "\t\t\tif [ -n \"$tools\" ]; then\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -W \"$tools\" -- \"$cur\"))\n"
	      "\t\t\telse\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\t\t\tfi\n"
	      "\t\t\t;;\n"
	      "\t\t*) COMPREPLY=($(compgen -W \"$operands\" -- \"$cur\")) ;;\n"
	      "\t\tesac\n"
	      "\t\t;;\n"
	      "\tesac\n"
	      "}\n"
	      "complete -F _xpuprof xpuprof\n",
		stdout);
}

/* ------------------------------------------------------------------ zsh */

static void zsh_begin(const struct completion_command *commands)
{
	printf("#compdef xpuprof\n"
	       "# Completion of xpuprof for zsh.\n"
	       "_xpuprof() {\n"
	       "\tlocal -a commands\n"
	       "\tcommands=(\n");
	for (; commands->name; commands++) {
		printf("\t\t'%s:", commands->name);
		put_quoted(commands->summary, ":\\", "'\\''");
		printf("'\n");
	}
	printf("\t\t'help:show the options of a command'\n\t)\n"
	       "\tif ((CURRENT == 2)); then\n"
	       "\t\t_describe command commands\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tlocal command=$words[2]\n"
	       "\tshift words\n"
	       "\t((CURRENT--))\n"
	       "\tcase $command in\n");
}

static void zsh_value(const struct option_spec *s)
{
	printf("%s", s->type == OPTION_TYPE_MAYBE ? "::" : ":");
	put_quoted(s->argument, ":\\", "'\\''");
	if (s->values)
		printf(":(%s)", s->values);
	else
		printf(":%s", is_file(s->argument)     ? "_files"
			      : is(s->argument, "DIR") ? "_files -/"
						       : " ");
}

static void zsh_option(const struct option_spec *s, const char *name, const char *after)
{
	printf("\t\t\t'*%s%s[", name, s->argument ? after : "");
	put_quoted(s->help, "[]\\", "'\\''");
	putchar(']');
	if (s->argument)
		zsh_value(s);
	printf("' \\\n");
}

/* What completes the operands where a tool may stand before the command: _arguments calls it with
 * these alone in $words. */
static void zsh_tools(const struct option_usage *usage)
{
	printf("\t\t_xpuprof_tool_or_command() {\n"
	       "\t\t\tlocal -a tools=(%s)\n"
	       "\t\t\tif ((CURRENT == 1)); then\n"
	       "\t\t\t\t_describe tool tools\n"
	       "\t\t\t\t_command_names -e\n"
	       "\t\t\t\treturn\n"
	       "\t\t\tfi\n"
	       "\t\t\tif ((${tools[(Ie)$words[1]]})); then\n"
	       "\t\t\t\tshift words\n"
	       "\t\t\t\t((CURRENT--))\n"
	       "\t\t\tfi\n"
	       "\t\t\t_normal\n"
	       "\t\t}\n",
		usage->tools);
}

static void zsh_command(const struct option_usage *usage, const struct option_spec *specs)
{
	char name[64];

	printf("\t%s)\n", usage->command);
	if (usage->tools)
		zsh_tools(usage);
	printf("\t\t_arguments -s -S \\\n");
	for (const struct option_spec *s = specs; s->type != OPTION_TYPE_END; s++) {
		snprintf(name, sizeof(name), "-%c", s->letter);
		if (s->letter)
			zsh_option(s, name, "+");
		snprintf(name, sizeof(name), "--%s", s->name ? s->name : "");
		if (s->name)
			zsh_option(s, name, s->type == OPTION_TYPE_MAYBE ? "=-" : "=");
	}
	printf("\t\t\t'(- *)'{-h,--help}'[show this help]'");
	if (is(usage->operands, "COMMAND"))
		printf(" \\\n\t\t\t'*::command:%s'",
			usage->tools ? "_xpuprof_tool_or_command" : "_normal");
	else if (is(usage->operands, "FILE"))
		printf(" \\\n\t\t\t'*:file:_files'");
	else if (usage->operands)
		printf(" \\\n\t\t\t'*:name:(%s)'", usage->operands);
	printf("\n\t\t;;\n");
}

static void zsh_end(void)
{
	printf("\thelp) _describe command commands ;;\n"
	       "\tesac\n"
	       "}\n"
	       "_xpuprof \"$@\"\n");
}

/* ------------------------------------------------------------------ fish */

static void fish_begin(const struct completion_command *commands)
{
	printf("# Completion of xpuprof for fish.\n"
	       "complete -c xpuprof -f\n");
	for (; commands->name; commands++) {
		printf("complete -c xpuprof -n __fish_use_subcommand -a %s -d '", commands->name);
		put_quoted(commands->summary, "\\", "\\'");
		printf("'\n");
	}
}

static void fish_condition(const struct option_usage *usage)
{
	printf("complete -c xpuprof -n '__fish_seen_subcommand_from %s'", usage->command);
}

static void fish_option(const struct option_usage *usage, const struct option_spec *s)
{
	fish_condition(usage);
	if (s->letter)
		printf(" -s %c", s->letter);
	if (s->name)
		printf(" -l %s", s->name);
	if (s->argument && s->type != OPTION_TYPE_MAYBE)
		printf(" %s", is_file(s->argument) || is(s->argument, "DIR") ? "-r -F" : "-x");
	if (s->values)
		printf(" -a '%s'", s->values);
	printf(" -d '");
	put_quoted(s->help, "\\", "\\'");
	printf("'\n");
}

static void fish_command(const struct option_usage *usage, const struct option_spec *specs)
{
	for (const struct option_spec *s = specs; s->type != OPTION_TYPE_END; s++)
		fish_option(usage, s);
	if (!usage->operands)
		return;
	fish_condition(usage);
	if (is(usage->operands, "FILE"))
		printf(" -F\n");
	else if (is(usage->operands, "COMMAND"))
		printf(" -a '(__fish_complete_subcommand)'\n");
	else
		printf(" -a '%s'\n", usage->operands);
	if (usage->tools)
		printf("complete -c xpuprof -n '__fish_seen_subcommand_from %s; and not "
		       "__fish_seen_subcommand_from %s' -a '%s'\n",
			usage->command, usage->tools, usage->tools);
}

static void fish_end(void)
{
	printf("complete -c xpuprof -s h -l help -d 'show this help'\n");
}

/* ------------------------------------------------------------------ all */

static const struct shell shells[] = {
	{"bash", bash_begin, bash_command, bash_end},
	{"zsh", zsh_begin, zsh_command, zsh_end},
	{"fish", fish_begin, fish_command, fish_end},
};

static const struct shell *find(const char *name)
{
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
		if (is(name, shells[i].name))
			return &shells[i];
	return NULL;
}

bool completion_begin(const char *shell, const struct completion_command *commands)
{
	const struct shell *s = find(shell);

	if (s)
		s->begin(commands);
	return s;
}

void completion_end(const char *shell)
{
	find(shell)->end();
}

int completion_of(
	const char *shell, const struct option_usage *usage, const struct option_spec *specs)
{
	const struct shell *s = find(shell);

	if (!s)
		return error_set(-1, "takes bash, zsh or fish, not '%s'", shell);
	s->command(usage, specs);
	return 0;
}
