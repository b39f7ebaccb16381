# The boards and their programs, for the Makefile: what BOARD changes, and how firmware is made.

# ---- the target -------------------------------------------------------------------------------------------------
# board.mk holds the board's line of the table as make variables.

ifdef BOARD
override BUILD := $(if $(filter command,$(origin BUILD)),$(BUILD),build/$(BOARD))
ifneq ($(MAKECMDGOALS),clean)
include $(BUILD)/board.mk
endif
CC        = $(board_tools)gcc
AR        = $(board_tools)ar
host      =
bare      = $(filter-out linux,$(board_kind))
CFLAGS    = $(if $(bare),-Os,-O2)
test_ram  = $(board_arena)
flags    += $(board_compile)
link      = $(board_link)
endif

$(BUILD)/board.mk: boards/boards.txt boards/run
	@mkdir -p $(@D)
	@boards/run --make '$(BOARD)' >$@

# What every program on bare metal is linked with, and how its sources find its headers.
startup   = $(if $(bare),$(BUILD)/obj/boards/startup.o)
board_include = -Iboards $(if $(bare),-DBOARD_BARE)

# Programs of this machine that make what firmware includes.
HOST_CC  ?= cc
host_compile = $(HOST_CC) -std=c99 -O1 -ffp-contract=off $(WARN) -Irfm -Iport

# Counts instructions in QEMU.
COUNT    ?= build/count.so
$(COUNT): boards/count/count.c
	@mkdir -p $(@D)
	$(HOST_CC) -std=c99 -O2 $(WARN) -fPIC -shared -o $@ $<

# ---- prediction -------------------------------------------------------------------------------------------------
# boards/predict: the core without training. The models are made on this machine, at a place that all boards share.

MODELS   ?= build/models
firmware  = $(startup) $(patsubst %,$(BUILD)/obj/predict/%.o,rfm rfm_small m4f dsp helium)
firmware_flags = -DRFM_NO_TRAIN -I$(MODELS) $(board_include)

$(MODELS)/models.h: boards/predict/make_models.c rfm/rfm.c rfm/rfm.h
	@mkdir -p $(@D)
	$(host_compile) -o $(MODELS)/make_models $(filter %.c,$^) -lm
	$(MODELS)/make_models $(MODELS)

$(MODELS)/models_i.h: boards/predict/make_models_i.c boards/predict/inputs_i.h rfm/rfm.c rfm/rfm.h rfm/rfm_small.c \
    rfm/rfm_small.h
	@mkdir -p $(@D)
	$(host_compile) -o $(MODELS)/make_models_i $(filter %.c,$^) -lm
	$(MODELS)/make_models_i $(MODELS)

$(BUILD)/obj/predict/%.o: boards/predict/%.c $(MODELS)/models.h $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags)

$(BUILD)/obj/predict/%.o: port/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags)

$(BUILD)/obj/predict/%.o: rfm/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags) -ffp-contract=off

$(BUILD)/predict: $(BUILD)/obj/predict/predict.o $(firmware)
	$(link_program)

# The same with models of integers of the kernel L1.
firmware_l1 = $(startup) $(patsubst %,$(BUILD)/obj/predict_l1/%.o,rfm rfm_small m4f dsp helium)

$(BUILD)/obj/predict_l1/%.o: boards/predict/%.c $(MODELS)/models.h $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags) -DRFM_SMALL_L1

$(BUILD)/obj/predict_l1/%.o: port/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags) -DRFM_SMALL_L1

$(BUILD)/obj/predict_l1/%.o: rfm/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags) -DRFM_SMALL_L1 -ffp-contract=off

$(BUILD)/predict_i: $(BUILD)/obj/predict_l1/predict_i.o $(firmware_l1)
	$(link_program)

# What boards/size measures: measure-empty, measure-train, measure-predict-LOOP, measure-run-LOOP, and in integers
# measure-integers-predict-LOOP, measure-integers-run-LOOP; of these LOOP l1 is the portable one and models of that kernel.
$(BUILD)/obj/predict/measure-%.o: boards/predict/measure.c $(MODELS)/models.h $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(if $(filter train,$*),-Iboards,$(firmware_flags)) $(patsubst %,-DMEASURE_%,$(subst -, ,$*))

$(BUILD)/obj/predict/train.o: rfm/rfm.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) -DRFM_NO_ROOT -ffp-contract=off

$(BUILD)/measure-train: $(BUILD)/obj/predict/measure-train.o $(startup) $(BUILD)/obj/predict/train.o
	$(link_program)

$(BUILD)/measure-%: $(BUILD)/obj/predict/measure-%.o $(firmware)
	$(link_program)

$(BUILD)/obj/predict_l1/measure-%.o: boards/predict/measure.c $(MODELS)/models_i.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(firmware_flags) -DRFM_SMALL_L1 $(patsubst %,-DMEASURE_%,$(subst -, ,$*))

$(BUILD)/measure-integers-predict-l1 $(BUILD)/measure-integers-run-l1: $(BUILD)/measure-%: \
    $(BUILD)/obj/predict_l1/measure-%.o $(firmware_l1)
	$(link_program)

# Standalone code of two tiny models: standalone-gesture-code, standalone-gesture-run, and those of digits. The headers are
# made by the rfm of this machine, RFM.
RFM      ?= $(BUILD)/rfm
ifndef BOARD
$(MODELS)/gesture.rfm: boards/predict/make_tiny.c $(patsubst %,rfm/%.c,rfm rfm_small rfm_hyperbf rfm_tiny) $(wildcard rfm/*.h)
	@mkdir -p $(MODELS)/gesture $(MODELS)/digits
	$(host_compile) -o $(MODELS)/make_tiny $(filter %.c,$^) -lm
	$(MODELS)/make_tiny $(MODELS)

$(MODELS)/digits.rfm: $(MODELS)/gesture.rfm

$(MODELS)/%/model.h: $(MODELS)/%.rfm $(RFM)
	$(RFM) export $< --standalone --name model --quiet -o $@
endif

$(BUILD)/standalone-%: tools/small/peers/measure.c tools/small/peers/rfm_tiny.c $(startup) FORCE
	$(CC) $(CFLAGS) $(flags) $(board_include) -DMEASURE_$(lastword $(subst -, ,$*)) -Itools/small/peers \
	    -I$(MODELS)/$(firstword $(subst -, ,$*)) -o $@ $(filter-out FORCE,$^) $(link)

# ---- retraining -------------------------------------------------------------------------------------------------
# boards/retrain. RETRAIN_ARENA=bytes: another arena than the board's. retrain-polled takes its samples without
# interrupts.

RETRAIN_STREAM ?= build/retrain
RETRAIN_ARENA  ?= $(or $(board_retrain),16384)
stream_src = boards/retrain/make_stream.c tools/adapt/scenario.c tools/adapt/train.c \
             $(wildcard rfm/*.c port/*.c) $(patsubst %,tools/host/%.c,arrays csv guess idx text files progress machine pool session)

$(RETRAIN_STREAM)/stream.h: $(stream_src) tools/adapt/adapt.h rfm/rfm.h tools/data/gesture_digits.csv
	@mkdir -p $(@D)
	$(host_compile) -Itools -o $(RETRAIN_STREAM)/make_stream $(stream_src) -lm -lpthread
	$(RETRAIN_STREAM)/make_stream tools/data $(RETRAIN_STREAM)

$(BUILD)/obj/retrain/retrain%.o: boards/retrain/retrain.c $(RETRAIN_STREAM)/stream.h $(BUILD)/flags FORCE
	@mkdir -p $(@D)
	$(compile) $(board_include) -I$(RETRAIN_STREAM) -DARENA=$(RETRAIN_ARENA) $(if $(findstring polled,$*),-DPOLLED)

$(BUILD)/retrain $(BUILD)/retrain-polled: $(BUILD)/%: $(BUILD)/obj/retrain/%-.o $(startup) \
    $(patsubst %,$(BUILD)/obj/rfm/%.o,rfm rfm_online rfm_store)
	$(link_program)

# What boards/retrain/measure measures: retrain-measure-empty, retrain-measure-link, retrain-measure-run.
$(BUILD)/obj/retrain/measure-%.o: boards/retrain/measure.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(compile) $(board_include) -DMEASURE_$*

$(BUILD)/retrain-measure-%: $(BUILD)/obj/retrain/measure-%.o $(startup) \
    $(patsubst %,$(BUILD)/obj/rfm/%.o,rfm rfm_online)
	$(link_program)

# ---- examples ---------------------------------------------------------------------------------------------------
# boards/examples: example-NAME, with the headers that boards/examples/make has made on this machine.

EXAMPLES ?= build/examples
$(BUILD)/example-%: $(BUILD)/librfm.a $(startup) FORCE
	$(CC) $(CFLAGS) $(flags) $(board_include) -Iboards/examples -I$(EXAMPLES)/$* -o $@ boards/examples/$*/$*.c $(startup) \
	    $(BUILD)/librfm.a $(link)

# ---- what the tools know of boards ------------------------------------------------------------------------------
# SIZES.md as a header, for the report.

$(BUILD)/include/board_sizes.h: boards/sizes-header boards/SIZES.md boards/boards.txt boards/run
	@mkdir -p $(@D)
	boards/sizes-header >$@

report_page = $(BUILD)/obj/tools/rfm/report/page.o $(BUILD)/pic/tools/rfm/report/page.o
$(report_page): $(BUILD)/include/board_sizes.h
$(report_page): private flags += -I$(BUILD)/include
