# xpuprof: one Makefile, out-of-tree objects, automatic dependencies.
#
#	make                       everything that users run
#	make check                 all tests (./test.sh installs what they need first)
#	make check-kernels         the tests on other kernels, in virtual machines
#	make check-long            what happens at random moments, hundreds of times (tens of minutes)
#	make check-under-load      all tests beside stress-ng, on a machine that is busy
#	make check-pythons         Python stacks in other interpreters, which it fetches or builds (minutes)
#	make fuzz FUZZ_SECONDS=30  each fuzzer of tests/fuzz/ for so long
#	make install DESTDIR= PREFIX=
#	make bench                 the benchmarks of bench/; bench-programs only builds what they need
#	make figures               what docs/figures.md shows, measured again
#	make SAN=1 ...             with address and undefined-behaviour sanitizers, in build/san
#	make PORTABLE=1 ...        libbpf, libelf and their like linked in, for machines without them
#	make WERROR=1 ...          a warning is an error
#	make BPF=0 ...             without CPU samples, for machines without clang, bpftool or libbpf
#	make V=1 ...               show every command

VERSION := 0.1.0
PREFIX ?= /usr/local
SAN ?= 0
PORTABLE ?= 0
WERROR ?= 0

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
CFLAGS ?= -O2 -g

B := $(if $(filter 1,$(SAN)),build/san,build)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wno-unused-parameter -Wno-missing-field-initializers -Werror=implicit-function-declaration $(if $(filter 1,$(WERROR)),-Werror)
COMMON := -std=gnu11 -D_GNU_SOURCE -DXPUPROF_VERSION='"$(VERSION)"' -Isrc -I$(B) $(WARNINGS) \
	-fno-omit-frame-pointer
, := ,
# Behind CFLAGS: what sanitizers add takes long to optimize, and has gcc warn of what cannot happen.
SANFLAGS := $(if $(filter 1,$(SAN)),-O1 -fsanitize=address$(,)undefined -fno-sanitize-recover=all \
	-Wno-clobbered -Wno-format-truncation -Wno-maybe-uninitialized)

# Each of these libraries gives one feature; a build without it has a stub in its place, and doctor says so.
has_header = $(if $(shell $(CC) -E -include $(1) -x c -o /dev/null /dev/null 2>/dev/null && echo 1),1)
LZMA := $(and $(call has_header,lzma.h),$(if $(filter 1,$(PORTABLE)),$(wildcard /usr/lib/*/liblzma.a),1))
LIBDW := $(if $(filter 1,$(PORTABLE)),,$(call has_header,elfutils/libdw.h))
# A static libmicrohttpd serves where it needs no further libraries (Debian's needs gnutls).
static_links = $(if $(shell echo 'int main(void) { return 0; }' | $(CC) -x c -o /dev/null - -Wl,--whole-archive \
	-Wl,-Bstatic $(1) -Wl,-Bdynamic -Wl,--no-whole-archive -lpthread 2>/dev/null && echo 1),1)
MICROHTTPD := $(and $(call has_header,microhttpd.h),$(if $(filter 1,$(PORTABLE)),$(call static_links,-lmicrohttpd),1))
# A shared one is loaded when it is wanted, by the name that a program linked to it would have.
MICROHTTPD_SONAME := $(if $(filter 1,$(PORTABLE)),,$(if $(MICROHTTPD),$(or $(shell readelf -d \
	"$$($(CC) -print-file-name=libmicrohttpd.so)" 2>/dev/null | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'),libmicrohttpd.so.12)))
$(if $(LZMA),,$(info this build cannot read mini debug info (liblzma is missing)))
$(if $(LIBDW),,$(info this build cannot read source lines and inlined functions (libdw is missing, or PORTABLE=1)))
$(if $(MICROHTTPD),,$(info this build cannot serve metrics (libmicrohttpd is missing, or not to be had with PORTABLE=1)))

# A static libelf needs the compressors it was built with.
ifeq ($(PORTABLE),1)
LIBS := -Wl,-Bstatic -lbpf -lelf -lz -ldeflate $(if $(LZMA),-llzma) $(if $(wildcard /usr/lib/*/libzstd.a),-lzstd) -liberty \
	$(if $(MICROHTTPD),-lmicrohttpd) \
	-Wl,-Bdynamic -lpthread -ldl
else
LIBS := -lbpf -lelf -lz -ldeflate $(if $(LZMA),-llzma) $(if $(LIBDW),-ldw) -liberty -lpthread -ldl
endif

MACHINE := $(shell uname -m)
BPF_MACHINE := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))
BPFFLAGS := -target bpf -mcpu=v2 -g -O2 -Wall $(if $(filter 1,$(WERROR)),-Werror) -Wno-missing-declarations -Isrc \
	-D__TARGET_ARCH_$(BPF_MACHINE) $(addprefix -idirafter ,$(wildcard /usr/include/$(MACHINE)-linux-gnu))

# BPF programs need clang, bpftool and libbpf. A build without one of them has a stub in their place, which
# says so (make BPF=0 builds that); launches have stacks all the same, walked in the program.
ifeq ($(origin BPF),undefined)
BPF := $(if $(and $(shell command -v $(firstword $(CLANG))),$(shell command -v $(firstword $(BPFTOOL))),$(shell \
	$(CC) -E -include bpf/libbpf.h -x c -o /dev/null /dev/null 2>/dev/null && echo 1)),1,0)
endif
ifneq ($(BPF),1)
$(info this build cannot take CPU samples (BPF=0, or clang, bpftool or libbpf is missing))
LIBS := $(filter-out -lbpf,$(LIBS))
endif

NEEDS_BPF := src/bpfload/refusal.c $(addprefix src/capture/,programs.c programs_load.c programs_walk.c uprobe.c marker_cost.c) \
	$(addprefix src/monitor/,kernel/types.c watch.c watch_load.c watch_maps.c watch_plan.c) src/ebpf/tools/tools.c \
	src/probe/kernel_programs.c
BPF_FALLBACKS := src/capture/programs-fallback.c src/monitor/kernel/types-fallback.c \
	src/monitor/watch-fallback.c src/ebpf/tools/tools-fallback.c src/probe/kernel_programs-fallback.c
# Libraries that may be missing, and what a build has in the place of what needs them.
NEEDS_LIBRARIES := src/elf/mini_debug.c src/elf/dwarf.c src/serve/http.c src/serve/microhttpd.c
LIBRARY_FALLBACKS := src/elf/mini_debug-fallback.c src/elf/dwarf-fallback.c src/serve/http-fallback.c
WITHOUT := $(if $(filter 1,$(BPF)),$(BPF_FALLBACKS),$(NEEDS_BPF)) \
	src/elf/mini_debug$(if $(LZMA),-fallback).c src/elf/dwarf$(if $(LIBDW),-fallback).c \
	src/serve/http$(if $(MICROHTTPD),-fallback).c $(if $(MICROHTTPD),,src/serve/microhttpd.c)

# All of src/ but what runs elsewhere: in the kernel, and in the profiled program.
SOURCES := $(filter-out $(WITHOUT) src/main.c,$(sort $(shell find src -name '*.c' -not -name '*.bpf.c' -not -path 'src/bpf/*' -not -path 'src/inject/*' -not -path 'src/guest/*' -not -path 'src/preload/*' -not -path 'src/rocm/*')))
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o) $(B)/obj/src/inject/marker.o $(B)/obj/src/join/stub.o
INJECT_SOURCES := $(sort $(shell find src/inject src/guest -name '*.c')) $(sort $(shell find src/inject src/guest -name "*.S"))
INJECT_OBJECTS := $(addsuffix .o,$(basename $(INJECT_SOURCES:%=$(B)/inject/%)))
# What is preloaded for probes: of the rest only what puts programs into images.
PRELOAD_SOURCES := $(sort $(shell find src/preload src/ptx -name '*.[cS]' -not -path '*/ptxas/*')) \
	$(addprefix src/guest/,descriptor.c dlsym.c dlsym_entry.S socket.c) $(addprefix src/base/,buf.c demangle.c error.c map.c)
PRELOAD_OBJECTS := $(addsuffix .o,$(basename $(PRELOAD_SOURCES:%=$(B)/inject/%)))
# What compiles in the place of a program's own compiler: the same without what sits in the program.
PTXAS_SOURCES := $(wildcard src/preload/*.c src/preload/nvidia/ptxas/*.c src/ptx/*.c) \
	$(addprefix src/preload/nvidia/,compiled.c probes.c) $(addprefix src/guest/,descriptor.c socket.c) \
	$(addprefix src/base/,buf.c demangle.c error.c map.c)
PTXAS_OBJECTS := $(PTXAS_SOURCES:%.c=$(B)/inject/%.o)
# What rocprofiler-sdk loads, which hands over to the injected library.
ROCM_OBJECTS := $(patsubst %.c,$(B)/inject/%.o,$(wildcard src/rocm/*.c))
BPF_SOURCES := $(if $(filter 1,$(BPF)),$(wildcard src/bpf/*.bpf.c))
BPF_SKELETONS := $(BPF_SOURCES:src/bpf/%.bpf.c=$(B)/bpf/%.skel.h)

# What lives in programs, or is run by them.
IN_PROGRAMS := $(addprefix $(B)/,libxpuprof-inject.so libxpuprof-probe.so libxpuprof-rocm.so xpuprof-ptxas)
PROGRAMS := $(B)/xpuprof $(IN_PROGRAMS)

.PHONY: all check-style bench fuzz install install-docs clean sim demo tests
.SECONDARY:
.DELETE_ON_ERROR:
ifneq ($(V),1)
.SILENT:
endif
say = printf '  %-5s %s\n' $(1) $(2)

all: $(PROGRAMS) sim demo

# $(call remember,FILE,TEXT) keeps the text in the file and touches the file only when the text changes.
same = $(and $(findstring <$(1)>,<$(2)>),$(findstring <$(2)>,<$(1)>))
remember = $(if $(call same,$(strip $(2)),$(strip $(file <$(1)))),,$(shell mkdir -p $(dir $(1)))$(file >$(1),$(strip $(2))))

# What everything is built with and what the library is made of: other flags or files build it anew.
ifeq ($(filter clean install-docs,$(MAKECMDGOALS)),)
$(call remember,$(B)/built-with,$(CC) $(CLANG) $(BPFTOOL) $(COMMON) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) $(LIBS) $(BPFFLAGS))
$(call remember,$(B)/made-of,$(OBJECTS) $(INJECT_OBJECTS) $(PRELOAD_OBJECTS))
endif

# Stops with a list of what is missing before a compiler stops with something harder to read.
$(B)/needs: tools/check-needs $(B)/built-with
	CC='$(CC)' BPF='$(BPF)' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' PORTABLE='$(PORTABLE)' LIBS='$(LIBS)' tools/check-needs
	touch $@

$(B)/xpuprof: $(B)/obj/src/main.o $(B)/libxpuprof.a
	$(call say,LD,$@)
	$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(B)/libxpuprof.a: $(OBJECTS) $(B)/made-of
	$(call say,AR,$@)
	rm -f $@
	$(AR) rcs $@ $(OBJECTS)

$(B)/obj/%.o: %.c $(B)/built-with | $(B)/needs
	$(call say,CC,$<)
	mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(SANFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.S $(B)/built-with | $(B)/needs
	$(call say,AS,$<)
	mkdir -p $(@D)
	$(CC) -Isrc -MMD -MP -c -o $@ $<

# What the SVG exporter carries along.
$(foreach b,$(B) build/fuzz,$(b)/obj/src/export/svg_assets.o): $(wildcard $(addprefix src/export/,*.js *.css flame/*))

# The page of the viewer.
$(foreach b,$(B) build/fuzz,$(b)/obj/src/page/assets.o): $(wildcard src/page/*.css src/page/*.html src/page/script/*.js)

# The in-kernel half: compiled for the BPF machine, embedded as a skeleton.
$(filter $(B)/obj/src/capture/% $(B)/obj/src/monitor/%,$(OBJECTS)): | $(BPF_SKELETONS)

$(B)/bpf/%.bpf.o: src/bpf/%.bpf.c $(B)/built-with | $(B)/needs
	$(call say,BPF,$<)
	mkdir -p $(@D)
	$(CLANG) $(BPFFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@.tmp $<
	$(BPFTOOL) gen object $@ $@.tmp
	rm -f $@.tmp

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Our programs for GPUs, which become part of the program as they are.
GPU_TOOLS := $(if $(filter 1,$(BPF)),$(patsubst src/ebpf/tools/%.bpf.c,$(B)/ebpf/%.bpf.o,$(wildcard src/ebpf/tools/*.bpf.c)))

$(B)/ebpf/%.bpf.o: src/ebpf/tools/%.bpf.c $(B)/built-with | $(B)/needs
	$(call say,BPF,$<)
	mkdir -p $(@D)
	$(CLANG) $(subst -mcpu=v2,-mcpu=v3,$(BPFFLAGS)) -Wno-unused-variable -Wno-unused-function -MMD -MP -MT $@ -MF $(@:.o=.d) \
		-c -o $@.tmp $<
	$(BPFTOOL) gen object $@ $@.tmp
	rm -f $@.tmp

$(foreach b,$(B) build/fuzz,$(b)/obj/src/ebpf/tools/tools.o): COMMON += -DEBPF_TOOLS='"$(B)/ebpf"'
$(foreach b,$(B) build/fuzz,$(b)/obj/src/serve/microhttpd.o): COMMON += $(if $(MICROHTTPD_SONAME),-DMICROHTTPD_SONAME='"$(MICROHTTPD_SONAME)"')
$(foreach b,$(B) build/fuzz,$(b)/obj/src/ebpf/tools/tools.o): $(GPU_TOOLS)

# The injected library: position independent, everything hidden, never sanitized (it lives in programs
# that are not), and without start files (src/guest/hooks.h says why).
$(B)/libxpuprof-inject.so: $(INJECT_OBJECTS) $(B)/made-of
	$(call say,LD,$@)
	$(CC) -shared -nostartfiles -Wl,-soname,libxpuprof-inject.so -Wl,-z,defs -Wl,-z,now -o $@ \
		$(INJECT_OBJECTS) -lpthread -ldl

# The preloaded library: as hidden, and its own functions are what it calls itself.
$(B)/libxpuprof-probe.so: $(PRELOAD_OBJECTS) $(B)/made-of
	$(call say,LD,$@)
	$(CC) -shared -Wl,-soname,libxpuprof-probe.so -Wl,-z,defs -Wl,-z,now -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o $@ \
		$(PRELOAD_OBJECTS) -liberty -lpthread -ldl

# It has a second name, by which it knows for which of two compilers it stands.
$(B)/xpuprof-ptxas: $(PTXAS_OBJECTS) $(B)/made-of
	$(call say,LD,$@)
	$(CC) $(LDFLAGS) -o $@ $(PTXAS_OBJECTS) -liberty -lpthread
	ln -sf $(@F) $@-blackwell

# Never unloaded, and without destructors.
$(B)/libxpuprof-rocm.so: $(ROCM_OBJECTS) $(B)/made-of
	$(call say,LD,$@)
	$(CC) -shared -nostartfiles -Wl,-soname,$(@F) -Wl,-z,defs -Wl,-z,now -o $@ $(ROCM_OBJECTS) -ldl

$(B)/inject/%.o: %.c $(B)/built-with | $(B)/needs
	$(call say,CC,$<)
	mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/inject/%.o: %.S $(B)/built-with | $(B)/needs
	mkdir -p $(@D)
	$(CC) -Isrc -MMD -MP -c -o $@ $<

include $(wildcard sim/rules.mk demo/rules.mk tests/rules.mk tests/*/rules.mk bench/rules.mk)

# What shells complete, from the tables of commands and options.
COMPLETIONS = $(addprefix $(B)/completions/,bash zsh fish)
$(B)/completions/%: $(B)/xpuprof
	$(call say,GEN,$@)
	mkdir -p $(@D)
	$< completion $* > $@.tmp
	mv $@.tmp $@

install: $(PROGRAMS) $(COMPLETIONS) install-docs
	$(call say,INST,"$(DESTDIR)$(PREFIX)")
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/xpuprof
	install -m 755 $(B)/xpuprof $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(IN_PROGRAMS) $(DESTDIR)$(PREFIX)/lib/xpuprof/
	ln -sf xpuprof-ptxas $(DESTDIR)$(PREFIX)/lib/xpuprof/xpuprof-ptxas-blackwell
	install -D -m 644 $(B)/completions/bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/xpuprof
	install -D -m 644 $(B)/completions/zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_xpuprof
	install -D -m 644 $(B)/completions/fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/xpuprof.fish

# The man pages, the header for programs in kernels, and every page with what it shows and links to. Builds nothing.
DOCS = README.md NEWS.md CONTRIBUTING.md LICENSE sim/README.md $(shell find docs -type f)
install-docs:
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 src/ebpf/tools/xpuprof_gpu.h $(DESTDIR)$(PREFIX)/include/xpuprof/xpuprof_gpu.h
	for file in $(DOCS); do install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/doc/xpuprof/$$file || exit 1; done

clean:
	rm -rf build

# build/vm has other machines' files
-include $(shell find $(B) -path $(B)/vm -prune -o -path $(B)/pocl -prune -o -name '*.d' -print 2>/dev/null)
