$(eval $(call program,sirdar-db,$(wildcard dbtool/*.c),store logs sched util,-lsqlite3 -lsodium -lunistring -lzstd -ldl -lm))
$(B)/dbtool/db.o: dbtool/tables.def
$(B)/dbtool/tables.o: dbtool/checks.def
