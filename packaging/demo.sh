#!/bin/sh
# `make demo`, `make stop`: all programs on loopback with SQLite below var/, two workflows over this
# machine's own package index, and three small ones that show what else there is: a failure with its
# cause, a sensor that waits, promises kept and broken, a run by hand (docs/demo). Leaves everything
# running; a second run goes on with what the first one left. PORT, HTTP and VAR change ports and place.
#
#   packaging/demo.sh start | up | stop      up: the programs alone
#
# Exit 0 only if the reports are right: checked against a count of the index made apart.
set -eu
# `make -j` waits until nobody holds its jobserver's pipe: the daemons must not inherit it.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
cd "$(dirname "$0")/.."
root=$(pwd)
B=${B:-build/gcc}
case $B in /*) ;; *) B=$root/$B ;; esac
var=${VAR:-$root/var}
port=${PORT:-7420} http=${HTTP:-7480} patience=${PATIENCE:-150} # seconds for all runs of the packages
url=http://127.0.0.1:$http
SIRDAR=$B/bin/sirdar SIRDAR_TOKEN_FILE=$var/token SIRDAR_URL=$url
export SIRDAR SIRDAR_TOKEN_FILE SIRDAR_URL

say() { printf "%s\n" "$@"; }
die() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# --- daemons: one file var/run/NAME.pid each; a pid counts only while it is that program

alive() {
	pid=$(cat "$var/run/$1.pid" 2>/dev/null) || return 1
	exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || return 1
	case $exe in */"$1" | */"$1 (deleted)") ;; *) return 1 ;; esac
}

wait_for() { # seconds, command...
	tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

port_free() {
	python3 -c 'import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))' "$1" 2>/dev/null
}

launch() { # name, option...
	name=$1
	shift
	"$B/bin/$name" -c "$var/$name.yaml" "$@" >>"$var/log/$name.log" 2>&1 </dev/null &
	echo $! >"$var/run/$name.pid"
}

said() { tail -n +"$3" "$var/log/$1.log" | grep -q "$2"; }

bring_up() { # name, what it says when it is ready, option...
	name=$1 ready=$2
	shift 2
	if alive "$name"; then return 0; fi
	touch "$var/log/$name.log"
	from=$(($(wc -l <"$var/log/$name.log") + 1))
	launch "$name" "$@"
	tries=300
	until said "$name" "$ready" "$from"; do
		tries=$((tries - 1))
		if ! alive "$name" && [ "$tries" -lt 290 ]; then tries=0; fi
		if [ "$tries" -le 0 ]; then
			tail -n +"$from" "$var/log/$name.log" | tail -n 5 >&2
			die "$name did not start; its log is $var/log/$name.log"
		fi
		sleep 0.1
	done
}

write_settings() {
	cat >"$var/baseserver.yaml" <<-END
		listen: ["127.0.0.1:$port"]
		state_dir: $var/baseserver
		log_dir: $var/joblogs
		types_dir: $B/types
		# Nobody else works here, and this machine gives projects no users of their own.
		trust_new_projects: true
	END
	cat >"$var/sirdar-cgi.yaml" <<-END
		listen: "127.0.0.1:$http"
		server: ["127.0.0.1:$port"]
		key_file: $var/cgi.key
		state_dir: $var/cgi
		store: "sqlite:$var/baseserver"
		web_dir: "$root/build/console"
		docs_dir: "$root/build/book"
	END
	cat >"$var/taskbroker.yaml" <<-END
		server: ["127.0.0.1:$port"]
		name: demo-broker
		key_file: $var/demo-broker.key
		state_dir: $var/taskbroker
		runners_dir: $B/runners
		work_dir: $var/jobs
		types: ["shell:4", "noop:8", "python:2", "sql:2", "sensor:2"]
		load_max_percent: 2000
	END
	cat >"$var/sirdar-notifier.yaml" <<-END
		server: ["127.0.0.1:$port"]
		key_file: $var/notifier.key
		state_dir: $var/notifier
		store: "sqlite:$var/baseserver"
		channels_file: $var/channels.yaml
		console_url: "$url"
	END
	# Nobody else has work here: what runs is the demo's own.
	[ "$(id -u)" != 0 ] || echo "jobs_as_root: true" >>"$var/taskbroker.yaml"
	[ -f "$root/build/console/index.html" ] || sed -i 's|^web_dir:.*|web_dir: ""|' "$var/sirdar-cgi.yaml"
}

# --- peers: each has a key of its own, which the server learns over its own socket

admin() { "$B/bin/baseserver" -c "$var/baseserver.yaml" admin "$@" 2>"$var/log/admin.log"; }
admin_failed() { die "$(cat "$var/log/admin.log")"; }

# Wherever an earlier run was cut short: what is there counts, the rest is done anew.
enrol() { # name, kind, program
	name=$1 kind=$2 program=$3
	peers=$(admin list) || admin_failed
	is=$(printf '%s\n' "$peers" | awk -v name="$name" '$1 == name { print $3 $5 }')
	grep -q '^peer ' "$var/$name.key" 2>/dev/null || is="$is without"
	case $is in
	active) return 0 ;;
	revoked*) die "$name was revoked: $SIRDAR peer set $name --state active shows its key and lets it in again" ;;
	*waits)
		admin approve "$name" --yes || admin_failed
		return 0
		;;
	esac
	rm -f "$var/$name.key"
	code=$(admin invite "$name" --kind "$kind") || admin_failed
	key=$("$B/bin/$program" -c "$var/$program.yaml" enrol "$code" 2>"$var/log/admin.log") ||
		admin_failed
	admin approve "$name" --fingerprint "$key" || admin_failed
}

make_token() {
	[ -s "$var/token" ] && "$SIRDAR" status >/dev/null 2>&1 && return 0
	# One of an earlier release, whose cgi drew the password: the server keeps `admin` from now on.
	if [ ! -e "$var/admin" ] && [ -e "$var/cgi/password" ]; then
		admin password admin --from "$var/cgi/password" || admin_failed
		: >"$var/admin"
	fi
	(umask 077 && admin token "demo-$$-$(date +%s)" >"$var/token" && echo "$url" >>"$var/token") || admin_failed
}

broker_ready() { # each type that the workflows name
	types=$("$SIRDAR" broker list | grep demo-broker) || return 1
	for type in shell python sql sensor; do
		case " $types " in *" $type "*) ;; *) return 1 ;; esac
	done
}

start_daemons() {
	for name in baseserver taskbroker taskrunner-loader jobkeeper sirdar-cgi sirdar-notifier sirdar; do
		[ -x "$B/bin/$name" ] || die "$B/bin/$name is not there: make builds it"
	done
	if ! mkdir -p "$var/run" "$var/log" "$var/jobs" 2>/dev/null || [ ! -w "$var/log" ]; then
		die "$var belongs to someone else: remove it, or choose another with VAR="
	fi
	alive baseserver || port_free "$port" ||
		die "port $port is taken by another program; choose with: make demo PORT=$((port + 1000))"
	alive sirdar-cgi || port_free "$http" ||
		die "port $http is taken by another program; choose with: make demo HTTP=$((http + 1000))"
	# One of an earlier release, whose peers had lines of a file of keys.
	if alive baseserver && [ ! -S "$var/baseserver/admin.sock" ]; then stop; fi
	write_settings
	bring_up baseserver 'baseserver\.up'
	enrol cgi face sirdar-cgi
	enrol demo-broker broker taskbroker
	enrol notifier notifier sirdar-notifier
	rm -f "$var/keys" "$var/keys.lock"
	bring_up sirdar-cgi 'cgi\.ready'
	make_token
	wait_for 20 "$SIRDAR" status || die "no answer at $url; logs are in $var/log"
	bring_up taskbroker 'broker\.keeper_up' --with-jobs
	bring_up sirdar-notifier 'notifier\.ready'
	wait_for 20 broker_ready || die "the broker is not ready; logs are in $var/log"
}

stop_one() { # name
	alive "$1" || return 0
	kill -TERM "$pid"
	tries=200
	while alive "$1" && [ "$tries" -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.1
	done
	if alive "$1"; then kill -KILL "$pid"; fi
	rm -f "$var/run/$1.pid"
	say "stopped $1"
}

# --- the workflow

day_of() { date -u -d "$1" +%Y-%m-%d; }

# The index counted apart from the demo's own way: packages, kB.
count_index() {
	lists=$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | sort)
	if [ -n "$lists" ]; then
		# shellcheck disable=SC2086
		for l in $lists; do /usr/lib/apt/apt-helper cat-file "$l"; done |
			awk '/^Package:/ { n++ } /^Installed-Size:/ { kb += $2 } END { printf "%d %.0f\n", n, kb }'
	else
		dpkg-query -W -f '${db:Status-Status} ${Installed-Size}\n' |
			awk '$1 == "installed" { n++; kb += $2 } END { printf "%d %.0f\n", n, kb }'
	fi
}

# 1, 4: nothing is selected, or what was asked for is on its way already.
backfill() { "$SIRDAR" backfill --yes "$@" || case $? in 1 | 4) ;; *) return 1 ;; esac; }

check() { # first, last day: every total is the index's, the week has its seven days
	want=$(count_index)
	day=$1
	while :; do
		got=$(cat "$var/jobs/packages/$day/total" 2>/dev/null) || got="nothing"
		[ "$got" = "$want" ] || die "the report of $day is wrong: '$got', the index says '$want'"
		[ "$day" != "$2" ] || break
		day=$(day_of "$day + 1 day")
	done
	week=$var/jobs/packages/week-$1
	[ "$(grep -c 'packages.*MB' "$week" 2>/dev/null)" = 7 ] || die "the week of $1 is not whole"
	say "checked: every day's total is the index's own, ${want% *} packages and ${want#* } kB"
}

# --- what else there is to see

workday() { # a day, one before or after it: the next working day that way
	day=$(day_of "$1 $2 1 day")
	while [ "$(date -u -d "$day" +%u)" -gt 5 ]; do day=$(day_of "$day $2 1 day"); done
	echo "$day"
}

# Five working days of a shop: the last one's file has not come, the one before has a mistake in it.
lay_orders() {
	mkdir -p "$var/drop"
	waits=$(workday "$(day_of tomorrow)" -)
	wrong=$(workday "$waits" -)
	good=$wrong
	for n in 1 2 3; do
		good=$(workday "$good" -)
		printf 'order,amount\n1,%d.50\n2,7.25\n3,40.00\n' "$((n * 10))" >"$var/drop/orders-$good.csv"
	done
	[ -e "$var/drop/orders-$wrong.csv" ] ||
		printf 'order,amount\n1,20.00\n2,"12,50"\n3,8.75\n' >"$var/drop/orders-$wrong.csv"
}

show_more() {
	lay_orders
	"$SIRDAR" param set "drop=$var/drop" --project demo >/dev/null
	"$SIRDAR" target set demo_shop --kind sqlite --database "$var/shop.db" --project demo >/dev/null
	say "" "applying docs/demo/shop.yaml, morning.yaml and count.yaml"
	"$SIRDAR" check --online docs/demo/shop.yaml docs/demo/morning.yaml docs/demo/count.yaml ||
		die "the workflows have errors"
	"$SIRDAR" apply --yes docs/demo/shop.yaml docs/demo/morning.yaml docs/demo/count.yaml

	say "" "the shop from $good on: $wrong will fail, the file of $waits has not come"
	backfill demo/shop/arrival --task demo/shop/clean --task demo/shop/book --task demo/shop/takings \
		--from "$good" --to "$waits"
	"$SIRDAR" run wait demo/shop "$good..$(workday "$wrong" -)" >/dev/null || die "the shop's good days did not go well"
	if grep -q '12,50' "$var/drop/orders-$wrong.csv" && "$SIRDAR" run wait demo/shop "$wrong" >/dev/null 2>&1; then
		die "$wrong went well, which has a mistake in it"
	fi
	backfill demo/morning/figures "$(day_of today)" --task demo/morning/letter
	"$SIRDAR" run wait demo/morning "$(day_of today)" >/dev/null || die "the morning did not go well"

	say "" "a run by hand: sirdar run start demo/count --param section=net --wait"
	"$SIRDAR" run start demo/count --param section=net --wait
	say "" "why the shop stands:"
	"$SIRDAR" why demo/shop
	say "" "what was promised for today:"
	"$SIRDAR" baselines
	say "" "what failed, by cause; and what was told:"
	"$SIRDAR" failures --project demo
	wait_for 20 told_of_it || die "nobody was told of the failure: see $var/log/sirdar-notifier.log"
	tail -n 1 "$var/notifier/files/told.jsonl"
}

told_of_it() { grep -q 'demo/shop/clean' "$var/notifier/files/told.jsonl"; }

start() {
	say "starting the programs, with SQLite, below $var"
	start_daemons
	# A Monday, so that the last whole week is in it; two weeks back at most. A day counts as
	# over when all its tasks have come due.
	today=$(day_of '20 minutes ago') hour=$(date -u -d '20 minutes ago' +%H)
	yesterday=$(day_of "$today - 1 day")
	first=$(day_of "$yesterday - $(($(date -u +%u -d "$yesterday") % 7 + 6)) days")

	say "" "applying docs/demo/packages.yaml and weekly.yaml"
	"$SIRDAR" check docs/demo/packages.yaml docs/demo/weekly.yaml || die "the workflows have errors"
	"$SIRDAR" apply --yes docs/demo/packages.yaml docs/demo/weekly.yaml

	say "" "whoever watches is told: by the console's bell, and in $var/notifier/files/told.jsonl"
	"$SIRDAR" channel set told --kind file >/dev/null
	"$SIRDAR" rule set demo --when failed --when late --to bell:console --to file:told --project demo >/dev/null

	say "" "backfilling $first to $yesterday"
	w=demo/packages
	# Each report waits for the day before; before the first one there is none.
	"$SIRDAR" force-success --yes "$w/report" "$(day_of "$first - 1 day")" >/dev/null 2>&1 || :
	backfill "$w/snapshot" --task "$w/extract_libs" --task "$w/extract_code" \
		--task "$w/extract_system" --task "$w/extract_other" --task "$w/rollup" \
		--task "$w/report" --from "$first" --to "$yesterday 23:59:59"
	days=$((($(date -u -d "$today" +%s) - $(date -u -d "$first" +%s)) / 86400))
	python3 docs/demo/show.py wait $((days * 99)) "$patience" "${first}T00:00:00Z" ||
		die "some runs did not succeed; logs are in $var/log"
	# A command of its own: links pass over dates before the begin of another workflow, so the week
	# does not wait for its days by itself.
	backfill demo/weekly/summary "$first" --dependencies all
	python3 docs/demo/show.py wait $((days * 99 + 1)) "$patience" "${first}T00:00:00Z" ||
		die "some runs did not succeed; logs are in $var/log"
	# Today so far: the rest comes as its hours end.
	if [ "$hour" -gt 0 ]; then
		backfill "$w/snapshot" --task "$w/extract_libs" --task "$w/extract_code" \
			--task "$w/extract_system" --task "$w/extract_other" \
			--from "$today" --to "$(date -u -d "$today $hour:00 UTC - 1 minute" '+%Y-%m-%d %H:%M')"
	fi

	say ""
	"$SIRDAR" logs demo/packages/report "$yesterday"
	say ""
	"$SIRDAR" logs demo/weekly/summary "$first"
	say "" "The runs in time:"
	python3 docs/demo/show.py timeline "${first}T00:00:00Z"
	say ""
	check "$first" "$yesterday"
	show_more
	farewell
}

farewell() {
	say "" "All is running. In the browser: $url"
	if [ -e "$var/baseserver/first-password" ]; then
		say "  log in as admin; the password stands in $var/baseserver/first-password:" "  $(cat "$var/baseserver/first-password")"
	fi
	say "On the command line:" \
		"  export SIRDAR_TOKEN_FILE=$var/token PATH=\"$B/bin:\$PATH\"" \
		"  sirdar run list --watch; sirdar why demo/packages/rollup $(day_of today); sirdar --help" \
		"Mend the shop: correct 12,50 in $var/drop/orders-$wrong.csv, then" \
		"  sirdar redo demo/shop/clean $wrong --wait" \
		"Let the last day come: cp $var/drop/orders-$good.csv $var/drop/orders-$waits.csv" \
		"make stop ends it."
}

stop() {
	for name in taskbroker sirdar-notifier sirdar-cgi baseserver; do stop_one "$name"; done
}

case ${1:-} in
start) start ;;
up) start_daemons ;;
stop) stop ;;
*)
	echo "usage: packaging/demo.sh start | up | stop" >&2
	exit 64
	;;
esac
