#!/bin/sh
# Builds the web console into build/console: what `make console` runs.
#
#   build.sh [--try]     --try: without npm say so and exit 0; the status page serves then
#
# `npm ci` runs when the lock file changed, the build when anything did. OUT= another folder.
# One at a time in a tree (flock of util-linux): the second waits, and finds done what the first did.
set -eu
cd "$(dirname "$0")"
exec 9<.
flock 9
out=${OUT:-$(cd ../.. && pwd)/build/console}
try=
[ "${1:-}" != --try ] || try=1

give_up() {
	echo "console: $1; without it sirdar-cgi serves its plain status page" >&2
	if [ -n "$try" ]; then exit 0; fi
	exit 1
}
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	give_up "node and npm are not here (Debian: apt-get install nodejs npm)"
fi
node -e 'process.exit(+process.versions.node.split(".")[0] >= 18 ? 0 : 1)' ||
	give_up "node $(node --version) is too old, 18 or newer is wanted"

if [ ! -f node_modules/.sirdar ] || ! cmp -s package-lock.json node_modules/.sirdar; then
	echo "  NPM admin-console/web"
	log=$(mktemp)
	npm ci --ignore-scripts --no-progress --loglevel=error >"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		rm -f "$log"
		give_up "npm ci failed (no network, or a registry that misses something)"
	}
	rm -f "$log"
	cp package-lock.json node_modules/.sirdar
fi
if [ -f "$out/index.html" ] && [ -z "$(find src public index.html ../../docs/book/en ../../docs/book/zh package-lock.json \
	vite.config.ts -newer "$out/index.html" -print -quit)" ]; then exit 0; fi
echo "  WEB $out"
OUT=$out npx --no-install vite build --logLevel warn
# A compressed form beside every file that gains by it, for sirdar-cgi to hand out. By gzip: what
# node's own zlib makes of the same bytes differs from one node to another.
find "$out" -type f \( -name '*.js' -o -name '*.css' -o -name '*.html' -o -name '*.svg' -o -name '*.json' -o -name '*.webmanifest' \) |
	while IFS= read -r file; do
		gzip -9n <"$file" >"$file.gz"
		[ "$(wc -c <"$file.gz")" -lt $(($(wc -c <"$file") * 9 / 10)) ] || rm "$file.gz"
	done
