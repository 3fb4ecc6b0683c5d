# Each bench/bench_*.c is a program, $(B)/bench/NAME; not part of `all`.
BENCH_LIBS := core openid directory support wire store logs rt sched util
BENCH_LDLIBS := -lev -lprotobuf-c -lgnutls -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lzstd -lm
$(foreach b,$(wildcard bench/bench_*.c),$(eval $(call linked,$(notdir $(basename $(b))),$(b),$(BENCH_LIBS),$(BENCH_LDLIBS),$$(B)/bench/$(notdir $(basename $(b))))))

# Its commits are packed too: packed.h.
$(B)/bench/bench_core: LDFLAGS += -Wl,--wrap=store_commit
