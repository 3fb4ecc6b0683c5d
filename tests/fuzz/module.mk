# Each tests/fuzz/fuzz_*.c is a libFuzzer target, $(B)/fuzz/NAME; built by tests/fuzz/run with
# clang and the sanitizers, never by `all`.
FUZZ_NAMES := $(notdir $(basename $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_LIBS := cgi openid directory etcd wire store logs rt sched util
FUZZ_LDLIBS := -fsanitize=fuzzer -lev -lprotobuf-c -lgnutls -lsqlite3 -lsodium -lyaml -lunistring -lmicrohttpd -lcjson -lzstd -lz -lm
$(foreach f,$(FUZZ_NAMES),$(eval $(call linked,$(f),tests/fuzz/$(f).c,$(FUZZ_LIBS),$(FUZZ_LDLIBS),$$(B)/fuzz/$(f))))
.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_NAMES:%=$(B)/fuzz/%)
