#!/bin/sh
# Leaves a process behind that has another session and another parent, and ignores TERM.
setsid sh -c 'trap "" TERM; echo stray; while :; do sleep 1; done' >/dev/null 2>&1 &
exit 3
