# SPDX-License-Identifier: Apache-2.0
"""octet.torch against PyTorch itself: equal bytes under both engines, for random single modules and for whole networks.

    torch_test.py --quick       small networks: for continuous integration
"""

import collections
import contextlib
import copy
import inspect
import io
import os
import sys
import textwrap
import threading
import unittest

import numpy as np
import torch
import torch.nn.functional as F

import octet
import octet.torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "onednn", "tests", "preload"))
import torch_networks  # noqa: E402 (networks with seeded random weights)
from torch_modules import random_module  # noqa: E402

ONEDNN_IS_EXACT = torch_networks.cpu_has("avx512_vnni")  # else its sums saturate
ENGINES = [e for e in ("qnnpack", "onednn") if e in torch.backends.quantized.supported_engines
           and (e != "onednn" or ONEDNN_IS_EXACT)]
torch.set_grad_enabled(False)
QUICK = "--quick" in sys.argv


class Pair(torch.nn.Module):
    """One method of QFunctional."""

    def __init__(self, method, scale, zero_point):
        super().__init__()
        self.method, self.f = method, torch.nn.quantized.QFunctional()
        self.f.scale, self.f.zero_point = scale, zero_point

    def forward(self, *xs):
        return self.f.cat(xs, 1) if self.method == "cat" else getattr(self.f, self.method)(*xs)


def random_function(random):
    """What lies between products: a module and its inputs."""
    import torch.ao.nn.quantized as q
    kind = str(random.choice(["add", "add_relu", "mul", "cat", "add_scalar", "mul_scalar", "max", "avg",
                              "adaptive", "norm", "prelu", "table", "table",
                              "table", "table"]))
    sides = (int(random.choice([1, 2, 2, 3])) if kind in ("avg", "adaptive") else int(random.integers(1, 3))
             if kind == "max" else 2)
    size = ((int(random.integers(1, 4)), int(random.integers(1, 80)))
            + tuple(int(n) for n in random.integers(3, 14 if sides < 3 else 7, sides)))
    scale, zero_point = float(random.uniform(0.01, 0.2)), int(random.integers(0, 255))
    order = {4: torch.channels_last, 5: torch.channels_last_3d}.get(len(size)) if random.integers(2) else None

    def some(size=size):
        x = torch.from_numpy(random.integers(0, 256, size, np.uint8)).contiguous(memory_format=order
                                                                                 or torch.contiguous_format)
        return torch._make_per_tensor_quantized_tensor(x, float(random.uniform(0.01, 0.2)),
                                                       int(random.integers(0, 256)))
    if kind in ("add", "add_relu", "mul"):
        # One third is broadcast.
        other = size if random.integers(3) else tuple(int(n) if random.integers(2) else 1 for n in size)
        return Pair(kind, scale, zero_point), (some(), some(other)) if random.integers(2) else (some(other), some())
    if kind == "cat":
        return Pair(kind, scale, zero_point), tuple(some() for _ in range(random.integers(1, 4)))
    if kind in ("add_scalar", "mul_scalar"):
        return Pair(kind, 1., 0), (some(), float(random.uniform(-2, 2)))
    if kind in ("max", "avg"):
        kernel = int(random.integers(1, 4))
        made = getattr(torch.nn, f"{kind.capitalize()}Pool{sides}d")
        return made(kernel, int(random.integers(1, 3)), int(random.integers(0, kernel // 2 + 1)),
                    ceil_mode=bool(random.integers(3) == 0)), (some(),)
    if kind == "prelu":
        module = q.PReLU(scale, zero_point, size[1] if random.integers(2) else 1)
        module.set_weight(torch.quantize_per_tensor(torch.rand(module.num_parameters) - 0.3, 0.01, 128, torch.quint8))
        return module, (some(),)
    if kind == "norm":
        import torch.nn.intrinsic.quantized as qi
        module = (qi.BNReLU2d if random.integers(2) else q.BatchNorm2d)(size[1]).eval()
        values = {"weight": random.uniform(-1, 2, size[1]), "bias": random.normal(size=size[1]),
                  "running_mean": random.normal(size=size[1]),
                  "running_var": random.uniform(0.1, 2, size[1])}
        for name, value in values.items():
            getattr(module, name).copy_(torch.from_numpy(value.astype(np.float32)))
        module.scale, module.zero_point = torch.tensor(scale), torch.tensor(zero_point)
        return module, (some(),)
    if kind == "adaptive":
        return getattr(torch.nn, f"AdaptiveAvgPool{sides}d")(1), (some(),)
    tables = [torch.nn.ReLU(), q.ReLU6(), torch.nn.Hardtanh(-0.5, 1.5), q.Sigmoid(1 / 256, 0),
              q.Hardswish(scale, zero_point),
              q.LeakyReLU(scale, zero_point, float(random.uniform(0.01, 0.5))), q.ELU(scale, zero_point, 1.),
              torch.nn.Tanh(), torch.nn.Hardsigmoid(), torch.nn.GELU(), torch.nn.Threshold(0.1, 0.4)]
    return tables[random.integers(len(tables))], (some(),)


def codes(y):
    return (y.int_repr() if y.is_quantized else y).numpy()


class Block(torch.nn.Module):
    """Calls functions by itself, as eager modules do."""

    def __init__(self, i, o):
        super().__init__()
        self.a, self.b = torch.nn.Conv2d(i, o, 3, padding=1), torch.nn.Conv2d(o, o, 1)
        self.f = torch.nn.quantized.FloatFunctional()

    def forward(self, x):
        y = F.relu(self.a(x))
        y = torch.relu(self.b(y)).clamp(0.1, 1.5)
        return torch.cat([self.f.add(y, y), y], 1)


class Eager(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.first, self.second, self.last = Block(3, 24), Block(48, 40), torch.nn.Linear(80, 10)

    def forward(self, x, with_relu6=False, fail=False):
        """Logits."""
        x = F.max_pool2d(self.first(self.quant(x)), 2)
        if with_relu6:  # no trace of one run knows the other
            x = F.relu6(x)
        if fail:
            raise KeyError("forward fails")
        x = F.adaptive_avg_pool2d(self.second(x), 1).flatten(1)
        F.hardtanh(x, -1, 0.5, True)  # in place
        return torch.softmax(self.dequant(self.last(x)), -1)


def eager(engine):
    torch.backends.quantized.engine = engine
    torch.manual_seed(5)
    net, x = Eager().eval(), torch.randn(2, 3, 24, 24)
    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
    torch.ao.quantization.prepare(net, inplace=True)
    net(x)
    return torch.ao.quantization.convert(net, inplace=True), x


class Calls(unittest.TestCase):
    """What a module's own `forward` calls."""

    def test_functions_of_forward(self):
        for engine in ENGINES:
            net, x = eager(engine)
            ours = octet.torch.convert(net)
            for words in ({}, {"with_relu6": True}, {}, {"with_relu6": True}):
                np.testing.assert_array_equal(ours(x, **words).numpy(), net(x, **words).numpy(), engine)
            report = {m.name: m for m in ours.octet_report}
            self.assertEqual(len(report), len(ours.octet_report), ours.octet_report)  # names are unique
            for name in ("first.relu", "first.relu_1", "first.clamp", "first.f.add", "first.cat",
                         "second.relu", "second.cat", "max_pool2d", "adaptive_avg_pool2d", "hardtanh",
                         "last"):
                self.assertIn(name, report)
                if name.split(".")[-1] not in ("clamp", "add"):  # on which PyTorch's own codes may depend on places
                    self.assertIsNone(report[name].reason, report[name])
            self.assertIn("relu6", report)
            self.assertEqual(report["flatten"].reason, "moves codes, computes nothing")
            self.assertIn("softmax", report)
            self.assertRegex(report["first.relu"].kind, r"^relu at torch_test.py:\d+$")

    def test_what_the_manual_shows(self):
        page = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../doc/howto/quantize.md")).read()
        text = page.split("\n## PyTorch\n")[1].split("\n## ")[0]
        block = textwrap.dedent("\n".join(line for line in text.splitlines() if line.startswith("    ")
                                          or not line.strip()))
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                    torch.nn.Linear(144, 5))
        images = torch.randn(8, 1, 3, 8, 8)
        words = {"model": model, "example": images[0], "calibration_images": images}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(block, words)
        self.assertIn("2 operations on Octet", out.getvalue())
        self.assertTrue(torch.equal(words["fast"](images[1]), words["quantized"](images[1])))

    def test_it_stays_a_module(self):
        net, x = eager(ENGINES[0])
        ours = octet.torch.convert(net)
        expected = net(x).numpy()
        with self.assertRaisesRegex(KeyError, "forward fails"):
            ours(x, fail=True)
        self.assertIsNone(octet.torch.calls._current.mode)
        again = copy.deepcopy(ours)
        file = io.BytesIO()
        torch.save(torch.nn.Sequential(ours), file)
        file.seek(0)
        loaded = torch.load(file)
        self.assertEqual(str(loaded[0].octet_report), str(octet.torch.convert(net).octet_report))
        for module in (ours, again, torch.nn.Sequential(ours), loaded):
            np.testing.assert_array_equal(module(x).numpy(), expected)
        self.assertEqual(inspect.signature(ours.forward), inspect.signature(net.forward))
        self.assertEqual(ours.forward.__doc__, "Logits.")

        class Both(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = octet.torch.convert(net), net

            def forward(self, x):
                return torch.stack([self.a(x), self.b(x)])
        y = Both()(x)
        np.testing.assert_array_equal(y[0].numpy(), y[1].numpy())
        np.testing.assert_array_equal(octet.torch.convert(Both())(x).numpy(), y.numpy())

    def test_threads(self):
        net, x = eager(ENGINES[0])
        ours, expected, wrong = octet.torch.convert(net), net(x).numpy(), []

        def work():
            for _ in range(5):
                if (ours(x).numpy() != expected).any():
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Modules(unittest.TestCase):
    def compare_single_modules(self, engine, count):
        torch.backends.quantized.engine = engine
        kinds = collections.Counter()
        compared = unsupported = 0
        for seed in range(10 * count):
            random = np.random.default_rng(seed)
            torch.manual_seed(seed)
            try:
                module, x = random_module(random)
                expected, _ = module(x), module.weight()
            except RuntimeError:  # what the engine itself refuses, or does not show
                unsupported += 1
                continue
            ours = octet.torch.convert(module)
            self.assertEqual(len(ours.octet_report.taken), 1, ours.octet_report)
            y = ours(x)
            kinds[type(module)._get_name(module)] += 1
            if y.is_quantized:
                self.assertEqual((y.q_scale(), y.q_zero_point()), (expected.q_scale(), expected.q_zero_point()))
            np.testing.assert_array_equal(codes(y), codes(expected),
                                          f"{engine}, seed {seed}: {module}, input {x.shape}")
            compared += 1
            if compared == count:
                break
        self.assertEqual(compared, count, f"{unsupported} modules do not run on {engine}")
        print(engine, ", ".join(f"{kind}: {n}" for kind, n in sorted(kinds.items())))

    def test_single_modules_of_qnnpack(self):
        self.compare_single_modules("qnnpack", 160)

    @unittest.skipUnless(ONEDNN_IS_EXACT, "oneDNN's sums saturate without AVX512-VNNI")
    def test_single_modules_of_onednn(self):
        self.compare_single_modules("onednn", 160)

    def test_floats_stay(self):
        relu = octet.torch.convert(torch.nn.ReLU())
        self.assertEqual(len(relu(torch.ones(3))), 3)
        self.assertIn("no codes", relu.octet_report.left[0].reason)

    def compare_functions(self, engine, count):
        torch.backends.quantized.engine = engine
        kinds = collections.Counter()
        compared = 0
        for seed in range(3 * count):
            module, xs = random_function(np.random.default_rng(seed))
            kind = getattr(module, "method", type(module).__name__)
            try:
                expected = module(*xs)
            except RuntimeError:
                kinds[kind, "fails in PyTorch"] += 1
                continue
            ours = octet.torch.convert(module)
            y = ours(*xs)
            name = f"{engine}, seed {seed}: {kind} of {xs[0].shape}"
            self.assertEqual((y.q_scale(), y.q_zero_point(), y.shape),
                             (expected.q_scale(), expected.q_zero_point(), expected.shape), name)
            for order in (torch.contiguous_format, {4: torch.channels_last, 5: torch.channels_last_3d}.get(y.dim())):
                if order:
                    self.assertEqual(y.is_contiguous(memory_format=order),
                                     expected.is_contiguous(memory_format=order), name)
            np.testing.assert_array_equal(codes(y), codes(expected), name)
            np.testing.assert_array_equal(codes(ours(*xs)), codes(expected), name)
            reason = ours.octet_report[0].reason
            kinds[kind, "left" if reason else "taken"] += 1
            if reason:
                print(f"{name} stays: {reason}")
            compared += reason is None
            if compared == count:
                break
        self.assertEqual(compared, count)
        for (kind, what), n in sorted(kinds.items()):
            print(f"{engine} {kind}: {n} {what}")

    def test_functions_of_qnnpack(self):
        self.compare_functions("qnnpack", 200)

    def test_functions_of_onednn(self):
        self.compare_functions("onednn", 200)

    def test_dynamic_recurrent_layers(self):
        kinds = [(torch.nn.LSTM, {}), (torch.nn.GRU, {}), (torch.nn.LSTMCell, {}), (torch.nn.GRUCell, {}),
                 (torch.nn.RNNCell, {}),
                 (torch.nn.RNNCell, {"nonlinearity": "relu"})]
        for engine in ENGINES:
            torch.backends.quantized.engine = engine
            for seed in range(36):
                random = np.random.default_rng(seed)
                torch.manual_seed(seed)
                kind, words = kinds[seed % len(kinds)]
                i, h = (int(n) for n in random.integers(1, 70, 2))
                x = torch.randn(3, i)
                if kind in (torch.nn.LSTM, torch.nn.GRU):
                    words = dict(num_layers=int(random.integers(1, 3)), batch_first=bool(random.integers(2)),
                                 bidirectional=bool(random.integers(2)))
                    x = torch.randn(4, 3, i)
                net = torch.ao.quantization.quantize_dynamic(torch.nn.ModuleList([kind(i, h, **words)]),
                                                             {kind}, dtype=torch.qint8)[0]
                ours = octet.torch.convert(net)
                name = f"{engine}, seed {seed}: {net}"
                self.assertEqual([m.reason for m in ours.octet_report], [None], name)
                expected, y = net(x), ours(x)
                self.assert_same(y, expected, name)
                state = expected[1] if x.dim() == 3 else expected
                self.assert_same(ours(x, state), net(x, state), name)
                if x.dim() == 3:
                    packed = torch.nn.utils.rnn.pack_padded_sequence(x,
                                                                     [2]
                                                                     * len(x[0] if not net.batch_first
                                                                           else x), net.batch_first)
                    self.assert_same(ours(packed)[0].data, net(packed)[0].data, name)
                with self.assertRaises(RuntimeError) as theirs:
                    net(x[..., :0])
                with self.assertRaises(RuntimeError) as raised:
                    ours(x[..., :0])
                self.assertEqual(str(raised.exception), str(theirs.exception))

    def assert_same(self, ours, theirs, name):
        self.assertEqual(type(ours), type(theirs), name)
        if isinstance(ours, torch.Tensor):
            return np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), name)
        self.assertEqual(len(ours), len(theirs), name)
        for a, b in zip(ours, theirs):
            self.assert_same(a, b, name)

    def test_layers_made_of_others(self):
        """torch.ao.nn.quantized.LSTM and MultiheadAttention."""
        class Recurrent(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
                self.layer = torch.nn.LSTM(4, 20, 2, bidirectional=True)

            def forward(self, x):
                return self.dequant(self.layer(self.quant(x))[0])

        class Attention(Recurrent):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.MultiheadAttention(16, 4)

            def forward(self, x):
                x = self.quant(x)
                return self.dequant(self.layer(x, x, x)[0])
        for engine in ENGINES:
            torch.backends.quantized.engine = engine
            for made, size, least in ((Recurrent, (3, 2, 4), 40), (Attention, (3, 2, 16), 4)):
                torch.manual_seed(2)
                net = made().eval()
                net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
                custom = torch.ao.quantization.get_default_custom_config_dict()
                torch.ao.quantization.prepare(net, inplace=True, prepare_custom_config_dict=custom)
                for _ in range(3):
                    net(torch.randn(*size))
                torch.ao.quantization.convert(net, inplace=True, convert_custom_config_dict=custom)
                ours = octet.torch.convert(net)
                for _ in range(2):
                    x = torch.randn(*size)
                    np.testing.assert_array_equal(ours(x).numpy(), net(x).numpy())
                self.assertGreaterEqual(len(ours.octet_report.taken), least, ours.octet_report)

    def test_what_pytorch_cannot_copy_is_shared(self):
        import torch.ao.nn.quantized as q
        torch.backends.quantized.engine = "qnnpack"
        net = torch.nn.Sequential(q.Conv3d(2, 3, 1), q.ReLU6())
        x = torch.quantize_per_tensor(torch.randn(1, 2, 3, 3, 3), 0.1, 3, torch.quint8)
        ours = octet.torch.convert(net)
        np.testing.assert_array_equal(codes(ours(x)), codes(net(x)))
        self.assertIn("PyTorch does not show its weights", ours.octet_report[0].reason)

    def test_networks(self):
        for engine in ENGINES:
            torch.backends.quantized.engine = engine
            for name, make in torch_networks.make_networks(QUICK):
                with self.subTest(engine=engine, network=name):
                    try:
                        net, inputs = make()
                        expected = [net(x) for x in inputs]
                    except (RuntimeError, AssertionError) as e:
                        print(f"{engine} {name}: PyTorch itself fails: {str(e).splitlines()[0][:90]}")
                        continue
                    ours = octet.torch.convert(net, engine)
                    for x, y in zip(inputs, expected):
                        np.testing.assert_array_equal(codes(ours(x)), codes(y))
                    print(f"{engine} {name}: {len(ours.octet_report.taken)} operations taken, "
                          f"{len(ours.octet_report.left)} left, equal")

    def test_networks_of_torchvision(self):
        try:
            from torchvision.models import quantization as zoo
        except ImportError:
            self.skipTest("no torchvision (Debian: python3-torchvision)")
        for engine in ENGINES:
            torch.backends.quantized.engine = engine
            for name in ("resnet18", "mobilenet_v2"):
                with self.subTest(engine=engine, network=name):
                    torch.manual_seed(1)
                    net = getattr(zoo, name)(weights=None, quantize=False).eval()
                    net.fuse_model()
                    net.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
                    torch.ao.quantization.prepare(net, inplace=True)
                    x = torch.randn(2, 3, 96, 96)
                    net(x)
                    torch.ao.quantization.convert(net, inplace=True)
                    expected = net(x)
                    ours = octet.torch.convert(net)
                    np.testing.assert_array_equal(ours(x).numpy(), expected.numpy())
                    np.testing.assert_array_equal(ours(x).numpy(), expected.numpy())
                    report = ours.octet_report
                    print(f"{engine} torchvision {name}: {len(report.taken)} operations taken, "
                          f"{len(report.left)} left, equal")
                    for m in report.left:
                        print(f"    {m.name}: {m.kind}: {m.reason}")

    def test_every_level_gives_the_same(self):
        """A user's journey: a quantized network, converted, gives the engine's bytes on every instruction set
        and number of threads."""
        try:
            for engine in ENGINES:
                torch.backends.quantized.engine = engine
                torch.manual_seed(3)
                make = dict(torch_networks.make_networks(True))["resnet18_fx"]
                net, (x, *_) = make()
                expected = codes(net(x))
                for isa in octet.available_isas():
                    for threads in (1, 2):
                        octet.set_max_cpu_isa(isa)
                        octet.set_num_threads(threads)
                        ours = octet.torch.convert(net)
                        np.testing.assert_array_equal(codes(ours(x)), expected, isa)
                        self.assertGreater(len(ours.octet_report.taken), 25)
        finally:
            octet.set_max_cpu_isa(octet.available_isas()[-1])
            octet.set_num_threads(0)

    def test_operations_of_torch(self):
        x, w = torch.randint(0, 255, (1, 8, 5, 5), dtype=torch.uint8), torch.randint(-128, 127, (70, 8, 3, 3),
                                                                                     dtype=torch.int8)
        y = torch.ops.octet.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 1, torch.tensor([0.01]), 3, 5, "ort_f32")
        expected = octet.conv2d(x.numpy(), w.numpy(), padding=1, scale=0.01, x_zero_point=3, zero_point=5,
                                rule="ort_f32")
        np.testing.assert_array_equal(y.numpy(), expected)

    def test_what_is_not_taken_is_named(self):
        import torch.ao.nn.quantized as q
        torch.backends.quantized.engine = "qnnpack"
        net = torch.nn.Sequential(q.Linear(4, 4), q.ReLU6(), q.Softmax(1, 1.), q.Embedding(3, 4),
                                  q.EmbeddingBag(3, 4),
                                  q.InstanceNorm2d(3, torch.nn.Parameter(torch.ones(3)),
                                                   torch.nn.Parameter(torch.ones(3)), 1., 0))
        report = octet.torch.convert(net).octet_report
        self.assertEqual([m.name for m in report.taken], ["0", "1"])
        for m, text in zip(report.left, ("exponentials", "looks up rows", "looks up rows", "statistics of codes")):
            self.assertIn(text, m.reason)
        with self.assertRaisesRegex(ValueError, "engine is 'fbgemm', allowed: qnnpack, onednn"):
            octet.torch.convert(net, "fbgemm")
        with self.assertRaisesRegex(TypeError, "module is 'x', allowed: a torch.nn.Module"):
            octet.torch.convert("x")


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--quick"])
