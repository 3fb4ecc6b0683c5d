# The web console (build/console). Not part of `all`: it needs node and npm.
.PHONY: console
console:
	@admin-console/web/build.sh
