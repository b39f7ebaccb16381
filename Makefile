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

.DEFAULT_GOAL := all
.PHONY: all lib unit demo test check soak coverage bench size man install clean help FORCE
.SUFFIXES:
.DELETE_ON_ERROR:

# ---- the target -------------------------------------------------------------------------------------------------
# Without BOARD this machine. With it, board.mk holds the board's line of the table as make variables.

test_ram  = $(or $(TEST_RAM),67108864)
host      = 1
flags     = -std=c99 $(WARN) $(if $(filter 1,$(WERROR)),-Werror) -Irfm -Iport $(if $(REAL),-DRFM_REAL=$(REAL))
link      = -lm

ifdef BOARD
override BUILD := $(if $(filter command,$(origin BUILD)),$(BUILD),build/$(BOARD))
ifneq ($(MAKECMDGOALS),clean)
include $(BUILD)/board.mk
endif
CC        = $(board_tools)gcc
AR        = $(board_tools)ar
host      =
test_ram  = $(board_arena)
flags    += $(board_flags)

ifeq ($(board_kind),linux)
CFLAGS    = -O2
link      = -static -lm
else
# Small code; one section per function, so that the linker drops what a program does not use.
CFLAGS    = -Os
bare      = 1
flags    += -ffunction-sections -fdata-sections $(board_specs)
link      = -nostartfiles -T boards/board.ld -Wl,--gc-sections \
            -Wl,--defsym=__flash=$(word 1,$(board_flash)),--defsym=__flash_size=$(word 2,$(board_flash)) \
            -Wl,--defsym=__ram=$(word 1,$(board_ram)),--defsym=__ram_size=$(word 2,$(board_ram)) \
            -Wl,--defsym=__stack_size=$(board_stack) -lm
endif
endif
board_specs = $(if $(filter riscv,$(board_kind)),--specs=picolibc.specs,--specs=nano.specs)

$(BUILD)/board.mk: boards/boards.txt
	@mkdir -p $(@D)
	@awk -F'|' -v name='$(BOARD)' ' \
	    BEGIN { split("name kind qemu tools flash ram stack arena packages flags", field, " ") } \
	    /^#/ { next } \
	    { for (i = 1; i <= NF; i++) gsub(/^ +| +$$/, "", $$i) } \
	    $$1 == name { for (i = 1; i <= NF; i++) print "board_" field[i] " := " $$i; found = 1 } \
	    END { if (!found) { print name " is not in boards/boards.txt" >"/dev/stderr"; exit 1 } }' $< >$@

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
papers_obj = $(call objects,tools/papers/*.c)
small_obj = $(call objects,tools/small/*.c) $(learn_obj)
adapt_obj = $(call objects,tools/adapt/*.c) $(page_obj)
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
	$(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link) $(if $(bare),,-lpthread)

# Prediction in firmware (boards/predict): the core without training. The models are made on this machine, at a place that all
# boards share.
MODELS   ?= build/models
COUNT    ?= build/count.so
HOST_CC  ?= cc
firmware  = $(if $(bare),$(BUILD)/obj/boards/startup.o) $(BUILD)/obj/predict/rfm.o $(BUILD)/obj/predict/rfm_small.o \
            $(patsubst port/%.c,$(BUILD)/obj/predict/%.o,port/m4f.c port/dsp.c port/helium.c)
firmware_flags = -DRFM_NO_TRAIN -Iboards -I$(MODELS) $(if $(bare),-DBOARD_BARE)

$(MODELS)/models.h: boards/predict/make_models.c rfm/rfm.c rfm/rfm.h
	@mkdir -p $(@D)
	$(HOST_CC) -std=c99 -O1 -ffp-contract=off $(WARN) -Irfm -o $(MODELS)/make_models boards/predict/make_models.c rfm/rfm.c -lm
	$(MODELS)/make_models $(MODELS)

$(MODELS)/models_i.h: boards/predict/make_models_i.c boards/predict/inputs_i.h rfm/rfm.c rfm/rfm.h rfm/rfm_small.c rfm/rfm_small.h
	@mkdir -p $(@D)
	$(HOST_CC) -std=c99 -O1 -ffp-contract=off $(WARN) -Irfm -o $(MODELS)/make_models_i boards/predict/make_models_i.c rfm/rfm.c rfm/rfm_small.c -lm
	$(MODELS)/make_models_i $(MODELS)

$(COUNT): boards/count/count.c
	@mkdir -p $(@D)
	$(HOST_CC) -std=c99 -O2 $(WARN) -fPIC -shared -o $@ $<

$(BUILD)/obj/predict/%.o: boards/predict/%.c $(MODELS)/models.h $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(firmware_flags) -MMD -MP -c -o $@ $<

$(BUILD)/obj/predict/%.o: port/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(firmware_flags) -MMD -MP -c -o $@ $<

$(BUILD)/obj/predict/%.o: rfm/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(firmware_flags) -ffp-contract=off -MMD -MP -c -o $@ $<

$(BUILD)/predict $(BUILD)/predict_i: $(BUILD)/%: $(BUILD)/obj/predict/%.o $(firmware)
	$(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link)

# What boards/size measures: measure-empty, measure-train, measure-predict-LOOP, measure-run-LOOP, and in integers
# measure-integers-predict-LOOP, measure-integers-run-LOOP.
$(BUILD)/obj/predict/measure-%.o: boards/predict/measure.c $(MODELS)/models.h $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(if $(filter train,$*),-Iboards,$(firmware_flags)) \
	    $(patsubst %,-DMEASURE_%,$(subst -, ,$*)) -MMD -MP -c -o $@ $<

$(BUILD)/measure-train: $(BUILD)/obj/predict/measure-train.o $(BUILD)/obj/boards/startup.o $(BUILD)/obj/rfm/rfm.o
	$(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link)

$(BUILD)/measure-%: $(BUILD)/obj/predict/measure-%.o $(firmware)
	$(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link)

# Retraining in firmware (boards/retrain). The arena is what the board's RAM leaves; RETRAIN_ARENA=bytes: another one. retrain-polled takes its
# samples without interrupts.
RETRAIN_STREAM ?= build/retrain
RETRAIN_ARENA  ?= $(if $(filter 8K,$(board_ram)),3584,$(if $(filter 16K,$(board_ram)),10240,16384))
stream_src = boards/retrain/make_stream.c tools/adapt/scenario.c tools/adapt/train.c $(lib_src) \
             $(patsubst %,tools/host/%.c,csv text files progress machine pool)

$(RETRAIN_STREAM)/stream.h: $(stream_src) tools/adapt/adapt.h rfm/rfm.h tools/data/gesture_digits.csv
	@mkdir -p $(@D)
	$(HOST_CC) -std=c99 -O1 -ffp-contract=off $(WARN) -Irfm -Iport -Itools -o $(RETRAIN_STREAM)/make_stream $(stream_src) -lm -lpthread
	$(RETRAIN_STREAM)/make_stream tools/data $(RETRAIN_STREAM)

$(BUILD)/obj/retrain/retrain%.o: boards/retrain/retrain.c $(RETRAIN_STREAM)/stream.h $(BUILD)/flags FORCE
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) -Iboards -I$(RETRAIN_STREAM) $(if $(bare),-DBOARD_BARE) -DARENA=$(RETRAIN_ARENA) \
	    $(if $(findstring polled,$*),-DPOLLED) -MMD -MP -c -o $@ $<

$(BUILD)/retrain $(BUILD)/retrain-polled: $(BUILD)/%: $(BUILD)/obj/retrain/%-.o $(if $(bare),$(BUILD)/obj/boards/startup.o) \
    $(patsubst %,$(BUILD)/obj/rfm/%.o,rfm rfm_online rfm_store)
	$(CC) $(CFLAGS) $(flags) $(LDFLAGS) -o $@ $^ $(link)

# Host and boards shall agree bit for bit where they can: the core's a * b + c never becomes one fused operation.
$(BUILD)/obj/rfm/%.o: flags += -ffp-contract=off
$(BUILD)/obj/tests/% $(BUILD)/obj/unity.o: flags += -DUNITY_INCLUDE_CONFIG_H -Itests/unit -Itools/host -isystem $(unity) \
    -DTEST_RAM=$(test_ram) $(if $(bare),-DBOARD_BARE)

$(BUILD)/obj/tools/%.o: flags += -Itools

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) -MMD -MP -c -o $@ $<

$(BUILD)/obj/unity.o: $(unity)/unity.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) -w -MMD -MP -c -o $@ $<

# Changes when the way of compiling changes, and then everything is compiled again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(unity) $(test_ram)' | cmp -s - $@ || \
	    echo '$(CC) $(CPPFLAGS) $(CFLAGS) $(flags) $(unity) $(test_ram)' >$@

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- what people ask for ----------------------------------------------------------------------------------------

demo: all # trains on recorded gestures, exports a header, compiles firmware with it and runs it
	@tools/demo/run $(BUILD)

test: # every configuration: this machine's compilers, sanitizers, valgrind, the boards
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

size: # bytes, stack and instructions on each microcontroller, into build/sizes.txt and boards/SIZES.md
	@tools/setup test
	@BOARDS= boards/size build; status=$$?; cp build/sizes.md boards/SIZES.md; exit $$status

man: $(BUILD)/rfm # writes the commands and their options into tools/rfm/rfm.1
	$(BUILD)/rfm help --man >$(BUILD)/commands.1
	awk -v made=$(BUILD)/commands.1 '/The end of what is made/ { on = 0 } !on { print } \
	    /made by make man/ { while ((getline line <made) > 0) print line; on = 1 }' tools/rfm/rfm.1 >$(BUILD)/rfm.1
	cp $(BUILD)/rfm.1 tools/rfm/rfm.1

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

clean: # everything that was made, and what was fetched for the tests
	rm -rf build

help: # this list
	@echo 'make                 build/librfm.a and the tools'
	@awk -F':.*# ' '/^[a-z]+:.*# / { printf "make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'make test BOARDS=none | BOARDS="microbit s390x"    without boards, with these only'
	@echo 'make test CONFIG="host asan" SUITE=gemm            these configurations, this test program'
	@echo 'make BOARD=microbit                                the library for a board, in build/microbit'
