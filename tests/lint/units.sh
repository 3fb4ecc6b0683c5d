#!/bin/bash
# Hardening of the service units: exposure at most 2.0 for server and cgi, 4.5 for the broker (S22);
# the broker's jobs survive its stop.
cd "$(dirname "$0")/../.." || exit 1
command -v systemd-analyze >/dev/null || { echo "ok 1 - systemd-analyze # SKIP not installed"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0 bad=0
for unit in packaging/systemd/*.service; do
	name=$(basename "$unit")
	sed 's|@prefix@|/usr|g' "$unit" >"$folder/$name"
	most=20
	[ "$name" != sirdar-taskbroker.service ] || most=45
	said=$(systemd-analyze security --offline=true --threshold=$most "$folder/$name" 2>&1)
	code=$?
	level=$(printf '%s\n' "$said" | sed -n 's/.*exposure level.*: \([0-9.]*\).*/\1/p')
	n=$((n + 1))
	if [ $code -eq 0 ] && [ -n "$level" ]; then
		echo "ok $n - $name: exposure $level, at most $((most / 10)).$((most % 10))"
	else
		printf '%s\n' "$said" | tail -n 5 | sed 's/^/# /'
		echo "not ok $n - $name: exposure '$level', at most $((most / 10)).$((most % 10))"
		bad=1
	fi
done
n=$((n + 1))
for line in Delegate=yes KillMode=process OOMPolicy=continue; do
	grep -qx "$line" packaging/systemd/sirdar-taskbroker.service || { echo "# $line misses"; lost=1; }
done
if [ -z "$lost" ]; then
	echo "ok $n - jobs survive their broker"
else
	echo "not ok $n - jobs survive their broker"
	bad=1
fi
echo "1..$n"
[ $bad -eq 0 ]
