#!/bin/bash
# Every shell script through shellcheck, Python's own parser over every Python file.
cd "$(dirname "$0")/../.." || exit 1
n=0 bad=0
report() {
	n=$((n + 1))
	[ "$3" -eq 0 ] || { bad=1; printf '%s\n' "$2" | head -n 60 | sed 's/^/# /'; echo "not ok $n - $1"; return; }
	echo "ok $n - $1"
}
tree=$(git ls-files -co --exclude-standard | grep -v '\.[ch]$' | sort -u)
scripts=$(echo "$tree" | while read -r f; do
	[ -f "$f" ] && head -c 64 "$f" | head -n 1 | tr -d '\0' | grep -qE '^#!.*\b(ba)?sh\b' && echo "$f"
done)
pythons=$(echo "$tree" | while read -r f; do
	[ -f "$f" ] && case "$f" in *.py) true ;; *) head -c 64 "$f" | head -n 1 | tr -d '\0' | grep -q '^#!.*python3' ;; esac && echo "$f"
done)
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
