# SPDX-License-Identifier: Apache-2.0
"""What the Python package tells about networks: comparisons, profiles, explanations, reports, plots."""

import os
import tempfile
import unittest
import unittest.mock
from xml.etree import ElementTree

import numpy as np

import octet
from octet import drawing, network
from digits import DIGITS, Digits


class Reports(Digits):
    def test_reports_are_html(self):
        path = os.path.join(DIGITS, "digits_int8.tflite")
        plain = octet.Network(path, fusion=False)
        found = octet.compare(plain, octet.Network(path, fusion=False, rule="ort_f32").trace(self.images[0]),
                              self.images[0])
        rules = octet.compare_rules(path, self.images[0])
        for report in (found, rules):
            self.assertIn("CONV_2D", report.to_html())
            self.assertNotIn("http", report.to_html().replace("http://www.w3.org/2000/svg", ""))
        self.assertEqual(found.to_html().count("<svg"), len(found.differences))
        self.assertIn("probabilities", self.net._repr_html_())

    def test_compare_names_the_first_operator(self):
        plain = octet.Network(os.path.join(DIGITS, "digits_int8.tflite"), fusion=False)
        tensors = plain.trace(self.images[0])
        self.assertTrue(octet.compare(plain, tensors, self.images[0]).equal)
        names = [node.outputs[0] for node in plain.nodes]
        changed = dict(tensors)
        changed[names[2]] = tensors[names[2]] + np.int8(1)
        changed[names[5]] = tensors[names[5]] + np.int8(2)
        changed["elsewhere"] = np.zeros(1)
        found = octet.compare(plain, changed, self.images[0])
        self.assertEqual((found.first.name, found.first.number, len(found.differences)), (names[2], 2, 2))
        self.assertEqual(found.missing, ["elsewhere"])
        self.assertIn("elements differ, first at", str(found))
        plain(self.images[0])
        self.assertTrue(octet.compare(plain, [self.expected[0]]).equal)  # inputs of the last call

    def test_compare_with_floats(self):
        out = self.net.outputs[0]
        reals = (self.expected[0].astype(np.float32) - out.zero_point) * np.float32(out.scale)
        self.assertTrue(octet.compare(self.net, [reals], self.images[0]).equal)
        found = octet.compare(self.net, [reals + np.float32(out.scale)], self.images[0])
        self.assertEqual(found.first.histogram, {-out.scale: reals.size})

    def test_profile_and_explain(self):
        table = self.net.profile(self.images[0], repeat=3)
        self.assertEqual(len(table.rows()), len(self.net.nodes))
        self.assertIn("CONV_2D", str(table))
        self.assertIn("<svg", table.to_html())
        picture = ElementTree.fromstring(table.to_svg())
        boxes = [e for e in picture.iter() if e.tag.endswith("rect")]
        self.assertEqual(len(boxes), len(self.net.nodes))
        self.assertIn("runs on", octet.explain(self.net))

    def test_graphs_with_branches(self):
        def node(number, inputs, output):
            return network.Node(number, "ADD <>", inputs, [output], (1, 2), "ref", "")
        nodes = [node(0, ["x"], "a"), node(1, ["a"], "b"), node(2, ["a"], "c"), node(3, ["b", "c", "a"], "d")]
        rows, edges = drawing._rows(nodes)
        self.assertEqual(rows, [0, 1, 1, 2])
        self.assertEqual(edges, [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)])
        places = drawing._places(rows, edges)
        self.assertEqual(len(set(places)), 4)
        ElementTree.fromstring(drawing.graph_svg(nodes, [0., 1e-6, 2e-6, 0.]))
        ElementTree.fromstring(drawing.graph_svg([], []))

    def test_rules_are_compared(self):
        path = os.path.join(DIGITS, "digits_int8.tflite")
        found = octet.compare_rules(path, self.images[0], rules=("tflite_2step", "ort_f32"), progress=True)
        self.assertEqual([sum(d.count for d in found.layers[r]) == 0 for r in found.rules], [True, False])
        plain, ort = octet.Network(path, fusion=False), octet.Network(path, fusion=False, rule="ort_f32")
        a, b = plain.trace(self.images[0]), ort.trace(self.images[0])
        for d in found.layers["ort_f32"]:
            self.assertEqual((d.count, d.size), ((a[d.name] != b[d.name]).sum(), a[d.name].size))
        self.assertIn("ort_f32", str(found))
        both = octet.compare_rules(path, np.concatenate(self.images[:2]), rules=["ort_f32"], batch=2)
        second = octet.compare_rules(path, self.images[1], rules=["ort_f32"])
        for d, one, two in zip(both.layers["ort_f32"], found.layers["ort_f32"], second.layers["ort_f32"]):
            self.assertEqual((d.count, d.size), (one.count + two.count, one.size + two.size))

    def test_plots(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("no matplotlib (Debian: python3-matplotlib)")
        matplotlib.use("Agg")
        path = os.path.join(DIGITS, "digits_int8.tflite")
        found = octet.compare_rules(path, self.images[0])
        axes = found.plot()
        self.assertEqual(len(axes.lines), 2)
        np.testing.assert_allclose(axes.lines[0].get_ydata(), [100 * d.share for d in found.layers["ort_f32"]])
        bars = self.net.profile(self.images[0], repeat=2, progress=True).plot()
        self.assertEqual(len(bars.patches), len(self.net.nodes))
        plain = octet.Network(path, fusion=False)
        difference = octet.compare(plain,
                                   octet.Network(path, fusion=False, rule="ort_f32").trace(self.images[0]),
                                   self.images[0])
        self.assertEqual(len(difference.plot().patches), len(difference.first.histogram))
        with tempfile.TemporaryFile() as file:
            axes.figure.savefig(file, format="png")

    def test_without_matplotlib(self):
        found = octet.compare_rules(os.path.join(DIGITS, "digits_int8.tflite"), self.images[0])
        with unittest.mock.patch.dict("sys.modules", {"matplotlib": None}):
            with self.assertRaisesRegex(ImportError, "plots need matplotlib.*python3-matplotlib"):
                found.plot()


if __name__ == "__main__":
    unittest.main()
