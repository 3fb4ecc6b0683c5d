CLI_LDLIBS := -lyaml -lcurl-gnutls -lcjson -lical
$(eval $(call program,sirdar,$(wildcard admin-console/cli/*.c),sched rt util,$(CLI_LDLIBS)))
