# gpurec: build, test, install. `make help` lists the targets.
VERSION := 0.1.0
BUILD   ?= build
PREFIX  ?= /usr/local
BPF     ?= 1
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool) bpftool)
SAN     ?=
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
           $(if $(CI),-Werror)
HARDEN  := -fstack-protector-strong -fPIE -D_FORTIFY_SOURCE=2
CPPALL  := -I. -I$(BUILD) -D_GNU_SOURCE -MMD -MP
CALL    := -std=gnu11 $(CFLAGS) $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer,$(HARDEN))
LDALL   := $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN),-pie -Wl,-z,relro,-z,now) -pthread

LIBS_FORMAT := -lsodium -llz4
LIBS_KEYS   := -lseccomp -lcap
LIBS_SQL    := -lsqlite3
LIBS_BPF    := -lbpf -lelf -lz

TOOLS := gpuverify gpureplay gpuanalyze gpukey $(if $(filter 1,$(BPF)),gpurec)

# A folder's sources are its library; the file named after a tool is its main().
MAINS   := keys/gpukey.c record/gpurec.c replay/gpuverify.c replay/gpureplay.c analyze/gpuanalyze.c
objs     = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAINS),$(wildcard $(1))))
O_FORMAT  := $(call objs,format/*.c)
O_KEYS    := $(call objs,keys/*.c)
O_REPLAY  := $(call objs,replay/*.c)
O_ANALYZE := $(call objs,analyze/*.c analyze/rules/*.c)
O_RECORD  := $(call objs,record/*.c)

.PHONY: all clean
all: $(addprefix $(BUILD)/,$(TOOLS))

$(BUILD)/libformat.a: $(O_FORMAT)
$(BUILD)/libkeys.a: $(O_KEYS)
$(BUILD)/libreplay.a: $(O_REPLAY)
$(BUILD)/libanalyze.a: $(O_ANALYZE)
$(BUILD)/librecord.a: $(O_RECORD)
$(BUILD)/%.a:
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPALL) $(CALL) -c $< -o $@

LINK = @echo "  LINK  $@"; $(CC) $(LDALL) $(filter %.o %.a,$^) -o $@

$(BUILD)/gpukey: $(BUILD)/keys/gpukey.o $(BUILD)/libkeys.a $(BUILD)/libformat.a
	$(LINK) $(LIBS_KEYS) $(LIBS_FORMAT)
$(BUILD)/gpuverify: $(BUILD)/replay/gpuverify.o $(BUILD)/libreplay.a $(BUILD)/libkeys.a $(BUILD)/libformat.a
	$(LINK) $(LIBS_SQL) $(LIBS_KEYS) $(LIBS_FORMAT)
$(BUILD)/gpureplay: $(BUILD)/replay/gpureplay.o $(BUILD)/libreplay.a $(BUILD)/libkeys.a $(BUILD)/libformat.a
	$(LINK) $(LIBS_SQL) $(LIBS_KEYS) $(LIBS_FORMAT)
$(BUILD)/gpuanalyze: $(BUILD)/analyze/gpuanalyze.o $(BUILD)/libanalyze.a $(BUILD)/libkeys.a $(BUILD)/libformat.a
	$(LINK) $(LIBS_KEYS) $(LIBS_FORMAT) -lm
$(BUILD)/gpurec: $(BUILD)/record/gpurec.o $(BUILD)/librecord.a $(BUILD)/libkeys.a $(BUILD)/libformat.a
	$(LINK) $(LIBS_BPF) $(LIBS_KEYS) $(LIBS_FORMAT)

# The kernel side: CO-RE object, embedded as a skeleton.
$(BUILD)/bpf/gpurec.bpf.o: bpf/gpurec.bpf.c $(wildcard bpf/*.h) format/kinds.h
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	$(Q)$(CLANG) -O2 -g -Wall -target bpf -D__TARGET_ARCH_$(subst aarch64,arm64,$(subst x86_64,x86,$(shell uname -m))) \
		-I. -c $< -o $@
$(BUILD)/bpf/gpurec.skel.h: $(BUILD)/bpf/gpurec.bpf.o
	@echo "  SKEL  $@"
	$(Q)$(BPFTOOL) gen skeleton $< name gpurec_bpf > $@.tmp && mv $@.tmp $@
$(O_RECORD) $(BUILD)/record/gpurec.o: $(BUILD)/bpf/gpurec.skel.h

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
