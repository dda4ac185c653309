# SPDX-License-Identifier: Apache-2.0
"""Scores data sets on many workers of Dask, with the bytes of one process.

    import octet, octet.dask
    scores = octet.dask.score("model.tflite", images)                  # a worker per core of this machine
    scores = octet.dask.score(net, images, client=Client("scheduler:8786"), progress=True)

What batches, retries and moves the work is Dask's; that any worker may compute any part, once or again, with
whatever instruction set, and give the same bytes, is Octet's.
"""

from __future__ import annotations

import hashlib
import pickle
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin, as_completed, get_worker

from .network import Network
from .progress import progress_bar

__all__ = ["score"]


class _Keeper(WorkerPlugin):
    """Gives each worker the network once, also to those that come or come back while the work is going on."""

    def __init__(self, network: Network) -> None:
        self.pickled = pickle.dumps(network)
        self.name = "octet-" + hashlib.sha256(self.pickled).hexdigest()[:16]

    def setup(self, worker: Any) -> None:
        """Called by Dask in the worker."""
        networks: Dict[str, Network] = getattr(worker, "octet_networks", {})
        networks[self.name] = pickle.loads(self.pickled)
        worker.octet_networks = networks

    def teardown(self, worker: Any) -> None:
        """Called by Dask when the work is done."""
        getattr(worker, "octet_networks", {}).pop(self.name, None)


def _scored(name: str, part: Any, batch: int) -> List[Any]:
    """Runs in a worker: the outputs of a part, whose last rows may be missing."""
    worker: Any = get_worker()
    net: Network = worker.octet_networks[name]
    count = len(part)
    if count < batch:
        part = np.concatenate([part, np.repeat(part[-1:], batch - count, 0)])
    y = net(part)
    return [np.ascontiguousarray(a[:count]) for a in (y if isinstance(y, tuple) else (y,))]


def _for_workers(net: Any, batch: int) -> Network:
    """A network of one thread for parts of `batch` rows."""
    made: Network = (pickle.loads(pickle.dumps(net)) if isinstance(net, Network)
                     else Network(net, threads=1, batch=batch))
    sizes = [info.shape[0] if info.shape else 0 for info in made.inputs + made.outputs]
    if len(made.inputs) != 1:
        raise ValueError(f"the network has {len(made.inputs)} inputs, allowed: 1")
    if batch and sizes[0] != batch:
        made.resize(batch=batch)
        sizes = [info.shape[0] for info in made.inputs + made.outputs]
    if len(set(sizes)) != 1:
        raise ValueError(f"the first dimensions of input and outputs are {sizes}, allowed: the batch in all of them")
    return made


def score(net: Union[Network, str, bytes], array: Any, *, client: Optional[Client] = None, batch: int = 0,
          in_flight: int = 0, progress: bool = False) -> Any:
    """The network's outputs for every row of an array, computed by Dask's workers: one array, or a tuple for
    several outputs.

    net: a network, or the path or bytes of a model, of one input. Workers run it on one thread each. array:
    NumPy's, or whatever has `shape` and gives rows for a slice (np.memmap, zarr, h5py); it is read as the
    work proceeds. client: of a Dask cluster; by default a cluster of one worker per core lives as long as the
    call. batch: rows of a part; 0: the network's batch. Networks that find scales at run time (dynamic ones)
    find them for a part. in_flight: parts that are on their way at once, which bounds memory; 0: two per
    worker's thread. progress: a bar of tqdm, where that is installed.

    A worker that dies is replaced by Dask, and its parts are computed again: the bytes are the same.
    """
    made = _for_workers(net, batch)
    rows = made.inputs[0].shape[0]
    if not array.shape or tuple(array.shape[1:]) != tuple(made.inputs[0].shape[1:]):
        raise ValueError(f"array has shape {tuple(array.shape)}, allowed: (n, "
                         f"{', '.join(map(str, made.inputs[0].shape[1:]))})")
    if client is not None:
        return _score(client, made, array, rows, in_flight, progress)
    with LocalCluster(threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as own:
        return _score(own, made, array, rows, in_flight, progress)


def _score(client: Client, net: Network, array: Any, rows: int, in_flight: int, progress: bool) -> Any:
    keeper = _Keeper(net)
    client.register_worker_plugin(keeper, keeper.name)
    starts = iter(range(0, array.shape[0], rows))
    outputs: Optional[List[Any]] = None
    bar = progress_bar(progress, array.shape[0], "row")
    places: Dict[str, Tuple[int, int]] = {}

    def submitted() -> Any:
        start = next(starts, None)
        if start is None:
            return None
        part = np.asarray(array[start:start + rows])
        future = client.submit(_scored, keeper.name, part, rows, pure=False, retries=3)
        places[future.key] = (start, len(part))
        return future

    try:
        limit = in_flight or 2 * max(1, sum(client.nthreads().values()))
        waiting = as_completed([f for f in (submitted() for _ in range(limit)) if f is not None])
        for future in waiting:
            start, count = places.pop(future.key)
            result = future.result()
            if outputs is None:
                outputs = [np.empty((array.shape[0],) + a.shape[1:], a.dtype) for a in result]
            for all_rows, some in zip(outputs, result):
                all_rows[start:start + count] = some
            bar.update(count)
            del future, result  # so that the cluster forgets them
            another = submitted()
            if another is not None:
                waiting.add(another)
    finally:
        bar.close()
        client.unregister_worker_plugin(keeper.name)
    if outputs is None:
        outputs = [np.empty((0,) + info.shape[1:], info.dtype) for info in net.outputs]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
