# Each tests/unit/test_*.c is a program of its own, linked with every library. What they commit goes
# through its journal record and back: tests/support/journal_twice.c.
UNIT_LIBS := net core cgi notifier launcher loader link support openid directory etcd wire store logs home rt sched util
UNIT_LDLIBS := -Wl,--wrap=store_commit -lev -lprotobuf-c -lgnutls -lhogweed -lnettle -lgmp -lsqlite3 -lsodium -lyaml -lunistring -lmicrohttpd -lcjson -lcurl -lzstd -lz -lm
$(foreach t,$(wildcard tests/unit/test_*.c),$(eval $(call test,$(notdir $(basename $(t))),$(t),$(UNIT_LIBS),$(UNIT_LDLIBS))))
