$(eval $(call program,sirdar-db,$(wildcard dbtool/*.c),store sched util,-lsqlite3 -lsodium -lunistring -ldl -lm))
$(B)/dbtool/db.o: dbtool/tables.def
$(B)/dbtool/tables.o: dbtool/checks.def
