# docs/settings.md is made from the settings tables; a lint holds it current.
$(B)/tool/settings: $(B)/docs/settings.o $(B)/libutil.a
	@mkdir -p $(@D) && echo "  LD  $@" && $(CC) $(LDFLAGS) -o $@ $^ -lyaml -lunistring
OBJS += $(B)/docs/settings.o
all: $(B)/tool/settings
.PHONY: docs/settings.md
docs/settings.md: $(B)/tool/settings
	@$< > $@.tmp && mv $@.tmp $@
