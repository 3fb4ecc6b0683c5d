#!/bin/sh
# More output than anyone wants, as fast as it goes, then an end with a status.
head -c "$1" /dev/zero | tr '\0' x
exit 7
