"""Progress reports: what arrives on the socket, and that nothing else happens."""

import json
import os
import socket
import sys
import tempfile
import time
import unittest

# Only this file of the package: it needs neither torch nor the native library.
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "weft"))
import progress  # noqa: E402


class ProgressTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "p")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(10)
        os.environ["WEFT_PROGRESS"] = self.path
        progress._sent_at = -1e9
        progress._waiting.clear()
        progress._first_step = None

    def tearDown(self):
        self.socket.close()
        os.environ.pop("WEFT_PROGRESS", None)
        self.folder.cleanup()

    def line(self):
        return json.loads(self.socket.recv(4096))

    def test_numbers_arrive_as_one_line(self):
        self.assertTrue(progress.report(step=3, loss=0.5))
        self.assertEqual(self.line(), {"step": 3, "loss": 0.5})

    def test_many_reports_are_sent_together(self):
        self.assertTrue(progress.report(step=1))
        for step in range(2, 1000):
            progress.report(step=step)
        progress._sent_at = -1e9
        self.assertTrue(progress.report(loss=float("nan")))
        self.assertEqual(self.line(), {"step": 1})
        last = self.line()
        while last["step"] < 999:  # a slow machine may have sent some on the way
            last = self.line()
        self.assertEqual(last, {"step": 999})

    def test_steps_have_a_rate(self):
        progress.report_step(10)
        self.assertEqual(self.line(), {"step": 10})
        progress._sent_at = -1e9
        progress._first_step = (10, time.monotonic() - 2)
        progress.report_step(20)
        line = self.line()
        self.assertEqual(line["step"], 20)
        self.assertTrue(0 < line["rate"] <= 5)

    def test_without_an_agent_nothing_happens(self):
        del os.environ["WEFT_PROGRESS"]
        self.assertFalse(progress.report(step=1))
        os.environ["WEFT_PROGRESS"] = self.path + "-gone"
        self.assertFalse(progress.report(step=1))


if __name__ == "__main__":
    unittest.main()
