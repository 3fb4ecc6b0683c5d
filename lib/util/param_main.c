/* The command line that all daemons share: --config, --set, --print-config, --check-config,
 * --version, --help, then what is left. Later wins: default, file, --set. It prints what people
 * asked for and answers whether the daemon is to go on. */
#include "util/check.h"
#include "util/param.h"

#include "util/alloc.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

struct wish {
	bool print, check;
};

static void param_main_usage(const char *program, const char *synopsis, FILE *out)
{
	fprintf(out,
	        "usage: %s [options]%s%s\n"
	        "  -c, --config FILE   read settings from FILE (YAML)\n"
	        "  --set NAME=VALUE    one setting; may be repeated, wins over the file\n"
	        "  --print-config      show every setting with its unit, range and default\n"
	        "  --check-config      say whether the settings are good, then end\n"
	        "  --version           show the version\n"
	        "  --help              show this\n",
	        program, synopsis ? " " : "", synopsis ? synopsis : "");
}

/* Is argv[*at] this option, as `--name VALUE` or `--name=VALUE`? Then *at is its last word. */
static bool is_option(const char *name, char **argv, int argc, int *at, const char **ret_value)
{
	size_t n = strlen(name);

	if (strncmp(argv[*at], name, n) != 0)
		return false;
	if (argv[*at][n] == '=' && n > 2)
		*ret_value = argv[*at] + n + 1;
	else if (argv[*at][n] == 0 && *at + 1 < argc)
		*ret_value = argv[++*at];
	else
		return false;
	return true;
}

enum step { STEP_NEXT, STEP_REST, STEP_END, STEP_WRONG };

static enum step read_flag(const char *program, const char *word, const char *synopsis,
                           struct wish *wish)
{
	if (strcmp(word, "--print-config") == 0)
		wish->print = true;
	else if (strcmp(word, "--check-config") == 0)
		wish->check = true;
	else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return param_main_usage(program, synopsis, stdout), STEP_END;
	else if (strcmp(word, "--version") == 0)
		return printf("%s %s\n", program, SIRDAR_VERSION), STEP_END;
	else if (word[0] == '-' && word[1])
		return STEP_WRONG;
	else
		return STEP_REST;
	return STEP_NEXT;
}

static enum step read_word(const char *program, struct param_args *a,
                           const struct param_words *words, int *at, struct wish *wish)
{
	char **argv = words->argv;
	int argc = words->argc;
	const char *v;

	if (is_option("--config", argv, argc, at, &v) || is_option("-c", argv, argc, at, &v))
		a->config = v;
	else if (is_option("--set", argv, argc, at, &v)) {
		a->sets = mem_grow(a->sets, a->sets_n + 1, sizeof *a->sets);
		a->sets[a->sets_n++] = v;
	} else
		return read_flag(program, argv[*at], words->synopsis, wish);
	return STEP_NEXT;
}

static int load_all(const struct param_table *t, void *p, const struct param_args *a,
                    struct err *err)
{
	int r = a->config ? param_load(t, p, a->config, err) : 0;

	for (size_t i = 0; r == 0 && i < a->sets_n; i++)
		r = param_set(t, p, a->sets[i], err);
	return r;
}

int param_again(const struct param_table *t, void *fresh, const struct param_args *a,
                struct err *err)
{
	param_init(t, fresh);
	int r = load_all(t, fresh, a, err);
	if (r == 0)
		r = param_check(t, fresh, err);
	if (r < 0)
		param_done(t, fresh);
	return r;
}

bool param_main(const struct param_table *t, void *p, const struct param_words *words,
                struct param_args *ret_args, int *ret_exit)
{
	char **argv = words->argv;
	int argc = words->argc;
	const char *slash = strrchr(argv[0], '/'); /* two programs share one table */
	const char *program = slash ? slash + 1 : argv[0];
	struct wish wish = { false, false };
	struct err err = { 0 };
	int at = 1;

	*ret_args = (struct param_args){ 0 };
	*ret_exit = EX_OK;
	param_init(t, p);
	for (; at < argc; at++) {
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		enum step s = read_word(program, ret_args, words, &at, &wish);
		if (s == STEP_REST)
			break;
		if (s == STEP_END)
			return false;
		if (s == STEP_WRONG) {
			fprintf(stderr, "%s: what is %s?\n", program, argv[at]);
			param_main_usage(program, words->synopsis, stderr);
			*ret_exit = EX_USAGE;
			return false;
		}
	}
	CHECK(at <= argc || argc == 0);
	ret_args->rest = argv + at;

	int r = load_all(t, p, ret_args, &err);
	if (r == 0 && wish.print)
		return param_print(t, p, stdout), false;
	if (r == 0)
		r = param_check(t, p, &err);
	if (r == 0 && wish.check && words->judge)
		r = words->judge(p, &err);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		*ret_exit = EX_CONFIG;
		return false;
	}
	if (wish.check)
		printf("%s: the settings are good\n", program);
	return !wish.check;
}

void param_args_done(struct param_args *a)
{
	free(a->sets);
	*a = (struct param_args){ 0 };
}
