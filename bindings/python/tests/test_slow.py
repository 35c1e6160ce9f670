"""What one slow rank does to the others, with bench/training/slow.py at a small size."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Slow(unittest.TestCase):
    def test_bounds_hold_and_nobody_waits_without_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "slow.json")
            done = subprocess.run(
                [sys.executable, "-W", "ignore", str(ROOT / "bench" / "training" / "slow.py"),
                 "--ranks", "3", "--seconds", "2.5", "--slow", "1:4", "--json", path],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150)
            self.assertTrue(os.path.exists(path), done.stdout)
            with open(path) as file:
                rows = {row["mode"]: row for row in json.load(file)["rows"]}
        for mode, bound in (("ssp:bound=3", 3), ("ssp:bound=8", 8)):
            # Reached and never exceeded, by what the servers saw and by what the ranks wrote down.
            self.assertEqual(rows[mode]["difference_servers"], bound, done.stdout)
            self.assertEqual(rows[mode]["difference_logs"], bound, done.stdout)
        # Both bounds are loose: other programs may slow a run. bsp keeps a quarter.
        self.assertLess(rows["bsp"]["kept"], 0.5, done.stdout)
        self.assertGreater(rows["asp"]["kept"], 0.7, done.stdout)
        self.assertGreater(rows["bsp:backup=1"]["kept"], 0.7, done.stdout)
        # The slow rank's clock is behind until its step ends, and then it is the others'.
        self.assertGreaterEqual(rows["bsp:backup=1"]["difference_servers"], 2, done.stdout)
        self.assertLess(rows["bsp:backup=1"]["difference_servers"], 30, done.stdout)


if __name__ == "__main__":
    unittest.main()
