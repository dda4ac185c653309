// Random 8-bit .tflite networks, each from its number: one operator (the first thousands of numbers are
// single operators) up to a dozen. Operators, shapes, scales and zero points are drawn around the borders
// that the delegate's conditions and the rounding rules have: powers of two for ties, ratios beyond what
// XNNPACK takes. Start reading at random_model; to add an operator, add it to `operators`.
// SPDX-License-Identifier: Apache-2.0
'use strict';

const f32 = Math.fround;

class Random {
    constructor(seed) {
        this.state = BigInt(seed);
        for (let i = 0; i < 3; i++) this.state ^= BigInt(this.bits()) << 29n;
    }
    bits() { // splitmix64
        this.state = BigInt.asUintN(64, this.state + 0x9E3779B97F4A7C15n);
        let z = this.state;
        z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n);
        z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94D049BB133111EBn);
        return Number((z ^ (z >> 31n)) >> 32n);
    }
    below(n) { return this.bits() % n; }
    between(low, high) { return low + this.below(high - low + 1); }
    of(list) { return list[this.below(list.length)]; }
    chance(part) { return this.bits() < part * 2 ** 32; }
    real(low, high) { return low + (high - low) * this.bits() / 2 ** 32; }
}

const low_of = {INT8: -128, UINT8: 0}, sizes = {INT4: 1, INT8: 1, UINT8: 1, INT32: 4, FLOAT32: 4};
const count_of = (shape) => shape.reduce((a, b) => a * b, 1);
const bytes_of_integers = (type, values) => {
    const bytes = Buffer.alloc(values.length * sizes[type]);
    values.forEach((v, i) => type === 'INT32' ? bytes.writeInt32LE(v, 4 * i) : bytes.writeUInt8(v & 255, i));
    return bytes;
};
const bytes_of_floats = (values) => Buffer.from(Float32Array.from(values).buffer);
const in_pairs = (codes) => Buffer.from(Array.from({length: codes.length / 2},
                                                   (_, i) => codes[2 * i] & 15 | (codes[2 * i + 1] & 15) << 4));
const activations = ['NONE', 'NONE', 'RELU', 'RELU6', 'RELU_N1_TO_1'];

class Model {
    constructor(random) { Object.assign(this, {random, tensors: [], nodes: [], inputs: [], pool: []}); }

    tensor(shape, type, quantization = {}, data = null) {
        this.tensors.push({shape, type, ...quantization, data});
        return this.tensors.length - 1;
    }
    input(shape, type, quantization) {
        const made = this.tensor(shape, type, quantization);
        this.inputs.push(made);
        return made;
    }
    integers(values) { return this.tensor([values.length], 'INT32', {}, bytes_of_integers('INT32', values)); }
    codes(shape, type, quantization, low = low_of[type], high = low_of[type] + 255) {
        const spread = this.random.chance(.2); // only extreme codes
        const values = Array.from({length: count_of(shape)},
                                  () => spread ? this.random.of([low, high]) : this.random.between(low, high));
        return this.tensor(shape, type, quantization, bytes_of_integers(type, values));
    }
    node(op, inputs, output, options_type, options) {
        this.nodes.push({op, inputs, outputs: [output], options_type, options});
        return output;
    }

    /// A scale near a wish; often a power of two.
    scale(wish) {
        const near = wish * 2 ** this.random.real(-1, 1);
        return f32(this.random.chance(.35) ? 2 ** Math.round(Math.log2(near)) : near);
    }
    zero_point(type) {
        const low = low_of[type];
        return this.random.chance(.2) ? this.random.of([low, low + 255]) : this.random.between(low, low + 255);
    }
    quantization(type, wish) { return {scales: [this.scale(wish)], zero_points: [this.zero_point(type)]}; }
    same(x) { const {scales, zero_points} = this.tensors[x]; return {scales, zero_points}; }
    scale_of(x) { return this.tensors[x].scales[0]; }

    weights(shape, axis, type, wish) {
        const channels = shape[axis];
        if (type === 'UINT8') return this.codes(shape, type, this.quantization(type, wish));
        const per_channel = this.random.chance(.5), count = per_channel ? channels : 1;
        return this.codes(shape, type, {scales: Array.from({length: count}, () => this.scale(wish)),
                                        zero_points: Array(count).fill(0), axis: per_channel ? axis : 0}, -127, 127);
    }
    bias(x, w, channels) {
        const {scales} = this.tensors[w], many = scales.length > 1;
        const values = Array.from({length: channels}, () => this.random.between(-2000, 2000));
        return this.tensor(
            [channels], 'INT32',
            {scales: scales.map((s) => f32(s * this.scale_of(x))), zero_points: scales.map(() => 0), axis: 0},
            bytes_of_integers('INT32', values));
    }
    /// The result of sums of `k` products.
    product(x, w, k, shape) {
        const {type} = this.tensors[x], far = this.random.chance(.02) ? 2 ** -17 : 1;
        const wish = this.scale_of(x) * this.tensors[w].scales[0] * Math.sqrt(k) * 40 * far;
        return this.tensor(shape, type, this.quantization(type, wish));
    }
}

const windows = (random, h, w, padding, stride, dilation, kernel) => {
    const out = (n, k, d) => padding === 'SAME' ? Math.ceil(n / stride) : Math.ceil((n - (k - 1) * d) / stride);
    return [out(h, kernel[0], dilation[0]), out(w, kernel[1], dilation[1])];
};
const is_image = (m, x) => m.tensors[x].shape.length === 4;
const is_s8 = (m, x) => m.tensors[x].type === 'INT8';

/// Weights of s8 in rows of an even length get 4 bits, at times.
function narrow(m, weights, part = 1) {
    const w = m.tensors[weights];
    if (w.type === 'INT8' && w.shape[w.shape.length - 1] % 2 === 0 && m.random.chance(part))
        Object.assign(w, {type: 'INT4', data: in_pairs(w.data)});
}

function convolution(m, x, depthwise) {
    const {random} = m, {shape: [n, h, w, c], type} = m.tensors[x];
    const kernel = [random.of([1, 2, 3]), random.of([1, 2, 3])],
          dilation = [random.of([1, 1, 2]), random.of([1, 1, 2])];
    const stride = random.of([1, 1, 2]), padding = random.of(['SAME', 'VALID']);
    const [oh, ow] = windows(random, h, w, padding, stride, dilation, kernel);
    if (oh < 1 || ow < 1) return null;
    const options = {
        padding, stride_w: stride, stride_h: stride, dilation_h_factor: dilation[0],
        dilation_w_factor: dilation[1], fused_activation_function: random.of(activations)
    };
    if (depthwise) {
        const multiplier = random.of([1, 1, 2]), oc = c * multiplier;
        const weights = m.weights([1, ...kernel, oc], 3, type, .01), taps = kernel[0] * kernel[1];
        narrow(m, weights, .15);
        return m.node('DEPTHWISE_CONV_2D', [x, weights, m.bias(x, weights, oc)],
                      m.product(x, weights, taps, [n, oh, ow, oc]), 'DepthwiseConv2DOptions',
                      {...options, depth_multiplier: multiplier});
    }
    const oc = random.of([1, 3, 8, 16, 17]), weights = m.weights([oc, ...kernel, c], 0, type, .01);
    narrow(m, weights, .15);
    return m.node('CONV_2D', [x, weights, m.bias(x, weights, oc)],
                  m.product(x, weights, kernel[0] * kernel[1] * c, [n, oh, ow, oc]), 'Conv2DOptions', options);
}

function transpose_conv(m, x) {
    const {random} = m, {shape: [n, h, w, c], type} = m.tensors[x];
    const kernel = [random.of([1, 2, 3]), random.of([2, 3])], stride = random.of([1, 2]),
          padding = random.of(['SAME', 'VALID']);
    const size = (length, k) => padding === 'SAME' ? length * stride : (length - 1) * stride + k;
    const oc = random.of([1, 4, 9]), shape = [n, size(h, kernel[0]), size(w, kernel[1]), oc];
    if (padding === 'SAME' && (kernel[0] < stride || kernel[1] < stride)) return null;
    const weights = m.weights([oc, ...kernel, c], 0, type, .01);
    const inputs = [m.integers(shape), weights, x];
    if (random.chance(.6)) inputs.push(m.bias(x, weights, oc));
    return m.node('TRANSPOSE_CONV', inputs, m.product(x, weights, kernel[0] * kernel[1] * c, shape),
                  'TransposeConvOptions',
                  {padding, stride_w: stride, stride_h: stride, fused_activation_function: 'NONE'});
}

function fully_connected(m, x) {
    const {random} = m, {shape, type} = m.tensors[x], k = shape[shape.length - 1], n = random.of([1, 5, 16, 33]);
    const keep = random.chance(.5), rows = count_of(shape) / k, weights = m.weights([n, k], 0, type, .01);
    narrow(m, weights, .15);
    const inputs = [x, weights, random.chance(.7) ? m.bias(x, weights, n) : -1];
    const result = keep ? [...shape.slice(0, -1), n] : [rows, n];
    return m.node('FULLY_CONNECTED', inputs, m.product(x, weights, k, result), 'FullyConnectedOptions',
                  {keep_num_dims: keep, fused_activation_function: random.of(activations)});
}

function batch_matmul(m, x) {
    const {random} = m, {shape, type} = m.tensors[x];
    if (shape.length < 2 || !is_s8(m, x)) return null;
    const k = shape[shape.length - 1], n = random.of([1, 4, 7]), adj_y = random.chance(.3);
    const quantization = {scales: [m.scale(.02)], zero_points: [random.chance(.8) ? 0 : 3]};
    const other = m.input([...shape.slice(0, -2), ...(adj_y ? [n, k] : [k, n])], type, quantization);
    return m.node('BATCH_MATMUL', [x, other], m.product(x, other, k, [...shape.slice(0, -1), n]), 'BatchMatMulOptions',
                  {adj_x: false, adj_y});
}

/// Another operand: of the same shape, of one that broadcasts, or one from the network.
function operand(m, x, wish) {
    const {random} = m, {shape, type} = m.tensors[x];
    const alike = m.pool.filter((t) => t !== x && m.tensors[t].type === type &&
                                       String(m.tensors[t].shape) === String(shape));
    if (alike.length && random.chance(.6)) return random.of(alike);
    const dims = random.of(
        [shape, shape, shape.map((d, i) => i === shape.length - 1 ? d : 1), [1], shape.map(() => 1)]);
    const quantization = m.quantization(type, wish);
    return random.chance(.5) ? m.input(dims, type, quantization) : m.codes(dims, type, quantization);
}

function binary(op, options_type) {
    return (m, x) => {
        const {random} = m, {shape, type} = m.tensors[x], a = m.scale_of(x);
        const far = random.chance(.1) ? 2 ** random.real(-11, 11) : 2 ** random.real(-2, 2);
        const y = operand(m, x, op === 'MUL' ? .02 : a * far), b = m.scale_of(y);
        const wish = (op === 'MUL' ? a * b * 60 : Math.max(a, b) * 1.5) *
                     (random.chance(.1) ? 2 ** random.real(-9, 9) : 1);
        const inputs = random.chance(.5) ? [x, y] : [y, x];
        return m.node(op, inputs, m.tensor(shape, type, m.quantization(type, wish)), options_type,
                      {fused_activation_function: random.of(activations)});
    };
}

function extreme(op) {
    return (m, x) => {
        const {shape, type} = m.tensors[x],
                      dims = m.random.of([shape, shape, shape.map((d, i) => i === shape.length - 1 ? d : 1)]);
        const y = m.input(dims, type, m.same(x));
        return m.node(op, [x, y], m.tensor(shape, type, m.same(x)));
    };
}

/// A function of one code.
function unary(op, options = () => [undefined, {}], wish_of = (m, x) => m.scale_of(x)) {
    return (m, x) => {
        const {shape, type} = m.tensors[x], wish = wish_of(m, x);
        const [options_type, fields] = options(m);
        return m.node(op, [x], m.tensor(shape, type, m.quantization(type, wish)), options_type, fields);
    };
}

function quantize(m, x) {
    const {random} = m, {shape, type} = m.tensors[x],
          to = random.chance(.3) ? (type === 'INT8' ? 'UINT8' : 'INT8') : type;
    const far = random.chance(.2) ? 2 ** random.real(-10, 10) : 2 ** random.real(-2, 2);
    return m.node('QUANTIZE', [x], m.tensor(shape, to, m.quantization(to, m.scale_of(x) * far)), 'QuantizeOptions', {});
}

function prelu(m, x) {
    const {random} = m, {shape, type} = m.tensors[x];
    const alpha = m.codes(shape.slice(1).map((d, i) => i === shape.length - 2 ? d : 1), type,
                          m.quantization(type, .01));
    return m.node('PRELU', [x, alpha], m.tensor(shape, type, m.quantization(type, m.scale_of(x))));
}

function reduce(op) {
    return (m, x) => {
        const {random} = m, {shape, type} = m.tensors[x], rank = shape.length;
        const axes = shape.map((_, i) => i).filter(() => random.chance(.5));
        if (!axes.length) axes.push(random.below(rank));
        const keep_dims = random.chance(.5);
        const dims = keep_dims ? shape.map((d, i) => axes.includes(i) ? 1 : d)
                               : shape.filter((_, i) => !axes.includes(i));
        if (!dims.length) return null;
        const n = axes.reduce((p, i) => p * shape[i], 1), copies = op.startsWith('REDUCE');
        const wish = m.scale_of(x) * (op === 'SUM' ? Math.sqrt(n) : random.chance(.5) ? 1 : 1 / Math.sqrt(n));
        const quantization = copies || random.chance(.2) ? m.same(x) : m.quantization(type, wish);
        return m.node(op, [x, m.integers(axes.map((i) => random.chance(.3) ? i - rank : i))],
                      m.tensor(dims, type, quantization), 'ReducerOptions', {keep_dims});
    };
}

function pool(op) {
    return (m, x) => {
        const {random} = m, {shape: [n, h, w, c], type} = m.tensors[x],
              kernel = [random.of([1, 2, 3, 7]), random.of([1, 2, 3])];
        const stride = random.of([1, 2, 3]), padding = random.of(['SAME', 'VALID']);
        const [oh, ow] = windows(random, h, w, padding, stride, [1, 1], kernel);
        if (oh < 1 || ow < 1) return null;
        return m.node(op, [x], m.tensor([n, oh, ow, c], type, m.same(x)), 'Pool2DOptions',
                      {padding, stride_w: stride, stride_h: stride, filter_height: kernel[0], filter_width: kernel[1],
                       fused_activation_function: random.of(activations)});
    };
}

function resize(op) {
    return (m, x) => {
        const {random} = m, {shape: [n, , , c], type} = m.tensors[x],
              size = [random.between(1, 13), random.between(1, 13)];
        const align_corners = random.chance(.3), half_pixel_centers = !align_corners && random.chance(.5);
        return m.node(op, [x, m.integers(size)], m.tensor([n, ...size, c], type, m.same(x)),
                      op === 'RESIZE_BILINEAR' ? 'ResizeBilinearOptions' : 'ResizeNearestNeighborOptions',
                      {align_corners, half_pixel_centers});
    };
}

function softmax(m, x) {
    const {shape, type} = m.tensors[x];
    return m.node('SOFTMAX', [x], m.tensor(shape, type, {scales: [1 / 256], zero_points: [low_of[type]]}),
                  'SoftmaxOptions', {beta: m.random.of([1, 1, .5, 1.7])});
}

function pad(op) {
    return (m, x) => {
        const {random} = m, {shape, type} = m.tensors[x];
        const pads = shape.map((d) => [random.below(Math.min(d, 3)), random.below(Math.min(d, 3))]);
        const table = m.tensor([shape.length, 2], 'INT32', {}, bytes_of_integers('INT32', pads.flat()));
        const result = m.tensor(shape.map((d, i) => d + pads[i][0] + pads[i][1]), type, m.same(x));
        if (op === 'MIRROR_PAD')
            return m.node(op, [x, table], result, 'MirrorPadOptions',
                          {mode: random.of(['REFLECT', 'SYMMETRIC'])});
        return m.node(op, [x, table], result, 'PadOptions', {});
    };
}

function concatenation(m, x) {
    const {random} = m, {shape, type} = m.tensors[x], axis = random.below(shape.length), inputs = [x];
    for (let i = random.between(1, 3); i--;) {
        const {same} = m, quantization = type === 'UINT8' && random.chance(.2)
                                             ? m.quantization(type, m.scale_of(x))
                                             : m.same(x);
        inputs.push(m.input(shape.map((d, k) => k === axis ? random.between(1, 4) : d), type, quantization));
    }
    const total = inputs.reduce((sum, t) => sum + m.tensors[t].shape[axis], 0);
    return m.node('CONCATENATION', inputs, m.tensor(shape.map((d, k) => k === axis ? total : d), type, m.same(x)),
                  'ConcatenationOptions', {axis, fused_activation_function: 'NONE'});
}

function transpose(m, x) {
    const {shape, type} = m.tensors[x], order = shape.map((_, i) => i);
    for (let i = order.length - 1; i > 0; i--) {
        const k = m.random.below(i + 1);
        [order[i], order[k]] = [order[k], order[i]];
    }
    return m.node('TRANSPOSE', [x, m.integers(order)], m.tensor(order.map((i) => shape[i]), type, m.same(x)),
                  'TransposeOptions', {});
}

function reshape(m, x) {
    const {shape, type} = m.tensors[x], rows = m.random.chance(.5) ? shape[0] : 1, to = [rows, count_of(shape) / rows];
    return m.node('RESHAPE', [x, m.integers(to)], m.tensor(to, type, m.same(x)), 'ReshapeOptions', {new_shape: to});
}

function quantize_floats(m, x) {
    const {random} = m, {shape, type} = m.tensors[x];
    return m.node('QUANTIZE', [m.input(shape, 'FLOAT32', {})],
                  m.tensor(shape, type, m.quantization(type, 2 ** random.real(-7, 0))), 'QuantizeOptions',
                  {});
}

function dequantize(m, x) {
    return m.node('DEQUANTIZE', [x], m.tensor(m.tensors[x].shape, 'FLOAT32'), 'DequantizeOptions', {});
}

/// A product of floats with constant weights of codes, which quantizes its source.
function hybrid(m, x) {
    if (is_image(m, x)) return hybrid_convolution(m, x);
    const {random} = m, {shape} = m.tensors[x], k = shape[shape.length - 1], n = random.of([1, 5, 16, 33]);
    const op = random.of(['FULLY_CONNECTED', 'FULLY_CONNECTED', 'BATCH_MATMUL']);
    const floats = random.chance(.5) ? dequantize(m, x) : m.input(shape, 'FLOAT32', {});
    const has_4_bits = op === 'FULLY_CONNECTED' && k % 2 === 0 && random.chance(.4),
          adj_y = op !== 'BATCH_MATMUL' || random.chance(.5);
    const weights = m.weights(adj_y ? [n, k] : [k, n], adj_y ? 0 : 1, 'INT8', .01);
    if (has_4_bits) narrow(m, weights);
    const inputs = [floats, weights], result = m.tensor([...shape.slice(0, -1), n], 'FLOAT32');
    if (op === 'BATCH_MATMUL') return m.node(op, inputs, result, 'BatchMatMulOptions', {adj_x: false, adj_y});
    inputs.push(random.chance(.6) ? float_bias(m, n) : -1);
    return m.node(op, inputs, result, 'FullyConnectedOptions',
                  {keep_num_dims: true, fused_activation_function: random.of(activations)});
}

const float_bias = (m, n) =>
    m.tensor([n], 'FLOAT32', {}, bytes_of_floats(Array.from({length: n}, () => m.random.real(-2, 2))));

function hybrid_transpose_conv(m, x) {
    const {random} = m, {shape: [n, h, w, c]} = m.tensors[x], kernel = [random.of([2, 3]), random.of([2, 3])],
          stride = random.of([1, 2]), padding = random.of(['SAME', 'VALID']), oc = random.of([1, 4, 9]);
    const size = (length, k) => padding === 'SAME' ? length * stride : (length - 1) * stride + k;
    const shape = [n, size(h, kernel[0]), size(w, kernel[1]), oc];
    const floats = random.chance(.5) ? dequantize(m, x) : m.input([n, h, w, c], 'FLOAT32', {});
    const inputs = [m.integers(shape), m.weights([oc, ...kernel, c], 0, 'INT8', .01), floats];
    if (random.chance(.6)) inputs.push(float_bias(m, oc));
    return m.node('TRANSPOSE_CONV', inputs, m.tensor(shape, 'FLOAT32'), 'TransposeConvOptions',
                  {padding, stride_w: stride, stride_h: stride, fused_activation_function: 'NONE'});
}

function hybrid_convolution(m, x) {
    if (m.random.chance(.2)) return hybrid_transpose_conv(m, x);
    const {random} = m, {shape} = m.tensors[x], channels = shape[3], is_depthwise = random.chance(.3);
    const multiplier = random.of([1, 1, 2]), n = is_depthwise ? channels * multiplier : random.of([1, 5, 16, 33]);
    const padding = random.of(['SAME', 'VALID']), stride = random.of([1, 1, 2]),
          dilation = stride === 1 && random.chance(.2) ? 2 : 1;
    const sides = [0, 1].map(() => random.of([1, 1, 2, 3, 5]));
    const output = sides.map((side, i) => padding === 'SAME'
                                              ? Math.ceil(shape[i + 1] / stride)
                                              : Math.ceil((shape[i + 1] - (side - 1) * dilation) / stride));
    if (output.some((size) => size < 1)) return null;
    const floats = random.chance(.5) ? dequantize(m, x) : m.input(shape, 'FLOAT32', {});
    const weights = m.weights(is_depthwise ? [1, ...sides, n] : [n, ...sides, channels], is_depthwise ? 3 : 0,
                              'INT8', .01), w = m.tensors[weights];
    if (is_depthwise && w.scales.length !== n) // LiteRT takes no other
        Object.assign(w, {scales: Array(n).fill(w.scales[0]), zero_points: Array(n).fill(0), axis: 3});
    if (!is_depthwise) narrow(m, weights, .2);
    const common = {
        padding, stride_w: stride, stride_h: stride, dilation_w_factor: dilation, dilation_h_factor: dilation,
        fused_activation_function: random.of(activations)
    };
    const inputs = [floats, weights, float_bias(m, n)], result = m.tensor([shape[0], ...output, n], 'FLOAT32');
    return is_depthwise ? m.node('DEPTHWISE_CONV_2D', inputs, result, 'DepthwiseConv2DOptions',
                                 {...common, depth_multiplier: multiplier})
                        : m.node('CONV_2D', inputs, result, 'Conv2DOptions', common);
}

function slice(m, x) {
    const {random} = m, {shape, type} = m.tensors[x], begin = shape.map((d) => random.below(d));
    const size = shape.map((d, i) => random.chance(.3) ? -1 : random.between(1, d - begin[i]));
    const result = m.tensor(shape.map((d, i) => size[i] < 0 ? d - begin[i] : size[i]), type, m.same(x));
    return m.node('SLICE', [x, m.integers(begin), m.integers(size)], result);
}

function strided_slice(m, x) {
    const {random} = m, {shape, type} = m.tensors[x], stride = shape.map(() => random.of([1, 1, 2, 3, -1, -2]));
    const ends = shape.map((d, i) => { // first and last element, in the order of the stride
        const [a, b] = [random.below(d), random.below(d)];
        return stride[i] > 0 ? [Math.min(a, b), Math.max(a, b)] : [Math.max(a, b), Math.min(a, b)];
    });
    let end_mask = 0;
    const end = ends.map(([, last], i) => {
        if (stride[i] < 0 && last === 0) { end_mask |= 1 << i; return 0; }
        return last + Math.sign(stride[i]);
    });
    const dims = ends.map(([a, b], i) => Math.floor(Math.abs(b - a) / Math.abs(stride[i])) + 1);
    return m.node('STRIDED_SLICE', [x, m.integers(ends.map(([a]) => a)), m.integers(end), m.integers(stride)],
                  m.tensor(dims, type, m.same(x)), 'StridedSliceOptions', {end_mask});
}

function blocks(op) {
    return (m, x) => {
        const {shape: [n, h, w, c], type} = m.tensors[x], block = m.random.of([1, 2, 3]),
                                    square = block * block, apart = op === 'SPACE_TO_DEPTH';
        if (apart ? h % block || w % block : c % square) return null;
        const shape = apart ? [n, h / block, w / block, c * square] : [n, h * block, w * block, c / square];
        return m.node(op, [x], m.tensor(shape, type, m.same(x)),
                      apart ? 'SpaceToDepthOptions' : 'DepthToSpaceOptions', {block_size: block});
    };
}

function pack(m, x) {
    const {shape, type} = m.tensors[x], axis = m.random.below(shape.length + 1),
                  other = m.input(shape, type, m.same(x));
    if (shape.length > 4) return null;
    return m.node('PACK', [x, other], m.tensor([...shape.slice(0, axis), 2, ...shape.slice(axis)], type, m.same(x)),
                  'PackOptions', {values_count: 2, axis});
}

function gather(m, x) {
    const {random} = m, {shape, type} = m.tensors[x], axis = random.below(shape.length);
    const indices = Array.from({length: random.between(1, 5)}, () => random.below(shape[axis]));
    return m.node('GATHER', [x, m.integers(indices)],
                  m.tensor(shape.map((d, i) => i === axis ? indices.length : d), type, m.same(x)),
                  'GatherOptions', {axis});
}

function l2_normalization(m, x) {
    const {shape, type} = m.tensors[x];
    return m.node('L2_NORMALIZATION', [x],
                  m.tensor(shape, type, {scales: [1 / 128], zero_points: [low_of[type] + 128]}),
                  'L2NormOptions', {});
}

function rsqrt(m, x) {
    // Other tensors may stand for negative numbers; what others read keeps its zero point.
    if (!m.inputs.includes(x) || m.nodes.some((n) => n.inputs.includes(x))) return null;
    m.tensors[x].zero_points = [-128];
    return unary('RSQRT', undefined, () => .1)(m, x);
}

function squared_difference(m, x) {
    const {shape, type} = m.tensors[x], y = operand(m, x, m.scale_of(x));
    return m.node('SQUARED_DIFFERENCE', [x, y], m.tensor(shape, type, m.quantization(type, m.scale_of(x) ** 2 * 60)));
}

const on_images = (make) => (m, x) => is_image(m, x) ? make(m, x) : null;
const on_s8 = (make) => (m, x) => is_s8(m, x) ? make(m, x) : null;
const operators = [
    on_images((m, x) => convolution(m, x, false)), on_images((m, x) => convolution(m, x, false)),
    on_images((m, x) => convolution(m, x, true)), on_images(transpose_conv), fully_connected, fully_connected,
    batch_matmul, binary('ADD', 'AddOptions'), binary('ADD', 'AddOptions'), binary('SUB', 'SubOptions'),
    binary('MUL', 'MulOptions'), extreme('MAXIMUM'), extreme('MINIMUM'), quantize, prelu,
    unary('LEAKY_RELU',
          (m) => ['LeakyReluOptions', {alpha: f32(m.random.of([.1, .01, .3, -.5, 1.5, 2 ** -9]))}]),
    unary('LOGISTIC', undefined, () => 1 / 200), unary('TANH', undefined, () => 1 / 100), on_s8(unary('ELU')),
    on_s8(unary('HARD_SWISH')), unary('RELU'), unary('RELU6'), unary('RELU_N1_TO_1'), reduce('MEAN'),
    reduce('MEAN'), reduce('SUM'), reduce('REDUCE_MAX'), reduce('REDUCE_MIN'), on_images(pool('MAX_POOL_2D')),
    on_images(pool('AVERAGE_POOL_2D')), on_images(resize('RESIZE_BILINEAR')),
    on_images(resize('RESIZE_NEAREST_NEIGHBOR')), softmax, pad('PAD'), pad('MIRROR_PAD'), concatenation,
    transpose, reshape, quantize_floats, dequantize, hybrid, hybrid, slice, strided_slice,
    on_images(blocks('SPACE_TO_DEPTH')), on_images(blocks('DEPTH_TO_SPACE')), pack, gather,
    on_s8(l2_normalization), on_s8(unary('ABS')), on_s8(rsqrt), on_s8(squared_difference),
];

/// {tensors, nodes, inputs, outputs}; inputs have `values`, bytes for a run.
function random_model(number, single_below = 4000) {
    const random = new Random(number), m = new Model(random), type = random.chance(.7) ? 'INT8' : 'UINT8';
    const shape =
        random.chance(.75)
            ? [random.of([1, 1, 2]), random.between(1, 9), random.between(1, 9), random.of([1, 3, 4, 8, 19])]
            : [random.between(1, 5), random.between(1, 40)];
    const first = m.input(shape, type, m.quantization(type, 2 ** random.real(-7, -2)));
    m.pool.push(first);
    const wanted = number < single_below ? 1 : random.between(2, 12);
    for (let attempts = 0; m.nodes.length < wanted && attempts < 200; attempts++) {
        const x = random.chance(.7) ? m.pool[m.pool.length - 1] : random.of(m.pool);
        if (count_of(m.tensors[x].shape) > 40000) continue;
        const made = random.of(operators)(m, x);
        if (made !== null && m.tensors[made].type in low_of) m.pool.push(made);
    }
    const read = new Set(m.nodes.flatMap((n) => n.inputs));
    m.outputs = m.nodes.flatMap((n) => n.outputs).filter((t) => !read.has(t));
    m.inputs = m.inputs.filter((t) => read.has(t));
    for (const t of m.inputs) {
        const tensor = m.tensors[t], narrow = random.chance(.2);
        if (tensor.type === 'FLOAT32') {
            const reals = Float32Array.from({length: count_of(tensor.shape)},
                                            () => random.chance(.3) ? random.between(-64, 64) / 64
                                                                    : random.real(-9, 9));
            tensor.values = Buffer.from(reals.buffer);
            continue;
        }
        tensor.values =
            Buffer.from(Array.from({length: count_of(tensor.shape)},
                                   () => narrow ? random.between(-3, 3) & 255 : random.below(256)));
    }
    return m;
}

/// The JSON of which flatc makes a file (network/tflite/reader/tflite.fbs). `all_tensors`: every result is an output.
function json_of(m, all_tensors = false) {
    const codes = [...new Set(m.nodes.map((n) => n.op))], buffers = [{}];
    const buffer_of = (data) => data === null ? 0 : buffers.push({data: [...data]}) - 1;
    return JSON.stringify({
        version: 3,
        operator_codes: codes.map((op) => ({
                                      builtin_code: op, deprecated_builtin_code: Math.min(127, code_of[op]),
                                      version: versions[op] ?? 2
                                  })),
        subgraphs: [{
            tensors: m.tensors.map(
                (t, i) => ({
                    shape: t.shape, type: t.type, buffer: buffer_of(t.data), name: `t${i}`,
                    ...(t.scales ? {
                        quantization:
                            {scale: t.scales, zero_point: t.zero_points, quantized_dimension: t.axis ?? 0}
                    }
                                 : {}),
                })),
            inputs: m.inputs, outputs: all_tensors ? m.nodes.flatMap((n) => n.outputs) : m.outputs,
            operators: m.nodes.map(
                (n) => ({
                    opcode_index: codes.indexOf(n.op), inputs: n.inputs, outputs: n.outputs,
                    ...(n.options_type ? {builtin_options_type: n.options_type, builtin_options: n.options}
                                       : {}),
                })),
        }],
        buffers,
    });
}

const code_of = {
    ADD: 0, AVERAGE_POOL_2D: 1, CONCATENATION: 2, CONV_2D: 3, DEPTHWISE_CONV_2D: 4, DEQUANTIZE: 6,
    FULLY_CONNECTED: 9, LOGISTIC: 14, MAX_POOL_2D: 17, MUL: 18, RELU: 19, RELU_N1_TO_1: 20, RELU6: 21,
    RESHAPE: 22, RESIZE_BILINEAR: 23, SOFTMAX: 25, TANH: 28, PAD: 34, TRANSPOSE: 39, MEAN: 40, SUB: 41,
    PRELU: 54, MAXIMUM: 55, MINIMUM: 57, TRANSPOSE_CONV: 67, SUM: 74, REDUCE_MAX: 82, REDUCE_MIN: 89,
    RESIZE_NEAREST_NEIGHBOR: 97, LEAKY_RELU: 98, MIRROR_PAD: 100, ELU: 111, QUANTIZE: 114, HARD_SWISH: 117,
    BATCH_MATMUL: 126, L2_NORMALIZATION: 11, SPACE_TO_DEPTH: 26, DEPTH_TO_SPACE: 5, GATHER: 36,
    STRIDED_SLICE: 45, SLICE: 65, PACK: 83, ABS: 101, RSQRT: 76, SQUARED_DIFFERENCE: 99,
};
const versions = {
    DEPTHWISE_CONV_2D: 7, CONV_2D: 7, FULLY_CONNECTED: 9, TRANSPOSE_CONV: 3, BATCH_MATMUL: 4, ELU: 1,
    PRELU: 1, HARD_SWISH: 1, RESHAPE: 1, RELU_N1_TO_1: 1, PACK: 2, RSQRT: 2
};

module.exports = {random_model, json_of, Random};
