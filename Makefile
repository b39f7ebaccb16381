# rfm needs a C99 compiler and GNU make. `make help` lists what can be made.
#
#   CC, AR, CFLAGS    yours; the library itself adds only the language standard, warnings and include paths
#   BUILD             where everything goes (build)
#   BOARD             build for a line of boards/boards.txt instead, into build/BOARD
#   REAL=double       numbers are double instead of float
#   WERROR=1          a warning is an error

BUILD   ?= build
CFLAGS  ?= -O3
PREFIX  ?= /usr/local
AR      ?= ar
WARN     = -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wdouble-promotion -Wcast-align \
           -Wstrict-prototypes -Wmissing-prototypes
UNITY   ?= build/unity
# Unity's repository keeps its sources in src/.
unity   := $(if $(wildcard $(UNITY)/unity.c),$(UNITY),$(UNITY)/src)
VERSION := $(shell awk '/define RFM_VERSION_/ { v = v (v == "" ? "" : ".") $$3 } END { print v }' rfm/rfm.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

.DEFAULT_GOAL := all
.PHONY: all lib shared unit demo test check soak coverage bench papers size man api install dist clean help FORCE
.SUFFIXES:
.DELETE_ON_ERROR:

# ---- the target -------------------------------------------------------------------------------------------------
# This machine.

test_ram  = $(or $(TEST_RAM),67108864)
host      = 1
flags     = -std=c99 $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -Irfm -Iport $(if $(REAL),-DRFM_REAL=$(REAL))
link      = -lm
link_program = $(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link)
compile   = $(CC) $(CPPFLAGS) $(CFLAGS) $(flags) -MMD -MP -c -o $@ $<

# Another target with BOARD, and the programs that run there.
include boards/boards.mk

# ---- what is made of what -----------------------------------------------------------------------------------------

lib_src   = $(wildcard rfm/*.c port/*.c)
lib_obj   = $(lib_src:%.c=$(BUILD)/obj/%.o)
objects   = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
# The tools stand on tools/host; of tools/rfm others take only what is named here: learning from rows, and pages.
host_obj  = $(call objects,tools/host/*.c)
learn_obj = $(call objects,tools/rfm/learn/*.c)
page_obj  = $(patsubst %,$(BUILD)/obj/tools/rfm/report/%.o,html chart image)
rfm_obj   = $(call objects,tools/rfm/*.c tools/rfm/*/*.c)
bench_obj = $(call objects,tools/bench/*.c)
papers_obj = $(call objects,tools/papers/*.c) $(learn_obj) $(page_obj)
small_obj = $(call objects,tools/small/*.c) $(learn_obj)
adapt_obj = $(call objects,tools/adapt/*.c) $(page_obj)
# The shared library has the library, and the commands as functions (tools/python/rfm_tool.h).
shared_src = $(lib_src) $(filter-out tools/rfm/main.c,$(wildcard tools/host/*.c tools/rfm/*.c tools/rfm/*/*.c)) \
            $(wildcard tools/python/*.c)
shared_obj = $(shared_src:%.c=$(BUILD)/pic/%.o)
shared_api = $(filter-out %_private.h,$(wildcard rfm/*.h)) port/rfm_port.h tools/python/rfm_tool.h
tools     = $(BUILD)/rfm $(BUILD)/rfm-bench $(BUILD)/rfm-papers $(BUILD)/rfm-small $(BUILD)/rfm-adapt
unit      = $(patsubst tests/unit/%.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
# Linked to each unit test: Unity, what the tests share, and what the target needs; threads come with an operating system.
shared    = $(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c))
unit_obj  = $(BUILD)/obj/unity.o $(shared:%.c=$(BUILD)/obj/%.o) \
            $(if $(bare),$(BUILD)/obj/boards/startup.o,$(BUILD)/obj/tools/host/pool.o)

all: lib $(if $(host),$(tools))
lib: $(BUILD)/librfm.a
unit: $(unit)

# The archive is made anew, so that a deleted source leaves it.
$(BUILD)/librfm.a: $(lib_obj)
	rm -f $@
	$(AR) rcs $@ $(lib_obj)

shared: $(BUILD)/librfm.so # the library and the commands as functions, for Python and others: build/librfm.so

# Only what the headers have is to be seen. The memory of a call is followed, so that it can be freed when it fails.
$(BUILD)/librfm.map: $(shared_api)
	@mkdir -p $(@D)
	{ echo '{ global:'; grep -oh '\<rfm_[a-z0-9_]*(' $(shared_api) | tr '(' ';' | sort -u; \
	    grep -oh '^extern const .*' $(shared_api) | grep -o 'rfm_[a-z0-9_]*[];[]' | tr -d '[]' | tr -s ';' | \
	    sed 's/;*$$/;/' | sort -u; echo 'local: *; };'; } >$@

$(BUILD)/librfm.so.$(SOVERSION): $(shared_obj) $(BUILD)/librfm.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,librfm.so.$(SOVERSION) -Wl,--version-script=$(BUILD)/librfm.map \
	    -Wl,--no-undefined -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign,--wrap=free \
	    -o $@ $(shared_obj) -lm -lpthread

$(BUILD)/librfm.so: $(BUILD)/librfm.so.$(SOVERSION)
	ln -sf librfm.so.$(SOVERSION) $@

$(BUILD)/libhost.a: $(host_obj)
	rm -f $@
	$(AR) rcs $@ $(host_obj)

$(BUILD)/rfm: $(rfm_obj)
$(BUILD)/rfm-bench: $(bench_obj)
$(BUILD)/rfm-papers: $(papers_obj)
$(BUILD)/rfm-small: $(small_obj)
$(BUILD)/rfm-adapt: $(adapt_obj)
$(tools): $(BUILD)/libhost.a $(BUILD)/librfm.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lm -ldl -lpthread

$(BUILD)/test_%: $(BUILD)/obj/tests/unit/test_%.o $(unit_obj) $(BUILD)/librfm.a
	$(link_program) $(if $(bare),,-lpthread)

# Host and boards shall agree bit for bit where they can: the core's a * b + c never becomes one fused operation.
$(BUILD)/obj/rfm/%.o $(BUILD)/pic/rfm/%.o: private flags += -ffp-contract=off
$(BUILD)/obj/tests/% $(BUILD)/obj/unity.o: private flags += -DUNITY_INCLUDE_CONFIG_H -Itests/unit -Itools/host -isystem $(unity) \
    -DTEST_RAM=$(test_ram) $(if $(bare),-DBOARD_BARE)
# What is tested is the library: its tests compile in half the time. For Arm they keep the options of the board: gcc for
# ARMv7 loses half of a constant by -O1. TEST_LEVEL, TOOLS_LEVEL: another level for tests, for tools.
$(BUILD)/obj/tests/%: private flags += $(or $(TEST_LEVEL),$(if $(filter arm-%,$(board_tools)),,-O1))

$(BUILD)/obj/tools/%.o $(BUILD)/pic/tools/%.o: private flags += -Itools $(TOOLS_LEVEL)

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile)

$(BUILD)/pic/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) -fPIC

$(UNITY)/src/unity.c:
	@echo 'the unit tests need Unity in $(UNITY): tools/setup test gets it, or UNITY=path' >&2; false

$(BUILD)/obj/unity.o: $(unity)/unity.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) -w

# Changes when the way of compiling changes, and then everything is compiled again. Flags of single folders are private,
# so that this file has the same contents whoever asks for it.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(unity) $(test_ram) $(TEST_LEVEL) $(TOOLS_LEVEL)' | cmp -s - $@ || \
	    echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(unity) $(test_ram) $(TEST_LEVEL) $(TOOLS_LEVEL)' >$@

-include $(shell find $(BUILD)/obj $(BUILD)/pic -name '*.d' 2>/dev/null)

# ---- what people ask for ----------------------------------------------------------------------------------------

demo: all # trains on recorded gestures, exports a header, compiles firmware with it and runs it
	@tools/demo/run $(BUILD)

test: # every configuration: this machine's compilers, sanitizers, the boards
	@BOARDS='$(BOARDS)' UNITY='$(filter-out build/unity,$(UNITY))' tools/setup test
	@BOARDS='$(BOARDS)' UNITY='$(UNITY)' SUITE='$(SUITE)' CONFIG='$(CONFIG)' tests/run

# Those of the list that there are, the sweep in float only.
CHECK    = host asan headers golden readme sweep
check: # this machine only, under two minutes: host build, AddressSanitizer, golden cases, the short sweep
	@BOARDS=none UNITY='$(filter-out build/unity,$(UNITY))' tools/setup test
	@BOARDS=none UNITY='$(UNITY)' SUITE='$(SUITE)' REALS=float \
	    CONFIG='$(filter host asan headers $(patsubst tests/%/run,%,$(wildcard tests/*/run)),$(CHECK))' tests/run

SOAK    ?= 1800
soak: # random cases for SOAK seconds (1800): fuzzing, and whatever else has a program tests/*/soak
	@BOARDS=none UNITY='$(filter-out build/unity,$(UNITY))' tools/setup test
	@tests/soak $(SOAK)

coverage: # lines and branches of rfm/ that the tests reach; what they do not reach is in build/coverage
	@BOARDS=none UNITY='$(filter-out build/unity,$(UNITY))' tools/setup test
	@UNITY='$(UNITY)' tests/coverage/run build

bench: all # speed on this machine, beside OpenBLAS
	@tools/setup bench
	$(BUILD)/rfm-bench

# Sheets of an older program are made anew.
papers: $(BUILD)/rfm-papers # the papers' experiments, as a page: build/papers/index.html; QUICK=1, DATA=folder with more sets
	@if [ -d $(BUILD)/papers ]; then find $(BUILD)/papers -name '*.sheet' ! -newer $(BUILD)/rfm-papers -delete; fi
	$(BUILD)/rfm-papers page -o $(BUILD)/papers $(if $(filter 1,$(QUICK)),--quick) $(if $(DATA),--data $(DATA))

size: # bytes, stack and instructions on each microcontroller, into boards/SIZES.md; ceilings for what has none
	@BOARDS='$(BOARDS)' tools/setup test
	@BOARDS='$(BOARDS)' boards/size --write build

man: $(BUILD)/rfm # writes the commands and their options into tools/rfm/rfm.1
	$(BUILD)/rfm help --man >$(BUILD)/commands.1
	awk -v made=$(BUILD)/commands.1 '/The end of what is made/ { on = 0 } !on { print } \
	    /made by make man/ { while ((getline line <made) > 0) print line; on = 1 }' tools/rfm/rfm.1 >$(BUILD)/rfm.1
	cp $(BUILD)/rfm.1 tools/rfm/rfm.1

api: # pages of every function, type and macro, from the headers: build/api/README.md
	@tools/api/make $(BUILD)/api

install: all # into $(DESTDIR)$(PREFIX)
	mkdir -p $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	cp $(wildcard rfm/*.h) port/rfm_port.h $(DESTDIR)$(PREFIX)/include
	cp $(BUILD)/librfm.a $(DESTDIR)$(PREFIX)/lib
	printf '%s\n' 'prefix=$(PREFIX)' 'Name: rfm' 'Description: Recursive Feature Machines on caller memory' \
	    'Version: $(VERSION)' 'Cflags: -I$${prefix}/include $(if $(REAL),-DRFM_REAL=$(REAL))' \
	    'Libs: -L$${prefix}/lib -lrfm -lm' >$(DESTDIR)$(PREFIX)/lib/pkgconfig/rfm.pc
	mkdir -p $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	cp $(BUILD)/rfm $(DESTDIR)$(PREFIX)/bin
	cp tools/rfm/rfm.1 $(DESTDIR)$(PREFIX)/share/man/man1

dist: $(BUILD)/rfm # packages for Arduino, PlatformIO, Zephyr, ESP-IDF, CMake, one file, the sources: build/dist
	@CC='$(CC)' tools/dist/make $(BUILD)

clean: # everything that was made, and what was fetched for the tests
	rm -rf build

help: # this list
	@echo 'make                 build/librfm.a and the tools'
	@awk -F':.*# ' '/^[a-z]+:.*# / { printf "make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'make test BOARDS=none | BOARDS="microbit s390x"    without boards, with these only'
	@echo 'make test CONFIG="host asan" SUITE=gemm            these configurations, this test program'
	@echo 'make BOARD=microbit                                the library for a board, in build/microbit'
