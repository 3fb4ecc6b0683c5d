# Sirdar. `make help` lists what there is.
# Flavours build side by side: SAN=address,undefined  SAN=thread  CC=clang
CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
SAN      ?=
COVERAGE ?=
comma    := ,
flavour  := $(notdir $(CC))$(if $(SAN),-$(firstword $(subst $(comma), ,$(SAN))))$(if $(COVERAGE),-coverage)
B        := build/$(flavour)
VERSION  := 0.1.0
prefix   ?= /usr/local
DESTDIR  ?=

CPPFLAGS := -D_GNU_SOURCE -DSIRDAR_VERSION='"$(VERSION)"' \
            -Ilib -Ischema -Iplugins-sdk/include -I. -I$(B)/gen
WARN     := -Wall -Wextra -Werror -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wundef -Wvla -Wwrite-strings -Wno-missing-field-initializers \
            -Werror=format-security \
            $(if $(findstring clang,$(CC)),-Winitializer-overrides,-Woverride-init)
HARDEN   := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
            -ftrivial-auto-var-init=zero
ifeq ($(shell uname -m),aarch64)
HARDEN   := $(filter-out -fcf-protection=full,$(HARDEN)) -mbranch-protection=standard
endif
ifneq ($(findstring clang,$(CC)),)
HARDEN   := $(filter-out -ftrivial-auto-var-init=zero,$(HARDEN)) # clang 14 wants a password for it
endif
ifneq ($(SAN)$(COVERAGE),)
# Coverage wants the branches as they are written: nothing inlined, nothing folded.
OPT      := $(if $(COVERAGE),-O0,-O1) -g -fno-omit-frame-pointer
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
# $(call objects,NAME,SOURCES)           these sources -> $(B)/libNAME.a
define objects
LIB_$(1)_OBJ := $$(patsubst %.c,$$(B)/%.o,$(2))
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
OBJS_OF_$(1) := $(patsubst %.c,$(B)/%.o,$(2))
LIBS_OF_$(1) := $(3)
LDLIBS_OF_$(1) := $(4)
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
        plugins-sdk/module.mk cgi/module.mk dbtool/module.mk notifier/module.mk admin-console/module.mk admin-console/*/module.mk \
        tests/module.mk tests/*/module.mk bench/module.mk docs/module.mk packaging/module.mk)

GEN_H := $(patsubst schema/proto/%.proto,$(B)/gen/%.pb-c.h,$(wildcard schema/proto/*.proto))

# The one line a fresh machine needs to hear, before the first compiler error. DEPS=no skips it.
build/.deps: packaging/deps.sh
	@mkdir -p $(@D) && $(if $(filter no,$(DEPS)),:,packaging/deps.sh --check build) && touch $@
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: schema/proto/%.proto | build/.deps
	@mkdir -p $(@D) && echo "  PB  $<" && protoc-c --c_out=$(B)/gen -Ischema/proto $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c
	@$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-unused-parameter -c -o $@ $<
$(B)/%.o: %.c Makefile | $(GEN_H) build/.deps
	@mkdir -p $(@D) && echo "  CC  $<" && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

.SECONDARY:
-include $(OBJS:.o=.d)

# --- what people ask for ----------------------------------------------------------------
.PHONY: unit lint format check test test-heavy demo stop bench bench-compare sim oracle fuzz coverage install clean help
unit: all $(TESTS)
	@B=$(B) tests/run-unit $(TESTS)
format:
	@tests/lint/format.sh --fix
lint: all
	@B=$(B) tests/lint/run
check: lint unit
# What they need comes first, also on a machine that has nothing yet.
test:
	@$(if $(filter no,$(DEPS)),:,packaging/deps.sh build run test && { packaging/deps.sh browser || :; }) && $(MAKE) -s all $(TESTS) && B=$(B) CC=$(CC) tests/run
test-heavy:
	@$(if $(filter no,$(DEPS)),:,packaging/deps.sh build run test heavy real browser firefox) && $(MAKE) -s all $(TESTS) && \
	    B=$(B) CC=$(CC) HEAVY=1 tests/run
# A folder's own `run` is what these start; see tests/README.md.
sim: all
	@B=$(B) SEED=$(SEED) STEPS=$(STEPS) SEEDS=$(SEEDS) tests/sim/run
oracle: all
	@B=$(B) tests/oracle/run
fuzz: all
	@B=$(B) SECONDS_EACH=$(or $(SECONDS_EACH),10) tests/fuzz/run
bench: all
	@B=$(B) bench/run $(BENCH)
# `make bench-compare main HEAD`: what follows are commits, not targets.
ifeq ($(firstword $(MAKECMDGOALS)),bench-compare)
COMPARED := $(wordlist 2,3,$(MAKECMDGOALS))
$(COMPARED):
	@:
endif
bench-compare:
	@bench/compare.py $(COMPARED) $(BENCH)
demo:
	@packaging/deps.sh build run && $(MAKE) -s all && admin-console/web/build.sh --try && B=$(B) packaging/demo.sh start
stop:
	@B=$(B) packaging/demo.sh stop
# lib/sched, with its gate; then what all unit tests reach.
coverage:
	@HEAVY=1 tests/coverage/run
	@$(MAKE) -s COVERAGE=1 unit && gcovr --root . --filter 'lib/|baseserver/|broker/|cgi/' \
	    --object-directory build/$(notdir $(CC))-coverage --print-summary --sort-percentage

DAEMONS := $(filter baseserver sirdar-runner-run sirdar-python-job sirdar-runner-conformance taskbroker taskrunner-loader jobkeeper sirdar-cgi sirdar-notifier sirdar-db sirdar,$(PROGRAMS))
# What a runner's author starts from, in each language: not what building and testing it leaves behind.
SDK := README.md ABI.md FOREIGN.md template template-cpp python php java go
install: all
	install -d $(DESTDIR)$(prefix)/bin $(DESTDIR)$(prefix)/lib/sirdar/runners \
	    $(DESTDIR)$(prefix)/lib/pkgconfig $(DESTDIR)$(prefix)/lib/systemd/system \
	    $(DESTDIR)$(prefix)/include/sirdar $(DESTDIR)$(prefix)/share/man/man1 \
	    $(DESTDIR)$(prefix)/share/man/man8 $(DESTDIR)$(prefix)/share/sirdar/web \
	    $(DESTDIR)$(prefix)/share/doc/sirdar/examples
	$(if $(DAEMONS),install -m 755 $(addprefix $(B)/bin/,$(DAEMONS)) $(DESTDIR)$(prefix)/bin)
	install -d $(DESTDIR)$(prefix)/lib/sirdar/modules
	for f in $(B)/modules/*.so; do [ ! -f "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(prefix)/lib/sirdar/modules; done
	for f in $(B)/runners/*.so; do [ ! -f "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(prefix)/lib/sirdar/runners; done
	install -d $(DESTDIR)$(prefix)/share/sirdar/types
	for f in $(B)/types/*.yaml; do [ ! -f "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(prefix)/share/sirdar/types; done
	install -d $(DESTDIR)$(prefix)/share/sirdar/schema
	for f in $(B)/schema/*.json; do [ ! -f "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(prefix)/share/sirdar/schema; done
	for f in plugins-sdk/include/sirdar/*.h; do [ ! -f "$$f" ] || install -m 644 "$$f" $(DESTDIR)$(prefix)/include/sirdar; done
	install -d $(DESTDIR)$(prefix)/share/sirdar/sdk
	tar -C plugins-sdk --exclude='__pycache__' --exclude='*.pyc' --exclude='*.so' --exclude='*.class' --exclude='*.jar' --exclude=build \
	    --exclude=target -cf - $(SDK) | tar -C $(DESTDIR)$(prefix)/share/sirdar/sdk --no-same-owner -xf -
	sed -e 's|@prefix@|$(prefix)|' -e 's|@version@|$(VERSION)|' packaging/sirdar-sdk.pc.in \
	    > $(DESTDIR)$(prefix)/lib/pkgconfig/sirdar-sdk.pc
	for f in packaging/systemd/*.service; do sed 's|@prefix@|$(prefix)|g' "$$f" \
	    > $(DESTDIR)$(prefix)/lib/systemd/system/$$(basename "$$f"); done
	for d in sysusers tmpfiles; do install -d $(DESTDIR)$(prefix)/lib/$$d.d; \
	    install -m 644 packaging/$$d.d/sirdar.conf $(DESTDIR)$(prefix)/lib/$$d.d; done
	for s in bash-completion/completions/sirdar:bash zsh/site-functions/_sirdar:zsh fish/vendor_completions.d/sirdar.fish:fish; do \
	    file=$(DESTDIR)$(prefix)/share/$${s%:*}; [ ! -x $(B)/bin/sirdar ] || { install -d "$$(dirname "$$file")" && \
	    $(B)/bin/sirdar completion $${s#*:} > "$$file" && chmod 644 "$$file"; } || exit 1; done
	install -m 644 docs/man/*.1 $(DESTDIR)$(prefix)/share/man/man1
	install -m 644 docs/man/*.8 $(DESTDIR)$(prefix)/share/man/man8
	install -m 644 README.md LICENSE CHANGELOG.md $(filter-out docs/README.md,$(wildcard docs/*.md)) packaging/examples/*.yaml \
	    $(DESTDIR)$(prefix)/share/doc/sirdar
	for d in grafana prometheus; do install -d $(DESTDIR)$(prefix)/share/sirdar/$$d; \
	    install -m 644 packaging/$$d/* $(DESTDIR)$(prefix)/share/sirdar/$$d; done
	if [ -f build/book/index.html ]; then rm -rf $(DESTDIR)$(prefix)/share/doc/sirdar/html && \
	    cp -R build/book $(DESTDIR)$(prefix)/share/doc/sirdar/html; fi
	install -d $(DESTDIR)$(prefix)/share/doc/sirdar/book && cp -R docs/book/en docs/book/zh $(DESTDIR)$(prefix)/share/doc/sirdar/book
	if [ -d docs/examples ]; then cp -R docs/examples/. $(DESTDIR)$(prefix)/share/doc/sirdar/examples; fi
	admin-console/web/build.sh --try
	if [ -f build/console/index.html ]; then cp -R build/console/. $(DESTDIR)$(prefix)/share/sirdar/web; fi
clean:
	rm -rf build
help:
	@sed -n 's/^#: //p' $(firstword $(MAKEFILE_LIST))
#: make             build everything into build/<compiler>[-<sanitizer>]
#: make book        the manual as HTML into build/book (sirdar-cgi serves it at /docs/); wants cmark-gfm
#: make check       the gate before a commit: lints and unit tests (make lint, make unit)
#: make test        every suite, under 15 minutes; ends with `N passed, N failed`
#: make test-heavy  the same with the long loops and many more seeds
#: make sim         the simulator: SEED= STEPS= one run, SEEDS= that many
#: make oracle      compare the pure core with the independent model
#: make fuzz        fuzz every parser, SECONDS_EACH=10
#: make bench       measure, against the limits of this machine; BENCH=name for one
#: make bench-compare  OLD NEW, two commits by turns: CPU, bytes and syncs an instance, within 3 %?
#: make console     the web console into build/console, with node and npm
#: make demo        dependencies, build, start, a real workflow over this machine's data
#: make stop        end what make demo started
#: make coverage    unit tests with line coverage
#: make format      clang-format over the tree
#: make install     into $(DESTDIR)$(prefix), prefix=/usr/local
#: make clean       remove build/
#: flavours         CC=clang  SAN=address,undefined  SAN=thread  COVERAGE=1
