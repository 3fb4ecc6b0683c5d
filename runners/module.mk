$(eval $(call plugin,noop,runners/noop/noop.c))
# Manifests: runners/NAME/manifest.yaml as $(B)/types/NAME.yaml, installed to share/sirdar/types.
TYPES := $(patsubst runners/%/manifest.yaml,$(B)/types/%.yaml,$(wildcard runners/*/manifest.yaml))
$(B)/types/%.yaml: runners/%/manifest.yaml
	@mkdir -p $(@D) && cp $< $@.new && mv $@.new $@
all: $(TYPES)
$(eval $(call plugin,shell,$(wildcard runners/shell/*.c)))
