/* settings.c — prints docs/settings.md from the settings tables. */
#include "util/param.h"

int main(void)
{
	fputs("# Settings\n\n"
	      "Made from `schema/tbl/param_*.def` by `make docs/settings.md`; do not edit.\n\n"
	      "A daemon reads one YAML file (`-c FILE`), one `name: value` a setting; `--set "
	      "name=value`\n"
	      "wins over it. `--print-config` shows all of this with the values in force, and its "
	      "output\n"
	      "is a settings file again. `--check-config` says whether a file is good. A wrong "
	      "value is\n"
	      "answered with its place, unit and range:\n\n"
	      "    lose_ms is '5', want 100..86400000 ms (sirdar.yaml:7:10)\n\n"
	      "*reload*: SIGHUP takes the new value over. *restart*: the daemon says so and keeps "
	      "the old\n"
	      "one. Durations are numbers of milliseconds or `500ms 90s 5m 2h30m 1d 1w`; sizes are "
	      "bytes or\n"
	      "`64K 10MiB 1G`.\n",
	      stdout);
	param_manual(&param_baseserver_table, stdout);
	param_manual(&param_taskbroker_table, stdout);
	param_manual(&param_cgi_table, stdout);
	param_manual(&param_notifier_table, stdout);
	return 0;
}
