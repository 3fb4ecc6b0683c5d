#!/bin/bash
# What `make install` puts where, and that a plugin can be built from it alone.
cd "$(dirname "$0")/../.." || exit 1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
n=0 bad=0
check() { # name, then a command
	local name=$1
	shift
	n=$((n + 1))
	if said=$("$@" 2>&1); then
		echo "ok $n - $name"
	else
		printf '%s\n' "$said" | tail -n 20 | sed 's/^/# /'
		echo "not ok $n - $name"
		bad=1
	fi
}
tree_has() {
	local file code=0
	for file in "$@"; do [ -f "$root/$file" ] || { echo "$file misses"; code=1; }; done
	return $code
}
nothing_else() { # all is below the prefix
	! find "$root" -type f -not -path "$root/opt/x/*" | grep .
}
no_places() { # a unit or pkg-config file with a placeholder left, or that names the staging folder
	! grep -rlE "@[a-z]+@|$root" "$root/opt/x/lib/systemd" "$root/opt/x/lib/pkgconfig"
}
programs_there() {
	local p code=0
	for p in baseserver taskbroker taskrunner-loader jobkeeper sirdar-cgi sirdar; do
		[ ! -x "${B:-build/gcc}/bin/$p" ] || [ -x "$root/opt/x/bin/$p" ] || { echo "$p misses"; code=1; }
	done
	return $code
}
documented() { # each installed program has a man page, and answers --help
	local f name code=0
	for f in "$root"/opt/x/bin/*; do
		name=$(basename "$f")
		[ -f "$root/opt/x/share/man/man1/$name.1" ] || [ -f "$root/opt/x/share/man/man8/$name.8" ] ||
			{ echo "$name has no man page"; code=1; }
		"$f" --help </dev/null 2>&1 | grep -qi usage || { echo "$name --help does not tell its usage"; code=1; }
		"$f" --help </dev/null >/dev/null 2>&1 || { echo "$name --help ends with $?"; code=1; }
	done
	return $code
}
sdk_there() { # all that the repository has of it, and nothing that a build left there
	local folder=$root/opt/x/share/sirdar/sdk
	diff <(git ls-files plugins-sdk | sed 's|^plugins-sdk/||' | grep -E '^(README|ABI|FOREIGN)\.md$|^(template|template-cpp|python|php|java|go)/' | sort) \
		<(cd "$folder" && find . -type f | sed 's|^\./||' | sort)
}
sdk_works() { # the template in C, copied, against the installed contract; the Python package from where it lies
	local sdk=$root/opt/x/share/sirdar/sdk
	cp -R "$sdk/template" "$root/mine" &&
		PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/opt/x/lib/pkgconfig make -s -C "$root/mine" &&
		ls "$root"/mine/*.so && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$sdk/python python3 -c 'import sirdar_runner'
}
builds_plugin() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/opt/x/lib/pkgconfig \
		pkg-config --cflags sirdar-sdk) || return 1
	printf '#include <sirdar/runner.h>\n' >"$root/p.c"
	# shellcheck disable=SC2086
	gcc -std=c99 -Wall -Wextra -Werror $flags -fPIC -shared -o "$root/p.so" "$root/p.c"
}
hardened() { # S21: position independent, relocations read-only and bound at start, stack not executable
	local f code=0 said
	for f in "$root"/opt/x/bin/* "$root"/opt/x/lib/sirdar/runners/*.so; do
		[ -f "$f" ] || continue
		said=$(readelf -hldW "$f")
		grep -qE 'Type: +DYN' <<<"$said" || { echo "$f is not PIE"; code=1; }
		grep -q GNU_RELRO <<<"$said" || { echo "$f has no RELRO"; code=1; }
		grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$said" || { echo "$f binds late"; code=1; }
		grep -qE 'GNU_STACK.*RWE' <<<"$said" && { echo "$f has an executable stack"; code=1; }
		grep -qE 'RPATH|RUNPATH' <<<"$said" && { echo "$f has a RUNPATH"; code=1; }
	done
	return $code
}
exposure() { # unit, at most, in tenths
	local said
	said=$(systemd-analyze security --offline=yes "$root/opt/x/lib/systemd/system/sirdar-$1.service" 2>&1 | tail -n 1)
	echo "$said"
	[[ $said =~ ([0-9]+)\.([0-9]) ]] && [ $((BASH_REMATCH[1] * 10 + BASH_REMATCH[2])) -le "$2" ]
}
exposures() {
	local u code=0
	for u in baseserver cgi notifier; do exposure $u 20 || code=1; done
	for u in taskbroker jobkeeper; do exposure $u 45 || code=1; done
	return $code
}
check "install honours DESTDIR and prefix" make -s install DESTDIR="$root" prefix=/opt/x
check "every program that was built is there" programs_there
check "units, contract, manual and settings are there" tree_has \
	opt/x/lib/systemd/system/sirdar-{baseserver,taskbroker,jobkeeper,cgi,notifier}.service \
	opt/x/lib/{sysusers,tmpfiles}.d/sirdar.conf opt/x/lib/pkgconfig/sirdar-sdk.pc opt/x/include/sirdar/runner.h \
	opt/x/share/man/man8/baseserver.8 opt/x/share/man/man1/sirdar.1 \
	opt/x/share/doc/sirdar/{baseserver,taskbroker,cgi,notifier,channels}.yaml opt/x/share/doc/sirdar/LICENSE
if systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
	check "units are exposed at most 2.0 (server, cgi, notifier) and 4.5 (broker, jobkeeper)" exposures
else
	n=$((n + 1))
	echo "ok $n - units are exposed at most 2.0 and 4.5 # SKIP no systemd-analyze with --offline (package systemd)"
fi
check "dashboards and alert rules are there" tree_has opt/x/share/sirdar/grafana/sirdar-{overview,scheduler,brokers,api}.json \
	opt/x/share/sirdar/prometheus/{sirdar.rules,scrape}.yml
check "every installed program has a man page and answers --help" documented
check "the SDKs of all languages are there, as in the repository" sdk_there
check "nothing is outside the prefix" nothing_else
check "no placeholder and no staging folder is left in a file" no_places
check "programs and plugins are hardened" hardened
check "a plugin builds against the installed contract alone" builds_plugin
check "the installed SDK is enough for a copy of the template, and for Python" sdk_works
echo "1..$n"
[ $bad -eq 0 ]
