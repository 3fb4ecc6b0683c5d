#!/bin/sh
# Packages Sirdar needs, and how to get them. On Debian and kin; elsewhere it says nothing.
#
#   packaging/deps.sh [set...]          install missing packages (root, or sudo without a question),
#                                       else print the one command and exit 1
#   packaging/deps.sh --check [set...]  only name the missing packages in one line, exit 1
#   packaging/deps.sh --list [set...]   print the names
#
# Sets: build, run, test, heavy, real (counterparts of make test-heavy from Maven and PyPI), browser (of the console's
# journeys; they are skipped without it), firefox (the same for test_console_firefox.py, heavy only).
# Default: build run test.
build="gcc make pkg-config libc6-dev libev-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
libgnutls28-dev nettle-dev libsqlite3-dev libmicrohttpd-dev libcjson-dev libyaml-dev libcmocka-dev
libsodium-dev libcurl4-gnutls-dev libzstd-dev zlib1g-dev libmariadb-dev libpq-dev libical-dev libldap-dev
libunistring-dev cmark-gfm"
run="tzdata python3 curl ca-certificates"
test="clang libclang-rt-14-dev clang-tidy clang-format cppcheck g++ shellcheck sqlite3 git
php-cli mariadb-server mariadb-client postgresql galera-4 etcd-server etcd-client libfaketime nftables iproute2 abigail-tools
default-jdk-headless slapd ldap-utils openssl python3-jsonschema python3-yaml"
heavy="systemd prometheus gcovr debootstrap golang-go qemu-system-x86 e2fsprogs"
real="maven python3-pip"
browser="chromium fonts-noto-cjk"
firefox="firefox-esr"

mode=install
case "$1" in
--check | --list) mode=${1#--}; shift ;;
--help) sed -n 's/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
wanted=
for name in "${@:-build run test}"; do
	for set in $name; do
		case "$set" in
		build) wanted="$wanted $build" ;;
		run) wanted="$wanted $run" ;;
		test) wanted="$wanted $test" ;;
		heavy) wanted="$wanted $heavy" ;;
		real) wanted="$wanted $real" ;;
		browser) wanted="$wanted $browser" ;;
		firefox) wanted="$wanted $firefox" ;;
		*) echo "deps.sh: no set '$set' (build, run, test, heavy, real, browser, firefox)" >&2; exit 64 ;;
		esac
	done
done

if [ "$mode" = list ]; then
	# shellcheck disable=SC2086
	printf '%s\n' $wanted | sort -u
	exit 0
fi
command -v dpkg-query >/dev/null || exit 0

# One query; what it does not print as installed is missing.
# shellcheck disable=SC2086
have=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^ii  *//p')
missing=
for p in $wanted; do
	case "
$have
" in
	*"
$p
"*) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

command="apt-get install -y --no-install-recommends$missing"
if [ "$mode" = check ]; then
	echo "missing packages:$missing (packaging/deps.sh installs them)" >&2
	exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if sudo -n true 2>/dev/null; then
		as_root="sudo -n"
	else
		echo "Please run as root: $command" >&2
		exit 1
	fi
fi
echo "installing:$missing"
output=$(mktemp)
# Lists may be old or absent on a fresh machine: try, refresh once, try again.
install_all() {
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive $command >"$output" 2>&1
}
install_all || { $as_root apt-get update >/dev/null 2>&1; install_all; } || {
	tail -n 5 "$output" >&2
	rm -f "$output"
	echo "Please run as root: apt-get update && $command" >&2
	exit 1
}
rm -f "$output"
