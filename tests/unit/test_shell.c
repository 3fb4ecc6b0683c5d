/* sched/shell: the places of values in scripts, as a table, and held against real shells: with
 * every value, what the program sees is the value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sched/shell.h"
#include "util/buf.h"

static const struct {
	const char *script; /* holes are @ */
	const char *places; /* a letter each: see letters */
} table[] = {
	{ "echo @", "b" },
	{ "echo a@b@", "bb" },
	{ "echo \"@ a @\" @", "qqb" },
	{ "echo '@' @", "sb" },
	{ "echo it\\'s @", "b" },
	{ "echo \"it's @\"", "q" },
	{ "echo \"'@'\"", "q" },
	{ "echo \\@ \\\\@", "eb" },
	{ "echo \"\\@ \\\\@ \\\"@\"", "eqq" },
	{ "echo $@ $$@ \"$@\"", "ebe" },
	{ "echo $'@ a' @", "sb" },
	{ "echo $'it\\'s' @", "l" },
	{ "echo $\"@\"", "q" },
	{ "# it's @\necho @", "cb" },
	{ "echo a#@ #@", "bc" },
	{ "echo $(echo @ \"@\") @", "bqb" },
	{ "echo \"$(echo @ \"@\") @\"", "bqq" },
	{ "echo \"$(echo '@') @\"", "sq" },
	{ "echo $(echo ')' @) @", "bb" },
	{ "echo $(echo # )\necho @) @", "bb" },
	{ "echo `echo @` @", "kb" },
	{ "echo \"`echo @` @\"", "kq" },
	{ "echo $((1 + @)) @", "ab" },
	{ "echo $((1 << @)) @", "ab" },
	{ "echo $(( (1) + \"@\" )) @", "ab" },
	{ "((@)); echo @", "ab" },
	{ "for ((i = 0; i < @; i++)); do echo @; done", "ab" },
	{ "echo $[@] @", "ab" },
	{ "echo $[a[1] + @] @", "ab" },
	{ "echo ${x:-@} @", "rb" },
	{ "echo \"${x:-\"@\"} @\" @", "rqb" },
	{ "echo ${x%'}'} @", "b" },
	{ "echo \"${x%'*'}\" @", "l" },
	{ "echo ${x:@} ${a[@]}", "rr" },
	{ "x=@ y=\"@\" z='@' cmd @", "bqsb" },
	{ "a[@]=1", "a" },
	{ "a[\"@\"]=1; a[0]=@", "ab" },
	{ "a=([@]=x @) @", "abb" },
	{ "curl -d \"{\\\"ids\\\": [\\\"@\\\"]}\"", "q" },
	{ "[ @ = \"@\" ]", "bq" },
	{ "[ -v @ ]", "v" },
	{ "[[ @ == \"@\" ]]; echo @", "bqb" },
	{ "[[ @ -eq 1 ]] && echo @", "ab" },
	{ "[[ -f @ && ( \"@\" < @ ) ]]", "bqb" },
	{ "[[ x =~ (a|b)@ ]]", "b" },
	{ "cat <<E\n@\nE\necho @", "hb" },
	{ "cat <<'E'\n@ it's\nE\necho @", "hb" },
	{ "cat <<-E\n\t@\n\tE\necho @", "hb" },
	{ "cat <<E\n@ \\\nE\nE\necho @", "hb" },
	{ "cat <<\"A B\" <<C @\nA B\n@\nC\necho @", "bhb" },
	{ "cat <<@\n", "h" },
	{ "cat <<<@ <<<\"@\"", "bq" },
	{ "echo $(cat <<E\n)@\nE\n) @", "hb" },
	{ "cat > @ 2>&1 < \"@\"", "bq" },
	{ "diff <(echo @) >(echo '@')", "bs" },
	{ "case @ in @) echo @;; \"@\" | b) echo '@';; esac; echo @", "bbbqsb" },
	{ "echo $(case x in a) echo @;; (b) echo ')@';; esac) @", "bsb" },
	{ "case in in in) echo @;; esac; echo '@'", "bs" },
	{ "case x in a) case y in b) echo @;; esac;; c) echo @;; esac) @", "bbl" },
	{ "if true; then case x in a) echo @;; esac; fi; echo @", "bb" },
	{ "f() { case x in a) echo @;; esac; }; f @", "bb" },
	{ "(cd @ && (echo \"@\")) @", "bqb" },
	{ "a | b @ && c @ & d @", "bbb" },
	{ "eval \"echo @\"", "v" },
	{ "x=1 eval @; echo @", "vb" },
	{ "command eval @", "v" },
	{ "let x=@", "v" },
	{ "trap \"rm @\" EXIT", "v" },
	{ "sh -c \"echo @\" @", "vb" },
	{ "sudo /bin/bash -ec 'echo \"$1\"' x @", "b" },
	{ "sudo /bin/bash -ec \"echo @\"", "v" },
	{ "bash @ -c", "b" },
	{ "export x=@ @", "bv" },
	{ "declare -i x=@", "v" },
	{ "read x <<< @", "b" },
	{ "echo eval @", "b" },
	{ "echo a \\\n @", "b" },
	{ "echo 'open @", "s" },
	{ "echo )@", "l" },
	{ "echo *@* {a,@}", "bb" },
};

static const char letters[] = "bqcshkarevl"; /* of enum shell_place */

static size_t holes_of(char *script, size_t holes[])
{
	size_t n = 0;

	for (char *p = script; *p; p++)
		if (*p == '@') {
			holes[n++] = (size_t)(p - script);
			*p = 'x';
		}
	return n;
}

static void every_place_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char *script = strdup(table[i].script), got[20] = "";
		enum shell_place places[20];
		size_t holes[20], n = holes_of(script, holes);

		shell_places(script, strlen(script), holes, n, places);
		for (size_t k = 0; k < n; k++)
			got[k] = letters[places[k]];
		if (strcmp(got, table[i].places) != 0)
			fail_msg("%s: %s, want %s", table[i].script, got, table[i].places);
		free(script);
	}
}

static void a_script_of_another_language_is_told(void **state)
{
	(void)state;
	assert_true(shell_is_script("echo"));
	assert_true(shell_is_script("#!/bin/sh\necho"));
	assert_true(shell_is_script("#! /usr/bin/env -S bash -e\n"));
	assert_false(shell_is_script("#!/usr/bin/python3\n# /bin/sh"));
	assert_false(shell_is_script("#!/usr/bin/env perl"));
	assert_false(shell_is_script("#!"));
}

/* --- real shells ------------------------------------------------------------------------------ */

/* Each prints the value once between < and >, whatever it is. */
static const char *const scripts[] = {
	"printf '<%s>' @",
	"printf '<%s>' \"@\"",
	"x=@; printf '<%s>' \"$x\"",
	"x=\"@\" sh -c 'printf \"<%s>\" \"$x\"'",
	"printf '<%s' @'>'",
	"f() { printf '<%s>' \"$1\"; }; f @",
	"(x=\"$(printf '%s.' @)\"; printf '<%s>' \"${x%.}\")",
	"case @ in \"@\") printf '<%s>' \"@\";; esac",
	"case @ in @) printf '<%s>' @;; *) printf no;; esac",
	"if [ @ = \"@\" ]; then printf '<%s>' @ # @ is '@\nfi",
	"for x in @; do printf '<%s>' \"$x\"; done",
	"{ printf '<'; printf '%s' \"@\"; printf '>'; } | cat",
	"set -- @; printf '<%s>' \"$1\"; [ $# = 1 ] || echo no",
};

/* The script as it is run: what the server writes for each place. */
static void put_script(const char *script, struct buf *out)
{
	char *own = strdup(script);
	enum shell_place places[20];
	size_t holes[20], n = holes_of(own, holes), k = 0;

	shell_places(own, strlen(own), holes, n, places);
	for (size_t i = 0; own[i]; i++) {
		if (k == n || holes[k] != i) {
			buf_putc(out, own[i]);
			continue;
		}
		/* What is refused is left out: it does no harm, and gives nothing. */
		if (shell_place_fits(places[k]))
			buf_puts(out, places[k] == SHELL_BARE ? "\"${V}\"" : "${V}");
		k++;
	}
	free(own);
}

/* What a script prints on `fd`. */
static void run(const char *shell, const char *script, const char *value, int fd, char ret[4096])
{
	int ends[2], status;
	size_t n = 0;
	ssize_t more;

	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char *env[] = { NULL, (char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C.UTF-8",
			        NULL };
		if (asprintf(&env[0], "V=%s", value) < 0 || !freopen("/dev/null", "r", stdin) ||
		    !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr) ||
		    chdir("/") < 0)
			_exit(99);
		dup2(ends[1], fd);
		execle(shell, shell, "-c", script, NULL, env);
		_exit(98);
	}
	close(ends[1]);
	while ((more = read(ends[0], ret + n, 4095 - n)) > 0)
		n += (size_t)more;
	ret[n] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void sees(const char *shell, const char *script, const char *value)
{
	char got[4096], *want;

	run(shell, script, value, STDOUT_FILENO, got);
	assert_true(asprintf(&want, "<%s>", value) > 0);
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s\nprinted %s\nwant    %s", shell, script, got, want);
	free(want);
}

/* On a line of its own: shells name what they did not find. */
static bool says_pwned(const char *shell, const char *script, const char *value)
{
	char got[4096];

	run(shell, script, value, STDERR_FILENO, got);
	return strncmp(got, "PWNED\n", 6) == 0 || strstr(got, "\nPWNED\n");
}

static void random_value(unsigned *seed, struct buf *ret)
{
	static const char *const parts[] = { "'",  "\"", "`",   "$",  "\\", ";",        "&",  "|",
		                             "(",  ")",  "{",   "}",  "[",  "]",        "<",  ">",
		                             "*",  "?",  "#",   "~",  "!",  "=",        "%",  "\n",
		                             "\t", " ",  "-",   "a",  "0",  "\xc3\xa9", "$(", "${",
		                             "$'", ";;", ")\n", "''", "\r" };
	size_t n = (*seed = *seed * 1103515245 + 12345) >> 16 & 7;

	for (buf_clear(ret); n > 0; n--) {
		*seed = *seed * 1103515245 + 12345;
		buf_puts(ret, parts[(*seed >> 16) % (sizeof parts / sizeof *parts)]);
	}
}

static void the_program_sees_the_value(void **state)
{
	static const char *const fixed[] = { "",
		                             "x.csv; echo PWNED",
		                             "$(echo PWNED)",
		                             "`id`",
		                             "a b  c",
		                             "*",
		                             "-n",
		                             "\\",
		                             "'",
		                             "\"",
		                             "\n",
		                             "${HOME}" };
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };
	unsigned seed = 16;

	(void)state;
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
			struct buf script;
			struct buf value;

			if (access(shells[s], X_OK) != 0)
				continue;
			buf_init(&script);
			buf_init(&value);
			put_script(scripts[i], &script);
			for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
				sees(shells[s], buf_str(&script), fixed[k]);
			for (size_t k = 0; k < 25; k++) {
				random_value(&seed, &value);
				sees(shells[s], buf_str(&script), buf_str(&value));
			}
			buf_done(&script);
			buf_done(&value);
		}
}

/* Scripts put together at random, most of them broken: whatever they mean, a value whose place
 * fits runs nothing. */
static void no_value_runs(void **state)
{
	static const char *const parts[] = {
		"echo ", "@",          "\"",    "'",      "@",     "$(",    ")",     " ",
		"`",     "\\",         "$",     "${x:-",  "}",     "((",    "))",    "\n",
		";",     "case a in ", "a)",    ";;",     "esac",  "<<E\n", "\nE\n", "$((",
		"[[ ",   " ]] ",       " -eq ", "x=",     "eval ", "# ",    "(",     "$'",
		"a[",    "]=1",        "@",     "sh -c ", "{ ",    "if ",   "|"
	};
	static const char value[] = "a[$(echo PWNED >&2)]";
	static const char other[] =
		"';echo PWNED >&2;\";echo PWNED >&2;#`echo PWNED >&2`$(echo PWNED >&2)\n"
		"E\necho PWNED >&2\n)";
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };
	unsigned seed = 61;

	(void)state;
	for (size_t i = 0; i < 600; i++) {
		struct buf script, text;

		buf_init(&script);
		buf_init(&text);
		for (size_t k = 0; k < 9; k++) {
			seed = seed * 1103515245 + 12345;
			buf_puts(&text, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
		}
		put_script(buf_str(&text), &script);
		if (strstr(buf_str(&script), "{V}") && access(shells[i % 2], X_OK) == 0 &&
		    (says_pwned(shells[i % 2], buf_str(&script), value) ||
		     says_pwned(shells[i % 2], buf_str(&script), other)))
			fail_msg("%s: %s\nas\n%s", shells[i % 2], buf_str(&text), buf_str(&script));
		buf_done(&script);
		buf_done(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_is_told),
		cmocka_unit_test(a_script_of_another_language_is_told),
		cmocka_unit_test(the_program_sees_the_value),
		cmocka_unit_test(no_value_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
