# SQL files named NNNN_name.sql -> a C table TABLE of store_migration rows (lib/store/schema.h).
BEGIN { print "/* Made by lib/store/embed.awk. */\n#include \"store/schema.h\"\n\nconst struct store_migration " TABLE "[] = {" }
FNR == 1 {
	if (rows++) print "\t},"
	file = FILENAME; sub(/.*\//, "", file); number = substr(file, 1, 4)
	if (number !~ /^[0-9][0-9][0-9][0-9]$/ || number + 0 != rows) {
		print "embed.awk: " file " is not number " rows > "/dev/stderr"; bad = 1; exit 1
	}
	printf "\t{ %d, \"%s\",\n", number, file
}
{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "\t\t\"%s\\n\"\n", $0 }
END { if (bad) exit 1; print "\t},\n};\nconst size_t " TABLE "_count = sizeof " TABLE " / sizeof " TABLE "[0];\nconst int " TABLE "_floor = " FLOOR + 0 ";" }
