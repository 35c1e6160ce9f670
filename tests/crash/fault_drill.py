#!/usr/bin/env python3
"""What becomes of a daemon and its jobs when the disk is full or fails, the last record is torn, the
wall clock jumps, or the daemon stands still for longer than a lease.

After each fault every acknowledged job is still there and ends well, nothing has run twice in one
epoch, and while it lasts the daemon says what is wrong. Prints one verdict for each fault.
"""
import argparse
import ctypes
import glob
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/live"))
from daemon_http import DaemonConnection  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LEASE_S = 1
# Notes that it runs, then waits for a word.
RUN = 'echo x >> "$LEDGER/$WEFT_JOB.$WEFT_JOB_EPOCH"; while [ ! -e "$LEDGER/go" ]; do sleep 0.05; done'


class Cluster:
    """A daemon on a store of its own, with faults at hand."""

    def __init__(self, weft, shim, root):
        self.weft, self.root, self.daemon = weft, root, None
        self.store, self.ledger = os.path.join(root, "store"), os.path.join(root, "ledger")
        self.faults = os.path.join(root, "faults")
        self.error = os.path.join(root, "up.err")
        for folder in (self.store, self.ledger, self.faults):
            os.makedirs(folder, exist_ok=True)
        os.chmod(root, 0o711)
        os.chmod(self.ledger, 0o777)
        self.environment = dict(os.environ, LD_PRELOAD=shim, WEFT_FAULTS=self.faults)
        self.acknowledged = []

    def words(self):
        return [self.weft, "up", "--cluster", "2x2", "--store", self.store, "--lease", str(LEASE_S)]

    def up(self):
        with open(self.error, "ab") as error:
            self.daemon = subprocess.Popen(self.words(), stdout=subprocess.DEVNULL, stderr=error,
                                           stdin=subprocess.DEVNULL, env=self.environment)
        self.until(self.is_whole, "the daemon and its agents are there")

    def is_whole(self):
        nodes = self.ask("GET", "/v1/nodes")[1].get("nodes", [])
        return nodes and all(node["connected"] and node["in_service"] for node in nodes)

    def ask(self, method, target, body=None, timeout=5):
        connection = DaemonConnection(self.store, timeout=timeout)
        try:
            connection.request(method, target, json.dumps(body) if body is not None else None)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return 0, {"error": str(error)}
        finally:
            connection.close()

    def until(self, holds, what, timeout_s=40):
        end = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < end, f"it does not come about that {what}"
            time.sleep(0.02)

    def submit(self, loss="continue", **more):
        spec = {"v": 1, "name": f"job{len(self.acknowledged)}", "run": RUN, "workdir": "/",
                "envs": {"LEDGER": self.ledger}, "on_controller_loss": loss,
                "resources": {"accelerators": [{"type": "", "count": 1}]},
                "checkpoint": {"grace_s": 0.1}, **more}
        status, answer = self.ask("POST", "/v1/jobs", {"spec": spec})
        if status != 201:
            return status, answer
        self.acknowledged.append(answer["jobs"][0]["uuid"])
        return status, self.acknowledged[-1]

    def job(self, uuid):
        return self.ask("GET", f"/v1/jobs/{uuid}")[1]

    def run_job(self, **more):
        status, uuid = self.submit(**more)
        assert status == 201, uuid
        self.until(lambda: self.job(uuid).get("state") == "running", f"job {uuid} runs")
        return uuid

    def set_fault(self, name, text):
        path = os.path.join(self.faults, name)
        if text is None:
            os.unlink(path)
            return
        with open(path + ".draft", "w") as file:
            file.write(text)
        os.rename(path + ".draft", path)

    def settle(self):
        """Lets all jobs end and checks that none was lost, ran twice, or ended badly."""
        with open(os.path.join(self.ledger, "go"), "w"):
            pass
        for uuid in self.acknowledged:
            self.until(lambda u=uuid: self.job(u).get("state") == "finished", f"{uuid} finishes")
        for path in glob.glob(os.path.join(self.ledger, "*.*")):
            with open(path) as file:
                assert file.read() == "x\n", f"{path}: ran twice in one epoch"
            assert os.path.basename(path).split(".")[0] in self.acknowledged, f"{path}: not asked for"

    def end(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGCONT)
            self.ask("POST", "/v1/down?now=1")
            try:
                self.daemon.wait(20)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
            return
        # Its agents outlived it.
        for path in glob.glob(os.path.join(self.store, "nodes/*/pid")):
            try:
                with open(path) as file:
                    os.kill(int(file.read()), signal.SIGTERM)
            except (OSError, ValueError):
                pass


def mount(*words):
    libc = ctypes.CDLL(None, use_errno=True)
    source, target, flags, data = words
    return libc.mount(source, target.encode(), source, flags, data) == 0


def disk_full(cluster):
    """Submissions are refused while nothing fits, what runs goes on, and room mends it."""
    if os.geteuid() != 0 or not mount(b"tmpfs", cluster.store, 0, b"size=4m"):
        return "skipped: no small disk can be made here"
    try:
        cluster.up()
        first = cluster.run_job()
        filler = os.path.join(cluster.store, "filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        answers = []
        cluster.until(lambda: answers.append(cluster.submit()[0]) or answers[-1] == 503,
                      "a submission is refused")
        assert cluster.ask("GET", "/v1/status")[1]["disk_full_since_s"] is not None
        assert cluster.job(first)["state"] == "running" and cluster.job(first)["epoch"] == 1
        os.unlink(filler)
        cluster.until(lambda: cluster.ask("GET", "/v1/status")[1]["disk_full_since_s"] is None,
                      "there is room again")
        cluster.run_job()
        cluster.settle()
    finally:
        cluster.end()
        time.sleep(0.2)
        subprocess.run(["umount", "-l", cluster.store], check=False)
    return "ok"


def sync_error(cluster):
    """The daemon ends and says why; the next goes on from what is on the disk."""
    cluster.up()
    first = cluster.run_job()
    cluster.set_fault("sync", "")
    status, answer = cluster.submit()
    assert status != 201, f"acknowledged although the disk failed: {answer}"
    assert cluster.daemon.wait(20) != 0
    with open(cluster.error) as file:
        said = file.read()
    assert "disk I/O error" in said, said
    cluster.set_fault("sync", None)
    cluster.up()
    assert cluster.job(first)["epoch"] == 1 and cluster.job(first)["state"] == "running"
    # What was under way when the disk failed may have reached it: it was not promised, not denied.
    known = [job["uuid"] for job in cluster.ask("GET", "/v1/jobs?all=1")[1]["jobs"]]
    assert set(cluster.acknowledged) <= set(known)
    cluster.acknowledged = known
    cluster.run_job()
    cluster.settle()
    cluster.end()
    return "ok"


def torn_record(cluster):
    """Half a record behind the last whole one is passed over."""
    cluster.up()
    cluster.run_job()
    cluster.submit()
    cluster.daemon.kill()
    cluster.daemon.wait()
    log = os.path.join(cluster.store, "journal.db-wal")
    with open(log, "rb") as file:
        frame = file.read()[-4120:]
    with open(log, "ab") as file:
        file.write(frame[:1500])
    cluster.up()
    cluster.run_job()
    cluster.settle()
    cluster.end()
    return "ok"


def clock_jump(cluster):
    """A day forth and two back: leases, jobs and the controller's clock take no notice."""
    cluster.up()
    kept, stops = cluster.run_job(), cluster.run_job(loss="stop")
    for offset in ("86400", "-86400"):
        now, began = cluster.ask("GET", "/v1/status")[1]["now_s"], time.monotonic()
        cluster.set_fault("clock", offset)
        cluster.run_job()
        time.sleep(1.5 * LEASE_S)
        passed = cluster.ask("GET", "/v1/status")[1]["now_s"] - now
        assert abs(passed - (time.monotonic() - began)) < 1, f"{passed} s went by on its clock"
        assert cluster.is_whole()
        for uuid in (kept, stops):
            assert cluster.job(uuid)["state"] == "running" and cluster.job(uuid)["epoch"] == 1
    # The next controller finds a calendar before its last record's: no time has passed since that.
    now = cluster.ask("GET", "/v1/status")[1]["now_s"]
    assert cluster.ask("POST", "/v1/notes", {"name": "time", "text": str(now)})[0] == 201
    cluster.set_fault("clock", "-172800")
    cluster.daemon.kill()
    cluster.daemon.wait()
    cluster.up()
    after = cluster.ask("GET", "/v1/status")[1]["now_s"]
    assert now <= after < now + 60, f"its clock went from {now} to {after}"
    cluster.settle()
    cluster.end()
    return "ok"


def stopped_controller(cluster, stop_s):
    """Nobody takes its place by accident; what must end with its lease has, the rest goes on."""
    cluster.up()
    kept, stops = cluster.run_job(), cluster.run_job(loss="stop")
    cluster.daemon.send_signal(signal.SIGSTOP)
    time.sleep(stop_s)
    second = subprocess.run(cluster.words(), capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode != 0 and "another daemon has this store" in second.stderr, second
    cluster.daemon.send_signal(signal.SIGCONT)
    cluster.until(cluster.is_whole, "the agents are heard again")
    cluster.until(lambda: cluster.job(stops).get("state") == "running" and
                  cluster.job(stops)["epoch"] == 2, "what ended with the lease runs again")
    assert cluster.job(kept)["state"] == "running" and cluster.job(kept)["epoch"] == 1
    cluster.run_job()
    cluster.settle()
    cluster.end()
    return "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--stop", type=float, default=30, help="seconds that the daemon stands still")
    parser.add_argument("--only", help="one of the faults")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    result, seconds = {}, {}
    base = tempfile.mkdtemp(prefix="weft-faults-")
    shim = os.path.join(base, "faults.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, os.path.join(HERE, "faults.c")],
                   check=True)
    os.chmod(base, 0o711)
    faults = {"disk_full": disk_full, "sync_error": sync_error, "torn_record": torn_record,
              "clock_jump": clock_jump,
              "stopped_controller": lambda cluster: stopped_controller(cluster, a.stop)}
    for name, fault in faults.items():
        if a.only not in (None, name):
            continue
        cluster = Cluster(os.path.abspath(a.weft), shim, os.path.join(base, name))
        began = time.monotonic()
        try:
            result[name] = fault(cluster)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            result[name] = f"failed: {error}"
            if cluster.daemon is not None:
                cluster.end()
        seconds[name] = round(time.monotonic() - began, 1)
    good = all(not verdict.startswith("failed") for verdict in result.values())
    print(json.dumps({**result, "seconds": seconds}) if a.json else
          "\n".join(f"{name}: {verdict} ({seconds[name]} s)" for name, verdict in result.items()))
    if good:
        shutil.rmtree(base, ignore_errors=True)
    else:
        print(f"fault_drill: the stores are left in {base}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
