# Sirdar. `make help` lists what there is.
# Flavours build side by side: SAN=address,undefined  SAN=thread  CC=clang  BUG=3
CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
SAN      ?=
BUG      ?=
COVERAGE ?=
comma    := ,
flavour  := $(notdir $(CC))$(if $(SAN),-$(firstword $(subst $(comma), ,$(SAN))))$(if $(BUG),-bug$(BUG))$(if $(COVERAGE),-coverage)
B        := build/$(flavour)
VERSION  := 0.1.0
prefix   ?= /usr/local

CPPFLAGS := -D_GNU_SOURCE -DSIRDAR_VERSION='"$(VERSION)"' $(if $(BUG),-DBUG_$(BUG)) \
            -Ilib -Ischema -Iplugins-sdk/include -I. -I$(B)/gen
WARN     := -Wall -Wextra -Werror -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wundef -Wvla -Wwrite-strings -Wno-missing-field-initializers \
            $(if $(findstring clang,$(CC)),-Winitializer-overrides,-Woverride-init)
HARDEN   := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
            -ftrivial-auto-var-init=zero
ifeq ($(shell uname -m),aarch64)
HARDEN   := $(filter-out -fcf-protection=full,$(HARDEN)) -mbranch-protection=standard
endif
ifneq ($(SAN)$(COVERAGE),)
OPT      := -O1 -g -fno-omit-frame-pointer
HARDEN   :=
else
OPT      := -O2 -g
endif
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined))
COVFLAGS := $(if $(COVERAGE),--coverage)
CFLAGS   := -std=gnu11 $(OPT) $(WARN) $(HARDEN) $(SANFLAGS) $(COVFLAGS) -fvisibility=hidden -fPIE -pthread \
            -fno-strict-aliasing $(EXTRA_CFLAGS)
LDFLAGS  := $(SANFLAGS) $(COVFLAGS) -pthread -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
SOFLAGS  := $(SANFLAGS) $(COVFLAGS) -pthread -shared -Wl,-z,relro,-z,now,-z,noexecstack,-z,defs -Wl,-Bsymbolic

.PHONY: all
all: # filled by the modules

# --- what module.mk files say -------------------------------------------------------
# $(call library,NAME,FOLDER)            all FOLDER/*.c -> $(B)/libNAME.a
# $(call program,NAME,SOURCES,LIBS,LDLIBS)  -> $(B)/bin/NAME
# $(call plugin,NAME,SOURCES,LDLIBS)     -> $(B)/runners/NAME.so
# $(call test,NAME,SOURCES,LIBS,LDLIBS)  -> $(B)/test/NAME (a cmocka program), run by `make unit`
OBJS :=
TESTS :=
define library
LIB_$(1)_OBJ := $$(patsubst %.c,$$(B)/%.o,$$(wildcard $(2)/*.c)) $(3)
OBJS += $$(LIB_$(1)_OBJ)
$$(B)/lib$(1).a: $$(LIB_$(1)_OBJ)
	@rm -f $$@ && $(AR) rcs $$@ $$^
all: $$(B)/lib$(1).a
endef
define linked
OBJS += $$(patsubst %.c,$$(B)/%.o,$(2))
$(5): $$(patsubst %.c,$$(B)/%.o,$(2)) $$(patsubst %,$$(B)/lib%.a,$(3))
	@mkdir -p $$(@D) && echo "  LD  $$@" && $$(CC) $$(LDFLAGS) -o $$@ $$^ $$(patsubst %,$$(B)/lib%.a,$(3)) $(4)
endef
define program
$(call linked,$(1),$(2),$(3),$(4),$$(B)/bin/$(1))
all: $$(B)/bin/$(1)
PROGRAMS += $(1)
endef
define test
$(call linked,$(1),$(2),$(3),$(4) -lcmocka,$$(B)/test/$(1))
TESTS += $$(B)/test/$(1)
endef
define plugin
$$(B)/runners/$(1).so: $(2) plugins-sdk/include/sirdar/runner.h
	@mkdir -p $$(@D) && echo "  SO  $$@" && $$(CC) $$(CPPFLAGS) $$(filter-out -fPIE,$$(CFLAGS)) -fPIC $$(SOFLAGS) -o $$@ $(2) $(3)
all: $$(B)/runners/$(1).so
endef

include $(wildcard lib/*/module.mk schema/module.mk baseserver/module.mk broker/module.mk runners/module.mk \
        plugins-sdk/module.mk cgi/module.mk admin-console/module.mk admin-console/*/module.mk \
        tests/module.mk tests/*/module.mk bench/module.mk docs/module.mk packaging/module.mk)

GEN_H := $(patsubst schema/proto/%.proto,$(B)/gen/%.pb-c.h,$(wildcard schema/proto/*.proto))

$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: schema/proto/%.proto
	@mkdir -p $(@D) && echo "  PB  $<" && protoc-c --c_out=$(B)/gen -Ischema/proto $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	@$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-unused-parameter -c -o $@ $<
$(B)/%.o: %.c Makefile | $(GEN_H)
	@mkdir -p $(@D) && echo "  CC  $<" && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

.SECONDARY:
-include $(OBJS:.o=.d)

.PHONY: unit clean help
unit: all $(TESTS)
	@B=$(B) tests/run-unit $(TESTS)
clean:
	rm -rf build
help:
	@sed -n 's/^#: //p' $(MAKEFILE_LIST)
#: make             build everything (into build/<compiler>[-<sanitizer>])
#: make unit        build and run the unit tests
#: make clean       remove build/
