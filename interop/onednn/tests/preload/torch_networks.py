#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's quantized networks with oneDNN alone and with liboctet_dnnl in front of it: every byte of every
output must be equal.

    torch_networks.py LIBRARY               equal bytes, with 1 and 2 threads, and with Octet capped to AVX2
    torch_networks.py LIBRARY --quick       small images and networks: for continuous integration
    torch_networks.py LIBRARY --time        times and their ratio, for an idle machine

Networks have random weights, are calibrated once by PyTorch alone and saved: calibration runs in float, where
thread counts and instruction sets change bits. Then each child process loads them and runs the same inputs.
What the library took is read from its log: an int8 convolution, deconvolution, inner product or matmul that
fell back is a failure. oneDNN's sums saturate on CPUs without AVX512-VNNI; there Octet's bytes are compared
with its own on one thread.
"""

import argparse
import hashlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

# oneDNN is the oracle as it computes with AVX512-VNNI; its AMX kernels give other bytes and damage memory
# (torch_amx.py). Below this level the cap changes nothing.
ORACLE_ISA = "AVX512_CORE_VNNI"
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", ORACLE_ISA)


def cpu_has(feature):
    with open("/proc/cpuinfo", encoding="ascii") as file:
        return feature in file.read().split()


# ---- networks

def make_networks(quick):
    """Pairs of name and function that returns (quantized module, list of inputs)."""
    import torch
    from torch import nn
    from torch.ao.nn.quantized import FloatFunctional  # noqa: F401 (the name that FX and eager mode know)
    from torch.ao import quantization as q

    q8 = q.QConfig(activation=q.MinMaxObserver.with_args(dtype=torch.quint8),
                   weight=q.PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric))
    q8_tensor = q.QConfig(activation=q.MinMaxObserver.with_args(dtype=torch.quint8),
                          weight=q.MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric))
    size = 64 if quick else 224

    def conv(i, o, kernel=3, stride=1, groups=1, relu=True, relu6=False):
        parts = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
        return nn.Sequential(*parts, *([nn.ReLU6() if relu6 else nn.ReLU()] if relu else []))

    class Residual(nn.Module):
        def __init__(self, body, shortcut=None, relu=True):
            super().__init__()
            self.body, self.shortcut, self.relu = body, shortcut or nn.Identity(), relu
            self.add = nn.quantized.FloatFunctional()

        def forward(self, x):
            y, s = self.body(x), self.shortcut(x)
            return self.add.add_relu(y, s) if self.relu else self.add.add(y, s)

    def basic(i, o, stride):
        short = conv(i, o, 1, stride, relu=False) if stride > 1 or i != o else None
        return Residual(nn.Sequential(conv(i, o, 3, stride), conv(o, o, relu=False)), short)

    def bottleneck(i, width, stride):
        o = 4 * width
        short = conv(i, o, 1, stride, relu=False) if stride > 1 or i != o else None
        return Residual(nn.Sequential(conv(i, width, 1), conv(width, width, 3, stride),
                                      conv(width, o, 1, relu=False)), short)

    def resnet(block, expansion, counts):
        layers, i = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
        for stage, count in enumerate(counts):
            width = 64 << stage
            for n in range(count):
                layers.append(block(i, width, 2 if stage and n == 0 else 1))
                i = width * expansion
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 1000))

    def inverted(i, o, stride, factor):
        hidden = i * factor
        body = nn.Sequential(*([conv(i, hidden, 1, relu6=True)] if factor > 1 else []),
                             conv(hidden, hidden, 3, stride, groups=hidden, relu6=True), conv(hidden, o, 1, relu=False))
        return Residual(body, relu=False) if stride == 1 and i == o else body

    def mobilenet():
        layers, i = [conv(3, 32, 3, 2, relu6=True)], 32
        for factor, o, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                         (6, 160, 3, 2), (6, 320, 1, 1)]:
            for n in range(count):
                layers.append(inverted(i, o, stride if n == 0 else 1, factor))
                i = o
        return nn.Sequential(*layers, conv(i, 1280, 1, relu6=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                             nn.Linear(1280, 1000))

    class Encoder(nn.Module):
        """A transformer's encoder layer, its linear layers visible to quantization."""
        def __init__(self, d=128, heads=4, hidden=512):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))
            self.up, self.down, self.relu = nn.Linear(d, hidden), nn.Linear(hidden, d), nn.ReLU()
            self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

        def forward(self, x):
            b, t, d = x.size(0), x.size(1), x.size(2)
            q_, k, v = (f(x).reshape(b, t, self.heads, d // self.heads).transpose(1, 2)
                        for f in (self.q, self.k, self.v))
            attention = torch.softmax(q_ @ k.transpose(2, 3) / (d // self.heads) ** 0.5, -1) @ v
            x = self.norm1(x + self.out(attention.transpose(1, 2).reshape(b, t, d)))
            return self.norm2(x + self.down(self.relu(self.up(x))))

    def up_and_down():
        return nn.Sequential(conv(3, 32, 3, 2), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(),
                             nn.ConvTranspose2d(16, 24, 3, 2, 1), conv(24, 8, 3))

    def grouped():
        return nn.Sequential(conv(3, 32), conv(32, 64, 3, 2, groups=4), conv(64, 64, 5, groups=64), conv(64, 96, 1),
                             conv(96, 96, 3, groups=32), Residual(conv(96, 96, 3, groups=2, relu=False)),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10))

    def by_fx(float_net, inputs, qconfig=q8):
        from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
        mapping = q.QConfigMapping().set_global(qconfig).set_object_type(nn.ConvTranspose2d, q8_tensor)
        prepared = prepare_fx(float_net.eval(), mapping, (inputs[0],))
        for x in inputs:
            prepared(x)
        return convert_fx(prepared)

    def by_hand(float_net, inputs):
        net = nn.Sequential(q.QuantStub(), float_net, q.DeQuantStub()).eval()
        for module in list(net.modules()):
            if isinstance(module, nn.Sequential) and len(module) > 1 and isinstance(module[0], nn.Conv2d) and \
                    isinstance(module[1], nn.BatchNorm2d):
                relu = len(module) == 3 and isinstance(module[2], nn.ReLU)
                q.fuse_modules(module, ["0", "1", "2"] if relu else ["0", "1"], inplace=True)
        net.qconfig = q8
        q.prepare(net, inplace=True)
        for x in inputs:
            net(x)
        return q.convert(net, inplace=True)

    def by_need(float_net, inputs):
        return q.quantize_dynamic(float_net.eval(), {nn.Linear}, dtype=torch.qint8)

    images = lambda: [torch.randn(n, 3, size, size) for n in (1, 3)]
    small = lambda: [torch.randn(n, 3, 40, 40) for n in (2, 1)]
    sentences = lambda: [torch.randn(b, t, 128) for b, t in ((2, 24), (1, 7))]
    nets = [("resnet18_fx", lambda: resnet(basic, 1, [2, 2, 2, 2]), by_fx, images),
            ("mobilenet_v2_eager", mobilenet, by_hand, images),
            ("transformer_static_fx", Encoder, by_fx, sentences),
            ("transformer_dynamic", Encoder, by_need, sentences),
            ("conv_transpose_fx", up_and_down, by_fx, small),
            ("grouped_fx", grouped, by_fx, small)]
    if not quick:
        nets += [("resnet18_eager", lambda: resnet(basic, 1, [2, 2, 2, 2]), by_hand, images),
                 ("resnet50_fx", lambda: resnet(bottleneck, 4, [3, 4, 6, 3]), by_fx, images),
                 ("resnet50_eager", lambda: resnet(bottleneck, 4, [3, 4, 6, 3]), by_hand, images),
                 ("mobilenet_v2_fx", mobilenet, by_fx, images),
                 ("grouped_eager", grouped, by_hand, small)]

    def made(net, how, inputs_of):
        net, inputs = net().eval(), inputs_of()
        for module in net.modules():  # statistics that are not the identity
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.uniform_(-0.2, 0.2)
                module.running_var.uniform_(0.5, 1.5)
        return how(net, inputs), inputs

    return [(name, lambda net=net, how=how, inputs=inputs: made(net, how, inputs)) for name, net, how, inputs in nets]


# ---- the children

def start_torch(threads):
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.backends.quantized.engine = "onednn"
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch


def prepare(directory, quick):
    torch = start_torch(1)
    for seed, (name, make) in enumerate(make_networks(quick)):
        torch.manual_seed(seed)
        net, inputs = make()
        torch.jit.save(torch.jit.trace(net, inputs[0], check_trace=False), f"{directory}/{name}.pt")
        torch.save(inputs, f"{directory}/{name}.inputs")
        print(name, flush=True)


def run(directory, threads, seconds):
    """Prints one line per network: name, digest of its outputs, their bytes, milliseconds of the first input."""
    torch = start_torch(threads)
    for file in sorted(os.listdir(directory)):
        if not file.endswith(".pt"):
            continue
        name = file[:-3]
        net = torch.jit.load(f"{directory}/{file}")
        digest, size = hashlib.sha256(), 0
        inputs = torch.load(f"{directory}/{name}.inputs")
        try:
            for x in inputs + inputs[:1]:  # the first batch size again: what was packed and made for it is still right
                out = net(x).numpy().tobytes()
                digest.update(out)
                size += len(out)
        except RuntimeError as error:  # what oneDNN alone cannot run is no failure of the library in front of it
            print(name, "fails", 0, "-", str(error).strip().splitlines()[-1], flush=True)
            continue
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            net(inputs[0])
            times.append(1e3 * (time.perf_counter() - start))
        print(name, digest.hexdigest()[:16], size, f"{statistics.median(times):.3f}" if times else "-", flush=True)


# ---- the comparison

def child(arguments, library=None, **environment):
    env = dict(os.environ, **environment)
    env.pop("LD_PRELOAD", None)
    if "--seconds" not in arguments:  # nothing is timed: threads that spin cost minutes where cores are shared
        env["OMP_WAIT_POLICY"] = "passive"
    if library:
        env["LD_PRELOAD"] = library
    done = subprocess.run([sys.executable, __file__, *arguments], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}\n{done.stderr[-3000:]}")
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows}, done.stderr


def check_log(log):
    """Counts of what was taken; an int8 product that was not is an error."""
    fell_back = re.findall(r"octet: (?:falls back to oneDNN|refused): "
                           r"((?:convolution|deconvolution|inner_product|matmul) src:[su]8.*)", log)
    if fell_back:
        sys.exit("not taken:\n  " + "\n  ".join(fell_back))
    taken = re.findall(r"octet: taken: (\w+)", log)
    by_reference = re.findall(r"octet: taken: ((?:convolution|deconvolution|inner_product|matmul).* octet:ref)", log)
    if by_reference:
        sys.exit("taken by the reference:\n  " + "\n  ".join(by_reference))
    return {kind: taken.count(kind) for kind in sorted(set(taken))}


def expected(directory, library, threads, on_fewer):
    """What PyTorch alone gives, where oneDNN is exact; else what it gives with the library on one thread."""
    if cpu_has("avx512_vnni"):
        return child(["--run", directory, "--threads", str(threads)])[0]
    return on_fewer or child(["--run", directory], library)[0]


def compare(directory, library, threads, on_fewer):
    """`on_fewer`: what was expected on fewer threads, for networks that PyTorch alone cannot run on these:
    oneDNN 2.6 picks another layout for depthwise weights then, and refuses to reorder what was packed.
    Quantized parts don't depend on threads."""
    plain = expected(directory, library, threads, on_fewer)
    failing = [name for name in plain if plain[name][0] == "fails"]
    plain.update({name: on_fewer[name] for name in failing})
    total = sum(int(row[1]) for row in plain.values())
    for what, environment in (("", {}), (", AVX2", {"OCTET_MAX_CPU_ISA": "avx2"})):
        octet, log = child(["--run", directory, "--threads", str(threads)], library, OCTET_DNNL_VERBOSE="1",
                           **environment)
        different = [name for name in plain if plain[name][:2] != octet[name][:2]]
        taken = check_log(log)
        if not taken:
            sys.exit("nothing was taken: is this the library of the interface, and does PyTorch use libdnnl.so.2?")
        if different:
            sys.exit(f"{threads} threads{what}: other bytes in {', '.join(different)}")
        print(f"{threads} threads{what}: {len(plain)} networks, {total} bytes equal; taken: {taken}" +
              (f"; PyTorch alone fails on {', '.join(failing)}, compared with 1 thread" if failing else ""), flush=True)
    return plain


def show_alone_capped(directory):
    """What Octet is for: the same networks, the same machine, oneDNN alone with and without a cap on its
    instruction sets."""
    plain, _ = child(["--run", directory])
    capped, _ = child(["--run", directory], ONEDNN_MAX_CPU_ISA="AVX2")
    different = [name for name in plain if plain[name][:2] != capped[name][:2]]
    print(f"oneDNN alone, capped to AVX2: other bytes in {len(different)} of {len(plain)} networks", flush=True)


def measure(directory, library, threads, rounds):
    """Medians of both, in turns, so that a change of the machine's mood meets both."""
    results = {False: {}, True: {}}
    for _ in range(rounds):
        for with_octet in (False, True):
            rows, _ = child(["--run", directory, "--threads", str(threads), "--seconds", "1"],
                            library if with_octet else None)
            for name, row in rows.items():
                if row[0] == "fails":
                    continue
                results[with_octet].setdefault(name, []).append(float(row[2]))
    for name, times in results[False].items():  # without those that fail
        alone, octet = statistics.median(times), statistics.median(results[True][name])
        print(f"{threads} threads  {name:24} oneDNN {alone:9.3f} ms   Octet {octet:9.3f} ms   "
              f"{alone / octet:5.2f} x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", help="liboctet_dnnl.so")
    parser.add_argument("--quick", action="store_true", help="small networks and images")
    parser.add_argument("--time", action="store_true", help="measure too")
    parser.add_argument("--rounds", type=int, default=3, help="of --time")
    parser.add_argument("--networks", help="directory to keep networks in, which is not made again if it is there")
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.prepare:
        return prepare(a.prepare, a.quick)
    if a.run:
        return run(a.run, a.threads, a.seconds)
    if not a.library or not os.path.exists(a.library):
        parser.error("the path of liboctet_dnnl.so is missing")
    library = os.path.abspath(a.library)
    with tempfile.TemporaryDirectory() as directory:
        directory = a.networks or directory
        os.makedirs(directory, exist_ok=True)
        if not cpu_has("avx512_vnni"):
            print("without AVX512-VNNI oneDNN's sums saturate: Octet is compared with itself on one thread")
        if not os.listdir(directory):
            child(["--prepare", directory, *(["--quick"] if a.quick else [])])
        alone = {}
        for threads in (1, 2):
            alone = compare(directory, library, threads, alone)
        if not a.quick and cpu_has("avx512_vnni"):
            show_alone_capped(directory)
        if a.time:
            for threads in (1, 2):
                measure(directory, library, threads, a.rounds)


if __name__ == "__main__":
    main()
