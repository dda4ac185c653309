#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits network and writes digits_f32.npz: the weights with batch normalization folded in.

Debian packages: python3-torch, python3-sklearn. One thread and fixed seeds; about fifteen seconds. Another
machine's floating-point library may give slightly other weights: the committed file is what counts.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

import network

EPOCHS = 60
BATCH = 64
LEARNING_RATE = 0.01
WEIGHT_DECAY = 1e-4


class digits_net(torch.nn.Module):
    """network.LAYERS in torch, channels-first; each convolution has batch normalization instead of a bias."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.ModuleDict(), torch.nn.ModuleDict()
        channels = {"image": 1}
        for layer in network.LAYERS:
            c_in, c_out = channels[layer.inputs[0]], layer.channels
            channels[layer.name] = c_out
            if layer.op == "FULLY_CONNECTED":
                self.linear[layer.name] = torch.nn.Linear(c_in, c_out)
            elif layer.has_weights:
                groups = c_in if layer.op == "DEPTHWISE_CONV_2D" else 1
                self.linear[layer.name] = torch.nn.Conv2d(
                    c_in, c_out, layer.kernel, layer.stride, groups=groups, bias=False)
                self.norm[layer.name] = torch.nn.BatchNorm2d(c_out)

    def run_layer(self, layer, x):
        if layer.name in self.norm:
            rows, columns = (network.same_padding(n, layer.kernel, layer.stride) for n in x[0].shape[2:])
            padded = functional.pad(x[0], (*columns, *rows))
            return self.norm[layer.name](self.linear[layer.name](padded))
        return {
            "FULLY_CONNECTED": lambda: self.linear[layer.name](x[0]),
            "ADD": lambda: x[0] + x[1],
            "MAX_POOL_2D": lambda: functional.max_pool2d(x[0], layer.kernel, layer.stride),
            "AVERAGE_POOL_2D": lambda: functional.avg_pool2d(x[0], layer.kernel, layer.stride),
            "RESHAPE": lambda: x[0].flatten(1),
        }[layer.op]()

    def forward(self, image):
        """The logits: the loss applies the softmax itself."""
        activations = {"image": image}
        for layer in network.LAYERS:
            if layer.op == "SOFTMAX":
                break
            y = self.run_layer(layer, [activations[name] for name in layer.inputs])
            activations[layer.name] = torch.relu(y) if layer.relu else y
        return y

    def folded(self):
        """Weights and biases with batch normalization folded in, f32, in TensorFlow Lite's order."""
        parameters = {}
        for layer in (layer for layer in network.LAYERS if layer.has_weights):
            weights, bias = self.linear[layer.name].weight, self.linear[layer.name].bias
            if layer.name in self.norm:
                norm = self.norm[layer.name]
                gain = norm.weight / torch.sqrt(norm.running_var + norm.eps)
                weights, bias = weights * gain[:, None, None, None], norm.bias - norm.running_mean * gain
                weights = weights.permute((1, 2, 3, 0) if layer.op == "DEPTHWISE_CONV_2D" else (0, 2, 3, 1))
            parameters[f"{layer.name}/weights"] = weights.detach().contiguous().numpy()
            parameters[f"{layer.name}/bias"] = bias.detach().numpy()
        return parameters


def shifted(images):
    """Each image moved by up to one pixel in each direction: writers centre their digits differently."""
    padded = functional.pad(images, (1, 1, 1, 1))
    moves = torch.randint(0, 3, (len(images), 2)).tolist()
    size = network.IMAGE_SIZE
    return torch.stack([image[:, y : y + size, x : x + size] for image, (y, x) in zip(padded, moves)])


def train(pixels, labels):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    images = torch.tensor(pixels[:, None] / network.PIXEL_MAX, dtype=torch.float32)
    labels = torch.tensor(labels, dtype=torch.long)
    net = digits_net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for epoch in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(shifted(images[batch])), labels[batch])
            loss.backward()
            optimizer.step()
        schedule.step()
    return net.eval()


def main():
    train_pixels, train_labels, test_pixels, test_labels = network.load_data()
    parameters = train(train_pixels, train_labels).folded()
    for name, pixels, labels in (("train", train_pixels, train_labels), ("test", test_pixels, test_labels)):
        print(f"{name} accuracy {network.accuracy(network.run(parameters, pixels)['logits'], labels):.2%}")
    np.savez(Path(__file__).parent / "digits_f32.npz", **parameters)


if __name__ == "__main__":
    main()
