# SPDX-License-Identifier: Apache-2.0
# The CUDA test double and the programs that use it. Included by the Makefile at the top.
#
# Always built without sanitizers and with frame pointers: timing and stacks are what these are about.
WORKLOAD_OUT   := $(BUILD)/workload
# As the real libraries do, functions begin with a landing pad: the kernel puts no probe on a lock-prefixed instruction,
# which the compiler otherwise likes to begin with.
WORKLOAD_FLAGS := -std=gnu11 -O2 -g $(WARN) -fPIC -fno-omit-frame-pointer -fno-optimize-sibling-calls \
                  $(if $(filter x86_64,$(MACHINE)),-fcf-protection=branch)
WORKLOAD_LD    := -pthread -Wl,-rpath,'$$ORIGIN' -Wl,-z,relro,-z,now
WORKLOAD       := $(addprefix $(WORKLOAD_OUT)/,libcuda.so.1 libcuda.so libcudart.so.12 libcudart.so driver driver-dlopen \
                  real_cudart check_double plant libnvidia-ml.so.1 every/libcudart.so.12 every/libcuda.so.1 every/libnccl.so.2 every/every \
                  every/typed every/names sleeps steady attacker leave/libcudart.so.12 leave/leave leave/scope leave/crowd around/libcudart.so.12 around/libcuda.so.1 around/around \
                  reach/reach \
                  $(if $(filter x86_64,$(MACHINE)),every/frames every/held))

workload_objs   = $(patsubst %,$(WORKLOAD_OUT)/%.o,$(1))
WORKLOAD_DRIVER := driver options worker tally json truth flood variants scenario_stall scenario_leak scenario_spike \
                   scenario_traffic

$(WORKLOAD_OUT)/%.o: tests/workload/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) -I. -D_GNU_SOURCE -MMD -MP $(WORKLOAD_FLAGS) -c $< -o $@

$(WORKLOAD_OUT)/libcuda.so.1: $(call workload_objs,libcuda device memory) tests/workload/libcuda.map
	@echo "  LINK  $@"
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) $(filter %.o,$^) $(WORKLOAD_LD) -o $@
$(WORKLOAD_OUT)/libcudart.so.12: $(call workload_objs,libcudart) $(WORKLOAD_OUT)/libcuda.so.1 tests/workload/libcudart.map
	@echo "  LINK  $@"
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) $(filter-out %.map,$^) $(WORKLOAD_LD) -o $@
$(WORKLOAD_OUT)/libnvidia-ml.so.1: $(call workload_objs,nvml)
	@echo "  LINK  $@"
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $^ $(WORKLOAD_LD) -o $@
$(WORKLOAD_OUT)/libcuda.so: $(WORKLOAD_OUT)/libcuda.so.1
$(WORKLOAD_OUT)/libcudart.so: $(WORKLOAD_OUT)/libcudart.so.12
$(WORKLOAD_OUT)/libcuda.so $(WORKLOAD_OUT)/libcudart.so:
	$(Q)ln -sf $(notdir $<) $@

# One program is linked with the library, the other opens it at run time.
$(WORKLOAD_OUT)/driver: $(call workload_objs,$(WORKLOAD_DRIVER) api_linked) $(WORKLOAD_OUT)/libcudart.so.12 \
                        $(WORKLOAD_OUT)/libcuda.so.1
$(WORKLOAD_OUT)/driver-dlopen: $(call workload_objs,$(WORKLOAD_DRIVER) api_dlopen)
$(WORKLOAD_OUT)/check_double: $(call workload_objs,check_double) $(WORKLOAD_OUT)/libcudart.so.12 \
                              $(WORKLOAD_OUT)/libcuda.so.1
$(WORKLOAD_OUT)/steady: $(call workload_objs,steady) $(WORKLOAD_OUT)/libcudart.so.12 $(WORKLOAD_OUT)/libcuda.so.1
$(WORKLOAD_OUT)/plant: $(call workload_objs,plant plant_faults json) $(WORKLOAD_OUT)/libcudart.so.12 $(WORKLOAD_OUT)/libcuda.so.1
$(WORKLOAD_OUT)/real_cudart: $(call workload_objs,real_cudart json tally)
$(WORKLOAD_OUT)/driver $(WORKLOAD_OUT)/driver-dlopen $(WORKLOAD_OUT)/real_cudart $(WORKLOAD_OUT)/check_double $(WORKLOAD_OUT)/plant \
$(WORKLOAD_OUT)/steady:
	@echo "  LINK  $@"
	$(Q)$(CC) $^ $(WORKLOAD_LD) -ldl -o $@

# Libraries that export every function of the probe table and do nothing, and programs that call them. Functions
# that are alike must not be made one. They begin as the real ones do, with a push that the kernel need not step over.
WORKLOAD_EVERY := $(addprefix $(WORKLOAD_OUT)/every/,libcudart.so.12 libcuda.so.1 libnccl.so.2)
$(WORKLOAD_OUT)/every/libcudart.so.12: EVERY := EVERY_RUNTIME
$(WORKLOAD_OUT)/every/libcuda.so.1: EVERY := EVERY_DRIVER
$(WORKLOAD_OUT)/every/libnccl.so.2: EVERY := EVERY_NCCL
$(WORKLOAD_EVERY): tests/workload/every_library.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) -I. -D_GNU_SOURCE -MMD -MP $(WORKLOAD_FLAGS) -O0 $(if $(filter x86_64,$(MACHINE)),-fcf-protection=none) -fno-ipa-icf -D$(EVERY) -shared -Wl,-soname,$(@F) $< -o $@
$(addprefix $(WORKLOAD_OUT)/every/,every typed names frames held): $(WORKLOAD_OUT)/every/%: $(WORKLOAD_OUT)/%.o $(WORKLOAD_EVERY)
	@echo "  LINK  $@"
	$(Q)$(CC) $^ $(WORKLOAD_LD) -o $@
$(WORKLOAD_OUT)/sleeps $(WORKLOAD_OUT)/attacker: $(WORKLOAD_OUT)/%: $(WORKLOAD_OUT)/%.o
	@echo "  LINK  $@"
	$(Q)$(CC) $^ $(WORKLOAD_LD) -o $@

# Calls that do not return. Nothing is optimised: a call that is the last one must not become a jump.
$(WORKLOAD_OUT)/leave/libcudart.so.12: tests/workload/leave_library.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) -I. -D_GNU_SOURCE -MMD -MP $(WORKLOAD_FLAGS) -O0 -shared -Wl,-soname,$(@F) $< -o $@
$(addprefix $(WORKLOAD_OUT)/leave/,leave scope crowd): $(WORKLOAD_OUT)/leave/%: $(WORKLOAD_OUT)/%.o \
                        $(WORKLOAD_OUT)/leave/libcudart.so.12
	@echo "  LINK  $@"
	$(Q)$(CC) $^ $(WORKLOAD_LD) -o $@

# Calls inside calls, one of them the last, which is to become a jump.
WORKLOAD_AROUND := $(addprefix $(WORKLOAD_OUT)/around/,libcudart.so.12 libcuda.so.1)
$(WORKLOAD_OUT)/around/libcuda.so.1: AROUND :=
$(WORKLOAD_OUT)/around/libcudart.so.12: AROUND := -DAROUND_RUNTIME
$(WORKLOAD_OUT)/around/libcudart.so.12: $(WORKLOAD_OUT)/around/libcuda.so.1
$(WORKLOAD_AROUND): tests/workload/around_library.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) -I. -D_GNU_SOURCE -MMD -MP $(WORKLOAD_FLAGS) $(AROUND) -shared -Wl,-soname,$(@F) $< \
		$(filter %/libcuda.so.1,$^) $(WORKLOAD_LD) -o $@
$(WORKLOAD_OUT)/around/around: $(call workload_objs,around) $(WORKLOAD_AROUND)
	@echo "  LINK  $@"
	$(Q)$(CC) $^ $(WORKLOAD_LD) -o $@

# Functions that are defined, or reached, each in another way; the last call of one becomes a jump. The program is bound
# lazily.
WORKLOAD_REACH := $(addprefix $(WORKLOAD_OUT)/reach/,libreach.so libcuda.so.1 libpreload.so libcudart.so.12)
$(WORKLOAD_OUT)/reach/libreach.so: REACH := -DREACH_COUNTS
$(WORKLOAD_OUT)/reach/libcuda.so.1: REACH := -DREACH_DRIVER
$(WORKLOAD_OUT)/reach/libpreload.so: REACH := -DREACH_PRELOAD
$(WORKLOAD_OUT)/reach/libcudart.so.12: REACH := -DREACH_RUNTIME -Wl,--version-script=tests/workload/reach.map
$(WORKLOAD_OUT)/reach/libcudart.so.12: $(WORKLOAD_OUT)/reach/libcuda.so.1 tests/workload/reach.map
$(filter-out %/libreach.so,$(WORKLOAD_REACH)): $(WORKLOAD_OUT)/reach/libreach.so
$(WORKLOAD_REACH): tests/workload/reach_library.c tests/workload/reach.h $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	$(Q)$(CC) -I. -D_GNU_SOURCE $(WORKLOAD_FLAGS) -foptimize-sibling-calls $(REACH) -shared -Wl,-soname,$(@F) $< \
		$(filter $(@D)/%,$^) $(WORKLOAD_LD) -ldl -o $@
$(WORKLOAD_OUT)/reach/copy/libcudart.so.12: $(WORKLOAD_OUT)/reach/libcudart.so.12
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(WORKLOAD_OUT)/reach/reach: $(WORKLOAD_OUT)/reach.o $(WORKLOAD_REACH) $(WORKLOAD_OUT)/reach/copy/libcudart.so.12
	@echo "  LINK  $@"
	$(Q)$(CC) $(filter-out %/libpreload.so %/copy/libcudart.so.12,$^) -pthread -Wl,-rpath,'$$ORIGIN' -Wl,-z,lazy -ldl -o $@
