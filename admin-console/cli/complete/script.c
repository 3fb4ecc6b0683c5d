/* sirdar completion: the shells' scripts. Each asks `sirdar __complete` and offers what it prints;
 * a line that begins with a tab says to go on with files. Nothing that is printed is evaluated:
 * zsh and fish quote what they insert, for bash the lines are quoted already (quote.c). */
#include "admin-console/cli/complete/complete.h"

#include <stdio.h>
#include <string.h>

#include "util/screen.h"

/* bash splits words at = and : too: they are put together again by the blanks of the line. */
static const char bash_script[] =
	"# bash completion of sirdar; made by `sirdar completion bash`\n"
	"_sirdar()\n"
	"{\n"
	"\tlocal line=${COMP_LINE:0:${COMP_POINT:-0}} words=() part='' i rest reply\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\tpart=${COMP_WORDS[i]}\n"
	"\t\trest=${line#\"${line%%[![:blank:]]*}\"}\n"
	"\t\tif ((i == 0)) || [[ -z ${COMP_LINE-} || $rest != \"$line\" ]]; then\n"
	"\t\t\twords+=('')\n"
	"\t\tfi\n"
	"\t\tif [[ -n ${COMP_LINE-} ]]; then\n"
	"\t\t\tpart=${part:0:${#rest}}\n"
	"\t\t\tline=${rest:${#part}}\n"
	"\t\tfi\n"
	"\t\twords[${#words[@]}-1]+=$part\n"
	"\tdone\n"
	"\twhile IFS= read -r reply; do\n"
	"\t\tif [[ $reply == $'\\t'* ]]; then\n"
	"\t\t\tcompopt -o default 2>/dev/null\n"
	"\t\telse\n"
	"\t\t\tCOMPREPLY+=(\"$reply\")\n"
	"\t\tfi\n"
	"\tdone < <(command sirdar __complete bash \"$part\" \"${words[@]:1}\" 2>/dev/null "
	"</dev/null)\n"
	"}\n"
	"complete -o nosort -F _sirdar sirdar\n";

static const char zsh_script[] =
	"#compdef sirdar\n"
	"# zsh completion of sirdar; made by `sirdar completion zsh`\n"
	"_sirdar()\n"
	"{\n"
	"\tlocal line tab=$'\\t'\n"
	"\tlocal -a names shown\n"
	"\tfor line in \"${(@f)$(command sirdar __complete zsh \"${(@Q)words[2,CURRENT-1]}\" \\\n"
	"\t    \"${(Q)PREFIX}\" 2>/dev/null </dev/null)}\"; do\n"
	"\t\tif [[ $line == $tab* ]]; then\n"
	"\t\t\t[[ $PREFIX == --*=* ]] && compset -P '*='\n"
	"\t\t\t_files\n"
	"\t\telif [[ -n $line ]]; then\n"
	"\t\t\tnames+=(\"${line%%$tab*}\")\n"
	"\t\t\tshown+=(\"${line/$tab/  }\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t(( $#names )) && compadd -V sirdar -l -d shown -a -- names\n"
	"}\n"
	"if [[ $funcstack[1] == _sirdar ]]; then\n"
	"\t_sirdar \"$@\"\n"
	"else\n"
	"\tcompdef _sirdar sirdar\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion of sirdar; made by `sirdar completion fish`\n"
	"function __sirdar_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -e words[1]\n"
	"\tset -l typed (string unescape -- (commandline -ct))\n"
	"\tfor line in (command sirdar __complete fish $words \"$typed\" 2>/dev/null </dev/null)\n"
	"\t\tif string match -q -- \\t'*' $line\n"
	"\t\t\t__fish_complete_path (commandline -ct)\n"
	"\t\telse\n"
	"\t\t\tprintf '%s\\n' $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c sirdar -f -k -a '(__sirdar_complete)'\n";

static int script_print(struct asked *q)
{
	const char *shell = word(q, 0);

	screen_data(stdout);
	if (strcmp(shell, "bash") == 0)
		fputs(bash_script, stdout);
	else if (strcmp(shell, "zsh") == 0)
		fputs(zsh_script, stdout);
	else if (strcmp(shell, "fish") == 0)
		fputs(fish_script, stdout);
	else
		return cli_fail(CLI_USAGE, "'%s' is no shell that it knows: bash, zsh or fish",
		                shell);
	return CLI_OK;
}

const struct verb verb_completion = { script_print, NULL, 1, 1, .check = check_no_json };
