#!/bin/bash
# Every shell script through shellcheck, Python's own parser over every Python file.
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
report() {
	n=$((n + 1))
	[ "$3" -eq 0 ] || { bad=1; printf '%s\n' "$2" | head -n 60 | sed 's/^/# /'; echo "not ok $n - $1"; return; }
	echo "ok $n - $1"
}
# By first lines, in one process: a few for each of two thousand files took minutes on a busy machine.
first_line_has() {
	git ls-files -co --exclude-standard | grep -v '\.[ch]$' | sort -u | python3 -c '
import os, re, sys
for name in sys.stdin.read().splitlines():
    if os.path.isfile(name):
        line = open(name, "rb").read(64).split(b"\n")[0].replace(b"\0", b"")
        if re.search(sys.argv[1].encode(), line) or (sys.argv[2] and name.endswith(sys.argv[2])):
            print(name)' "$@"
}
scripts=$(first_line_has '^#!.*\b(ba)?sh\b' '')
pythons=$(first_line_has '^#!.*python3' .py)
if command -v shellcheck >/dev/null; then
	out=$(echo "$scripts" | xargs -r shellcheck -f gcc 2>&1)
	report "shellcheck finds nothing" "$out" $?
else
	n=$((n + 1))
	echo "ok $n - shellcheck # SKIP not installed"
fi
out=$(echo "$pythons" | xargs -r python3 -c 'import ast, sys
for f in sys.argv[1:]: ast.parse(open(f, encoding="utf-8").read(), f)' 2>&1)
report "every Python file parses" "$out" $?
echo "1..$n"
[ $bad -eq 0 ]
