#!/usr/bin/env bash
# octet.mpi on 1 to 4 processes: mpi_test.sh BUILD SOURCE. Layers of odd sizes, then the example with its BERT-sized
# layers under every rule.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(realpath "${1:?build directory}") source=$(realpath "${2:?source directory}")
export PYTHONPATH=$build/python
if ! command -v mpirun >/dev/null || ! /usr/bin/python3 -c "import mpi4py" 2>/dev/null; then
    echo "mpi test: mpirun or mpi4py is missing (Debian: openmpi-bin, python3-mpi4py), skipped"
    exit 77
fi
# OpenMPI in a container: as root, more processes than cores, without the kernel's copies between processes, no ssh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
    OMPI_MCA_plm_rsh_agent=
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1

for processes in 1 3 4; do
    mpirun -n $processes /usr/bin/python3 "$source/interop/python/tests/mpi_test.py"
done
for processes in 1 2 4; do
    mpirun -n $processes /usr/bin/python3 "$source/examples/mpi/encoder.py" --layers 1 --tokens 16
done
mpirun -n 4 /usr/bin/python3 "$source/examples/mpi/encoder.py" --layers 1 --tokens 16 --scatter --rules tflite_2step \
    f32_v3
