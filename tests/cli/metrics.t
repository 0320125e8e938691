#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Metrics over HTTP, asked for by hand and by the real Prometheus, of a monitor that every kernel has events for:
signals (tests/helpers/serve_metrics.c). How many signals there were is known."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(ROOT, "build")))
HELPER = os.path.join(BUILD, "tests", "helpers", "serve_metrics")
# Of our own, should several of us run at once.
CONTAINER = os.urandom(32).hex()
SIGNAL = int(signal.SIGRTMIN) + 1 + os.getpid() % 25
DEADLINE_S = 60
results = []


def result(ok, name, notes=()):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for note in notes if not ok else ():
        print("\n".join(f"# {line}" for line in str(note).splitlines()))


def same(got, expected, name):
    result(got == expected, name, [f"got:      {got}", f"expected: {expected}"])


def skip(name, reason):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {reason}")


class Server:
    """The helper, and where it serves."""

    def __init__(self, address="127.0.0.1:0"):
        self.process = subprocess.Popen([HELPER, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def ask(self, path, method="GET"):
        connection = http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def samples(self):
        """{(name, frozenset of labels): value} of a scrape."""
        found = {}
        for line in self.ask("/metrics")[1].splitlines():
            match = re.fullmatch(r'([a-z_0-9]+)(?:\{(.*)\})? (\S+)', line)
            if match:
                labels = frozenset(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
                found[match[1], labels] = float(match[3])
        return found

    def end(self):
        """What it says when its input ends: {signal: how many}, its errors and its status."""
        out, err = self.process.communicate()
        counts = {}
        for number, count in (line.split() for line in out.splitlines()):
            counts[int(number)] = counts.get(int(number), 0) + int(count)
        return counts, err, self.process.returncode


def value(samples, name, **labels):
    """Of the one sample that has these labels, and no others but the monitor's."""
    wanted = frozenset((key, str(text)) for key, text in labels.items()) | {("monitor", "signals")}
    return samples.get((name, wanted))


class Worker:
    """A process that sends itself signals when it is told to."""

    PROGRAM = """
import os, signal, sys
signal.signal(int(sys.argv[1]), lambda *_: None)
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        os.kill(os.getpid(), int(sys.argv[1]))
    print("done", flush=True)
"""

    def __init__(self, cgroup=None):
        # The shell goes into the cgroup and becomes Python there.
        enter = f'echo $$ >"{cgroup}/cgroup.procs" && ' if cgroup else ""
        self.process = subprocess.Popen(["sh", "-c", enter + 'exec python3 -c "$@"', "sh", self.PROGRAM, str(SIGNAL)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"

    def send(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def container():
    """A cgroup with a container's name, or None where there can be none."""
    mounts = [line.split() for line in open("/proc/mounts")]
    folder = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    path = folder and os.path.join(folder, f"docker-{CONTAINER}.scope")
    try:
        os.mkdir(path)
    except (OSError, TypeError):
        path = None
    yield path
    if path:
        os.rmdir(path)


def check_refusals():
    for address, text in (("9100", "is no address"), ("127.0.0.1:", "is no address"), (":9100", "is no address"),
                          ("127.0.0.1:70000", "is no address"), ("::1:9100", "is no address"),
                          ("[::1]9100", "is no address"), ("127.0.0.1:http", "is no address"),
                          ("999.0.0.1:9100", "cannot serve at '999.0.0.1:9100': "),
                          ("192.0.2.1:9100", "Cannot assign requested address")):
        run = subprocess.run([HELPER, address], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        result(run.returncode == 1 and text in run.stderr and run.stderr.count("\n") == 1,
               f"'{address}' is refused in one line", [run])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        run = subprocess.run([HELPER, address], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        same(run.stderr, f"serve_metrics: cannot serve at '{address}': Address already in use\n",
             "a port that is taken is said to be")


def check_privileged_port():
    name = "a user that may not take a port is told what it needs"
    first = int(open("/proc/sys/net/ipv4/ip_unprivileged_port_start").read())
    if os.geteuid() or first < 82:
        skip(name, "everybody may take port 81 here, or we are not root")
        return
    with tempfile.TemporaryDirectory() as folder:  # which everybody can reach
        os.chmod(folder, 0o755)
        program = shutil.copy(HELPER, folder)
        run = subprocess.run([program, "127.0.0.1:81"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             user=65534, group=65534, extra_groups=[])
    same(run.stderr, "serve_metrics: cannot serve at '127.0.0.1:81': ports below 1024 need root or "
         "CAP_NET_BIND_SERVICE\n", name)


def check_pages(server):
    answer, text = server.ask("/metrics")
    same((answer.status, answer.getheader("Content-Type")), (200, "text/plain; version=0.0.4; charset=utf-8"),
         "/metrics is text as Prometheus wants it")
    answer, text = server.ask("/")
    result(answer.status == 200 and 'href="/metrics"' in text, "/ is a page that leads there", [text])
    same(server.ask("/metrics/x")[0].status, 404, "what is not there is not found")
    answer, _ = server.ask("/metrics", "POST")
    same((answer.status, answer.getheader("Allow")), (405, "GET, HEAD"), "only GET and HEAD are answered")
    answer, text = server.ask("/metrics", "HEAD")
    result(answer.status == 200 and not text and int(answer.getheader("Content-Length")) > 1000,
           "HEAD has no text, only its length", [answer.headers, text])


def check_bad_clients(server):
    """Whatever they send, the next one is answered."""
    host, port = server.address.rsplit(":", 1)
    held = []
    for sent in (b"\x00\xff\r\n\r\n", b"GET /metrics", b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
                 b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nhello", b""):
        client = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
        with contextlib.suppress(ConnectionError):
            client.sendall(sent)
        held.append(client)
    same(server.ask("/metrics")[0].status, 200, "clients that send nonsense, or only half, keep nobody else waiting")
    for client in held:
        client.close()
    client = socket.create_connection((host, int(port)), timeout=DEADLINE_S)
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()  # a reset, while the answer is on its way
    same(server.ask("/metrics")[0].status, 200, "nor does one that goes away")


class SlowClient:
    """Sends a line of a request now and then."""

    def __init__(self, server):
        host, port = server.address.rsplit(":", 1)
        self.began_s = time.monotonic()
        self.client = socket.create_connection((host, int(port)), timeout=0.2)
        self.client.sendall(b"GET /metrics HTTP/1.1\r\n")

    def is_ended(self):
        try:
            self.client.sendall(b"X-More: 1\r\n")
            return self.client.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True

    def check(self):
        ended = wait_until(self.is_ended)
        result(ended and time.monotonic() - self.began_s > 9, "a client that never ends its request is ended")
        self.client.close()


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(self.host)


def ask_at(path):
    connection = UnixConnection(path)
    connection.request("GET", "/metrics", headers={"Host": "localhost"})
    with contextlib.closing(connection):
        return connection.getresponse().read().decode()


def refused(path):
    run = subprocess.run([HELPER, path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return run.stderr if run.returncode == 1 else f"status {run.returncode}"


def check_unix(folder):
    path = os.path.join(folder, "metrics")
    server = Server(path)
    result(server.address == path and "xpuprof_build_info" in ask_at(path), "a path is that of a Unix socket", [server.address])
    same(oct(os.stat(path).st_mode & 0o777), "0o660", "for its owner and its group")
    same(refused(path), f"serve_metrics: cannot serve at '{path}': Address already in use\n",
         "at which no other can serve meanwhile")
    result("xpuprof_build_info" in ask_at(path), "and does no harm by trying")
    server.process.kill()
    server.end()
    server = Server(path)
    result("xpuprof_build_info" in ask_at(path), "what a killed server left is replaced", [server.address])
    server.end()
    result(not os.path.exists(path), "at its end it is removed")
    with open(path, "w") as other:
        other.write("something")
    result("Address already in use" in refused(path) and open(path).read() == "something", "a file that is no socket stays")
    os.unlink(path)
    os.symlink(os.path.join(folder, "elsewhere"), path)
    os.chmod(folder, 0o777)
    if os.geteuid():
        skip("as root no link that another user made is followed", "we are not root")
        return
    os.lchown(path, 65534, 65534)
    result("is a link that another user may have made" in refused(path) and len(os.listdir(folder)) == 1,
           "as root no link that another user made is followed", [refused(path), os.listdir(folder)])


def check_ipv6():
    name = "an IPv6 address is taken in brackets"
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        skip(name, "there is no IPv6 here")
        return
    server = Server("[::1]:0")
    result(server.address.startswith("[::1]:") and "xpuprof_build_info" in server.ask("/metrics")[1], name,
           [server.address])
    server.end()


def whole(samples, got, wanted, name, *events):
    """All, but for those at whose moment the kernel ran another program, on a busy machine: these are counted."""
    missed = sum(value(samples, "xpuprof_losses_total", event=event, cause="not_run") or 0 for event in events)
    result(got is not None and got <= wanted <= got + missed, name, [f"got: {got}, {missed} not run", f"expected: {wanted}"])


def check_counts(server, workers, place):
    samples = server.samples()
    for worker, count in zip(workers, (300, 20)):
        whole(samples, value(samples, "xpuprof_process_signals_sent_total", signal=SIGNAL, pid=worker.pid, comm="python3",
                             **place), count, f"a process's {count} signals are told", "SEND")
        whole(samples, value(samples, "xpuprof_process_signal_delivery_seconds_count", signal=SIGNAL, pid=worker.pid,
                             comm="python3", **place), count, "and that they were delivered", "SEND", "DELIVER")
    whole(samples, value(samples, "xpuprof_signals_sent_total", signal=SIGNAL), 320, "and all of them", "SEND")
    whole(samples, value(samples, "xpuprof_container_signals_sent_total", signal=SIGNAL, **place), 320,
          "and those of the container", "SEND")
    whole(samples, value(samples, "xpuprof_signal_delivery_seconds_bucket", signal=SIGNAL, le="+Inf"), 320,
          "the histogram has them all", "SEND", "DELIVER")
    busy = value(samples, "xpuprof_gpu_busy_seconds_total", signal=SIGNAL)
    total = value(samples, "xpuprof_signal_delivery_seconds_sum", signal=SIGNAL)
    result(0 < busy <= total, "the union of times is no more than their sum", [busy, total])
    same([value(samples, "xpuprof_event_watched", event=e) for e in ("SEND", "MISSING")], [1.0, 0.0],
         "an event that this kernel has not is said not to be watched")


def wait_until(condition):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    return None


def check_ended(server, workers, place):
    """The first process ends: its own sample goes, and nothing else becomes less."""
    before = server.samples()
    workers[0].end()

    def gone():
        after = server.samples()
        return value(after, "xpuprof_process_signals_sent_total", signal=SIGNAL, pid=workers[0].pid, comm="python3",
                     **place) is None and after

    after = wait_until(gone)
    result(after, "a process that has ended is not told by itself any more")
    after = after or {}
    counters = [key for key in before if "process" not in key[0] and key[0].endswith(("_total", "_bucket", "_count")) and
                ("signal", str(SIGNAL)) in key[1]]
    less = [key for key in counters if after.get(key, 0) < before[key]]
    result(len(counters) > 40 and not less, "but what all and its container used does not become less", less)
    workers[1].send(7)
    samples = server.samples()
    sent = value(samples, "xpuprof_container_signals_sent_total", signal=SIGNAL, **place)
    whole(samples, sent, 327, "and what others add comes to that", "SEND")
    whole(samples, value(samples, "xpuprof_container_signal_delivery_seconds_count", signal=SIGNAL, **place), 327,
          "also in histograms", "SEND", "DELIVER")
    return sent


class Prometheus:
    """The real one, which asks every second."""

    def __init__(self, program, target, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        with open(os.path.join(folder, "prometheus.yml"), "w") as config:
            config.write("global: {scrape_interval: 1s}\n"
                         f"scrape_configs: [{{job_name: xpuprof, static_configs: [{{targets: ['{target}']}}]}}]\n")
        self.log = open(os.path.join(folder, "log"), "w+")
        self.process = subprocess.Popen(
            [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.address}"], stdout=self.log, stderr=subprocess.STDOUT)

    def query(self, text):
        """[(labels, value)], or None as long as it does not answer."""
        connection = http.client.HTTPConnection(self.address, timeout=DEADLINE_S)
        try:
            connection.request("GET", "/api/v1/query?query=" + urllib.parse.quote(text))
            answer = json.load(connection.getresponse())
        except (OSError, ValueError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return [(r["metric"], float(r["value"][1])) for r in answer.get("data", {}).get("result", [])]

    def one(self, text):
        answer = self.query(text)
        return answer[0][1] if answer and len(answer) == 1 else None

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.seek(0)
        return self.log.read()


def check_prometheus(server, tools, workers, place, folder):
    check = subprocess.run([tools["promtool"], "check", "metrics"], input=server.ask("/metrics")[1], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    result(check.returncode == 0 and not check.stdout, "promtool finds nothing wrong with names and types",
           [check.stdout])
    prometheus = Prometheus(tools["prometheus"], server.address, folder)
    # As long as it has not asked again since the last signal it has an older number.
    found = wait_until(lambda: prometheus.one(f'xpuprof_signals_sent_total{{signal="{SIGNAL}"}}') == 320)
    result(found, "Prometheus reads the numbers that were counted",
           [prometheus.query("up"), prometheus.query("xpuprof_signals_sent_total")])
    same(prometheus.one('up{job="xpuprof"}'), 1.0, "and calls the target healthy")
    found = prometheus.query(f'sum by (container) (xpuprof_container_signals_sent_total{{signal="{SIGNAL}"}})')
    same(found, [(place, 320.0)], "it sums up by container")
    found = prometheus.query(f'sum by (pid) (xpuprof_process_signals_sent_total{{signal="{SIGNAL}"}})')
    same(sorted((m["pid"], v) for m, v in found or ()), sorted([(str(workers[0].pid), 300.0), (str(workers[1].pid), 20.0)]),
         "and by process")
    found = prometheus.one(f'histogram_quantile(1, xpuprof_signal_delivery_seconds_bucket{{signal="{SIGNAL}"}})')
    result(found is not None and 0 < found < DEADLINE_S, "and takes quantiles of histograms", [found])
    complaints = [line for line in prometheus.end().splitlines()
                  if re.search("level=(error|warn)", line) and "SIGTERM" not in line]
    result(not complaints, "without a complaint in its log", complaints)


def find_tools():
    folder = os.path.join(ROOT, "build", "prometheus")
    found = {name: shutil.which(name, path=folder + os.pathsep + os.environ["PATH"]) for name in ("prometheus", "promtool")}
    return found if all(found.values()) else None


def check_command():
    """The command itself; what of a GPU's events there is depends on the kernel."""
    monitor = subprocess.Popen([os.path.join(BUILD, "xpuprof"), "monitor", "drm", "--summary-only", "--metrics",
                                "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = []
    while not said or (said[-1] and "http://" not in said[-1]):
        said.append(monitor.stderr.readline())
    names = ("xpuprof monitor --metrics says where", "and serves there", "and ends well")
    if not said[-1]:
        monitor.communicate()
        for name in names:
            skip(name, said[-2].strip() if len(said) > 1 else "it said nothing")
        return
    address = re.search(r"http://(\S+)/metrics$", said[-1].strip())
    result(address, names[0], said)
    server = Server.__new__(Server)
    server.address = address[1]
    result('xpuprof_event_watched{monitor="drm"' in server.ask("/metrics")[1], names[1])
    monitor.send_signal(signal.SIGINT)
    _, errors = monitor.communicate()
    same((monitor.returncode, errors), (0, ""), names[2])


def check_all(place_path):
    server = Server()
    workers = [Worker(place_path), Worker(place_path)]
    for worker, count in zip(workers, (300, 20)):
        worker.send(count)
    here = next(line for line in open(f"/proc/{workers[0].pid}/cgroup") if line.startswith("0::"))[3:].strip()
    place = {"container": CONTAINER if place_path else here}
    check_pages(server)
    check_bad_clients(server)
    slow = SlowClient(server)
    check_counts(server, workers, place)
    tools = find_tools()
    if tools:
        with tempfile.TemporaryDirectory() as folder:
            check_prometheus(server, tools, workers, place, folder)
    else:
        skip("Prometheus reads what is served", "tests/prometheus/fetch build/prometheus fetches it")
    sent = check_ended(server, workers, place)
    slow.check()
    workers[1].end()
    counts, errors, status = server.end()
    same((counts.get(SIGNAL), errors, status), (sent, "", 0), "statistics at the end are of everything, also of what ended")


def main():
    probe = Server()
    _, errors, status = probe.end()
    if status and (os.geteuid() or "built without" in errors or "this build" in errors):
        print(f"1..0 # SKIP {errors.strip()}")
        return 0
    same((status, errors), (0, ""), "signals can be watched and served")
    check_refusals()
    check_privileged_port()
    check_ipv6()
    with tempfile.TemporaryDirectory() as folder:
        check_unix(folder)
    check_command()
    with container() as place:
        check_all(place)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
