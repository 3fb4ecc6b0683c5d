#!/bin/sh
# build.sh DIRECTORY: sirdar-runner.jar into it, with a JDK alone (Maven does the same: mvn package).
set -e
out=${1:-.}
here=$(dirname "$0")
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
javac -Xlint:all -Werror --release 11 -d "$classes" "$here"/src/main/java/sirdar/runner/*.java
jar --create --file "$out/sirdar-runner.jar" -C "$classes" .
