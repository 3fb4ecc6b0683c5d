# The real actors under a virtual clock, for agree.py.
$(eval $(call linked,agree,tests/agree/agree.c,core openid directory store rt sched util,-lev -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lm -lprotobuf-c -lgnutls,$$(B)/test/agree))
all: $(B)/test/agree
