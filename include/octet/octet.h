#ifndef OCTET_OCTET_H // SPDX-License-Identifier: Apache-2.0
#define OCTET_OCTET_H

// Networks from C, and from every language that calls C: a .tflite or .onnx file as something that runs.
//
//     octet_network *net = NULL;
//     if (octet_network_create(&net, "model.tflite", NULL) != octet_success)
//         return fprintf(stderr, "%s\n", octet_last_error()), 1;
//     octet_network_input_by_name(net, "image", &image);
//     octet_tensor_copy_from_float(image, pixels, pixel_count);
//     octet_network_run(net);
//     octet_network_output(net, 0, &scores);
//     octet_tensor_copy_to_float(scores, probabilities, class_count);
//     octet_network_destroy(net);
//
// Link with `pkg-config --cflags --libs octet-network`. C11, or C++.
//
// A server makes one network and of it a context per thread (octet_network_new_context).
//
// Every function that can fail returns a status; where it is not octet_success, nothing was written, and
// octet_last_error() says in a sentence what was given and what is allowed. A null pointer where one is
// needed is such a failure. Handles are opaque. One thread at a time may use a handle; different ones are
// independent, also contexts of one network. The interface is stable: functions and enumerators are added,
// none changes its meaning (CONTRIBUTING.md, "The C interface"). It is what octet/network.hpp has for C++,
// where everything is explained at length.

#include <stddef.h>
#include <stdint.h>

/// Marks what the library exports.
#if defined(__GNUC__)
#define OCTET_C_API __attribute__((visibility("default")))
#else
#define OCTET_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Failures.

/// Why a call failed.
typedef enum octet_status {
    octet_success = 0,       ///< it did not
    octet_out_of_memory = 1, ///< the machine, or the limit of the options, has too little
    /// The request contradicts itself or the documentation, or the file is damaged.
    octet_invalid_arguments = 2,
    octet_unimplemented = 3, ///< the request makes sense, but Octet lacks a part of it
    octet_runtime_error = 5  ///< anything else
} octet_status;

/// The sentence of this thread's last failed call, "" before the first. Valid until the thread's next
/// failure.
OCTET_C_API const char *octet_last_error(void);

// ---- The library. Settings hold for the whole process and change no byte of a result.

/// Version of the library that runs, "0.1.0". Never null.
OCTET_C_API const char *octet_version(void);
/// Version of the results' bytes, 1 and more: libraries with the same one give the same bytes.
OCTET_C_API int octet_numerics_version(void);
/// The machine's best instruction set, e.g. "avx512_vnni". Never null.
OCTET_C_API const char *octet_machine_cpu_isa(void);
/// The instruction set in use: the machine's best, unless capped. Never null.
OCTET_C_API const char *octet_cpu_isa(void);
/// Caps the instruction set of networks created from now on: "ref", "avx2", "avx_vnni", "avx512_core",
/// "avx512_vnni" or "avx512_amx".
OCTET_C_API octet_status octet_set_max_cpu_isa(const char *name);
/// Threads that a run may use; 0: as many as the process may use.
OCTET_C_API octet_status octet_threads(int *threads);
/// Sets the threads that a run of networks created from now on may use, 0 to 4096.
OCTET_C_API octet_status octet_set_threads(int threads);

// ---- Options: how a network is made. Each has a default; a null pointer stands for all of them.

/// Options of a network. They can be changed and destroyed once the network is made.
typedef struct octet_options octet_options;

/// Makes options, all with their defaults.
OCTET_C_API octet_status octet_options_create(octet_options **options);
/// Destroys options. A null pointer is allowed.
OCTET_C_API void octet_options_destroy(octet_options *options);
/// First dimension of every input instead of the file's, 1 and more; 0: as in the file.
OCTET_C_API octet_status octet_options_set_batch(octet_options *options, int64_t batch);
/// Contract of convolutions and matrix products, e.g. "ort_f32"; "automatic": the framework's own.
OCTET_C_API octet_status octet_options_set_rule(octet_options *options, const char *rule);
/// Runtime whose bytes a .tflite network gives, e.g. "litert-2026.08-x86"; empty: the framework's default.
OCTET_C_API octet_status octet_options_set_profile(octet_options *options, const char *profile);
/// 0: each operator runs by itself, and all tensors between them exist. Changes no byte of an output.
OCTET_C_API octet_status octet_options_set_fusion(octet_options *options, int fusion);
/// 1: a row of an .onnx network has the same bits alone as among others. 0: a single row times a matrix that
/// is computed, or dequantized from constants, is summed up in an order of its own, as ONNX Runtime does it;
/// the default.
OCTET_C_API octet_status octet_options_set_rows_alike(octet_options *options, int rows_alike);
/// Order in which an .onnx network sums up products of weights in blocks (MatMulNBits): "onnxruntime", the
/// default, or "ordered", block by block, in which a row has the same bits in every batch.
OCTET_C_API octet_status octet_options_set_nbits(octet_options *options, const char *nbits);
/// Number of threads for creation and runs of the network, up to 4096. 0: as octet_set_threads says; 1: the
/// calling thread alone.
OCTET_C_API octet_status octet_options_set_threads(octet_options *options, int threads);
/// Dimensions of an input by its name, outermost first, instead of the file's; a batch counts more.
OCTET_C_API octet_status octet_options_set_shape(octet_options *options, const char *input,
                                                 const int64_t *dims, size_t count);
/// Size of a dimension that an .onnx file names ("sequence"), wherever it occurs.
OCTET_C_API octet_status octet_options_set_dimension(octet_options *options, const char *name, int64_t size);
/// Bytes that weights and buffers may take; creation fails with octet_out_of_memory where that is not enough.
/// 0: any.
OCTET_C_API octet_status octet_options_set_memory_limit(octet_options *options, size_t bytes);
/// Called while a network is made, from the thread that makes it, with the fraction that is done, 0 to 1, and
/// the name of the next step.
typedef void (*octet_progress)(void *context, double done, const char *next);
/// Sets the function that is told of progress; a null function: none. `context` is passed through. The
/// function must not call functions of the network that is made.
OCTET_C_API octet_status octet_options_set_progress(octet_options *options, octet_progress function,
                                                    void *context);

// ---- Networks.

/// A network that runs, with memory of its own for tensors and state.
typedef struct octet_network octet_network;
/// An input or output of a network. Belongs to it and lives as long.
typedef struct octet_tensor octet_tensor;

/// Reads a .tflite or .onnx file, or a saved plan, and makes everything that a run needs. The file must not
/// be changed while the network lives. `options` may be null.
OCTET_C_API octet_status octet_network_create(octet_network **network, const char *path,
                                              const octet_options *options);
/// Makes a network of a file in memory, which errors call `name`. The bytes are not needed afterwards.
OCTET_C_API octet_status octet_network_create_from_memory(octet_network **network, const void *bytes,
                                                          size_t size, const char *name,
                                                          const octet_options *options);
/// Makes another context of the same network in its first state: inputs, outputs, sizes and state of its own;
/// graph and weights are shared. Each further thread needs one. It may be called while another thread uses
/// the network, also for octet_network_resize.
OCTET_C_API octet_status octet_network_new_context(octet_network **context, const octet_network *network);
/// Destroys a network; its other contexts live on. A null pointer is allowed.
OCTET_C_API void octet_network_destroy(octet_network *network);

/// Runs the network on what its inputs hold; they keep it, and outputs stay until the next run.
OCTET_C_API octet_status octet_network_run(octet_network *network);
/// Sets the state of recurrent operators to its initial value.
OCTET_C_API octet_status octet_network_reset_state(octet_network *network);
/// Gives the network the batch, shapes and dimensions of `sizes`; what they do not say is as in the file.
/// Weights stay packed; contents of inputs, bound buffers and state are lost. Handles of tensors stay valid.
OCTET_C_API octet_status octet_network_resize(octet_network *network, const octet_options *sizes);
/// Lets runs read an input from the caller's bytes, in layout and size of the tensor, which must live until
/// others are bound; null: the network's own buffer again.
OCTET_C_API octet_status octet_network_bind_input(octet_network *network, size_t index, const void *bytes,
                                                  size_t size);
/// Binds the buffer that runs write an output to; null: the network's own buffer again.
OCTET_C_API octet_status octet_network_bind_output(octet_network *network, size_t index, void *bytes,
                                                   size_t size);

/// Writes the network in its present sizes to a file from which octet_network_create makes it in
/// milliseconds, on machines with this instruction set and with this version of the library. Keep the model.
OCTET_C_API octet_status octet_network_save(const octet_network *network, const char *path);

/// Receives a node for which a network would be refused: its number in the file; the sentence of the refusal,
/// which lives as long as the call; and 0 for `is_certain` where the node reads results of a refused node
/// whose type or dimensions the file does not tell.
typedef void (*octet_refused_node)(void *context, int number, const char *reason, int is_certain);
/// Calls `function` for each node for which a network of the file would be refused, in the order of their
/// numbers; never for a file that octet_network_create takes. Weights are not packed, and sizes that are
/// still open count as 16. Fails for a file that cannot be read, and for a defect that is no node's.
/// `options` may be null; `context` is passed through.
OCTET_C_API octet_status octet_refused_nodes(const char *path, const octet_options *options,
                                             octet_refused_node function, void *context);

/// Writes the number of inputs.
OCTET_C_API octet_status octet_network_input_count(const octet_network *network, size_t *count);
/// Writes the number of outputs.
OCTET_C_API octet_status octet_network_output_count(const octet_network *network, size_t *count);
/// Gets an input by its index.
OCTET_C_API octet_status octet_network_input(octet_network *network, size_t index, octet_tensor **tensor);
/// Gets an output by its index.
OCTET_C_API octet_status octet_network_output(octet_network *network, size_t index, octet_tensor **tensor);
/// Gets an input by its name in the file.
OCTET_C_API octet_status octet_network_input_by_name(octet_network *network, const char *name,
                                                     octet_tensor **tensor);
/// Gets an output by its name in the file.
OCTET_C_API octet_status octet_network_output_by_name(octet_network *network, const char *name,
                                                      octet_tensor **tensor);

// ---- Tensors.

/// Type of a tensor's elements.
typedef enum octet_data_type {
    octet_f16 = 1,  ///< 16-bit float
    octet_bf16 = 2, ///< the upper half of a 32-bit float
    octet_f32 = 3,  ///< 32-bit float
    octet_s32 = 4,  ///< int32_t
    octet_s8 = 5,   ///< int8_t, codes
    octet_u8 = 6,   ///< uint8_t, codes
    octet_s4 = 11,  ///< codes -8 to 7, two per byte, the even index in the low bits
    octet_u4 = 12,  ///< codes 0 to 15, likewise
    octet_s16 = 64, ///< int16_t, codes
    octet_u2 = 65,  ///< codes 0 to 3, four per byte, the lowest index in the lowest bits
    octet_s2 = 66   ///< codes -2 to 1, likewise
} octet_data_type;

/// More dimensions than any tensor has.
#define OCTET_MAX_DIMS 12

/// Gets the name in the file, valid as long as the network.
OCTET_C_API octet_status octet_tensor_name(const octet_tensor *tensor, const char **name);
/// Gets the type of the elements.
OCTET_C_API octet_status octet_tensor_type(const octet_tensor *tensor, octet_data_type *type);
/// Writes the dimensions, outermost first, and how many there are (0 for a scalar).
OCTET_C_API octet_status octet_tensor_dims(const octet_tensor *tensor, int64_t dims[OCTET_MAX_DIMS],
                                           size_t *count);
/// Gets the number of elements, the product of the dimensions.
OCTET_C_API octet_status octet_tensor_element_count(const octet_tensor *tensor, size_t *count);
/// Gets the number of bytes of all elements.
OCTET_C_API octet_status octet_tensor_byte_size(const octet_tensor *tensor, size_t *size);
/// Gives an input another shape, with as many dimensions as in the file; its elements are zeros then. The
/// network takes the shapes of its inputs when it runs, or when an output is asked for. Dimensions that the
/// file leaves open and that no one has set are -1.
OCTET_C_API octet_status octet_tensor_resize(octet_tensor *tensor, const int64_t *dims, size_t count);
/// Gets scale and zero point of codes, which stand for scale * (code - zero_point); both are 0 where a tensor
/// has no scale. Fails where it has several.
OCTET_C_API octet_status octet_tensor_quantization(const octet_tensor *tensor, float *scale,
                                                   int32_t *zero_point);
/// Gets the address of the elements, which are dense and row-major; they may be read or written in place
/// between runs.
OCTET_C_API octet_status octet_tensor_data(octet_tensor *tensor, void **data);

/// Copies all bytes into the tensor; `size` is octet_tensor_byte_size.
OCTET_C_API octet_status octet_tensor_copy_from(octet_tensor *tensor, const void *bytes, size_t size);
/// Copies all bytes out of the tensor.
OCTET_C_API octet_status octet_tensor_copy_to(const octet_tensor *tensor, void *bytes, size_t size);
/// Writes all elements from real numbers, quantized where the tensor holds codes with one scale.
OCTET_C_API octet_status octet_tensor_copy_from_float(octet_tensor *tensor, const float *values,
                                                      size_t count);
/// Reads all elements as real numbers, dequantized where the tensor holds codes with one scale.
OCTET_C_API octet_status octet_tensor_copy_to_float(const octet_tensor *tensor, float *values, size_t count);

#ifdef __cplusplus
}
#endif

#endif
