# SPDX-License-Identifier: Apache-2.0
# gpurec: build, test, install. `make help` lists the targets and the settings.

# Settings -----------------------------------------------------------------------------------------------------------
BUILD   ?= build
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=
BPF     ?= 1
SAN     ?=
STATIC  ?=
CI      ?=
V       ?= 0
T       ?= 60
# ccache, where it is installed, makes a second build quick, also in another clone; nothing needs it. CC=gcc: without it.
CC      := $(if $(filter default,$(origin CC)),$(if $(shell command -v ccache),ccache )gcc,$(CC))
export CCACHE_BASEDIR := $(CURDIR)
CLANG   ?= clang
OBJCOPY ?= objcopy
BPFTOOL ?= $(or $(shell sh .ci/bpftool.sh),bpftool)
CFLAGS  ?= -O2 -g

# One name for a folder, however it is given: the way to compile must not seem to change.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))

VERSION := $(shell sed -n 's/^.define TOOL_VERSION "\(.*\)"/\1/p' keys/tool/tool.h)
MACHINE ?= $(shell uname -m)
Q       := $(if $(filter 1,$(V)),,@)

# How to compile and link --------------------------------------------------------------------------------------------
WARN    := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
           $(if $(CI),-Werror)
HARDEN  := -fstack-protector-strong -D_FORTIFY_SOURCE=2
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
CPPALL  := $(CPPFLAGS) -I. -I$(BUILD) -D_GNU_SOURCE -MMD -MP
# Position-independent and hidden throughout: the same objects go into tools, libgpucap and the SQLite module.
CALL    := -std=gnu11 -ffile-prefix-map=$(CURDIR)=. -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections $(CFLAGS) $(WARN) $(or $(SANFLAGS),$(HARDEN))
# For what each event goes through, unless another optimisation was asked for.
FASTER  := $(if $(filter -O2,$(CFLAGS)),-O3 -fno-tree-slp-vectorize)
# STATIC=1: tools that need nothing of the system they run on but its kernel.
LDALL   := $(LDFLAGS) $(SANFLAGS) $(if $(filter 1,$(STATIC)),-static-pie,-pie) -Wl,-z,relro,-z,now,--as-needed,--gc-sections -pthread

BPF_ARCH  := $(subst aarch64,arm64,$(subst x86_64,x86,$(MACHINE)))
BPF_FLAGS := -O2 -g -Wall -fstack-usage -ffile-prefix-map=$(CURDIR)=. -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I. \
             $(addprefix -idirafter ,$(wildcard /usr/include/$(MACHINE)-linux-gnu)) -MMD -MP

# What is built ------------------------------------------------------------------------------------------------------
# A folder's sources are its library; the file named after a tool is its main(), keys/gpukey/*.c and FOLDER/TOOL_*.c are the rest of these tools.
TOOLS   := gpuverify gpureplay gpuanalyze gpukey $(if $(filter 1,$(BPF)),gpurec)
MAINS   := keys/gpukey.c record/gpurec.c replay/gpuverify.c replay/gpureplay.c analyze/gpuanalyze.c
objs     = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAINS) $(gpukey_PARTS) $(gpurec_PARTS) $(gpureplay_PARTS) $(gpuanalyze_PARTS),$(wildcard $(1))))
gpukey_PARTS := $(wildcard keys/gpukey/*.c)
gpurec_PARTS := $(wildcard record/gpurec_*.c)
gpureplay_PARTS := $(wildcard replay/gpureplay_*.c)
gpuanalyze_PARTS := $(wildcard analyze/gpuanalyze_*.c)
O_FORMAT  := $(call objs,format/*.c format/*/*.c)
O_KEYS    := $(call objs,keys/*.c keys/*/*.c)
O_REPLAY  := $(call objs,replay/*.c replay/*/*.c)
O_ANALYZE := $(call objs,analyze/*.c analyze/*/*.c)
O_RECORD  := $(call objs,record/*.c record/*/*.c)
O_ELF     := $(call objs,record/symbols/elf*.c)
LIBGPUCAP := $(addprefix $(BUILD)/,libgpucap.so.1 libgpucap.a)
# The SQLite module: what talks to SQLite is compiled anew, against the SQLite that loads it.
MODULE    := $(BUILD)/gpucap.so
O_MODULE  := $(patsubst %.c,$(BUILD)/module/%.o,$(wildcard replay/sql/*.c))

PAGES     := $(BUILD)/man/gpurec-format.5 $(BUILD)/man/gpurec-rules.7

# A tool's libraries: ours in the order of who uses whom, then the system's.
A_BASE       := $(BUILD)/libkeys.a $(BUILD)/libformat.a
L_BASE       := -lseccomp -lcap -lsodium -llz4 -lxxhash
gpukey_A     := $(A_BASE)
gpukey_L     := $(L_BASE)
gpuverify_A  := $(BUILD)/libreplay.a $(A_BASE)
gpuverify_L  := -lsqlite3 $(L_BASE)
gpureplay_A  := $(gpuverify_A)
gpureplay_L  := $(gpuverify_L) -lm
gpuanalyze_A := $(BUILD)/libanalyze.a $(BUILD)/libreplay.a $(A_BASE)
gpuanalyze_L := -lsqlite3 $(L_BASE) -lm
gpurec_A     := $(BUILD)/librecord.a $(A_BASE)
gpurec_L     := -lbpf -ldw -lelf -lz $(L_BASE) -ldl

# Tests: a binary for each tests/unit/FOLDER/test_*.c; those that look into record/ need libbpf and are left out with BPF=0.
UNIT_ALL    := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*/test_*.c))
UNIT_RECORD := $(patsubst tests/unit/%.c,%,$(if $(UNIT_ALL),$(shell grep -l '"record/' tests/unit/*/test_*.c)))
UNIT        := $(if $(filter 1,$(BPF)),$(UNIT_ALL),$(filter-out $(UNIT_RECORD),$(UNIT_ALL)))
UNIT_BINS   := $(addprefix $(BUILD)/tests/unit/,$(UNIT))
# tests/bench/rate is linked with the recorder, and has a program for the kernel.
RATE        := $(if $(filter 1,$(BPF)),$(BUILD)/tests/bench/rate)
TOOL_BINS   := $(addprefix $(BUILD)/tests/,mkcap score attack)
BENCH_BINS  := $(patsubst tests/%.c,$(BUILD)/tests/%,$(filter-out tests/bench/rate.c tests/bench/fill.bpf.c,$(wildcard tests/bench/*.c)))
HELPER_BINS := $(TOOL_BINS) $(BENCH_BINS)
O_ATTACKS   := $(call objs,tests/tools/attacks*.c)
FUZZ        := $(patsubst tests/fuzz/%.c,%,$(filter-out $(if $(filter 1,$(BPF)),,%/fuzz_elf.c %/fuzz_changing.c),$(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_BINS   := $(addprefix $(BUILD)/tests/fuzz/,$(FUZZ))
TEST_A      := $(BUILD)/libanalyze.a $(BUILD)/libreplay.a $(A_BASE)
TEST_L      := -lcmocka -lsqlite3 $(L_BASE) -lm
WORKLOAD    := # set in tests/workload/rules.mk: what `make` of the test double yields

# Tests of the command line; those that trace the whole host need BPF, and say themselves when it is refused.
# `make test` is what fits into eight minutes on two CPUs. `make test-long` adds what takes minutes each: packages, for
# which everything is built again, guests with other kernels, campaigns of faults, a browser.
CLI_BPF     := $(wildcard tests/cli/e2e*.sh) $(wildcard tests/cli/record*.sh)
CLI_SLOW    := tests/house/dist.sh tests/house/recipes.sh tests/house/vm.sh
CLI         := $(filter-out $(CLI_BPF) $(CLI_SLOW) tests/cli/lib.sh tests/cli/own.sh tests/cli/rows.sh tests/cli/truth.sh,$(wildcard tests/cli/*.sh tests/house/*.sh))
LONG_ONLY   := tests/house/dist.sh tests/house/vm.sh $(addprefix tests/cli/,report_browser.sh record_soak.sh record_days.sh record_blinded.sh)
# In `make test` these are not run under sanitizers again, for they run little that is built with them: strace of other
# scripts that are run under sanitizers anyway, a browser, the simulated GPU library.
CLI_PLAIN   := $(addprefix tests/cli/,nosocket.sh report_browser.sh workload.sh)

# Targets ------------------------------------------------------------------------------------------------------------
.PHONY: all bins tests deps demo check test test-long run-tests lint fuzz coverage install uninstall clean help FORCE
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
all: $(addprefix $(BUILD)/,$(TOOLS)) $(LIBGPUCAP) $(MODULE) $(PAGES)

help:
	@echo 'make             build the tools into $(BUILD)/            BPF=0: the four offline ones, without clang and libbpf'
	@echo 'make deps        install what is missing to build and test (as root)'
	@echo 'make demo        ten seconds from recording to report    (asks for sudo to record)'
	@echo 'make check       the fast tests                          (no root needed)'
	@echo 'make test        every claim, plain and under sanitizers (as root, to trace; eight minutes on two CPUs)'
	@echo 'make test-changed   the tests that concern what differs from main                  (as root; SINCE=COMMIT: from that one)'
	@echo 'make test-long   all of it at length, packages, guests, faults, a browser; nothing may be unstable  (an hour)'
	@echo 'make static      tools with their libraries inside, to copy to other machines: $(BUILD)/static/'
	@echo 'make mutants     mutation-test the verifier'
	@echo 'make bench       figures beside peers and limits, into docs/BENCHMARKS.md  (as root, on an idle machine)'
	@echo 'make stalls ROUNDS=1000 SEED=1   random stalls, floods, hangs and kills of the recorder                (as root)'
	@echo 'make soak H=1    H hours of steady load, and faults: kills, full and slow disks, clocks   (as root)'
	@echo 'make score       how often the rules are right: 300 runs with planted faults, and programs of seven runtimes (as root, two hours)'
	@echo 'make vm KERNEL=6.1    a kernel of tests/vm/kernels.txt in QEMU, and what it records; or a path, with MODULES= and ARCH='
	@echo 'make vm-debian   what the README says of a fresh Debian 12, on one; as root   (half an hour; TESTS=all: the tests there, too)'
	@echo 'make vm-all      all of them, into the table of docs/CROSS.md   (an hour of one CPU at most)'
	@echo 'make arm64       the programs and their tests for arm64: $(BUILD)/arm64/'
	@echo 'make lint        clang-format, clang-tidy, cppcheck, shellcheck'
	@echo 'make fuzz T=60   fuzz each parser for T seconds          (clang)'
	@echo 'make coverage    which lines of format/ and keys/ the tests run; below 90 % fails'
	@echo 'make install     into $$(DESTDIR)$$(PREFIX), which is $(DESTDIR)$(PREFIX); make uninstall takes it away'
	@echo 'make dist        archives, static binaries, packages, sums: the same bytes each time  DIST=folder SIGN=key'
	@echo 'make clean       remove $(BUILD)/'
	@echo
	@echo 'Settings: BUILD=folder PREFIX=folder DESTDIR=folder BPF=0|1 SAN=address,undefined CI=1 (warnings are errors)'
	@echo '          V=1 (show commands) CC= CFLAGS= CPPFLAGS= LDFLAGS= CLANG= BPFTOOL='

deps:
	@sh .ci/deps.sh build $(if $(filter 1,$(BPF)),bpf) demo test

# A build by root (`sudo make demo`) leaves files that only root may change: say that, not "permission denied".
ifneq ($(filter-out help deps uninstall,$(or $(MAKECMDGOALS),all)),)
ifneq ($(wildcard $(BUILD)/.),)
ifneq ($(shell find $(BUILD) -maxdepth 1 ! -writable -print -quit),)
$(error $(BUILD)/ holds files of another user, made by `sudo make`: use `sudo make` again, `sudo make clean`, or BUILD=another-folder)
endif
endif
endif

# Everything is made anew when the way to make it changes.
FLAGS := $(CC) $(CPPALL) $(CALL) $(LDALL) $(FASTER)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@command -v $(firstword $(CC)) >/dev/null || { \
		echo "make: there is no $(firstword $(CC)) here: 'sudo make deps' installs what is missing" >&2; exit 1; }
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' >$@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPALL) $(CALL) -c $< -o $@

# What each event goes through: loops over columns, of which -O2 leaves half a value at a time, the cursor, the model and the rules.
FAST := $(BUILD)/format/columns.o $(BUILD)/format/cursor.o $(addprefix $(BUILD)/format/base/,map.o table.o) $(call objs,replay/model/*.c) $(O_ANALYZE)
$(FAST): CALL += $(FASTER)

$(BUILD)/libformat.a: $(O_FORMAT)
$(BUILD)/libkeys.a: $(O_KEYS)
$(BUILD)/libreplay.a: $(O_REPLAY)
$(BUILD)/libanalyze.a: $(O_ANALYZE)
$(BUILD)/librecord.a: $(O_RECORD)
$(BUILD)/lib%.a:
	@echo "  AR    $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

define tool_rule
$$(BUILD)/$(1): $$(patsubst %.c,$$(BUILD)/%.o,$$(filter %/$(1).c,$$(MAINS)) $$($(1)_PARTS)) $$($(1)_A)
	@echo "  LINK  $$@"
	$$(Q)$$(CC) $$(LDALL) $$^ $$($(1)_L) -o $$@
endef
$(foreach tool,$(TOOLS),$(eval $(call tool_rule,$(tool))))

# libgpucap: the reader for programs of others. The static one is a single object in which all but its interface is local.
LIBGPUCAP_O := $(BUILD)/replay/gpucap.o
LIBGPUCAP_L := -lsodium -llz4 -lxxhash -pthread
$(BUILD)/libgpucap.so.1: $(LIBGPUCAP_O) $(A_BASE) replay/gpucap.map
	@echo "  LINK  $@"
	$(Q)$(CC) $(filter-out -pie -static-pie,$(LDALL)) -shared -Wl,-soname,$(@F) -Wl,--version-script=replay/gpucap.map \
		-Wl,--exclude-libs,ALL $(LIBGPUCAP_O) $(A_BASE) $(LIBGPUCAP_L) -o $@
$(BUILD)/module/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC    $< (module)"
	$(Q)$(CC) $(CPPALL) -DGPUCAP_LOADABLE $(CALL) -c $< -o $@
$(MODULE): $(O_MODULE) $(BUILD)/libreplay.a $(A_BASE)
	@echo "  LINK  $@"
	$(Q)$(CC) $(filter-out -pie -static-pie,$(LDALL)) -shared $(if $(SAN),,-Wl,-z,defs) $(O_MODULE) $(BUILD)/libreplay.a \
		$(A_BASE) $(L_BASE) -o $@
$(BUILD)/libgpucap.a: $(LIBGPUCAP_O) $(A_BASE)
	@echo "  AR    $@"
	$(Q)$(LD) -r $(LIBGPUCAP_O) $(A_BASE) -o $(BUILD)/libgpucap.o
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/libgpucap.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/libgpucap.o
# The guides that are manual pages too: made from the same text, so that they cannot differ.
$(BUILD)/man/gpurec-format.5: docs/FORMAT.md
$(BUILD)/man/gpurec-rules.7: docs/RULES.md
$(PAGES): docs/man/page.awk
	@mkdir -p $(@D)
	$(Q)awk -v page=$(@F) -f docs/man/page.awk $(filter %.md,$^) >$@

# Tools to be copied to machines on which nothing is to be installed: all libraries inside but the C library, which NVML
# needs beside it; and gpurec-alone with that one, too, for systems with an older or another C library.
STATIC_TOOLS := $(addprefix $(BUILD)/static/,$(TOOLS) $(if $(filter 1,$(BPF)),gpurec-alone))
.PHONY: static
static: $(STATIC_TOOLS)
define static_rule
$$(BUILD)/static/$(1): $$(patsubst %.c,$$(BUILD)/%.o,$$(filter %/$(1).c,$$(MAINS)) $$($(1)_PARTS)) $$($(1)_A)
	@mkdir -p $$(@D)
	@echo "  LINK  $$@"
	$$(Q)$$(CC) $$(LDALL) $$^ -Wl,-Bstatic $$(filter-out -ldl -lm,$$($(1)_L)) -Wl,-Bdynamic -ldl -lm -s -o $$@
endef
$(foreach tool,$(TOOLS),$(eval $(call static_rule,$(tool))))
$(BUILD)/static/gpurec-alone: $(BUILD)/record/gpurec.o $(gpurec_PARTS:%.c=$(BUILD)/%.o) $(gpurec_A)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(filter-out -pie,$(LDALL)) -static-pie $^ $(gpurec_L) -s -o $@

# The kernel side: a CO-RE object, embedded as a skeleton.
$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	@command -v $(CLANG) >/dev/null || { echo "make: there is no $(CLANG) here: 'sudo make deps' installs what is" \
		"missing; 'make BPF=0' builds the four tools that need none" >&2; exit 1; }
	@echo "  BPF   $<"
	$(Q)$(CLANG) $(BPF_FLAGS) -c $< -o $@
$(BUILD)/bpf/gpurec.skel.h: $(BUILD)/bpf/gpurec.bpf.o
	@echo "  SKEL  $@"
	$(Q){ echo '/* NOLINTBEGIN: generated */' && $(BPFTOOL) gen skeleton $< name gpurec_bpf && echo '/* NOLINTEND */'; } \
		>$@.tmp && mv $@.tmp $@
$(filter-out $(O_ELF),$(O_RECORD)) $(BUILD)/record/gpurec.o $(gpurec_PARTS:%.c=$(BUILD)/%.o): | $(BUILD)/bpf/gpurec.skel.h

# Tests --------------------------------------------------------------------------------------------------------------
-include tests/workload/rules.mk

$(BUILD)/tests/bench/fill.bpf.o: tests/bench/fill.bpf.c
	@mkdir -p $(@D)
	@echo "  BPF   $<"
	$(Q)$(CLANG) $(BPF_FLAGS) -c $< -o $@
$(BUILD)/tests/bench/fill.skel.h: $(BUILD)/tests/bench/fill.bpf.o
	@echo "  SKEL  $@"
	$(Q)$(BPFTOOL) gen skeleton $< name fill_bpf >$@.tmp && mv $@.tmp $@
$(BUILD)/tests/bench/rate.o: $(BUILD)/tests/bench/fill.skel.h
$(RATE): $(BUILD)/tests/bench/rate.o $(BUILD)/librecord.a $(A_BASE)
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDALL) $^ $(gpurec_L) -o $@

# A bad disk and a bad clock, to be preloaded.
FAULTIO := $(BUILD)/tests/soak/faultio.so
$(FAULTIO): tests/soak/faultio.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) $(CPPALL) $(filter-out -fsanitize=%,$(CALL)) -shared $< -o $@

tests: all $(FAULTIO) $(RATE) $(UNIT_BINS) $(HELPER_BINS) $(FUZZ_BINS) $(WORKLOAD)
# Not every system has all libraries as archives: the test of these programs says what is missing.
	$(if $(SAN),,+@$(MAKE) --no-print-directory -s static >$(BUILD)/static.log 2>&1 || :)

$(UNIT_BINS): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TEST_A)
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDALL) $(filter %.o,$^) $(filter %/librecord.a,$^) $(TEST_A) \
		$(if $(filter $*,$(UNIT_RECORD)),-lbpf -ldw -lelf -lz) $(TEST_L) -o $@
$(addprefix $(BUILD)/tests/unit/,$(filter $(UNIT_RECORD),$(UNIT))): $(BUILD)/librecord.a
$(addprefix $(BUILD)/tests/unit/,$(addsuffix .o,$(filter $(UNIT_RECORD),$(UNIT)))): | $(BUILD)/bpf/gpurec.skel.h

# The list of attacks is shared by the program and the test.
$(BUILD)/tests/attack $(filter %/test_attack,$(UNIT_BINS)): $(O_ATTACKS)

$(TOOL_BINS): $(BUILD)/tests/%: $(BUILD)/tests/tools/%.o
$(BENCH_BINS): %: %.o
$(HELPER_BINS): $(TEST_A)
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDALL) $(filter %.o,$^) $(TEST_A) $(filter-out -lcmocka,$(TEST_L)) -o $@

# A fuzz target with a main() that runs it over files.
$(filter %/fuzz_elf %/fuzz_changing,$(FUZZ_BINS)): $(O_ELF)
$(FUZZ_BINS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/main.o $(TEST_A)
	@echo "  LINK  $@"
	$(Q)$(CC) $(LDALL) $(filter %.o,$^) $(filter %.a,$^) $(if $(filter %/fuzz_elf %/fuzz_changing,$@),-ldw -lelf) $(filter-out -lcmocka,$(TEST_L)) -o $@

# What the runner gets: settings, then tests (tests/run explains).
RUN_UNIT = BUILD=$(BUILD) $(UNIT_BINS)
RUN_CLI  = $(CLI)
RUN_FUZZ = $(FUZZ_BINS)
ifeq ($(BPF),1)
RUN_BPF  = $(CLI_BPF)
else
RUN_BPF  = $(foreach t,$(addprefix tests/unit/,$(UNIT_RECORD)) $(CLI_BPF),'SKIP=$(t):the build is without BPF')
endif

# Named here so that make does not take the recipes for ones that run make: `make -n test` runs no test.
TEST_ENV = MAKE="$(MAKE)" BPF=$(BPF)
check: tests
	@$(TEST_ENV) tests/run $(RUN_UNIT) $(RUN_CLI)

# Two builds, plain and with sanitizers, and one sum. Leaks are looked for in unit tests only: the finder of leaks is
# itself a tracer, and the tools forbid themselves to be traced.
ASAN     := $(BUILD)/asan
ASAN_ENV := ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99
ASAN_BUILD := tests BUILD=$(ASAN) SAN=address,undefined CFLAGS="-O1 -g1"
SANITIZED  := TITLE=sanitized BUILD=$(ASAN) $(ASAN_ENV) $(addprefix $(ASAN)/tests/unit/,$(UNIT)) \
              $(patsubst $(BUILD)/%,$(ASAN)/%,$(RUN_FUZZ)) ASAN_OPTIONS=exitcode=99:detect_leaks=0
.PHONY: builds run-tests-long
builds:
	+@$(MAKE) --no-print-directory tests
	+@$(MAKE) --no-print-directory $(ASAN_BUILD)
test: deps
	+@$(MAKE) --no-print-directory builds
	+@$(MAKE) --no-print-directory -s run-tests
run-tests:
	@$(TEST_ENV) tests/run LIMIT=300 $(filter-out $(LONG_ONLY),$(RUN_UNIT) $(RUN_FUZZ) $(RUN_CLI) $(CLI_SLOW)) \
		LIMIT=900 $(filter-out $(LONG_ONLY),$(RUN_BPF)) LIMIT=300 \
		$(SANITIZED) $(filter-out $(CLI_PLAIN),$(filter tests/cli/%,$(CLI))) $(if $(filter 1,$(BPF)),tests/cli/record.sh)
# What concerns the files that differ from main, by the table tests/changed.txt; SINCE=COMMIT: from that one.
.PHONY: test-changed
test-changed: tests
	@$(TEST_ENV) tests/run LIMIT=900 BUILD=$(BUILD) $(filter-out $(if $(filter 1,$(BPF)),,$(UNIT_RECORD:%=$(BUILD)/tests/unit/%) $(CLI_BPF)),\
		$(patsubst tests/%.c,$(BUILD)/tests/%,$(shell tests/tools/changed.sh)))
# LONG=1 in the environment lets tests run at length; STRICT=1: a test that passes only when it is run again has failed.
test-long: deps
	@sh .ci/deps.sh dist browser vm || : # without them some tests are skipped, and say so
	+@$(MAKE) --no-print-directory builds
	+@$(MAKE) --no-print-directory -s run-tests-long
run-tests-long:
	@$(TEST_ENV) STRICT=1 tests/run LONG=1 LIMIT=900 $(RUN_UNIT) $(RUN_FUZZ) $(RUN_CLI) \
		LIMIT=1800 $(RUN_BPF) $(CLI_SLOW) LIMIT=900 \
		$(SANITIZED) $(filter tests/cli/%,$(CLI)) $(if $(filter 1,$(BPF)),tests/cli/record.sh)

# Figures beside peers and limits, on an idle machine; docs/BENCHMARKS.md is made from them.
.PHONY: bench
bench: tests
	@sh .ci/deps.sh bench || echo 'bench: what is missing is left out' >&2
	@BUILD=$(BUILD) bash tests/bench/run.sh

# Long runs and bad days; their results go into docs/BENCHMARKS.md when that is made.
H ?= 1
.PHONY: soak stalls
stalls: tests
	@BUILD=$(BUILD) ROUNDS=$(or $(ROUNDS),1000) SEED=$(or $(SEED),$$$$) bash tests/tools/stalls.sh

soak: tests
	@BUILD=$(BUILD) H=$(H) RESULTS=tests/soak/endurance.md bash tests/tools/soak.sh

# For arm64 on x86-64, with Debian's cross-compiler. The libraries of that machine are fetched into a folder and are not
# installed. GOALS=all: without the tests; GOALS=guest: what guests run.
GOALS ?= tests
.PHONY: guest
guest: all $(HELPER_BINS) $(WORKLOAD) $(BUILD)/static/gpurec-alone
.PHONY: arm64
arm64:
	+@sysroot=$$(tests/vm/fetch.sh sysroot arm64) && $(MAKE) --no-print-directory BUILD=$(BUILD)/arm64 MACHINE=aarch64 \
		CC="$(filter ccache,$(CC)) aarch64-linux-gnu-gcc --sysroot=$$sysroot -ffile-prefix-map=$$sysroot=" AR=aarch64-linux-gnu-ar LD=aarch64-linux-gnu-ld \
		OBJCOPY=aarch64-linux-gnu-objcopy $(GOALS)

# Other kernels, in guests: see tests/vm/README.md. As root, what is missing is installed first.
KERNEL ?=
.PHONY: vm vm-all
vm: tests
	@$(if $(KERNEL),,echo "make: name a kernel: KERNEL=NAME of tests/vm/kernels.txt, or KERNEL=path/to/vmlinuz" >&2; exit 1)
	@sh .ci/deps.sh vm
	@MAKE="$(MAKE)" tests/run LIMIT=3600 BUILD=$(BUILD) GPUREC_VM_KERNELS=$(KERNEL) tests/house/vm.sh
vm-all: tests
	@sh .ci/deps.sh vm
	@rm -f $(BUILD)/vm.txt
	@MAKE="$(MAKE)" GPUREC_VM_KERNELS="$$(sed 's/[ #].*//' tests/vm/kernels.txt)" \
		tests/run LIMIT=7200 BUILD=$(BUILD) GPUREC_VM_RESULTS=$(BUILD)/vm.txt tests/house/vm.sh; status=$$?; \
		cp $(BUILD)/vm.txt tests/vm/results.txt && awk -v results=tests/vm/results.txt -f tests/vm/table.awk docs/CROSS.md \
			>$(BUILD)/CROSS.md && cp $(BUILD)/CROSS.md docs/CROSS.md && exit $$status

# What the README says of a fresh Debian 12, on one: half an hour. TESTS=all: `make check` and every test that records,
# too; TESTS="tests/cli/record_names.sh ...": `make check` and these.
.PHONY: vm-debian
vm-debian:
	@sh .ci/deps.sh vm
	@tests/vm/debian.sh $(BUILD)/vm-debian $(if $(filter all,$(TESTS)),$(UNIT_RECORD:%=build/tests/unit/%) $(CLI_BPF),$(TESTS))

# Slow: a compilation and some tests for each check.
.PHONY: mutants
mutants:
	@MAKE="$(MAKE)" CC="$(CC)" BUILD=$(BUILD) tests/tools/mutants.sh

# Slow, and as root: the table of docs/ACCURACY.md. RUNS=30 for a look.
.PHONY: score
score: deps
	@sh .ci/deps.sh exam || echo 'score: runtimes that are missing are left out' >&2
	+@$(MAKE) --no-print-directory all $(HELPER_BINS) $(WORKLOAD)
	@BUILD=$(BUILD) bash tests/tools/score.sh $(RUNS)

# Only what the demo needs is installed and built, with one line of progress.
DEMO_BINS := $(addprefix $(BUILD)/,$(TOOLS) $(if $(filter 1,$(BPF)),workload/driver))
demo:
	@sh .ci/deps.sh build $(if $(filter 1,$(BPF)),bpf) demo
	+@{ $(MAKE) --no-print-directory $(DEMO_BINS) 2>&1 || echo 'demo: the build failed'; } | awk -f tests/tools/progress.awk
	@BUILD=$(BUILD) BPF=$(BPF) bash tests/tools/demo.sh

# Lint ---------------------------------------------------------------------------------------------------------------
C_ALL := $(wildcard $(foreach d,bpf format keys record replay analyze,$(d)/*.[ch] $(d)/*/*.[ch]) \
           $(addprefix tests/,$(addsuffix /*.[ch],tools bench unit unit/* fuzz workload exam)))
C_USER := $(filter-out bpf/% tests/workload/% tests/exam/% %.bpf.c,$(filter %.c,$(C_ALL)))
SH_ALL := $(wildcard .ci/run .ci/*.sh tests/run tests/tools/*.sh tests/vm/*.sh tests/bench/*.sh tests/gpu/*.sh tests/cli/*.sh tests/house/*.sh docs/deploy/*.sh docs/packaging/*.sh)
LINTS  := lint-format lint-shell lint-cppcheck lint-tidy
.PHONY: $(LINTS)
lint:
	@sh .ci/deps.sh build bpf demo test lint
	+@$(MAKE) --no-print-directory -s $(BUILD)/bpf/gpurec.skel.h
	+@$(MAKE) --no-print-directory -k $(LINTS)

lint-format:
	@echo "  clang-format"
	$(Q)clang-format --dry-run -Werror $(C_ALL)

lint-shell:
	@echo "  shellcheck"
	$(Q)shellcheck -x -S warning -P SCRIPTDIR $(SH_ALL)

lint-cppcheck:
	@echo "  cppcheck"
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability,performance -j2 -D_GNU_SOURCE -I. \
		-D'LIBBPF_OPTS(TYPE,NAME,...)=struct TYPE NAME = {__VA_ARGS__}' \
		--suppressions-list=.ci/cppcheck.txt --inline-suppr --max-configs=4 $(C_USER)

# One file a run: several confuse clang 14's checker of va_list. A test may do what the tools must not: run programs
# (cert-env33-c), multiply small constants, leave by longjmp out of cmocka's assertions (unix.Malloc; LeakSanitizer looks).
TIDY_TESTS := -cert-env33-c,-bugprone-implicit-widening-of-multiplication-result,-clang-analyzer-unix.Malloc
lint-tidy:
	@echo "  clang-tidy"
	$(Q)printf '%s\n' $(C_USER) | xargs -P2 -n1 sh -c 'case $$1 in tests/*) off=$(TIDY_TESTS) ;; *) off= ;; esac; \
		[ "$$1" = format/base/fault.c ] || knows="-include .ci/lint.h"; \
		clang-tidy --quiet --config-file=.ci/clang-tidy.yml --checks=$$off "$$1" -- -std=gnu11 -I. \
			-isystem $(BUILD) -D_GNU_SOURCE $$knows 2>/dev/null' tidy

# Fuzzing ------------------------------------------------------------------------------------------------------------
# libFuzzer builds everything with clang, in a folder of its own; what it finds interesting stays there.
FUZZ_BUILD := $(BUILD)/fuzz
# Not pointer-overflow: it objects to nothing added to no pointer, an empty table, which C allows by now (WG14 N3322).
FUZZ_SAN   := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all
fuzz:
	@sh .ci/deps.sh build test fuzz
	+@$(MAKE) -s --no-print-directory BUILD=$(FUZZ_BUILD) BPF=0 CC=$(CLANG) CFLAGS="$(FUZZ_SAN)" HARDEN= \
		$(patsubst $(BUILD)/%,$(FUZZ_BUILD)/%,$(TEST_A) $(O_ELF)) $(FUZZ:%=$(FUZZ_BUILD)/tests/fuzz/%.o)
	+@$(MAKE) -s --no-print-directory $(FUZZ_BINS)
	@set -e; for target in $(FUZZ); do \
		mkdir -p $(FUZZ_BUILD)/found/$$target; \
		$(BUILD)/tests/fuzz/$$target --seeds $(FUZZ_BUILD)/found/$$target; \
		$(CLANG) -fsanitize=fuzzer,address,undefined $(FUZZ_BUILD)/tests/fuzz/$$target.o \
			$(patsubst $(BUILD)/%,$(FUZZ_BUILD)/%,$(O_ELF) $(TEST_A)) -ldw -lelf $(TEST_L) -pthread \
			-o $(FUZZ_BUILD)/$$target; \
		echo "  FUZZ  $$target for $(T) s"; \
		$(FUZZ_BUILD)/$$target -max_total_time=$(T) -max_len=65536 -rss_limit_mb=1024 -timeout=10 \
			-artifact_prefix=$(FUZZ_BUILD)/$$target- $(FUZZ_BUILD)/found/$$target \
			$$(find tests/fuzz/corpus -type d -name $$target 2>/dev/null) >$(FUZZ_BUILD)/$$target.log 2>&1 || \
			{ grep -v '^#' $(FUZZ_BUILD)/$$target.log | tail -n 60; exit 1; }; \
		grep -E 'DONE|^Done' $(FUZZ_BUILD)/$$target.log; \
	done

# Coverage -----------------------------------------------------------------------------------------------------------
# Lines of format/ and keys/ that the unit tests, the fuzz targets with their corpora, and the tests of the command line
# run, counted by gcov, which comes with gcc. The tools note what they ran only where they have not shut themselves off.
# Nothing is optimised here, so that a test that tries every bit takes minutes: the limit is a wide one.
COVERAGE := $(BUILD)/coverage
# The tests of the command line that have most to do with the two; the others take minutes and add nothing.
COVERAGE_CLI := $(wildcard $(patsubst %,tests/cli/%.sh,custody delegate gpukey narrow sign verify))
COVERED  := $(patsubst %.c,$(COVERAGE)/%.gcno,$(wildcard format/*.c format/base/*.c keys/*.c keys/gpukey/*.c keys/tool/*.c))
coverage:
	@sh .ci/deps.sh build test coverage
	@find $(COVERAGE) -name '*.gcda' -delete 2>/dev/null || :
	+@$(MAKE) -s --no-print-directory tests BUILD=$(COVERAGE) BPF=0 CFLAGS="-O0 -g --coverage" LDFLAGS=--coverage HARDEN=
	+@$(MAKE) -s --no-print-directory run-coverage BUILD=$(COVERAGE) BPF=0
	@gcov -n $(COVERED) 2>/dev/null | awk -v least=90 -f tests/tools/coverage.awk
.PHONY: run-coverage
run-coverage:
	@MAKE="$(MAKE)" BPF=0 tests/run LIMIT=1200 $(RUN_UNIT) $(RUN_FUZZ) $(COVERAGE_CLI)

# Install ------------------------------------------------------------------------------------------------------------
BINDIR := $(DESTDIR)$(PREFIX)/bin
MANDIR := $(DESTDIR)$(PREFIX)/share/man
DOCDIR := $(DESTDIR)$(PREFIX)/share/doc/gpurec
COMPDIR := $(DESTDIR)$(PREFIX)/share
MANS   := $(foreach tool,$(TOOLS),$(wildcard docs/man/$(tool).1))
DOCS   := $(wildcard LICENSE*) $(wildcard docs/*.md) docs/report.schema.json docs/report.png
# Files that the pages tell to copy, in folders of the same names.
DOCS_IN := rules deploy systemd examples
docs_in  = $(wildcard docs/$(1)/*.*)
# The capture that the quick start reads.
SAMPLE := tests/golden/demo.cap tests/golden/demo.pub
install: all
	install -d $(BINDIR) $(MANDIR)/man1 $(MANDIR)/man5 $(MANDIR)/man7 $(DOCDIR)
	install -m 755 $(addprefix $(BUILD)/,$(TOOLS)) $(BINDIR)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(BUILD)/libgpucap.so.1 $(DESTDIR)$(LIBDIR)
	ln -sf libgpucap.so.1 $(DESTDIR)$(LIBDIR)/libgpucap.so
	install -m 644 $(BUILD)/libgpucap.a $(DESTDIR)$(LIBDIR)
	install -d $(DESTDIR)$(LIBDIR)/gpurec
	install -m 755 $(MODULE) $(DESTDIR)$(LIBDIR)/gpurec
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' replay/gpucap.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/gpucap.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/gpucap.pc
	install -m 644 replay/gpucap.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(MANS) $(MANDIR)/man1
	install -m 644 $(filter %.5,$(PAGES)) $(MANDIR)/man5
	install -m 644 docs/man/gpucap.7 $(filter %.7,$(PAGES)) $(MANDIR)/man7
	install -m 644 $(DOCS) $(DOCDIR)
	sed 's|](docs/|](|g' README.md >$(DOCDIR)/README.md
	chmod 644 $(DOCDIR)/README.md
	install -d $(addprefix $(DOCDIR)/,$(DOCS_IN))
	$(foreach folder,$(DOCS_IN),install -m 644 $(call docs_in,$(folder)) $(DOCDIR)/$(folder) &&) :
	install -m 644 $(SAMPLE) $(DOCDIR)/examples
	install -d $(COMPDIR)/bash-completion/completions $(COMPDIR)/zsh/site-functions
	install -m 644 docs/completion/gpurec.bash $(COMPDIR)/bash-completion/completions/gpurec
	for tool in gpuverify gpureplay gpuanalyze gpukey; do \
		ln -sf gpurec $(COMPDIR)/bash-completion/completions/$$tool; done
	install -m 644 docs/completion/_gpurec $(COMPDIR)/zsh/site-functions

uninstall:
	rm -f $(addprefix $(BINDIR)/,$(notdir $(basename $(MAINS))))
	rm -f $(addprefix $(MANDIR)/man1/,$(notdir $(MAINS:.c=.1)))
	rm -f $(addprefix $(MANDIR)/man5/,$(notdir $(filter %.5,$(PAGES)))) $(addprefix $(MANDIR)/man7/,gpucap.7 $(notdir $(filter %.7,$(PAGES))))
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libgpucap.so.1 libgpucap.so libgpucap.a gpurec/gpucap.so pkgconfig/gpucap.pc)
	rmdir $(DESTDIR)$(LIBDIR)/gpurec 2>/dev/null || :
	rm -f $(DESTDIR)$(PREFIX)/include/gpucap.h $(COMPDIR)/zsh/site-functions/_gpurec
	rm -f $(addprefix $(COMPDIR)/bash-completion/completions/,gpurec gpuverify gpureplay gpuanalyze gpukey)
	rm -f $(DOCDIR)/README.md $(addprefix $(DOCDIR)/,$(notdir $(DOCS))) $(foreach folder,$(DOCS_IN),$(patsubst docs/%,$(DOCDIR)/%,$(call docs_in,$(folder)))) $(addprefix $(DOCDIR)/examples/,$(notdir $(SAMPLE)))
	rmdir $(addprefix $(DOCDIR)/,$(DOCS_IN)) $(DOCDIR) 2>/dev/null || :

# What is handed to those who install without a network: see docs/packaging/dist.sh. DIST=folder, SIGN=secret-key-file.
DIST ?= $(BUILD)/dist
.PHONY: dist
dist: $(BUILD)/gpukey
	@OUT=$(DIST) SIGN=$(SIGN) GPUKEY=$(BUILD)/gpukey PARTS="$(PARTS)" docs/packaging/dist.sh

clean:
	rm -rf $(BUILD)

# Which header each object was made from.
-include $(patsubst %.o,%.d,$(O_FORMAT) $(O_KEYS) $(O_REPLAY) $(O_ANALYZE) $(O_RECORD) $(O_MODULE) \
         $(patsubst %.c,$(BUILD)/%.o,$(MAINS) $(gpukey_PARTS) $(gpureplay_PARTS) $(gpuanalyze_PARTS)))
-include $(UNIT_BINS:=.d) $(HELPER_BINS:=.d) $(O_ATTACKS:.o=.d) $(FUZZ_BINS:=.d) $(BUILD)/tests/fuzz/main.d $(BUILD)/bpf/gpurec.bpf.d
-include $(wildcard $(BUILD)/workload/*.d $(BUILD)/workload/*/*.d)
