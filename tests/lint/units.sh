#!/bin/bash
# Hardening of the service units: exposure at most 2.0 for server, cgi and notifier, 4.5 for broker and jobkeeper (S22);
# the broker's jobs survive its stop.
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0 bad=0
units=(packaging/systemd/*.service)
if ! systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
	n=1 units=()
	echo "ok 1 - exposure of the units # SKIP no systemd-analyze with --offline (package systemd): nothing measured it"
fi
for unit in "${units[@]}"; do
	name=$(basename "$unit")
	sed 's|@prefix@|/usr|g' "$unit" >"$folder/$name"
	most=20
	case $name in sirdar-taskbroker.service | sirdar-jobkeeper.service) most=45 ;; esac
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
n=$((n + 1))
rights='CAP_SETUID CAP_SETGID CAP_KILL'
if grep -qx "AmbientCapabilities=$rights" packaging/systemd/sirdar-jobkeeper.service &&
	grep -qx "CapabilityBoundingSet=$rights" packaging/systemd/sirdar-jobkeeper.service &&
	! grep -E '^User=root|^(Ambient|CapabilityB)[A-Za-z]*=.*CAP_' packaging/systemd/*.service | grep -v 'jobkeeper.*=CAP_SETUID CAP_SETGID CAP_KILL$'; then
	echo "ok $n - no service is root; the launcher's three capabilities are all there are"
else
	echo "not ok $n - no service is root; the launcher's three capabilities are all there are"
	bad=1
fi
n=$((n + 1))
all=(packaging/systemd/*.service)
users=$(sed -n 's/^User=//p' "${all[@]}" | sort)
becomes=$(sed -n 's/^ExecStart=.* --user=\([a-z-]*\) .*/\1/p' "${all[@]}")
made=$(sed -n 's/^u  *\([a-z-]*\) .*/\1/p' packaging/sysusers.d/sirdar.conf | grep -vx "$becomes" | sort)
if [ "$users" = "$made" ] && [ "$(echo "$users" | uniq | wc -l)" -eq "${#all[@]}" ]; then
	echo "ok $n - each service is a user of its own, which sysusers.d makes"
else
	printf '# users of services, users made:\n%s\n%s\n' "$users" "$made" | tr '\n' ' '
	echo
	echo "not ok $n - each service is a user of its own, which sysusers.d makes"
	bad=1
fi
n=$((n + 1))
if ! grep -n '^RestrictNamespaces=' packaging/systemd/sirdar-{taskbroker,jobkeeper}.service &&
	! grep -ln '^ReadWritePaths=.*baseserver' packaging/systemd/sirdar-cgi.service packaging/systemd/sirdar-notifier.service; then
	echo "ok $n - jobs may make namespaces; who reads the store may not write it"
else
	echo "not ok $n - jobs may make namespaces; who reads the store may not write it"
	bad=1
fi
echo "1..$n"
[ $bad -eq 0 ]
