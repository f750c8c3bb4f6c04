# SPDX-License-Identifier: MIT
# make          the program ./tinyllm, the library ./libtinyllm.a and ./libtinyllm.so
# make test     all tests that need a C compiler and make only; ends with "N passed, N failed, N skipped"
# make demo     fetches a small model with pip and answers a prompt
# make install  into PREFIX (default /usr/local), below DESTDIR if that is set; make uninstall takes it away again
# make asan     the same program under AddressSanitizer and UBSan, in build/asan. The unrolled kernels of CPU levels take
#               minutes to compile with sanitizers and stay without: their tests end every buffer at a guard page.
# make arm      cross build with gcc-aarch64-linux-gnu, in build/arm; tools/test_arm.sh tests it under qemu-user
# make check    directions of includes, sizes of files, places that name a table's members, symbols of the libraries
# make mutate   whether the tests see each mistake of tools/mutations.tsv; needs Python and half an hour
# BUILD=dir puts every output into dir; V=1 shows the commands; CC, CFLAGS, LDFLAGS as usual.

CC      ?= cc
AR      ?= ar
BUILD   ?= build
OUT     := $(if $(filter build,$(BUILD)),.,$(BUILD))
OPT     ?= -O2
KERNEL_OPT ?= -O3
KERNEL_CFLAGS ?= $(CFLAGS)
CFLAGS  ?= -g
WARN    := -Wall -Wextra -Wshadow
# Threads of others that call the library may have small stacks. Tests may take more.
FRAMES  ?= -Wframe-larger-than=16384
# Hidden: only what tinyllm.h declares leaves the shared library. Both libraries are made of the same objects.
BASE    := -std=c11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off -fno-omit-frame-pointer -MMD -MP \
           -Iinclude -Isrc -Ikernels
LIBS    := -lm -lpthread
VERSION := $(shell sed -n 's/^.define TL_VERSION "\(.*\)"/\1/p' include/tinyllm.h)
SONAME  := libtinyllm.so.$(firstword $(subst ., ,$(VERSION)))

Q       := $(if $(filter 1,$(V)),,@)
SAY      = $(if $(filter 1,$(V)),@:,@printf '  %-4s %s\n')

# Kernel folders by architecture: kernels/<arch>_<level>/ with flags in flags.mk (LEVEL_FLAGS_<folder> = ...).
# What the flags compile for counts, not what the compiler is named after (-m32, --target).
TARGET  := $(shell $(CC) $(CFLAGS) -dM -E -x c /dev/null | grep -oE '__(x86_64|aarch64|SIZEOF_POINTER)__ [0-9]+')
ifeq ($(filter __SIZEOF_POINTER__,$(TARGET))$(filter 8,$(TARGET)),__SIZEOF_POINTER__8)
ARCH    := $(if $(filter __x86_64__,$(TARGET)),x86,$(if $(filter __aarch64__,$(TARGET)),arm,none))
else
$(error tinyllm needs a 64-bit target, and "$(strip $(CC) $(CFLAGS))" does not compile for one)
endif
-include $(wildcard kernels/$(ARCH)_*/flags.mk)

KERNEL_SRC := $(wildcard kernels/*.c kernels/types/*.c kernels/kv/*.c kernels/scalar/*.c)
LEVEL_SRC  := $(wildcard kernels/$(ARCH)_*/*.c)
LIB_SRC    := $(KERNEL_SRC) $(LEVEL_SRC) $(filter-out src/cmd/%,$(wildcard src/*/*.c src/*/*/*.c))
CMD_SRC    := $(wildcard src/cmd/*.c)
TEST_SRC   := $(wildcard tests/unit/*_test.c tests/kern/*_test.c)

OBJ   = $(patsubst %.c,$(BUILD)/%.o,$(1))
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))

all: $(OUT)/tinyllm $(OUT)/libtinyllm.a $(OUT)/libtinyllm.so

$(OUT)/tinyllm: $(call OBJ,$(CMD_SRC)) $(OUT)/libtinyllm.a
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(OUT)/libtinyllm.a: $(call OBJ,$(LIB_SRC))
	$(SAY) AR $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(OUT)/libtinyllm.so: $(call OBJ,$(LIB_SRC))
	$(SAY) LD $@
	$(Q)$(CC) $(CFLAGS) $(filter-out -static,$(LDFLAGS)) -shared -Wl,-soname,$(SONAME) -o $@ $^ $(LIBS)

# What a folder's files are compiled with, beside BASE.
SYSTEM   := -D_GNU_SOURCE
POSIX    := -D_POSIX_C_SOURCE=200809L
KERNEL   := -fno-trapping-math -fno-math-errno

define compile
	$(SAY) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(FRAMES) $(1) -c -o $@ $<
endef

$(BUILD)/src/base/%.o: src/base/%.c Makefile
	$(call compile,$(SYSTEM) $(CFLAGS))

$(BUILD)/src/perf/%.o: src/perf/%.c Makefile
	$(call compile,$(SYSTEM) $(CFLAGS))

$(BUILD)/src/cmd/%.o: src/cmd/%.c Makefile
	$(call compile,$(POSIX) $(CFLAGS))

$(BUILD)/src/%.o: src/%.c Makefile
	$(call compile,$(CFLAGS))

# A level's own flags come last: what the user says of the CPU is not said of the levels.
$(BUILD)/kernels/$(ARCH)_%.o: kernels/$(ARCH)_%.c Makefile
	$(call compile,$(KERNEL_OPT) $(KERNEL) $(KERNEL_CFLAGS) $(LEVEL_FLAGS_$(notdir $(patsubst %/,%,$(dir $<)))))

$(BUILD)/kernels/%.o: kernels/%.c Makefile
	$(call compile,$(KERNEL) $(CFLAGS))

$(BUILD)/tests/%: tests/%.c $(OUT)/libtinyllm.a
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SYSTEM) -Itests $(CFLAGS) $(LDFLAGS) -o $@ $< $(OUT)/libtinyllm.a $(LIBS)

$(BUILD)/tools/%: tools/%.c $(OUT)/libtinyllm.a
	$(SAY) LD $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(LDFLAGS) -o $@ $< $(OUT)/libtinyllm.a $(LIBS)

test: all $(TESTS) $(BUILD)/tools/mkmodel
	@BUILD=$(BUILD) TINYLLM=$(abspath $(OUT))/tinyllm sh tests/run.sh $(ONLY)

asan:
	$(MAKE) BUILD=build/asan OPT=-O1 KERNEL_CFLAGS=-g FRAMES= CFLAGS="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined" all

arm:
	$(MAKE) BUILD=build/arm CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar LDFLAGS=-static all tests
tests: $(TESTS)

demo: all
	@sh tools/demo.sh $(OUT)/tinyllm

check:
	@sh tools/check_layers.sh
	@sh tools/check_places.sh
	@sh tools/check_syms.sh $(OUT)/libtinyllm.a $(BUILD) $(OUT)/libtinyllm.so

mutate: all
	@python3 tools/mutate.py --build $(BUILD)

PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MAN     := $(DATADIR)/man/man1/tinyllm.1
PC      := $(LIBDIR)/pkgconfig/tinyllm.pc
BASH_C  := $(DATADIR)/bash-completion/completions/tinyllm
ZSH_C   := $(DATADIR)/zsh/site-functions/_tinyllm
FISH_C  := $(DATADIR)/fish/vendor_completions.d/tinyllm.fish
INSTALL ?= install

install: all
	$(Q)$(INSTALL) -d $(addprefix $(DESTDIR),$(BINDIR) $(INCLUDEDIR) $(LIBDIR) $(dir $(PC) $(MAN) $(BASH_C) $(ZSH_C) $(FISH_C)))
	$(Q)$(INSTALL) -m 755 $(OUT)/tinyllm $(DESTDIR)$(BINDIR)/tinyllm
	$(Q)$(INSTALL) -m 644 include/tinyllm.h $(DESTDIR)$(INCLUDEDIR)/tinyllm.h
	$(Q)$(INSTALL) -m 644 $(OUT)/libtinyllm.a $(DESTDIR)$(LIBDIR)/libtinyllm.a
	$(Q)$(INSTALL) -m 755 $(OUT)/libtinyllm.so $(DESTDIR)$(LIBDIR)/libtinyllm.so.$(VERSION)
	$(Q)ln -sf libtinyllm.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libtinyllm.so
	$(Q)printf '%s\n' 'Name: tinyllm' 'Description: Language models in GGUF files on CPUs' 'Version: $(VERSION)' \
	    'Cflags: -I$(INCLUDEDIR)' 'Libs: -L$(LIBDIR) -ltinyllm' 'Libs.private: $(LIBS)' >$(DESTDIR)$(PC)
	$(Q)$(OUT)/tinyllm help --man >$(DESTDIR)$(MAN)
	$(Q)$(OUT)/tinyllm help --bash >$(DESTDIR)$(BASH_C)
	$(Q)$(OUT)/tinyllm help --zsh >$(DESTDIR)$(ZSH_C)
	$(Q)$(OUT)/tinyllm help --fish >$(DESTDIR)$(FISH_C)

uninstall:
	$(Q)rm -f $(addprefix $(DESTDIR),$(BINDIR)/tinyllm $(INCLUDEDIR)/tinyllm.h $(LIBDIR)/libtinyllm.a $(LIBDIR)/libtinyllm.so \
	    $(LIBDIR)/$(SONAME) $(LIBDIR)/libtinyllm.so.$(VERSION) $(PC) $(MAN) $(BASH_C) $(ZSH_C) $(FISH_C))

clean:
	rm -rf build tinyllm libtinyllm.a libtinyllm.so

.PHONY: all test tests asan arm demo check mutate install uninstall clean
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
