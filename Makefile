# SPDX-License-Identifier: MIT
# make          the program ./tinyllm and the library ./libtinyllm.a
# make test     all tests that need a C compiler and make only; ends with "N passed, N failed, N skipped"
# make demo     fetches a small model with pip and answers a prompt
# make asan     the same program under AddressSanitizer and UBSan, in build/asan. The unrolled kernels of CPU levels take
#               minutes to compile with sanitizers and stay without: their tests end every buffer at a guard page.
# make arm      cross build and the Arm tests under qemu-user (gcc-aarch64-linux-gnu, qemu-user)
# make check    layers, symbols, formatting
# BUILD=dir puts every output into dir; CC, CFLAGS, LDFLAGS as usual.

CC      ?= cc
AR      ?= ar
BUILD   ?= build
OUT     := $(if $(filter build,$(BUILD)),.,$(BUILD))
OPT     ?= -O2
KERNEL_OPT ?= -O3
KERNEL_CFLAGS ?= $(CFLAGS)
CFLAGS  ?= -g
WARN    := -Wall -Wextra -Wshadow
BASE    := -std=c11 $(OPT) $(WARN) -ffp-contract=off -fno-omit-frame-pointer -MMD -MP -Iinclude -Isrc -Ikernels
LIBS    := -lm -lpthread

# Kernel folders by architecture: kernels/<arch>_<level>/ with flags in flags.mk (LEVEL_FLAGS_<folder> = ...).
MACHINE := $(shell $(CC) -dumpmachine)
ARCH    := $(if $(filter x86_64%,$(MACHINE)),x86,$(if $(filter aarch64%,$(MACHINE)),arm,none))
-include $(wildcard kernels/$(ARCH)_*/flags.mk)

KERNEL_SRC := $(wildcard kernels/*.c kernels/types/*.c kernels/scalar/*.c)
LEVEL_SRC  := $(wildcard kernels/$(ARCH)_*/*.c)
LIB_SRC    := $(KERNEL_SRC) $(LEVEL_SRC) $(filter-out src/cmd/%,$(wildcard src/*/*.c src/*/*/*.c))
CMD_SRC    := $(wildcard src/cmd/*.c)
TEST_SRC   := $(wildcard tests/unit/*_test.c tests/kern/*_test.c)

OBJ   = $(patsubst %.c,$(BUILD)/%.o,$(1))
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))

all: $(OUT)/tinyllm $(OUT)/libtinyllm.a

$(OUT)/tinyllm: $(call OBJ,$(CMD_SRC)) $(OUT)/libtinyllm.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(OUT)/libtinyllm.a: $(call OBJ,$(LIB_SRC))
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/src/base/%.o: src/base/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -D_GNU_SOURCE $(CFLAGS) -c -o $@ $<

$(BUILD)/src/perf/%.o: src/perf/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -D_GNU_SOURCE $(CFLAGS) -c -o $@ $<

$(BUILD)/src/cmd/%.o: src/cmd/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -D_POSIX_C_SOURCE=200809L $(CFLAGS) -c -o $@ $<

$(BUILD)/src/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) -c -o $@ $<

$(BUILD)/kernels/$(ARCH)_%.o: kernels/$(ARCH)_%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(KERNEL_OPT) -fno-trapping-math -fno-math-errno $(LEVEL_FLAGS_$(notdir $(patsubst %/,%,$(dir $<)))) $(KERNEL_CFLAGS) -c -o $@ $<

$(BUILD)/kernels/%.o: kernels/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -fno-trapping-math -fno-math-errno $(CFLAGS) -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(OUT)/libtinyllm.a
	@mkdir -p $(@D)
	$(CC) $(BASE) -D_GNU_SOURCE -Itests $(CFLAGS) $(LDFLAGS) -o $@ $< $(OUT)/libtinyllm.a $(LIBS)

$(BUILD)/tools/%: tools/%.c $(OUT)/libtinyllm.a
	@mkdir -p $(@D)
	$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -o $@ $< $(OUT)/libtinyllm.a $(LIBS)

test: all $(TESTS) $(BUILD)/tools/mkmodel
	@BUILD=$(BUILD) TINYLLM=$(abspath $(OUT))/tinyllm sh tests/run.sh $(ONLY)

asan:
	$(MAKE) BUILD=build/asan OPT=-O1 KERNEL_CFLAGS=-g CFLAGS="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined" all

arm:
	$(MAKE) BUILD=build/arm CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar LDFLAGS=-static all tests
tests: $(TESTS)

demo: all
	@sh tools/demo.sh $(OUT)/tinyllm

check:
	@sh tools/check_layers.sh
	@sh tools/check_syms.sh $(OUT)/libtinyllm.a $(BUILD)

clean:
	rm -rf build tinyllm libtinyllm.a

.PHONY: all test tests asan arm demo check clean
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
