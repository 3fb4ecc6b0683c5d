#!/bin/bash
# Each header compiles alone; the plugin contract also as C99 with both compilers and as C++11.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
n=0 bad=0
flags="-D_GNU_SOURCE -DSIRDAR_VERSION=\"x\" -Ilib -Ischema -Iplugins-sdk/include -I. -I$B/gen -fsyntax-only -Wall -Wextra -Werror"

report() { # name, output of the failures
	n=$((n + 1))
	if [ -n "$2" ]; then
		bad=$((bad + 1))
		printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
		echo "not ok $n - $1"
	else
		echo "ok $n - $1"
	fi
}

each() { # compiler and standard; headers on standard input. A function of its own file, so that nothing precedes it.
	# shellcheck disable=SC2086
	xargs -P 2 -I{} sh -c "printf '#include \"%s\"\n' {} | $1 $flags -I. - 2>&1 || echo 'in {} alone'"
}

headers=$(git ls-files -co --exclude-standard '*.h' | grep -v '^tests/' | sort -u)
report "each header compiles alone" "$(echo "$headers" | each "gcc -std=gnu11 -x c -Wno-unused-function")"
sdk=$(echo "$headers" | grep '^plugins-sdk/include/')
if [ -n "$sdk" ]; then
	for with in "gcc -std=c99 -x c -pedantic" "clang -std=c99 -x c -pedantic" "g++ -std=c++11 -x c++ -pedantic"; do
		command -v "${with%% *}" >/dev/null || { n=$((n + 1)); echo "ok $n - contract with $with # SKIP not installed"; continue; }
		report "the plugin contract compiles with $with" "$(echo "$sdk" | each "$with -U_GNU_SOURCE")"
	done
fi
echo "1..$n"
[ $bad -eq 0 ]
