$(eval $(call plugin,noop,runners/noop/noop.c))
# Manifests: runners/NAME/manifest.yaml as $(B)/types/NAME.yaml, installed to share/sirdar/types.
TYPES := $(patsubst runners/%/manifest.yaml,$(B)/types/%.yaml,$(wildcard runners/*/manifest.yaml))
$(B)/types/%.yaml: runners/%/manifest.yaml
	@mkdir -p $(@D) && cp $< $@.new && mv $@.new $@
all: $(TYPES)
$(eval $(call plugin,foreign,$(wildcard runners/foreign/*.c),-lcjson -lm))
$(B)/runners/foreign.so: $(wildcard runners/foreign/*.h runners/foreign/*.def) plugins-sdk/include/sirdar/guest.h
# Runners that share runners/common: the names of its files after the plugin's own.
runner_common = $(wildcard runners/$(1)/*.c) $(patsubst %,runners/common/%.c,$(2))
RUNNER_HTTP := run text json guard fetch request
$(eval $(call plugin,http,$(call runner_common,http,$(RUNNER_HTTP) probe),-lcurl -lcjson))
$(B)/runners/http.so: $(wildcard runners/common/*.h)
# With the clients of the databases, linked only here.
RUNNER_DB := run text json guard values db db_values db_dial db_open db_claim db_clear db_mysql db_postgres db_sqlite place apart
RUNNER_DB_LIBS := -lmariadb -lpq -lsqlite3 -lcjson
$(eval $(call plugin,sql,$(call runner_common,sql,$(RUNNER_DB) rows csv probe),$(RUNNER_DB_LIBS)))
$(B)/runners/sql.so: $(wildcard runners/common/*.h)
$(eval $(call plugin,sensor,$(call runner_common,sensor,$(RUNNER_DB) fetch request),$(RUNNER_DB_LIBS) -lcurl))
$(B)/runners/sensor.so: $(wildcard runners/common/*.h runners/sensor/*.h)
$(eval $(call plugin,check,$(call runner_common,check,$(RUNNER_DB)),$(RUNNER_DB_LIBS)))
$(B)/runners/check.so: $(wildcard runners/common/*.h)
$(eval $(call plugin,transfer,$(call runner_common,transfer,$(RUNNER_DB) rows csv),$(RUNNER_DB_LIBS) -lunistring))
$(B)/runners/transfer.so: $(wildcard runners/common/*.h runners/transfer/*.h)
# Each a process put together from parameters.
RUNNER_START := run text json start
$(foreach n,shell java,$(eval $(call plugin,$(n),$(call runner_common,$(n),$(RUNNER_START)),-lcjson)))
$(B)/runners/shell.so $(B)/runners/java.so: $(wildcard runners/common/*.h)
# The warm interpreter's program travels inside the plugin.
$(B)/gen/python_zygote.h: runners/python/zygote.py
	@mkdir -p $(@D) && { echo 'static const char zygote[] ='; sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $<; echo ';'; } >$@.new && mv $@.new $@
$(eval $(call plugin,python,$(call runner_common,python,$(RUNNER_START)),-lcjson))
$(B)/runners/python.so: $(wildcard runners/common/*.h) runners/python/warm.h $(B)/gen/python_zygote.h
$(eval $(call program,sirdar-python-job,runners/python/warm/main.c broker/keeper/rights.c,,))
$(eval $(call plugin,presto,$(call runner_common,presto,$(RUNNER_HTTP) rows csv place apart values),-lcurl -lcjson))
$(B)/runners/presto.so: $(wildcard runners/common/*.h)
# Clients of clusters: each a command of theirs, watched by one script.
RUNNER_CLIENT := run text json client values
$(foreach n,hive spark mapreduce,$(eval $(call plugin,$(n),$(call runner_common,$(n),$(RUNNER_CLIENT)),-lcjson)))
$(B)/runners/hive.so $(B)/runners/spark.so $(B)/runners/mapreduce.so: $(wildcard runners/common/*.h)
