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
	{ "a=([@]=x @) @", "abn" },
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
	{ "(cd @ && (echo \"@\")); echo @", "bqb" },
	{ "a | b @ && c @ & d @", "bbb" },
	{ "eval \"echo @\"", "v" },
	{ "x=1 eval @; echo @", "vb" },
	{ "command eval @", "v" },
	{ "let x=@", "v" },
	{ "trap \"rm @\" EXIT", "v" },
	{ "sh -c \"echo @\" @", "vb" },
	{ "sudo /bin/bash -ec 'echo \"$1\"' x @", "b" },
	{ "sudo /bin/bash -ec \"echo @\"", "v" },
	{ "bash @ -c", "v" },
	{ "@", "n" },
	{ "@ @", "nb" },
	{ "x=@ @", "bn" },
	{ "exec @", "n" },
	{ "exec -a x @ @", "nb" },
	{ "command @", "n" },
	{ "\"@\" x", "n" },
	{ "e@ x", "n" },
	{ "/opt/@/run", "n" },
	{ "./run-@.sh", "n" },
	{ "if @; then :; fi", "n" },
	{ "a | @", "n" },
	{ "! @", "n" },
	{ "$(echo @) x", "n" },
	{ "\"$(echo @)\" x", "n" },
	{ "x=$(echo @); echo $(echo @)", "bb" },
	{ "(@)", "n" },
	{ "f() { @; }", "n" },
	{ "case x in a) @;; esac", "n" },
	{ "\\eval @", "v" },
	{ "e\"va\"l @", "v" },
	{ "'ev'al @", "v" },
	{ "\"eval\" @", "v" },
	{ "'sh' -c @", "v" },
	{ "s\\h -c @", "v" },
	{ "S=sh; $S -c @", "v" },
	{ "\"$S\" -ec @", "v" },
	{ "$S x @", "b" },
	{ "sh -c $x @", "v" },
	{ "sh -c \"$x\" @", "b" },
	{ "$JAVA_HOME/bin/java -jar x @", "b" },
	{ "\"$HOME/bin/sh\" -c @", "v" },
	{ "env @ bash", "n" },
	{ "env A=@ bash -c 'x' y @", "bb" },
	{ "env -u X A=1 @", "n" },
	{ "env BASH -c @", "b" },
	{ "nice -n 10 nohup sh -c @", "v" },
	{ "nice -n @ timeout @ sleep @", "bbb" },
	{ "timeout -k 5 10 bash -c \"@\" x", "v" },
	{ "sudo -u @ -- sh -c @", "bv" },
	{ "sudo -u etl @", "n" },
	{ "xargs -0 -n 1 sh -c @", "v" },
	{ "xargs @", "n" },
	{ "time @", "n" },
	{ "flock /x -c @", "v" },
	{ "flock /x cat @", "b" },
	{ "docker exec -it x sh -c @", "v" },
	{ "docker exec -it x sh -c 'y' @", "b" },
	{ "ssh host \"rm @\"", "v" },
	{ "ssh host ls @", "v" },
	{ "ssh -p 22 -i @ u.@ ls", "bb" },
	{ "ssh @ ls", "v" },
	{ "ssh -- @ ls", "b" },
	{ "ssh -p @ host", "b" },
	{ "watch -n 1 ls @", "v" },
	{ "su -c @ x", "v" },
	{ "su x -c \"ls @\"", "v" },
	{ "su @ -c 'x'", "b" },
	{ "awk '{print}' @", "b" },
	{ "awk -v x=@ -v \"y=@\" -F@ '{print x}' @", "bqbb" },
	{ "awk \"/@/\" f", "v" },
	{ "awk -f x.awk @", "b" },
	{ "sed \"s/x/@/\" f", "v" },
	{ "sed -i -e \"s/x/@/\" f", "v" },
	{ "sed -ne \"@\" f", "v" },
	{ "sed 's/a/b/' @", "b" },
	{ "sed -n -e 's/a/b/' @", "b" },
	{ "sed --sandbox -i \"s/x/@/\" @", "qb" },
	{ "perl -e @", "v" },
	{ "perl -ne 'x' @", "b" },
	{ "perl -MTime::Local -le @", "v" },
	{ "perl -e'print' @", "b" },
	{ "perl \"-e@\"", "v" },
	{ "perl x.pl @", "b" },
	{ "python3 -c \"print(@)\"", "v" },
	{ "python3.11 -c @", "v" },
	{ "python3 -c 'x' @", "b" },
	{ "python3 -u -W ignore x.py @", "b" },
	{ "python3 -m json.tool @", "b" },
	{ "python3 @", "v" },
	{ "python3 jobs/@.py @", "bb" },
	{ "python3 \"$DIR/@.py\"", "q" },
	{ "python3 - @", "b" },
	{ "python3 -- @", "b" },
	{ "bash -- @/x.sh @", "bb" },
	{ "command -v @ && command @", "bn" },
	{ "bash -euo pipefail x.sh @", "b" },
	{ "bash --login -c @", "v" },
	{ "bash -s -- @ < x", "b" },
	{ "/bin/bash @", "v" },
	{ "node --eval @", "v" },
	{ "node x.js @", "b" },
	{ ". @", "v" },
	{ "source ./@.env", "b" },
	{ "find @ -name @ -exec rm {} \\;", "bb" },
	{ "find . -exec @ {} \\;", "n" },
	{ "find . -exec sh -c @ \\;", "v" },
	{ "find . -exec cat {} + -name @", "b" },
	{ "echo @ | sh", "p" },
	{ "echo @ | sh -c 'cat'", "b" },
	{ "echo @ | bash x.sh", "b" },
	{ "echo @ | bash -s x", "p" },
	{ "echo @ | cat | sudo bash", "p" },
	{ "echo @ | cat\necho @ | sh", "bp" },
	{ "echo @ |\n sh", "p" },
	{ "echo @ |& sh", "p" },
	{ "echo @ || sh", "b" },
	{ "echo @; sh", "b" },
	{ "echo @ && ls | sh", "b" },
	{ "echo a | sh; echo @", "b" },
	{ "(echo @) | sh", "p" },
	{ "{ echo @; echo a; } | sh", "p" },
	{ "for x in @; do echo $x; done | sh", "p" },
	{ "if true; then echo @; fi | sh", "p" },
	{ "{ echo @; } | cat; echo @", "bb" },
	{ "echo @ | (sh)", "p" },
	{ "echo @ | { sh; }", "p" },
	{ "x=$(echo @ | sh)", "p" },
	{ "echo @ | xargs sh -c 'x'", "p" },
	{ "echo @ | xargs sh -c", "p" },
	{ "echo @ | xargs rm --", "b" },
	{ "echo @ | ssh host", "p" },
	{ "echo @ | ssh host 'cat > x'", "b" },
	{ "echo @ | sudo -s", "p" },
	{ "echo @ | su x", "p" },
	{ "echo @ | python3", "p" },
	{ "echo @ | python3 -", "p" },
	{ "echo @ | python3 x.py", "b" },
	{ "echo @ | at now", "p" },
	{ "bash <<< @", "p" },
	{ "<<< @x\"@\" bash -s @ < y@@", "bqbpp" },
	{ "<<< a@@ xargs sh -c x", "pp" },
	{ "bash <<< \"x @\"", "p" },
	{ "sh < @", "p" },
	{ "<<< @ sh", "p" },
	{ "sh x.sh <<< @", "b" },
	{ "read x <<< @", "b" },
	{ "bash <(echo @)", "v" },
	{ "diff <(echo @) x", "b" },
	{ "sh -c \"$(echo @)\"", "v" },
	{ "echo $(($(echo @)))", "a" },
	{ "eval \"$(echo @)\"", "v" },
	{ "mysql -e @", "b" },
	{ "grep -e @ -c @", "bb" },
	{ "tar -c @", "b" },
	{ "for x in @; do sh -c 'x' $x; done", "b" },
	{ "spark-submit --conf a=@ x.py @", "bb" },
	{ "export x=@ @", "bv" },
	{ "declare -i x=@", "v" },
	{ "read x <<< @", "b" },
	{ "echo eval @", "b" },
	{ "echo a \\\n @", "b" },
	{ "echo 'open @", "s" },
	{ "echo )@", "l" },
	{ "echo *@* {a,@}", "bb" },
};

static const char letters[] = "bqcshkarevnpl"; /* of enum shell_place */

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
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		char *script = strdup(table[i].script), got[20] = "";
		enum shell_place places[20];
		size_t holes[20], n = holes_of(script, holes);

		shell_places(script, strlen(script), holes, n, places);
		for (size_t k = 0; k < n; k++)
			got[k] = letters[places[k]];
		if (strcmp(got, table[i].places) != 0)
			print_error("%s: %s, want %s\n", table[i].script, got, table[i].places);
		wrong += strcmp(got, table[i].places) != 0;
		free(script);
	}
	assert_int_equal(wrong, 0);
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
		/* What is refused gives a word that does no harm: words do not move. */
		if (shell_place_fits(places[k]))
			buf_puts(out, places[k] == SHELL_BARE ? "\"${V}\"" : "${V}");
		else
			buf_putc(out, 'x');
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
	static const char *const parts[] = { "echo ",       "@",
		                             "\"",          "'",
		                             "@",           "$(",
		                             ")",           " ",
		                             "`",           "\\",
		                             "$",           "${x:-",
		                             "}",           "((",
		                             "))",          "\n",
		                             ";",           "case a in ",
		                             "a)",          ";;",
		                             "esac",        "<<E\n",
		                             "\nE\n",       "$((",
		                             "[[ ",         " ]] ",
		                             " -eq ",       "x=",
		                             "eval ",       "# ",
		                             "(",           "$'",
		                             "a[",          "]=1",
		                             "@",           "sh -c ",
		                             "{ ",          "if ",
		                             "|",           "| sh",
		                             "exec ",       "env ",
		                             "\\eval ",     "<<< ",
		                             "e\"va\"l ",   "xargs sh -c ",
		                             "\n@",         "; @",
		                             "| (sh)",      "nice ",
		                             "; }",         "bash ",
		                             "awk ",        "find . -exec ",
		                             "S=sh;$S -c ", "; fi",
		                             "perl -e " };
	static const char value[] = "a[$(echo PWNED >&2)]";
	static const char other[] =
		"';echo PWNED >&2;\";echo PWNED >&2;#`echo PWNED >&2`$(echo PWNED >&2)\n"
		"E\necho PWNED >&2\n)";
	static const char code[] = "echo PWNED >&2";
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };
	unsigned seed = 61;

	(void)state;
	for (size_t i = 0; i < 1200; i++) {
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
		     says_pwned(shells[i % 2], buf_str(&script), other) ||
		     says_pwned(shells[i % 2], buf_str(&script), code)))
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
