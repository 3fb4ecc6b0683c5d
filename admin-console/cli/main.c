/* sirdar: finds the command and hands over. */
#include "admin-console/cli/base/output.h"
#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/complete/complete.h"
#include "admin-console/cli/online/watch.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "util/near.h"
#include "util/screen.h"

#define COMMAND(name, row, args, help) extern const struct verb verb_##row;
#include "admin-console/cli/commands.def"
#undef COMMAND

static const struct command commands[] = {
#define COMMAND(name, row, args, help) { name, &verb_##row, args, help },
#include "admin-console/cli/commands.def"
#undef COMMAND
	{ 0 },
};

enum { COMMANDS = sizeof commands / sizeof *commands - 1 };

/* The first word is right, the second is missing or wrong? */
static bool is_of_group(const struct command *c, const char *word)
{
	size_t n = strlen(word);

	return strncmp(c->name, word, n) == 0 && c->name[n] == ' ';
}

static const struct subject {
	const char *first, *title, *example;
} subjects[] = {
#define SUBJECT(first, title, example) { first, title, example },
#include "admin-console/cli/subjects.def"
#undef SUBJECT
};

/* The subject that begins with a command, after the example of the one before it. */
static void print_subject(FILE *out, const char *name, const struct subject **current)
{
	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
		if (strcmp(subjects[i].first, name) != 0)
			continue;
		if (*current)
			fprintf(out, "  e.g. %s\n", (*current)->example);
		fprintf(out, "\n%s\n", subjects[i].title);
		*current = &subjects[i];
	}
}

/* group: its commands; NULL: all, by subject. */
static void print_commands(FILE *out, const char *group)
{
	const struct subject *current = NULL;

	for (size_t i = 0; i < COMMANDS; i++) {
		char head[200];
		if (group && !is_of_group(&commands[i], group))
			continue;
		if (!group)
			print_subject(out, commands[i].name, &current);
		snprintf(head, sizeof head, "%s %s", commands[i].name, commands[i].args);
		fprintf(out, "  %-44s %s\n", head, commands[i].help);
	}
	if (current)
		fprintf(out, "  e.g. %s\n", current->example);
}

static void print_usage(FILE *out)
{
	fputs("usage: sirdar COMMAND [arguments] [--output FORMAT]\n", out);
	print_commands(out, NULL);
	fputs("\nsirdar COMMAND --help says more. Exit: 0 done, 1 refused or errors found, 2 wrong "
	      "use,\n"
	      "3 no answer from the server, 4 not found, 5 not allowed, 6 gave up waiting, 7 done "
	      "in "
	      "part\nor failed, 130 let go by Ctrl-C (the work goes on).\n",
	      out);
}

/* The one command that begins so; NULL: none, or several. */
static const char *begins_so(const char *word)
{
	const char *found = NULL;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strncmp(commands[i].name, word, strlen(word)) != 0)
			continue;
		if (found)
			return NULL;
		found = commands[i].name;
	}
	return found;
}

/* The command, or the first word of some, that is nearest to what was said; NULL: none is near. */
static const char *nearest_command(int argc, char **argv)
{
	static char first[40];
	const char *names[COMMANDS + 1], *near;
	char whole[100];

	snprintf(whole, sizeof whole, "%.48s %.48s", argv[1], argc > 2 ? argv[2] : "");
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	names[COMMANDS] = NULL;
	near = near_name(whole, names);
	near = near ? near : near_name(argv[1], names);
	for (size_t i = 0; !near && i < COMMANDS; i++) {
		snprintf(first, sizeof first, "%.*s", (int)strcspn(names[i], " "), names[i]);
		if (near_distance(argv[1], first) <= near_most(argv[1]))
			near = first;
	}
	return near;
}

/* `sirdar peer`, `sirdar peer --help`, `sirdar peer lst`: what there is. */
static int group_help(int argc, char **argv)
{
	bool asked = argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-?") == 0);
	FILE *out = asked ? stdout : stderr;

	if (argc > 2 && !asked)
		fprintf(out, "sirdar: no command '%s %s'; there are:\n", argv[1], argv[2]);
	else
		fprintf(out, "usage: sirdar %s ...\n", argv[1]);
	print_commands(out, argv[1]);
	return asked ? CLI_OK : CLI_USAGE;
}

/* `sirdar help run start` is `sirdar run start --help`. */
static char **help_turned(int *argc, char **argv)
{
	static char *turned[5];
	static char help[] = "--help";
	int n = 0;

	turned[n++] = argv[0];
	for (int i = 2; i < *argc && i < 4; i++)
		turned[n++] = argv[i];
	turned[n++] = help;
	*argc = n;
	return turned;
}

static bool is_group(const char *word)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (is_of_group(&commands[i], word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct cli cli = { 0 };
	int words = 0;

	screen_open();
	screen_vouch("sirdar");
	setlocale(LC_CTYPE, "C.UTF-8");
	argp_err_exit_status = CLI_USAGE;
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		puts("sirdar " SIRDAR_VERSION);
		return CLI_OK;
	}
	if (argc > 1 && strcmp(argv[1], "__complete") == 0)
		return complete_print(commands, argc - 2, argv + 2);
	if (argc > 2 && strcmp(argv[1], "help") == 0)
		argv = help_turned(&argc, argv);
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? CLI_USAGE : CLI_OK;
	}
	cli.command = command_find(commands, argc - 1, (const char *const *)argv + 1, &words);
	if (!cli.command && is_group(argv[1]))
		return group_help(argc, argv);
	const char *near = cli.command ? NULL : begins_so(argv[1]);
	if (!cli.command && !near)
		near = nearest_command(argc, argv);
	if (near)
		return cli_fail(CLI_USAGE, "no command '%s', is this meant: %s", argv[1], near);
	if (!cli.command)
		return cli_fail(CLI_USAGE, "no command '%s'; `sirdar --help` lists them", argv[1]);

	char name[100];
	snprintf(name, sizeof name, "sirdar %s", cli.command->name);
	argv[words] = name;
	if (cli.command->verb->run_line)
		return cli.command->verb->run_line(argc - words, argv + words);
	struct asked q = { .cli = &cli, .verb = cli.command->verb };
	int code = asked_parse(&q, argc - words, argv + words);
	if (q.verb->columns)
		output_named_by(q.verb->columns->key);
	if (code == CLI_OK)
		code = given_if(&q, "watch") ? watch_run(&q) : q.verb->run(&q);
	asked_done(&q);
	return code;
}
