# docs/settings.md is made from the settings tables; a lint holds it current.
$(B)/tool/settings: $(B)/docs/settings.o $(B)/libutil.a
	@mkdir -p $(@D) && echo "  LD  $@" && $(CC) $(LDFLAGS) -o $@ $^ -lyaml -lunistring
OBJS += $(B)/docs/settings.o
all: $(B)/tool/settings
.PHONY: docs/settings.md
docs/settings.md: $(B)/tool/settings
	@$< > $@.tmp && mv $@.tmp $@
# build/book: the manual as HTML, for /docs/ of sirdar-cgi and share/doc.
BOOK := $(wildcard docs/book/*.* docs/book/en/*.md docs/book/zh/*.md docs/*.md docs/screenshots/*.png) admin-console/web/src/styles/tokens.css
build/book/index.html: $(BOOK)
	@mkdir -p build && echo "  HTML build/book" && python3 docs/book/pages.py build/book && touch $@
.PHONY: book
book: build/book/index.html
all: $(if $(shell command -v cmark-gfm 2>/dev/null),book)
# docs/book/LANGUAGE/errors.md is made from schema/tbl/err.def and docs/book/errors.txt.
.PHONY: docs/errors
docs/errors:
	@python3 docs/book/errors.py
