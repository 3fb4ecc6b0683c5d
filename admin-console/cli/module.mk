CLI_LDLIBS := -lyaml -lunistring -lsodium -lcurl-gnutls -lcjson -lical
$(eval $(call program,sirdar,$(wildcard admin-console/cli/*.c admin-console/cli/*/*.c),sched rt util,$(CLI_LDLIBS)))

# The JSON Schema of each kind of document, for editors: installed to share/sirdar/schema, served by sirdar-cgi.
$(B)/schema/document.json: $(B)/bin/sirdar $(TYPES)
	@mkdir -p $(@D) && echo "  SCHEMA $(@D)" && for kind in $$($< schema); do \
	    $< schema $$kind > $(@D)/$$kind.tmp && mv $(@D)/$$kind.tmp $(@D)/$$kind.json || exit 1; done
all: $(B)/schema/document.json
