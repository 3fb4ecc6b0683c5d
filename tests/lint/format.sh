#!/bin/bash
# clang-format agrees with every C file. `tests/lint/format.sh --fix [FILE...]` makes it so.
cd "$(dirname "$0")/../.." || exit 1
command -v clang-format >/dev/null || { echo "ok 1 - clang-format # SKIP not installed"; exit 0; }
mapfile -t files < <(git ls-files -co --exclude-standard '*.c' '*.h' | sort -u)
if [ "$1" = --fix ]; then
	shift
	[ $# -gt 0 ] || set -- "${files[@]}"
	exec clang-format -i "$@"
fi
wrong=$(printf '%s\n' "${files[@]}" | xargs -n 40 clang-format --dry-run 2>&1 |
	sed -n 's/^\([^: ]*\):.*clang-format-violations.*/\1/p' | sort | uniq -c)
if [ -n "$wrong" ]; then
	printf '%s\n' "$wrong" | sed 's/^ */# places to format: /'
	echo "not ok 1 - clang-format agrees with ${#files[@]} files (tests/lint/format.sh --fix)"
	exit 1
else
	echo "ok 1 - clang-format agrees with ${#files[@]} files"
fi
