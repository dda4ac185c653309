// Graphs with If, Loop and Scan whose conditions, trip counts and sizes are known from the file. Their bodies compute
// with functions that have the same bytes on every CPU, so that these graphs run on all of them. Which operators are
// left is not compared: ONNX Runtime keeps Loop and Scan.
// SPDX-License-Identifier: Apache-2.0
'use strict';
const {graph} = require('./onnx_writer.cjs');
const {dice, count} = require('./random_graphs.cjs');

class flows {
    constructor(seed) {
        this.d = new dice(seed ^ 0x3c6ef372);
        this.g = new graph(this.d.one([11, 13, 17, 21]));
        this.rows = this.d.integer(1, 4);
        this.columns = this.d.integer(1, 6);
        this.depth = 0;
    }
    values(dims) {
        return Array.from({length: count(dims)}, () => this.d.integer(-40, 40) / 8);
    }
    /// A graph in a graph, whose names are its own.
    body() {
        const {g} = this, body = new graph(g.opset);
        body.fresh = () => g.fresh();
        return body;
    }
    given(body, dtype, dims) {
        const name = body.fresh();
        body.inputs.push({name, dtype, dims, open: []});
        return name;
    }

    /// A function of `known`, all of these dims.
    chain(g, known, dims) {
        const {d} = this;
        let last = d.one(known);
        for (let i = d.integer(1, 3); i > 0; i--) {
            if (this.depth < 2 && d.chance(0.25)) last = this.flow(g, [...known, last], dims);
            else if (d.chance(0.3)) last = g.node(d.one(['Neg', 'Abs', 'Relu']), [last], dims);
            else
                last = g.node(d.one(['Add', 'Sub', 'Max', 'Min']), [
                    last, d.chance(0.4) ? g.constant('f32', dims, this.values(dims)) : d.one(known)], dims);
        }
        return last;
    }
    truth(g, value) {
        const name = g.constant('bool', [], [value]);
        if (this.d.chance(0.5)) g.constant_nodes.add(name);
        return name;
    }

    flow(g, known, dims) {
        this.depth++;
        const kinds = [() => this.choice(g, known, dims), () => this.loop(g, known, dims)];
        if (dims.length === 2) kinds.push(() => this.scan(g, known, dims));
        const made = this.d.one(kinds)();
        this.depth--;
        return made;
    }

    choice(g, known, dims) {
        const branch = () => {
            const body = this.body();
            return {body, outputs: [this.chain(body, known, dims)]};
        };
        return g.node('If', [this.truth(g, this.d.chance(0.5))], dims, {then_branch: branch(), else_branch: branch()});
    }

    loop(g, known, dims) {
        const {d} = this, body = this.body(), states = d.integer(1, 2);
        this.given(body, 's64', []);
        const condition = this.given(body, 'bool', []), inside = [];
        for (let i = 0; i < states; i++) inside.push(this.given(body, 'f32', dims));
        const goes_on = d.chance(0.8) ? body.node('Identity', [condition], []) : this.truth(body, d.chance(0.7));
        const next = inside.map(() => this.chain(body, [...inside, ...known], dims));
        const part = this.chain(body, inside, dims);
        const trips = g.constant('s64', d.one([[], [1]]), [d.integer(1, 4)]);
        const first = d.chance(0.5) ? '' : this.truth(g, true);
        const last = g.node('Loop', [trips, first, ...inside.map(() => d.one(known))], dims,
                            {body: {body, outputs: [goes_on, ...next, part]}}, states + 1);
        return d.chance(0.5) ? last : this.reduced(g, g.more.at(-1), dims);
    }
    /// Of several copies the largest elements.
    reduced(g, stacked, dims) {
        const axes = g.opset >= 18 ? [[stacked, g.constant('s64', [1], [0])], {}] : [[stacked], {axes: [0]}];
        return g.node('ReduceMax', axes[0], dims, {...axes[1], keepdims: 0});
    }

    scan(g, known, dims) {
        const {d} = this, body = this.body(), axis = d.integer(0, 1), line = [dims[1 - axis]];
        const state = this.given(body, 'f32', line), part = this.given(body, 'f32', line);
        const next = this.chain(body, [state, part], line), y = this.chain(body, [next, part], line);
        g.node('Scan', [g.constant('f32', line, this.values(line)), this.source], dims, {
            body: {body, outputs: [next, y]}, num_scan_inputs: 1, scan_input_axes: [axis], scan_output_axes: [axis],
            scan_input_directions: [d.integer(0, 1)], scan_output_directions: [d.integer(0, 1)]
        }, 2);
        return g.more[0];
    }

    make() {
        const {g} = this, dims = [this.rows, this.columns], known = [g.input(dims), g.input(dims)];
        this.source = known[0]; // what Scan goes over: only sizes of inputs are in the file
        g.inputs.forEach((i) => (i.values = this.values(dims)));
        const y = this.flow(g, known, dims);
        return {
            model: g.model([g.node('Add', [y, known[0]], dims)]), opset: g.opset,
            inputs: g.inputs.filter((i) => g.is_read(i.name)), operators: g.nodes.map((n) => n.op), bytes_only: true
        };
    }
}

module.exports = {flow_graph: (seed) => new flows(seed).make()};
