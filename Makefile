# xpuprof: one Makefile, out-of-tree objects, automatic dependencies.
#
#	make                       everything that users run
#	make check                 all tests (./test.sh installs what they need first)
#	make install DESTDIR= PREFIX=
#	make bench                 the benchmarks of bench/
#	make SAN=1 ...             with address and undefined-behaviour sanitizers, in build/san
#	make PORTABLE=1 ...        libbpf, libelf and their like linked in, for machines without them

VERSION := 0.1.0
PREFIX ?= /usr/local
SAN ?= 0
PORTABLE ?= 0

CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
CFLAGS ?= -O2 -g

B := $(if $(filter 1,$(SAN)),build/san,build)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wno-unused-parameter -Werror=implicit-function-declaration
COMMON := -std=gnu11 -D_GNU_SOURCE -DXPUPROF_VERSION='"$(VERSION)"' -Isrc -I$(B) $(WARNINGS) \
	-fno-omit-frame-pointer
, := ,
SANFLAGS := $(if $(filter 1,$(SAN)),-fsanitize=address$(,)undefined -fno-sanitize-recover=all)

ifeq ($(PORTABLE),1)
LIBS := -Wl,-Bstatic -lbpf -lelf -lz -liberty -Wl,-Bdynamic -lpthread -ldl
else
LIBS := -lbpf -lelf -lz -liberty -lpthread -ldl
endif

ROOMS := base profile elf symbolize correlate gpu gpu/nvidia capture view export cmd
SOURCES := $(foreach room,$(ROOMS),$(wildcard src/$(room)/*.c))
OBJECTS := $(SOURCES:%.c=$(B)/obj/%.o) $(B)/obj/src/inject/marker.o
INJECT_SOURCES := $(wildcard src/inject/*.c) src/inject/marker.S
INJECT_OBJECTS := $(addsuffix .o,$(basename $(INJECT_SOURCES:%=$(B)/inject/%)))
BPF_SOURCES := $(wildcard src/bpf/*.bpf.c)
BPF_SKELETONS := $(BPF_SOURCES:src/bpf/%.bpf.c=$(B)/bpf/%.skel.h)

PROGRAMS := $(B)/xpuprof $(B)/libxpuprof-inject.so

.PHONY: all check check-style bench install clean sim demo tests
.SECONDARY:
.DELETE_ON_ERROR:

all: $(PROGRAMS) sim demo

$(B)/xpuprof: $(B)/obj/src/main.o $(B)/libxpuprof.a
	$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ $(LIBS)

$(B)/libxpuprof.a: $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) $(SANFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

# The in-kernel half: compiled for the BPF machine, embedded as a skeleton.
$(B)/obj/src/capture/%.o: | $(BPF_SKELETONS)

$(B)/bpf/%.bpf.o: src/bpf/%.bpf.c $(wildcard src/bpf/*.h)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v2 -g -O2 -Wall -Wno-missing-declarations -D__TARGET_ARCH_x86 \
		-Isrc -c -o $@.tmp $<
	$(BPFTOOL) gen object $@ $@.tmp
	@rm -f $@.tmp

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# The injected library: position independent, everything hidden, never sanitized (it lives in programs
# that are not).
$(B)/libxpuprof-inject.so: $(INJECT_OBJECTS)
	$(CC) -shared -Wl,-soname,libxpuprof-inject.so -Wl,-z,defs -Wl,-z,nodelete -o $@ $^ -lpthread -ldl

$(B)/inject/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -MMD -MP -c -o $@ $<

$(B)/inject/%.o: %.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

include $(wildcard sim/rules.mk demo/rules.mk tests/rules.mk bench/rules.mk)

install: $(PROGRAMS)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/xpuprof $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(B)/xpuprof $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(B)/libxpuprof-inject.so $(DESTDIR)$(PREFIX)/lib/xpuprof/
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
