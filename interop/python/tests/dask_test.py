# SPDX-License-Identifier: Apache-2.0
"""octet.dask on a local cluster of four workers with one thread each: one is killed on the way, and the bytes
are those of one process."""

import os
import signal
import sys
import threading
import unittest

import numpy as np

import octet

try:
    import distributed
except ImportError:
    print("no distributed (Debian: python3-distributed), skipped")
    sys.exit(77)
import octet.dask

DIGITS = os.path.join(os.environ.get("OCTET_SOURCE_DIR", "."), "examples", "digits", "digits_int8.tflite")


class Rows:
    """An array that is read part by part, counts how far reading is, and calls `at` there."""

    def __init__(self, array, calls=()):
        self.array, self.shape, self.calls = array, array.shape, dict(calls)
        self.read, self.most_ahead, self.done = 0, 0, 0

    def __getitem__(self, rows):
        self.read = max(self.read, rows.stop)
        for at in [at for at in self.calls if at <= rows.start]:
            self.calls.pop(at)()
        return self.array[rows]


class Scores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = distributed.LocalCluster(n_workers=4, threads_per_worker=1, processes=True,
                                               dashboard_address=None, silence_logs=50)
        cls.client = distributed.Client(cls.cluster)
        cls.images = np.random.default_rng(1).integers(-128, 128, (4003, 8, 8, 1), np.int8)
        cls.expected = octet.Network(DIGITS, batch=4003)(cls.images)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.cluster.close()

    def test_a_worker_dies(self):
        pids = list(self.client.run(os.getpid).values())
        self.assertEqual(len(set(pids)), 4)
        killed = threading.Event()

        def kill():
            os.kill(pids[1], signal.SIGKILL)
            killed.set()
        rows = Rows(self.images, {1600: kill})
        scores = octet.dask.score(DIGITS, rows, client=self.client, batch=16, progress=True)
        self.assertTrue(killed.is_set())
        np.testing.assert_array_equal(scores, self.expected)

    def test_batches_and_networks(self):
        net = octet.Network(DIGITS)
        np.testing.assert_array_equal(octet.dask.score(net, self.images[:50], client=self.client), self.expected[:50])
        np.testing.assert_array_equal(octet.dask.score(net, self.images[:50], client=self.client, batch=64),
                                      self.expected[:50])
        self.assertEqual(octet.dask.score(net, self.images[:0], client=self.client).shape, (0, 10))

    def test_memory_is_bounded(self):
        """No more parts are read than may be in flight, plus those whose results are there."""
        rows = Rows(self.images[:640])
        done = [0]
        original = octet.dask.progress_bar.update

        def update(bar, count):
            rows.most_ahead = max(rows.most_ahead, rows.read - done[0])
            done[0] += count
            original(bar, count)
        octet.dask.progress_bar.update = update
        try:
            octet.dask.score(DIGITS, rows, client=self.client, batch=16, in_flight=3)
        finally:
            octet.dask.progress_bar.update = original
        self.assertEqual(done[0], 640)
        self.assertLessEqual(rows.most_ahead, 3 * 16)

    def test_wrong_arguments_are_named(self):
        with self.assertRaisesRegex(ValueError, r"array has shape \(5, 8, 8\), allowed: \(n, 8, 8, 1\)"):
            octet.dask.score(DIGITS, self.images[:5, ..., 0], client=self.client)


if __name__ == "__main__":
    unittest.main()
