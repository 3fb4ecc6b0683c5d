CLI_LDLIBS := -lyaml -lunistring -lsodium -lcurl-gnutls -lcjson -lical
$(eval $(call program,sirdar,$(wildcard admin-console/cli/*.c admin-console/cli/*/*.c),sched rt util,$(CLI_LDLIBS)))
