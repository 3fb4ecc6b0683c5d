# A library too, so that unit tests can link what the program is made of.
CGI_LIBS := cgi openid directory etcd wire store rt sched util
CGI_LDLIBS := -lev -lprotobuf-c -lgnutls -lsqlite3 -lsodium -lyaml -lunistring -lmicrohttpd -lcjson -lzstd -lz -lm
$(eval $(call library,cgi,cgi,$(patsubst %.c,$(B)/%.o,$(wildcard cgi/*/*.c))))
$(eval $(call program,sirdar-cgi,cgi/main.c,$(CGI_LIBS),$(CGI_LDLIBS)))
$(B)/cgi/handlers/handle_page.o: $(wildcard admin-console/web/status.*)
