$(eval $(call program,sim,$(wildcard tests/sim/*.c),core store rt sched util,-lev -lsqlite3 -lyaml -lm -lprotobuf-c))
