# SPDX-License-Identifier: Apache-2.0
# What a new user types: five_lines.py MODEL INPUT EXPECTED, where the last two are files of bare bytes.
import sys, numpy as np, octet
net = octet.Network(sys.argv[1])
x = np.fromfile(sys.argv[2], net.inputs[0].dtype).reshape(net.inputs[0].shape)
y = net(x)
assert y.tobytes() == open(sys.argv[3], "rb").read(), "other bytes than the framework's"
