# SPDX-License-Identifier: Apache-2.0
"""torch.ops.octet against PyTorch: results, what they say about them on tensors without contents, errors."""

import itertools
import unittest

import torch
import torch.nn.functional as F

import octet
import octet.torch

ops = torch.ops.octet
torch.set_grad_enabled(False)
torch.manual_seed(1)


def codes(*shape, dtype=torch.uint8):
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max + 1, shape, dtype=dtype)


def on_meta(value):
    if isinstance(value, (list, tuple)):
        return [on_meta(v) for v in value]
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def orders(x):
    """Contiguous, channels-last, with holes."""
    yield x
    if x.dim() > 2:
        yield x.movedim(1, -1).contiguous().movedim(-1, 1)
    yield torch.stack([x, x], -1)[..., 0]


class Library(unittest.TestCase):
    def run_both(self, op, *args):
        """The result, which is what the operation says of it without computing it."""
        y, said = op(*args), op(*on_meta(args))
        self.assertEqual((y.shape, y.dtype, y.stride()), (said.shape, said.dtype, said.stride()), op)
        return y

    def scaled(self, sums, scale, zero_point, dtype):
        """Rule ort_f32."""
        info = torch.iinfo(dtype)
        return (torch.round(sums.float() * scale) + zero_point).clamp(info.min, info.max).to(dtype)

    def test_convolutions(self):
        for sides, (groups, stride, padding, dilation) in itertools.product(
            (1, 2, 3), ((1, 1, 0, 1), (2, 2, 1, 1), (1, 1, 2, 2))):
            i, o = 6, 70
            x, w = codes(2, i, *[7, 6, 5][:sides]), codes(o, i // groups, *[3, 2, 1][:sides], dtype=torch.int8)
            bias, scale = torch.randint(-999, 999, (o,), dtype=torch.int32), torch.rand(o) * 0.01
            function = (F.conv1d, F.conv2d, F.conv3d)[sides - 1]
            sums = function(x.double() - 3, w.double(), bias.double(), stride, padding, dilation, groups)
            how = [stride] * sides, [padding] * sides, [dilation] * sides, groups
            for view in orders(x):
                y = self.run_both(getattr(ops, f"conv{sides}d"), view, w, bias, *how, scale, 3, 5, "ort_f32")
                self.assertTrue(torch.equal(y, self.scaled(sums, scale.reshape((o,) + (1,) * sides), 5, torch.uint8)))
            y = self.run_both(getattr(ops, f"conv{sides}d"), x, w, bias, *how, scale, 3, 0, "none")
            self.assertTrue(torch.equal(y, sums.int()))

    def test_transposed_convolutions(self):
        for sides, (groups, stride, padding, extra, dilation) in itertools.product(
            (1, 2, 3), ((1, 2, 1, 1, 1), (2, 1, 0, 0, 2), (1, 3, 1, 2, 1))):
            x, w = codes(2, 6, *[5, 4, 3][:sides]), codes(6, 70 // groups, *[3, 2, 3][:sides], dtype=torch.int8)
            function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[sides - 1]
            sums = function(x.double() - 3, w.double(), None, stride, padding, extra, groups, dilation)
            how = [stride] * sides, [padding] * sides, [extra] * sides, groups, [dilation] * sides
            for view in orders(x):
                y = self.run_both(getattr(ops, f"conv_transpose{sides}d"), view, w, None, *how,
                                  torch.tensor([0.01]), 3, 5, "ort_f32")
                self.assertTrue(torch.equal(y, self.scaled(sums, 0.01, 5, torch.uint8)))

    def test_matrices(self):
        x, w, bias = codes(2, 3, 65), codes(130, 65, dtype=torch.int8), torch.randint(-999, 999, (130,),
                                                                                      dtype=torch.int32)
        sums = (x.double() - 7) @ w.double().T + bias
        self.assertTrue(torch.equal(self.run_both(ops.linear, x, w, bias, torch.tensor([0.01]), 7, 3),
                                    self.scaled(sums, 0.01, 3, torch.uint8)))
        y = codes(65, 33, dtype=torch.int8)
        sums = (x.double() - 7) @ (y.double() + 2)
        self.assertTrue(torch.equal(self.run_both(ops.matmul, x, y, torch.tensor([0.01]), 7, -2, 3),
                                    self.scaled(sums, 0.01, 3, torch.uint8)))
        self.assertTrue(torch.equal(self.run_both(ops.matmul, x, y, torch.tensor([1.]), 7, -2, 0, "none"), sums.int()))

    def test_sums_are_those_of_qnnpack(self):
        torch.backends.quantized.engine = "qnnpack"
        for seed in range(20):
            x, y, s = codes(2, 65, 3), codes(2, 65, 3), (torch.rand(3) * 0.1 + 0.01).tolist()
            q = [torch._make_per_tensor_quantized_tensor(t, scale, zero_point) for t, scale,
                 zero_point in ((x, s[0], 7), (y, s[1], 250))]
            expected = torch.ops.quantized.add(*q, s[2], 100).int_repr()
            self.assertTrue(torch.equal(self.run_both(ops.add, x, y, s[0], 7, s[1], 250, s[2], 100,
                                                      "caffe2_2step"), expected))
        real = (x.double() - 7) * s[0] * (y.double() - 250) * s[1] / s[2] + 100
        self.assertLessEqual((self.run_both(ops.mul, x, y, s[0], 7, s[1], 250, s[2], 100)
                              - real.clamp(0, 255)).abs().max(), 0.51)
        self.assertEqual(self.run_both(ops.add, x, y[:, :1], s[0], 7, s[1], 250, s[2], 100).shape, x.shape)

    def test_pooling(self):
        largest, average = (F.max_pool1d, F.max_pool2d, F.max_pool3d), (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
        for sides, (kernel, stride, padding) in itertools.product((1, 2, 3), ((2, 2, 0), (3, 1, 1), (2, 3, 1))):
            x = codes(2, 65, *[7, 6, 5][:sides])
            how = [kernel] * sides, [stride] * sides, [padding] * sides
            for view in orders(x):
                y = self.run_both(getattr(ops, f"max_pool{sides}d"), view, *how)
                self.assertTrue(torch.equal(y, largest[sides - 1](x.float(), *how).to(torch.uint8)))
                for with_padding in (True, False):
                    y = self.run_both(getattr(ops, f"avg_pool{sides}d"), view, *how, with_padding)
                    expected = average[sides - 1](x.float(), *how, count_include_pad=with_padding)
                    self.assertTrue(torch.equal(y, torch.round(expected).to(torch.uint8)))
            self.assertEqual(self.run_both(getattr(ops, f"max_pool{sides}d"), x, [2] * sides, [],
                                           [0] * sides).shape, largest[sides - 1](x.float(), 2).shape)

    def test_codes_and_floats(self):
        x, scale, zero_point = (torch.randn(2, 65, 4), torch.rand(65) * 0.1 + 0.01,
                                torch.randint(-5, 5, (65,), dtype=torch.int32))
        column = scale[:, None]
        for view in orders(x):
            y = self.run_both(ops.quantize, view, scale, zero_point, torch.int8, 1)
            self.assertTrue(torch.equal(y, (torch.round(x / column) + zero_point[:, None]).clamp(
                -128, 127).to(torch.int8)))
        self.assertTrue(torch.equal(self.run_both(ops.dequantize, y, scale, zero_point, 1),
                                    (y.float() - zero_point[:, None]) * column))
        self.assertTrue(torch.equal(self.run_both(ops.dequantize, y, scale[:1], zero_point[:1]),
                                    (y.float() - zero_point[0]) * scale[0]))
        self.assertTrue(torch.equal(self.run_both(ops.requantize, y, torch.tensor([0.3]), 4, -7, torch.uint8),
                                    torch.round((y.float() - 4) * 0.3 - 7).clamp(0, 255).to(torch.uint8)))

    def test_floats(self):
        x, w, b = torch.randn(2, 65, 4), torch.randn(65), torch.randn(4)
        for view in orders(x):
            self.assertTrue(torch.equal(self.run_both(ops.prelu, view, w), F.prelu(x, w)))
            self.assertTrue(torch.allclose(self.run_both(ops.softmax, view, -2), torch.softmax(x, 1), atol=1e-6))
            self.assertTrue(torch.allclose(self.run_both(ops.layer_norm, view, b, b),
                                           F.layer_norm(x, (4,), b, b), atol=1e-5))
            self.assertTrue(torch.equal(self.run_both(ops.eltwise, "relu", view, 0.25), F.leaky_relu(x, 0.25)))
            self.assertTrue(torch.equal(self.run_both(ops.cat, [view, x[:, :3]], 1), torch.cat([x, x[:, :3]], 1)))
            self.assertTrue(torch.equal(self.run_both(ops.resize, view, [8]), x.repeat_interleave(2, 2)))
        c = codes(3, 40)
        y = self.run_both(ops.softmax, c, 1, 0.05, 1 / 256, 0, "ort_f32")
        self.assertLessEqual((y.double() - torch.softmax(c.double() * 0.05, 1) * 256).abs().max(), 1)

    def test_wrong_shapes_are_named_with_and_without_contents(self):
        x, w, one = codes(1, 4, 5, 5), codes(8, 4, 3, 3, dtype=torch.int8), torch.tensor([1.])
        how = [1, 1], [0, 0], [1, 1], 1, one
        for call, text in [(lambda f: ops.conv2d(f(x[0]), f(w), None, *f(how)),
                            "x: its dimensions are 3, allowed: 4"),
                           (lambda f: ops.conv2d(f(x[:, :3]), f(w), None, *f(how)),
                            "x: its channels are 3, allowed: 4"),
                           (lambda f: ops.conv2d(f(x[..., :2]), f(w), None, *f(how)),
                            "at least the 3 of a window"),
                           (lambda f: ops.conv2d(f(x), f(w), None, [0, 1], *f(how)[1:]),
                            "stride is 0, allowed: 1 or more"),
                           (lambda f: ops.linear(f(x), f(w), None, f(one)),
                            "w: its dimensions are 4, allowed: 2"),
                           (lambda f: ops.matmul(f(x), f(x[..., :4, :]), f(one)),
                            "x: the elements of a row are 5, allowed: 4"),
                           (lambda f: ops.max_pool2d(f(x), [6, 6], [], [0, 0]), "at least the 6 of a window"),
                           (lambda f: ops.max_pool1d(f(x), [6], [], [0]),
                            "x: its dimensions are 4, allowed: 3"),
                           (lambda f: ops.quantize(f(x.float()), f(one), f(one), torch.int8, 7),
                            "axis is 7, allowed: -4 to 3"),
                           (lambda f: ops.dequantize(f(x), f(one), f(one), 1),
                            "scale: its elements are 1, allowed: 4"),
                           (lambda f: ops.softmax(f(x.float()), 4), "dim is 4, allowed: -4 to 3"),
                           (lambda f: ops.layer_norm(f(x.float()), f(one)),
                            "scale: its sizes are (1,), allowed: (5,)"),
                           (lambda f: ops.prelu(f(x.float()), f(torch.ones(3))),
                            "w: its elements are 3, allowed: 4"),
                           (lambda f: ops.cat([f(x), f(x[..., :4])], 1),
                            "x1: its sizes but for dim 1 are [1, 0, 5, 4], allowed: [1, 0, 5, 5]")]:
            for f in (lambda t: t, on_meta):
                with self.subTest(text=text), self.assertRaises(ValueError) as raised:
                    call(f)
                self.assertIn(text, str(raised.exception))

    def test_programs_around_them(self):
        from torch._subclasses import FakeTensorMode

        class Net(torch.nn.Module):
            def forward(self, x):
                return ops.max_pool2d(ops.conv2d(x, torch.ones(8, 4, 3, 3, dtype=torch.int8), None, [1, 1],
                                                 [0, 0], [1, 1], 1, torch.tensor([0.02])),
                                      [2, 2], [], [0, 0])
        x = codes(1, 4, 8, 8)
        expected = Net()(x)
        self.assertTrue(torch.equal(torch.jit.trace(Net(), (x,))(x), expected))
        self.assertTrue(torch.equal(torch.fx.symbolic_trace(Net())(x), expected))
        with FakeTensorMode():
            self.assertEqual(Net()(codes(1, 4, 8, 8)).shape, expected.shape)


if __name__ == "__main__":
    unittest.main()
