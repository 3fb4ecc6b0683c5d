# Everything but main.c is a library, so that unit tests can link it.
CGI_SOURCES := $(filter-out cgi/main.c,$(wildcard cgi/*.c))
$(eval $(call library,cgi,cgi,))
LIB_cgi_OBJ := $(patsubst %.c,$(B)/%.o,$(CGI_SOURCES))
$(eval $(call program,sirdar-cgi,cgi/main.c,cgi wire store rt sched util,-lev -lprotobuf-c -lgnutls -lsqlite3 -lyaml -lmicrohttpd -lsodium -lcjson -lm))
$(B)/cgi/handle_page.o: $(wildcard admin-console/web/status.*)
