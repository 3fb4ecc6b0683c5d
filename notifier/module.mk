# A library too, so that unit tests can link what the program is made of.
NOTIFIER_LIBS := notifier wire store rt sched util
NOTIFIER_LDLIBS := -lev -lprotobuf-c -lgnutls -lhogweed -lnettle -lgmp -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lcurl -lm
$(eval $(call library,notifier,notifier))
$(eval $(call program,sirdar-notifier,notifier/main.c,$(NOTIFIER_LIBS),$(NOTIFIER_LDLIBS)))
