#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's quantized layers and networks on oneDNN with AMX, and without it; Octet has no part in it.

    torch_amx.py [LAYERS]       random layers besides the networks, by default 300

oneDNN 2.6.3's AMX kernels give other bytes for some networks and damage the heap, which glibc's checks find
(libc_malloc_debug). Tests therefore cap oneDNN to AVX512-VNNI (torch_networks.py, CMakeLists.txt). This
program shows that the cap is needed, and that with it all is well: it fails if a capped process does not end
well. Exits with 77 on a CPU without AMX.
"""

import hashlib
import os
import subprocess
import sys

import torch_networks

HEAP_CHECKS = "libc_malloc_debug.so.0"


def compute(layers):
    """Prints a line before and after each layer and network, so that the last one before a crash is known."""
    torch = torch_networks.start_torch(2)
    import numpy as np
    import torch_modules

    def digest(name, make):
        print("begins", name, flush=True)
        try:
            module, inputs = make()
            outputs = [module(x) for x in inputs]
        except (RuntimeError, AssertionError):  # what this PyTorch does not support
            return
        plain = [(y.int_repr() if y.is_quantized else y).numpy().tobytes() for y in outputs]
        print("ends", name, hashlib.sha256(b"".join(plain)).hexdigest()[:16], flush=True)

    def layer(seed):
        torch.manual_seed(seed)
        module, x = torch_modules.random_module(np.random.default_rng(seed))
        return module, [x, x]

    for seed in range(layers):
        digest(f"layer_{seed}", lambda: layer(seed))
    for seed, (name, make) in enumerate(torch_networks.make_networks(True)):
        torch.manual_seed(seed)
        digest(name, make)


def child(layers, isa):
    """How a process under this cap ended, where it was then, and the digests."""
    env = dict(os.environ, ONEDNN_MAX_CPU_ISA=isa, LD_PRELOAD=HEAP_CHECKS, MALLOC_CHECK_="3", OMP_WAIT_POLICY="passive")
    done = subprocess.run([sys.executable, __file__, "--compute", str(layers)], env=env, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    digests = {line[1]: line[2] for line in lines if line[0] == "ends"}
    how = ("ends well" if done.returncode == 0
           else f"ends with {done.returncode} in {lines[-1][1] if lines else 'the beginning'}: "
           f"{done.stderr[-300:]}")
    print(f"oneDNN up to {isa}: {len(digests)} layers and networks, {how}", flush=True)
    return done.returncode == 0, digests


def main():
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    is_well, capped = child(layers, torch_networks.ORACLE_ISA)
    if not is_well or not capped:
        sys.exit("a process without AMX has to end well")
    if not torch_networks.cpu_has("amx_int8"):
        print("skipped: this CPU has no AMX")
        sys.exit(77)
    _, with_amx = child(layers, "ALL")
    different = [name for name, digest in with_amx.items() if digest != capped.get(name)]
    print(f"with AMX {len(different)} give other bytes: {' '.join(different)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compute"]:
        compute(int(sys.argv[2]))
    else:
        main()
