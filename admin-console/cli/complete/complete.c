/* What may come next: the commands and options of the rows, and what the arguments of a row say.
 * "TASK [RUN_DATE...]|ID..." is a list of ways to go on, each with a place for each word; capitals
 * are names that the server knows or files, small letters are words themselves. */
#include "admin-console/cli/complete/complete.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/screen.h"

enum { DEADLINE_S = 2 };

/* The shell's own completion goes on: an empty name, and what is meant. */
static void files_put(void)
{
	puts("\tfiles");
}

/* --- arguments --- */

static bool is_small(const char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			return false;
	return true;
}

/* "TASK", "TASK...", "[TASK]", "WORKFLOW[/TASK]", "local". */
static void argument_put(struct typing *t, const char *argument)
{
	char *name = mem_str(argument), *slash = strstr(name, "[/");

	name[strcspn(name, "[]")] = '\0';
	if (strstr(name, "..."))
		*strstr(name, "...") = '\0';
	if (strncmp(name, "FILE", 4) == 0 || strcmp(name, "DIR") == 0)
		files_put();
	else if (is_small(name))
		candidate_put(t, name, NULL);
	else if (!words_put(t, name))
		names_put(t, name);
	if (slash)
		names_put(t, "TASK");
	free(name);
}

/* Each of "a|b|c". */
static void choices_put(struct typing *t, const char *choices)
{
	char *copy = mem_str(choices), *rest = copy;

	for (char *one; (one = strsep(&rest, "|"));)
		argument_put(t, one);
	free(copy);
}

/* The place of the `at`th word of one way to go on; options end it. */
static void way_put(struct typing *t, char *way, size_t at)
{
	const char *last = NULL;
	char *word;

	for (size_t i = 0; (word = strsep(&way, " ")); i++) {
		word += *word == '[';
		if (*word == '-' || !*word)
			break;
		last = word;
		if (i == at) {
			argument_put(t, word);
			return;
		}
	}
	if (last && strstr(last, "..."))
		argument_put(t, last);
}

static void arguments_put(struct typing *t, const struct command *c, size_t at)
{
	char *copy = mem_str(c->args), *rest = copy;

	for (char *way; (way = strsep(&rest, "|"));)
		way_put(t, way, at);
	free(copy);
}

/* --- options --- */

/* The option of a command, or of all commands, by its name or its letter. */
static bool option_arg(const struct verb *v, const char *name, size_t n, char letter,
                       const char **ret_name, const char **ret_arg)
{
	for (const struct opt *o = v->options; o && o->name; o++)
		if (letter ? o->letter == letter : strncmp(o->name, name, n) == 0 && !o->name[n]) {
			*ret_name = o->name;
			*ret_arg = o->arg;
			return true;
		}
	for (const struct argp_option *o = cli_options; !letter && o->name; o++)
		if (strncmp(o->name, name, n) == 0 && !o->name[n]) {
			*ret_name = o->name;
			*ret_arg = o->arg;
			return true;
		}
	return false;
}

/* Does the word after this option belong to it? *ret_name: the option's. NULL: no. */
static const char *value_wanted(const struct verb *v, const char *word, const char **ret_name)
{
	const char *arg = NULL;

	if (strncmp(word, "--", 2) == 0)
		return !strchr(word, '=') &&
		                       option_arg(v, word + 2, strlen(word + 2), 0, ret_name, &arg)
		               ? arg
		               : NULL;
	for (const char *p = word + 1; *p; p++)
		if (option_arg(v, "", 0, *p, ret_name, &arg) && arg)
			return p[1] ? NULL : arg;
	return NULL;
}

static void option_put(struct typing *t, const char *name, const char *help)
{
	char *text = mem_fmt("--%s", name);

	candidate_put(t, text, help);
	free(text);
}

static void options_put(struct typing *t, const struct verb *v)
{
	for (const struct opt *o = v->options; o && o->name; o++)
		if (o->help)
			option_put(t, o->name, o->help);
	for (const struct argp_option *o = cli_options; o->name; o++)
		option_put(t, o->name, o->doc);
	option_put(t, "help", "what the command does, and its options");
}

/* --- a line --- */

/* First words, or the second ones of a group; each once. */
static void commands_put(struct typing *t, const struct command *all, const char *group)
{
	size_t n = group ? strlen(group) : 0;
	const char *last = "";

	for (const struct command *c = all; c->name; c++) {
		const char *word = c->name;

		if (group && (strncmp(word, group, n) != 0 || word[n] != ' '))
			continue;
		word += group ? n + 1 : 0;
		size_t len = strcspn(word, " ");
		if (!group && word[len] && strncmp(last, word, len + 1) == 0)
			continue; /* rows of a group stand together */
		last = word;
		char *one = mem_strn(word, len);
		candidate_put(t, one, word[len] ? NULL : c->help);
		free(one);
	}
}

static void said_take(struct cli *cli, const char *option, const char *value)
{
	if (strcmp(option, "server") == 0)
		cli->server = value;
	else if (strcmp(option, "token-file") == 0)
		cli->token_file = value;
}

struct read_line {
	size_t at;          /* words that are no options */
	bool plain;         /* after "--" */
	const char *option; /* the last one */
};

/* Reads what stands before the word that is typed. Returns the argument that it is of
 * ret->option, or NULL. */
static const char *line_read(struct typing *t, const struct verb *v, const char **words, size_t n,
                             struct read_line *ret)
{
	const char *arg = NULL;

	for (size_t i = 0; i < n; i++) {
		const char *word = words[i];
		if (arg) {
			said_take(t->cli, ret->option, word);
			arg = NULL;
		} else if (!ret->plain && strcmp(word, "--") == 0) {
			ret->plain = true;
		} else if (!ret->plain && word[0] == '-' && word[1]) {
			arg = value_wanted(v, word, &ret->option);
			if (strncmp(word, "--server=", 9) == 0)
				said_take(t->cli, "server", word + 9);
			else if (strncmp(word, "--token-file=", 13) == 0)
				said_take(t->cli, "token-file", word + 13);
		} else {
			t->before = word;
			ret->at++;
		}
	}
	return arg;
}

/* `words` follow the command. */
static void command_put(struct typing *t, const struct command *c, const char **words, size_t n)
{
	const char *is = strchr(t->typed, '=');
	struct read_line line = { 0 };
	const char *arg = line_read(t, c->verb, words, n, &line);

	if (!arg && !line.plain && strncmp(t->typed, "--", 2) == 0 && is &&
	    option_arg(c->verb, t->typed + 2, (size_t)(is - t->typed - 2), 0, &line.option, &arg)) {
		t->head = (size_t)(is + 1 - t->typed);
		t->begin = is + 1;
	}
	snprintf(t->command, sizeof t->command, "%.*s", (int)strcspn(c->name, " "), c->name);
	snprintf(t->group, sizeof t->group, "%.*s",
	         (int)(arg ? strlen(line.option) : strcspn(c->name, " ")),
	         arg ? line.option : c->name);
	if (arg)
		choices_put(t, arg);
	else if (!line.plain && t->typed[0] == '-')
		options_put(t, c->verb);
	else
		arguments_put(t, c, line.at);
}

/* `words` are those before the one that is typed. */
static void line_put(struct typing *t, const struct command *all, const char **words, size_t n)
{
	int of_name = 0;
	const struct command *c = command_find(all, (int)n, words, &of_name);

	if (n == 0)
		commands_put(t, all, NULL);
	if (n == 1)
		commands_put(t, all, words[0]);
	if (c)
		command_put(t, c, words + of_name, n - (size_t)of_name);
}

/* --- the shells --- */

/* What of the word bash replaces, and in which quotes. False: a quote within it, whose place bash
 * sees otherwise than we do. */
static bool bash_begins(struct typing *t, const char *last, const char *raw)
{
	size_t n = strlen(last), all = strlen(raw);
	struct buf text;

	if (strspn(last, "=:@") == n || n > all || strcmp(raw + all - n, last) != 0)
		last = ""; /* after the sign at which it splits */
	t->bash = true;
	buf_init(&text);
	t->quote = quote_take(last, &text);
	t->kept = strlen(t->typed) - text.len;
	buf_done(&text);
	return t->quote ? last[0] == t->quote : !strpbrk(last, "'\"");
}

static void over(int sig)
{
	(void)sig;
	_exit(CLI_OK);
}

/* Nothing is asked of the person or said to them, and a server that does not answer is left. */
static void keep_quiet(void)
{
	const struct sigaction act = { .sa_handler = over };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t alarms;

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDERR_FILENO);
	screen_data(stdout);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &act, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(DEADLINE_S);
}

int complete_print(const struct command *all, int argc, char **argv)
{
	bool bash = argc > 0 && strcmp(argv[0], "bash") == 0;
	int first = bash ? 2 : 1;
	struct cli cli = { 0 };
	struct typing t = { .cli = &cli };

	keep_quiet();
	if (argc <= first)
		return CLI_OK;
	size_t n = (size_t)(argc - first);
	struct buf *texts = mem_array(n, sizeof *texts);
	const char **words = mem_array(n, sizeof *words);
	for (size_t i = 0; i < n; i++) {
		buf_init(&texts[i]);
		if (bash)
			(void)quote_take(argv[first + (int)i], &texts[i]);
		else
			buf_puts(&texts[i], argv[first + (int)i]);
		words[i] = buf_str(&texts[i]);
	}
	t.typed = t.begin = words[n - 1];
	if (!bash || bash_begins(&t, argv[1], argv[argc - 1]))
		line_put(&t, all, words, n - 1);
	for (size_t i = 0; i < n; i++)
		buf_done(&texts[i]);
	free(texts);
	free(words);
	return CLI_OK;
}
