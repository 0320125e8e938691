#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof doctor` on this machine, as another user, on made-up machines (--sysroot) and with made-up
# libraries.
. "$(dirname "$0")/tap.sh"
unset CUDA_INJECTION64_PATH XPUPROF_ARMED XPUPROF_LIBRARY

check_of() { # KEY MEMBER: from the JSON in $out
	printf '%s' "$out" | python3 -c '
import json, sys
rows = {row["check"]: row for row in json.load(sys.stdin)["checks"]}
print(rows[sys.argv[1]].get(sys.argv[2], ""))' "$1" "$2"
}

# A machine below $work/machine: kernel, BTF, driver, as far as files tell.
machine() {
	rm -rf machine
	mkdir -p machine/proc/sys/kernel machine/proc/driver/nvidia/gpus/0000:01:00.0 \
		machine/proc/driver/nvidia/gpus/0000:02:00.0 machine/sys/kernel/btf machine/sys/kernel/security
	echo 6.1.0-49-amd64 >machine/proc/sys/kernel/osrelease
	echo 2 >machine/proc/sys/kernel/perf_event_paranoid
	echo 2 >machine/proc/sys/kernel/unprivileged_bpf_disabled
	echo 1 >machine/proc/sys/kernel/kptr_restrict
	echo 'ffffffff81000000 T _stext' >machine/proc/kallsyms
	echo '[none] integrity confidentiality' >machine/sys/kernel/security/lockdown
	: >machine/sys/kernel/btf/vmlinux
	printf '%s\n%s\n' 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build' \
		'GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)' >machine/proc/driver/nvidia/version
	echo 'RmProfilingAdminOnly: 0' >machine/proc/driver/nvidia/params
}

on_machine() {
	run xpuprof doctor --json --sysroot "$work/machine"
}

run xpuprof doctor --wrong
is "$status" 2 "an unknown option is a wrong use"
run xpuprof doctor extra
is "$status" 2 "an argument is a wrong use"
has "$err" "unexpected argument 'extra'" "and it is named"

run xpuprof doctor
has "$out" "Linux $(uname -r)" "the kernel's version is shown"
has "$out" "records GPU work: " "the verdict is shown for the GPU side"
has "$out" "records CPU work: " "and for the CPU side"
is "$err" "" "nothing is printed as an error"
run xpuprof doctor --json
is "$(check_of kernel text)" "Linux $(uname -r)" "JSON says the same of the kernel"
true_that "JSON has a state and a text for every check" python3 - "$work/.out" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["checks"] and isinstance(found["cpu"], bool) and isinstance(found["gpu"], bool)
for row in found["checks"]:
    assert row["state"] in ("ok", "limited", "missing") and row["text"], row
for side in ("cpu", "gpu"):
    assert found[side] == all(row["state"] == "ok" for row in found["checks"] if row[side])
END

true_that "how far each vendor's part was tried is what the lab notes say" python3 - "$work/.out" "$here/../../docs/lab/validation.md" <<'END'
import json, sys
tried = {(f["vendor"], f["feature"]): f["trial"] for f in json.load(open(sys.argv[1]))["tried"]}
rows = [line.split(" | ") for line in open(sys.argv[2]) if line.count("|") == 5 and "| **" in line]
said = {(row[0].strip("| "), row[1]): row[2].strip("*") for row in rows}
assert tried == said and len(said) > 10, (tried, said)
END

true_that "the exit status is about what the machine has" python3 - "$work/.out" "$status" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert sys.argv[2] == ("0" if found["cpu"] and (found["gpu"] or not found["has_gpu"]) else "1"), found
END

device() { # VENDOR CLASS: on the bus of the machine
	mkdir -p machine/sys/bus/pci/devices/0000:01:00.0
	echo "$1" >machine/sys/bus/pci/devices/0000:01:00.0/vendor
	echo "$2" >machine/sys/bus/pci/devices/0000:01:00.0/class
}
has_gpu() {
	run xpuprof doctor --json --sysroot "$work/machine"
	printf '%s' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["has_gpu"])'
}
machine
is "$(has_gpu)" True "a machine with the driver has a GPU"
rm -r machine/proc/driver
is "$(has_gpu)" False "one without anything of it has none"
run xpuprof doctor --sysroot "$work/machine"
has "$out" "records GPU work: no, and there is no GPU here, see 'NVIDIA driver' above" "which is said, with what is missing"
device 0x10de 0x030200
is "$(has_gpu)" True "a GPU that waits for its driver is one"
device 0x10de 0x040300
is "$(has_gpu)" False "its sound is none"
device 0x1a03 0x030000
is "$(has_gpu)" False "nor is another vendor's, which is not recorded"
device 0x8086 0x030000
is "$(has_gpu)" True "one of Intel's is recorded"
device 0x1002 0x120000
is "$(has_gpu)" True "and one of AMD's, which need not display"

machine
on_machine
is "$(check_of kernel state)" ok "a kernel that is new enough is fine"
is "$(check_of btf state)" ok "and so are its types"
is "$(check_of lockdown text)" none "lockdown that is off is none"
is "$(check_of kernel_symbols state)" ok "kernel addresses that are shown give names"
is "$(check_of driver text)" "version 580.159.03, 2 GPUs" "the driver's version and its GPUs are found"
is "$(check_of instruction_sampling state)" ok "instruction sampling for everybody is fine"
is "$(check_of joining state)" ok "without Yama programs that run can be joined"

mkdir machine/proc/sys/kernel/yama
echo 3 >machine/proc/sys/kernel/yama/ptrace_scope
on_machine
is "$(check_of joining state)" limited "where nobody may trace they cannot"
echo 5.4.0 >machine/proc/sys/kernel/osrelease
rm machine/sys/kernel/btf/vmlinux
echo 'none integrity [confidentiality]' >machine/sys/kernel/security/lockdown
echo '0000000000000000 T _stext' >machine/proc/kallsyms
echo 2 >machine/proc/sys/kernel/kptr_restrict
echo 'RmProfilingAdminOnly: 1' >machine/proc/driver/nvidia/params
rm -r machine/proc/driver/nvidia/gpus
on_machine
is "$status" 1 "a machine that cannot record fails"
is "$(check_of kernel state)" missing "an old kernel is missing"
is "$(check_of btf state)" missing "and so is one without types"
is "$(check_of lockdown state)" missing "lockdown that hides memory is missing"
is "$(check_of kernel_symbols step)" "sysctl kernel.kptr_restrict=1" "the step for hidden kernel names is named"
is "$(check_of driver state)" missing "a driver without a GPU is missing"
is "$(check_of instruction_sampling state)" limited "instruction sampling for root only is limited"

rm -r machine/proc
on_machine
is "$(check_of kernel state)" missing "a machine without /proc gets its findings all the same"
is "$(check_of driver step)" "install the NVIDIA driver, or load it with 'modprobe nvidia'" "with their steps"

out=$(CUDA_INJECTION64_PATH=/opt/other.so xpuprof doctor --json)
is "$(check_of injection state)" missing "another injected library is found"
has "$(check_of injection text)" "'/opt/other.so'" "and named"
is "$(check_of injection step)" "unset CUDA_INJECTION64_PATH" "with the step that frees the place"
out=$(CUDA_INJECTION64_PATH=$build/libxpuprof-inject.so xpuprof doctor --json)
is "$(check_of injection state)" ok "one of ours prepares programs"
out=$(CUDA_INJECTION64_PATH=$build/libxpuprof-inject.so XPUPROF_ARMED=1 xpuprof doctor --json)
has "$(check_of injection text)" "armed for --stalls" "and whether it arms them"
out=$(CUDA_INJECTION64_PATH=/nowhere/libxpuprof-inject.so xpuprof doctor --json)
is "$(check_of injection state)" limited "if it can be read"

library() { # FOLDER CODE [NAME]: a libcuda.so.1 (or NAME) of our own
	mkdir -p "$1"
	printf '%s\n' "$2" | "${CC:-cc}" -shared -fPIC -w -x c -o "$1/${3:-libcuda.so.1}" -
}
if library crashing '#include <stdlib.h>
__attribute__((constructor)) static void f(void) { abort(); }' 2>/dev/null; then
	library hanging '#include <unistd.h>
__attribute__((constructor)) static void f(void) { pause(); }'
	library noisy '#include <stdio.h>
__attribute__((constructor)) static void f(void) { puts("noise"); fputs("noise", stderr); fflush(NULL); }
int cuDriverGetVersion(int *v) { *v = 12040; return 0; }'
	library simulated 'int xpuprof_sim_tools;
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }'

	LD_LIBRARY_PATH=$work/crashing run xpuprof doctor --json
	has "$(check_of libcuda text)" "loading 'libcuda.so.1' crashes" "a driver library that crashes is said to"
	LD_LIBRARY_PATH=$work/hanging run xpuprof doctor --json
	has "$(check_of libcuda text)" "loading 'libcuda.so.1' does not end" "one that hangs is given up"
	LD_LIBRARY_PATH=$work/noisy run xpuprof doctor --json
	is "$(check_of libcuda text)" "CUDA 12.4, $work/noisy/libcuda.so.1" "one that loads has version and place"
	lacks "$out$err" noise "and what it prints is not ours"

	packages=python/lib/python3.11/site-packages/nvidia
	version='int cuptiGetVersion(unsigned *v) { *v = 24; return 0; }'
	library $packages/cu13/lib "$version" libcupti.so.13
	library $packages/cuda_cupti/lib "$version" libcupti.so.12
	LD_LIBRARY_PATH=$work/noisy VIRTUAL_ENV=$work/python run xpuprof doctor --json
	has "$(check_of cupti text)" "cuda_cupti/lib/libcupti.so.12" "the copy of CUPTI that fits the driver is taken"
	lacks "$(check_of cupti text)" "libcupti.so.13" "and not a newer one"

	own=$work/noisy
	if [ "$(id -u)" = 0 ]; then
		LD_LIBRARY_PATH=$work/noisy VIRTUAL_ENV=$work/python run xpuprof doctor --json
		lacks "$(check_of counters text)" "$work" "as root, --counters loads no CUPTI that others could change"
		make_trusted && cp noisy/* "$trusted/" && own=$trusted
	fi
	library "$own" "$version" libcupti.so.12
	LD_LIBRARY_PATH=$own run xpuprof doctor --json
	has "$(check_of cupti text)" "$own/libcupti.so.12 (beside libcuda)" "a copy beside the driver comes first"
	is "$(check_of counters state)" ok "which --counters may load"
	: >"$own/libcupti.so.12"
	LD_LIBRARY_PATH=$own CUDA_HOME=$work/python run xpuprof doctor --json
	lacks "$(check_of cupti text)" "$own" "a copy that cannot be loaded is passed over"

	LD_LIBRARY_PATH=$work/simulated run xpuprof doctor --json
	has "$(check_of libcuda text)" "(simulated GPU)" "the simulated driver is told apart"
	is "$(check_of driver state)" ok "and needs no driver in the kernel"
else
	skip "libraries that crash, hang or print" "no C compiler"
fi

if [ -e "$build/sim/libcuda.so.1" ]; then
	LD_LIBRARY_PATH=$build/sim run xpuprof doctor --json
	is "$(check_of cupti text)" "version 13, $build/sim/libcupti.so.13 (beside libcuda)" \
		"the simulated driver has its own CUPTI"
	true_that "a machine with it records everything that rights allow" python3 - "$work/.out" "$status" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["gpu"] is True
assert sys.argv[2] == ("0" if found["cpu"] else "1")
probe = [row for row in found["checks"] if row["check"] == "probe"][0]
assert (probe["state"] == "ok") == ("chosen" in probe["text"])
END
else
	skip "a machine with the simulated driver" "not built"
fi

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$build/xpuprof" .
	chmod 755 . xpuprof
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$work/xpuprof" doctor --json
	is "$status" 1 "without rights it still answers"
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		is "$(check_of rights state)" limited "and says that rights are missing"
		has "$(check_of rights text)" "CPU samples of one's own programs" "and what that changes"
	else
		is "$(check_of rights state)" missing "and says that rights are missing"
		has "$(check_of rights text)" "no CPU samples, but GPU work with its launch stacks" "and what that changes"
	fi
	has "$(check_of rights step)" "sudo" "and the step"
	machine
	mkdir machine/proc/sys/kernel/yama
	echo 1 >machine/proc/sys/kernel/yama/ptrace_scope
	chmod -R a+rX .
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$work/xpuprof" doctor --json \
		--sysroot "$work/machine"
	is "$(check_of joining step)" "run it with sudo, or 'sysctl kernel.yama.ptrace_scope=0'" \
		"what keeps an ordinary user from joining programs is named"
	is "$(check_of probe text)" "not measured: no rights" "no probe is tried"
else
	skip "the answers without rights" "needs root and setpriv"
fi
# --- Intel's GPUs
machine
on_machine
is "$(check_of intel_stalls state)" ok "a machine without Intel's driver lacks nothing"
device 0x8086 0x030000
mkdir -p machine/sys/module/xe
on_machine
is "$(check_of intel_stalls state)" limited "an xe driver without a setting has no samples"
has "$(check_of intel_stalls step)" "Linux 6.15" "and a newer one has"
mkdir -p machine/proc/sys/dev/xe
echo 0 >machine/proc/sys/dev/xe/observation_paranoid
on_machine
has "$(check_of intel_stalls text)" "all users may sample" "where the setting is 0, all users may sample"
has "$(check_of intel_probes text)" "no Level Zero driver" "a machine without Intel's Level Zero driver needs no probes in it"
libraries=machine/usr/lib64
mkdir -p "$libraries"
cp "$build/tests/targets/probed_driver_library/libze_intel_gpu.so.1" "$libraries"
on_machine
has "$(check_of intel_probes text)" "has them" "a driver with probes of its own is known by them"
cp "$build/tests/targets/probed_driver_unreadable/libze_intel_gpu.so.1" "$libraries"
on_machine
is "$(check_of intel_probes state)" limited "one with an argument that cannot be read is not all that it could be"
cp "$build/sim/levelzero/libze_loader.so.1" "$libraries/libze_intel_gpu.so.1"
on_machine
has "$(check_of intel_probes text)" "has none, as most" "one without probes lacks nothing"
echo 1 >machine/proc/sys/dev/xe/observation_paranoid
chmod -R a+rX machine
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$work/xpuprof" doctor --json \
		--sysroot "$work/machine"
	is "$(check_of intel_stalls state)" limited "otherwise it needs rights"
	has "$(check_of intel_stalls step)" "sysctl dev.xe.observation_paranoid=0" "and doctor says how to have them"
else
	skip "otherwise it needs rights" "needs root and setpriv"
fi

# --- whose GPU lacks what
summary() { # gpu, and each vendor's, from the JSON in $out
	printf '%s' "$out" | python3 -c '
import json, sys
found = json.load(sys.stdin)
assert found["has_gpu"] == bool(found["gpus"])
print(found["gpu"], *(one["vendor"] + "=" + str(one["recorded"]) for one in found["gpus"]))'
}
on_node() { # FOLDER OPTION...: with the libraries in it
	LD_LIBRARY_PATH=$1 run xpuprof doctor --sysroot "$work/machine" "$2"
}
machine
rm -r machine/proc/driver
mkdir -p broken machine/sys/class/drm/renderD128/device machine/dev/dri machine/etc/OpenCL/vendors
for name in libze_loader.so.1 librocprofiler-sdk.so.1 libOpenCL.so.1; do
	: >"broken/$name"
done
echo 0x8086 >machine/sys/class/drm/renderD128/device/vendor
echo 0xe20b >machine/sys/class/drm/renderD128/device/device
: >machine/dev/dri/renderD128
broken=$work/broken complete=$build/sim/levelzero:$build/sim/amd
install="sudo apt install libze1 libze-intel-gpu1 (the latter is not in Debian 12, but in sid)"

on_node "$broken" --json
is "$status $(summary)" "1 False Intel=False" "a GPU of Intel's without what records it fails"
is "$(check_of levelzero_loader state): $(check_of levelzero_loader step)" "limited: $install" "its loader is missed, with the command that brings it"
is "$(check_of intel_driver state): $(check_of intel_driver step)" "limited: $install" "so is its driver"
is "$(check_of opencl_loader state): $(check_of opencl_loader step)" "limited: sudo apt install ocl-icd-libopencl1" "and OpenCL's loader"
is "$(check_of opencl_drivers state): $(check_of opencl_drivers step)" "limited: sudo apt install intel-opencl-icd" "with the driver for this GPU"
is "$(check_of driver state): $(check_of driver text)" "ok: not needed: no GPU of NVIDIA's here" "NVIDIA's driver is not"
is "$(check_of driver step)$(check_of cupti step)$(check_of libcuda step)" "" "nor has it a step"
on_node "$complete" --json
is "$(summary)" "False Intel=False" "a loader without a driver is too little"
is "$(check_of levelzero_loader state)" ok "though the loader is there"
mkdir -p machine/usr/lib64
cp "$build/tests/targets/probed_driver_library/libze_intel_gpu.so.1" machine/usr/lib64
echo /usr/lib/intel-opencl/libigdrcl.so >machine/etc/OpenCL/vendors/intel.icd
on_node "$complete" --json
is "$(summary)" "True Intel=True" "with both its work is recorded"
is "$status" "$(printf '%s' "$out" | python3 -c 'import json, sys; print(0 if json.load(sys.stdin)["cpu"] else 1)')" "and nothing of NVIDIA's makes that fail"
is "$(check_of opencl_drivers state)" ok "its OpenCL driver is known by its name"
for elsewhere in "$work/none" "$work/none.icd" "$work/broken"; do
	OCL_ICD_VENDORS=$elsewhere on_node "$complete" --json
	is "$(check_of opencl_drivers state): $(check_of opencl_drivers step)" "limited: unset OCL_ICD_VENDORS" "a list of drivers that names none is found: $elsewhere"
done
for elsewhere in "$work/machine/etc/OpenCL/vendors" "$work/machine/etc/OpenCL/vendors/intel.icd" libpocl.so.2; do
	OCL_ICD_VENDORS=$elsewhere on_node "$complete" --json
	is "$(check_of opencl_drivers state)" ok "one that may name some is not: $elsewhere"
done
rm machine/dev/dri/renderD128
on_node "$complete" --json
is "$(check_of intel_gpus state) $(summary)" "missing False Intel=False" "a GPU whose node is not in the container is not recorded"
has "$(check_of intel_gpus step)" "docker: --device /dev/dri" "and the option that hands it over is said"
: >machine/dev/dri/renderD128

: >machine/dev/kfd
on_node "$broken" --json
is "$(summary)" "False Intel=False AMD=False" "a GPU of AMD's is told beside it"
is "$(check_of amd_tracer state)" missing "without rocprofiler-sdk it is not recorded"
has "$(check_of amd_tracer step)" "sudo apt install rocprofiler-sdk" "and what brings it is said"
is "$(check_of opencl_drivers step)" "sudo apt install rocm-opencl, from AMD's packages of ROCm" "so is its OpenCL driver's package"
on_node "$complete" --json
is "$(summary)" "True Intel=True AMD=True" "with it both are recorded"
LD_LIBRARY_PATH=$build/sim/levelzero:$broken run xpuprof doctor --sysroot "$work/machine"
has "$out" "records GPU work (Intel): yes" "the verdict is one for each vendor"
has "$out" "records GPU work (AMD): no, see 'AMD tracer' above" "that names what is missing"
rm -r machine/etc
on_node "$broken" --json
has "$(check_of opencl_drivers text)" "no driver for Intel's and AMD's GPU" "each GPU without an OpenCL driver is named"
has "$(check_of opencl_drivers step)" "intel-opencl-icd; sudo apt install rocm-opencl" "with each package"
rm -r machine/sys/class
on_node "$broken" --json
is "$(summary) $(check_of levelzero_loader state)" "False AMD=False ok" "without Intel's nothing of Level Zero is missed"
rm machine/dev/kfd
device 0x1002 0x030000
on_node "$complete" --json
is "$(check_of amd_driver state) $(summary)" "missing False AMD=False" "a GPU of AMD's without its driver is not recorded"
has "$(check_of amd_driver step)" "sudo modprobe amdgpu" "and what loads it is said"
device 0x8086 0x030000
on_node "$complete" --json
has "$(check_of intel_gpus step)" "sudo modprobe xe" "so with Intel's"
device 0x10de 0x030200
on_node "$broken" --json
is "$(summary)" "False NVIDIA=False" "and where the GPU is NVIDIA's, it is its driver"
has "$(check_of driver step)" "install the NVIDIA driver" "that is missed"
has "$(check_of opencl_drivers step)" "nvidia-opencl-icd" "and its OpenCL driver"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir -p machine/sys/class/drm/renderD128/device
	echo 0x8086 >machine/sys/class/drm/renderD128/device/vendor
	: >machine/dev/kfd
	chmod 600 machine/dev/dri/renderD128 machine/dev/kfd
	chown 0:65534 machine/dev/kfd
	group=$(python3 -c 'import grp; print(grp.getgrgid(65534).gr_name)')
	chmod -R a+rX machine/sys machine/proc
	run setpriv --reuid 65534 --regid 65533 --clear-groups --inh-caps=-all "$work/xpuprof" doctor --json \
		--sysroot "$work/machine"
	is "$(check_of intel_gpus step)" 'sudo usermod -aG render $USER, and log in again' "who may not open a node is to join its group"
	is "$(check_of amd_driver step)" "sudo usermod -aG $group \$USER, and log in again" "whatever that is called"
else
	skip "who may not open a node is to join its group" "needs root and setpriv"
fi

done_testing
