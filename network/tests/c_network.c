/* A C11 program that runs a network through octet/octet.h: what a user writes, then every failure that the header
   promises to report. Arguments: examples/digits/digits_int8.tflite, and a file
   to write. */ /* SPDX-License-Identifier: Apache-2.0 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <octet/octet.h>

static int failures = 0;

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, octet_last_error());      \
            failures++;                                                                                      \
        }                                                                                                    \
    } while (0)

#define EXPECT_OK(call) EXPECT((call) == octet_success)
#define EXPECT_REFUSED(call, status, sentence)                                                               \
    do {                                                                                                     \
        EXPECT((call) == (status));                                                                          \
        EXPECT(strstr(octet_last_error(), sentence) != NULL);                                                \
    } while (0)

enum { pixels = 64, classes = 10 };

/* The program of the header's first lines. */
static void run_network(const char *path, float *scores) {
    octet_network *net = NULL;
    octet_tensor *image = NULL, *output = NULL;
    float values[pixels];
    for (int i = 0; i < pixels; i++)
        values[i] = (float)(i % 17);
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_network_input(net, 0, &image));
    EXPECT_OK(octet_tensor_copy_from_float(image, values, pixels));
    EXPECT_OK(octet_network_run(net));
    EXPECT_OK(octet_network_output(net, 0, &output));
    EXPECT_OK(octet_tensor_copy_to_float(output, scores, classes));
    octet_network_destroy(net);
}

static void describe_tensors(octet_network *net) {
    size_t inputs = 0, outputs = 0, count = 0, size = 0, rank = 0;
    EXPECT_OK(octet_network_input_count(net, &inputs));
    EXPECT_OK(octet_network_output_count(net, &outputs));
    EXPECT(inputs == 1 && outputs == 1);
    octet_tensor *image = NULL, *same = NULL, *scores = NULL;
    EXPECT_OK(octet_network_input(net, 0, &image));
    EXPECT_OK(octet_network_output(net, 0, &scores));

    const char *name = NULL;
    EXPECT_OK(octet_tensor_name(image, &name));
    EXPECT_OK(octet_network_input_by_name(net, name, &same));
    EXPECT(same == image);
    octet_data_type type = octet_f32;
    EXPECT_OK(octet_tensor_type(image, &type));
    EXPECT(type == octet_s8);
    int64_t dims[OCTET_MAX_DIMS];
    EXPECT_OK(octet_tensor_dims(image, dims, &rank));
    int64_t product = 1;
    for (size_t i = 0; i < rank; i++)
        product *= dims[i];
    EXPECT_OK(octet_tensor_element_count(image, &count));
    EXPECT_OK(octet_tensor_byte_size(image, &size));
    EXPECT(count == pixels && size == pixels && product == pixels);
    float scale = 0;
    int32_t zero_point = 0;
    EXPECT_OK(octet_tensor_quantization(image, &scale, &zero_point));
    EXPECT(scale > 0 && zero_point >= -128 && zero_point <= 127);

    EXPECT_REFUSED(octet_network_input(net, 1, &same), octet_invalid_arguments,
                   "input 1 of a network with 1");
    EXPECT_REFUSED(octet_network_output(net, 9, &same), octet_invalid_arguments,
                   "output 9 of a network with 1");
    EXPECT_REFUSED(octet_network_output_by_name(net, "nobody", &same), octet_invalid_arguments,
                   "no output is called 'nobody'");
}

/* Codes in place, by copy and through floats are the same numbers. */
static void copy_tensors(octet_network *net) {
    octet_tensor *image = NULL;
    EXPECT_OK(octet_network_input(net, 0, &image));
    int8_t codes[pixels], back[pixels];
    float reals[pixels], expected_scale = 0;
    int32_t zero_point = 0;
    for (int i = 0; i < pixels; i++)
        codes[i] = (int8_t)(2 * i - 64);
    EXPECT_OK(octet_tensor_copy_from(image, codes, sizeof codes));
    void *data = NULL;
    EXPECT_OK(octet_tensor_data(image, &data));
    EXPECT(memcmp(data, codes, sizeof codes) == 0);
    EXPECT_OK(octet_tensor_copy_to(image, back, sizeof back));
    EXPECT(memcmp(back, codes, sizeof codes) == 0);
    EXPECT_OK(octet_tensor_copy_to_float(image, reals, pixels));
    EXPECT_OK(octet_tensor_quantization(image, &expected_scale, &zero_point));
    for (int i = 0; i < pixels; i++)
        EXPECT(reals[i] == expected_scale * (float)(codes[i] - zero_point));
    memset(back, 0, sizeof back);
    EXPECT_OK(octet_tensor_copy_from_float(image, reals, pixels));
    EXPECT_OK(octet_tensor_copy_to(image, back, sizeof back));
    EXPECT(memcmp(back, codes, sizeof codes) == 0);

    EXPECT_REFUSED(octet_tensor_copy_from(image, codes, pixels - 1), octet_invalid_arguments, "63");
    EXPECT_REFUSED(octet_tensor_copy_to(image, back, pixels + 1), octet_invalid_arguments,
                   "given are 65 bytes");
    EXPECT_REFUSED(octet_tensor_copy_from_float(image, reals, 1), octet_invalid_arguments, "1");
    EXPECT_REFUSED(octet_tensor_copy_to_float(image, reals, 1), octet_invalid_arguments,
                   "given are 1 numbers");
}

static void count_progress(void *context, double done, const char *next) {
    EXPECT(done >= 0 && done <= 1 && next != NULL);
    ++*(int *)context;
}

static void use_options(const char *path, const float *scores) {
    octet_options *options = NULL;
    octet_network *net = NULL;
    octet_tensor *tensor = NULL;
    size_t count = 0;
    int calls = 0;
    EXPECT_OK(octet_options_create(&options));
    EXPECT_OK(octet_options_set_batch(options, 3));
    EXPECT_OK(octet_options_set_fusion(options, 0));
    EXPECT_OK(octet_options_set_rows_alike(options, 1));
    EXPECT_OK(octet_options_set_nbits(options, "ordered"));
    EXPECT_REFUSED(octet_options_set_nbits(options, "order"), octet_invalid_arguments, "nbits is 'order'");
    EXPECT_OK(octet_options_set_nbits(options, "onnxruntime"));
    EXPECT_OK(octet_options_set_rule(options, "tflite_2step"));
    EXPECT_OK(octet_options_set_threads(options, 1));
    EXPECT_REFUSED(octet_options_set_threads(options, -1), octet_invalid_arguments, "threads is -1");
    EXPECT_OK(octet_options_set_memory_limit(options, 1));
    EXPECT_REFUSED(octet_network_create(&net, path, options), octet_out_of_memory,
                   "allowed by memory_limit are 1");
    EXPECT_OK(octet_options_set_memory_limit(options, 0));
    EXPECT_OK(octet_options_set_dimension(options, "nothing", 2));
    EXPECT_REFUSED(octet_network_create(&net, path, options), octet_invalid_arguments, "nothing");
    octet_options_destroy(options);
    EXPECT_OK(octet_options_create(&options));
    EXPECT_OK(octet_options_set_batch(options, 3));
    EXPECT_OK(octet_options_set_progress(options, count_progress, &calls));
    EXPECT_REFUSED(octet_options_set_rule(options, "tflite"), octet_invalid_arguments, "tflite");
    EXPECT_OK(octet_options_set_profile(options, "tflm-90b983c"));
    EXPECT_OK(octet_options_set_profile(options, ""));
    EXPECT_REFUSED(octet_options_set_profile(options, "litert"), octet_invalid_arguments,
                   "litert-2026.08-x86");
    EXPECT_REFUSED(octet_options_set_profile(options, "tflm-90b983c+"), octet_invalid_arguments,
                   "a name stands on either side of a +");
    EXPECT_REFUSED(octet_options_set_batch(options, -1), octet_invalid_arguments, "batch is -1");
    EXPECT_OK(octet_network_create(&net, path, options));
    EXPECT(calls > 0);
    octet_options_destroy(options);

    float values[3 * pixels], got[3 * classes];
    for (int i = 0; i < 3 * pixels; i++)
        values[i] = (float)(i % pixels % 17);
    EXPECT_OK(octet_network_input(net, 0, &tensor));
    EXPECT_OK(octet_tensor_element_count(tensor, &count));
    EXPECT(count == 3 * pixels);
    EXPECT_OK(octet_tensor_copy_from_float(tensor, values, 3 * pixels));
    EXPECT_OK(octet_network_run(net));
    EXPECT_OK(octet_network_output(net, 0, &tensor));
    EXPECT_OK(octet_tensor_copy_to_float(tensor, got, 3 * classes));
    for (int i = 0; i < 3; i++)
        EXPECT(memcmp(got + i * classes, scores, classes * sizeof *scores) == 0);
    octet_network_destroy(net);
}

/* Contexts share a network that is gone, and have inputs and sizes of their own. */
/* Contexts of a network that another thread gives other sizes at the same time; returns how many answers differ. */
struct contexts_job {
    const octet_network *net;
    const float *scores;
    int wrong;
};

static void *make_contexts(void *argument) {
    struct contexts_job *job = argument;
    float values[pixels], got[classes];
    for (int i = 0; i < pixels; i++)
        values[i] = (float)(i % 17);
    for (int repeat = 0; repeat < 50; repeat++) {
        octet_network *context = NULL;
        octet_tensor *image = NULL, *output = NULL;
        const int is_right = octet_network_new_context(&context, job->net) == octet_success &&
                             octet_network_input(context, 0, &image) == octet_success &&
                             octet_network_output(context, 0, &output) == octet_success &&
                             octet_tensor_copy_from_float(image, values, pixels) == octet_success &&
                             octet_network_run(context) == octet_success &&
                             octet_tensor_copy_to_float(output, got, classes) == octet_success &&
                             memcmp(got, job->scores, sizeof got) == 0;
        job->wrong += !is_right;
        octet_network_destroy(context);
    }
    return NULL;
}

static void make_contexts_while_sizes_change(const char *path, const float *scores) {
    octet_network *net = NULL;
    octet_options *sizes = NULL;
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_options_create(&sizes));
    struct contexts_job job = {net, scores, 0};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, make_contexts, &job) == 0);
    for (int repeat = 0; repeat < 200; repeat++) {
        EXPECT_OK(octet_options_set_batch(sizes, 1 + repeat % 5));
        EXPECT_OK(octet_network_resize(net, sizes));
        EXPECT_OK(octet_network_run(net));
    }
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(job.wrong == 0);
    octet_options_destroy(sizes);
    octet_network_destroy(net);
}

static void use_contexts(const char *path, const float *scores) {
    octet_network *net = NULL, *context = NULL;
    octet_options *sizes = NULL;
    octet_tensor *image = NULL, *output = NULL;
    size_t count = 0;
    float values[2 * pixels], got[2 * classes] = {0};
    for (int i = 0; i < 2 * pixels; i++)
        values[i] = (float)(i % pixels % 17);
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_network_new_context(&context, net));
    octet_network_destroy(net);
    EXPECT_OK(octet_network_input(context, 0, &image));
    EXPECT_OK(octet_network_output(context, 0, &output));
    EXPECT_OK(octet_tensor_copy_from_float(image, values, pixels));
    EXPECT_OK(octet_network_run(context));
    EXPECT_OK(octet_tensor_copy_to_float(output, got, classes));
    EXPECT(memcmp(got, scores, classes * sizeof *scores) == 0);

    EXPECT_OK(octet_options_create(&sizes));
    EXPECT_OK(octet_options_set_batch(sizes, 2));
    EXPECT_OK(octet_network_resize(context, sizes));
    EXPECT_OK(octet_tensor_element_count(image, &count)); /* the handles stay */
    EXPECT(count == 2 * pixels);
    EXPECT_OK(octet_tensor_copy_from_float(image, values, 2 * pixels));
    EXPECT_OK(octet_network_run(context));
    EXPECT_OK(octet_tensor_copy_to_float(output, got, 2 * classes));
    EXPECT(memcmp(got + classes, scores, classes * sizeof *scores) == 0);
    EXPECT_OK(octet_options_set_shape(sizes, "nobody", (const int64_t[]){1}, 1));
    EXPECT_REFUSED(octet_network_resize(context, sizes), octet_invalid_arguments, "nobody");
    EXPECT_OK(octet_tensor_element_count(image, &count));
    EXPECT(count == 2 * pixels);
    EXPECT_OK(octet_network_reset_state(context));
    octet_options_destroy(sizes);
    octet_network_destroy(context);
}

/* The caller's buffers instead of the network's. */
static void bind_buffers(const char *path) {
    octet_network *net = NULL;
    octet_tensor *image = NULL, *output = NULL;
    int8_t in[pixels], expected[classes], out[classes] = {0};
    void *data = NULL;
    for (int i = 0; i < pixels; i++)
        in[i] = (int8_t)(i - 32);
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_network_input(net, 0, &image));
    EXPECT_OK(octet_network_output(net, 0, &output));
    EXPECT_OK(octet_tensor_copy_from(image, in, sizeof in));
    EXPECT_OK(octet_network_run(net));
    EXPECT_OK(octet_tensor_copy_to(output, expected, sizeof expected));
    EXPECT_OK(octet_network_bind_input(net, 0, in, sizeof in));
    EXPECT_OK(octet_network_bind_output(net, 0, out, sizeof out));
    EXPECT_OK(octet_tensor_data(image, &data));
    EXPECT(data == in);
    EXPECT_OK(octet_network_run(net));
    EXPECT(memcmp(out, expected, sizeof out) == 0);
    EXPECT_REFUSED(octet_network_bind_input(net, 0, in, 5), octet_invalid_arguments, "5");
    EXPECT_REFUSED(octet_network_bind_output(net, 3, out, sizeof out), octet_invalid_arguments, "3");
    EXPECT_OK(octet_network_bind_input(net, 0, NULL, 0));
    octet_network_destroy(net);
}

static void read_from_memory(const char *path) {
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    octet_network *net = NULL;
    EXPECT_OK(octet_network_create_from_memory(&net, bytes, size, "digits", NULL));
    EXPECT_OK(octet_network_run(net));
    octet_network_destroy(net);
    net = NULL;
    EXPECT_REFUSED(octet_network_create_from_memory(&net, bytes, size / 2, "half", NULL),
                   octet_invalid_arguments, "half");
    EXPECT_REFUSED(octet_network_create_from_memory(&net, bytes, 0, "nothing", NULL), octet_invalid_arguments,
                   "nothing");
    EXPECT_REFUSED(octet_network_create(&net, "no such file.tflite", NULL), octet_invalid_arguments,
                   "no such file.tflite");
    EXPECT(net == NULL);
}

/* Relu and Sinh of four floats, as protobuf writes a ModelProto. */
static const char foreign_model[] =
    "\010\010:D\012\016\012\002t1\022\002t2\042\004Relu\012\016\012\002t2\022\002t3\042\004Sinh\022\006random"
    "Z\024\012\002t1\022\016\012\014\010\001\022\010\012\002\010\001\012\002\010\004b\004\012\002t3B\002\020"
    "\021";

typedef struct refusals {
    int count, number, is_certain;
    char reason[200];
} refusals;

static void note_refusal(void *context, int number, const char *reason, int is_certain) {
    refusals *all = context;
    all->count++;
    all->number = number;
    all->is_certain = is_certain;
    snprintf(all->reason, sizeof all->reason, "%s", reason);
}

static void ask_for_refusals(const char *path, const char *scratch) {
    refusals all = {0, -1, -1, ""};
    EXPECT_OK(octet_refused_nodes(path, NULL, note_refusal, &all));
    EXPECT(all.count == 0);
    FILE *file = fopen(scratch, "wb");
    EXPECT(file != NULL &&
           fwrite(foreign_model, 1, sizeof foreign_model - 1, file) == sizeof foreign_model - 1);
    if (file)
        fclose(file);
    const octet_status read = octet_refused_nodes(scratch, NULL, note_refusal, &all);
    if (read != octet_success) /* a library without ONNX says so */
        EXPECT(strstr(octet_last_error(), "ONNX") != NULL);
    else
        EXPECT(all.count == 1 && all.number == 1 && all.is_certain == 1 &&
               strstr(all.reason, "Sinh") != NULL);
    EXPECT_REFUSED(octet_refused_nodes("no such file.onnx", NULL, note_refusal, &all),
                   octet_invalid_arguments, "no such file.onnx");
    EXPECT_REFUSED(octet_refused_nodes(NULL, NULL, note_refusal, &all), octet_invalid_arguments,
                   "path is a null pointer");
    EXPECT_REFUSED(octet_refused_nodes(path, NULL, NULL, &all), octet_invalid_arguments,
                   "function is a null pointer");
    remove(scratch);
}

static void save_plan(const char *path, const char *saved, const float *scores) {
    octet_network *net = NULL;
    float again[classes] = {0};
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_network_save(net, saved));
    EXPECT_REFUSED(octet_network_save(net, "no/such/directory/plan"), octet_runtime_error,
                   "no/such/directory/plan");
    octet_network_destroy(net);
    run_network(saved, again);
    EXPECT(memcmp(again, scores, sizeof again) == 0);
    remove(saved);
}

/* Every function with every pointer missing. */
static void pass_null(octet_network *net) {
    const octet_status invalid = octet_invalid_arguments;
    octet_options *options = NULL;
    octet_tensor *tensor = NULL;
    size_t count = 0;
    int64_t dims[OCTET_MAX_DIMS] = {0};
    float real = 0;
    int32_t code = 0;
    octet_data_type type = octet_s8;
    void *data = NULL;
    const char *name = NULL;
    EXPECT_OK(octet_options_create(&options));
    EXPECT_OK(octet_network_input(net, 0, &tensor));
#define EXPECT_NULL(call, argument) EXPECT_REFUSED(call, invalid, argument " is a null pointer")
    EXPECT_NULL(octet_set_max_cpu_isa(NULL), "name");
    EXPECT_NULL(octet_threads(NULL), "threads");
    EXPECT_NULL(octet_options_create(NULL), "options");
    EXPECT_NULL(octet_options_set_batch(NULL, 1), "options");
    EXPECT_NULL(octet_options_set_rule(NULL, "f32"), "options");
    EXPECT_NULL(octet_options_set_rule(options, NULL), "rule");
    EXPECT_NULL(octet_options_set_profile(NULL, ""), "options");
    EXPECT_NULL(octet_options_set_profile(options, NULL), "profile");
    EXPECT_NULL(octet_options_set_fusion(NULL, 1), "options");
    EXPECT_NULL(octet_options_set_rows_alike(NULL, 1), "options");
    EXPECT_NULL(octet_options_set_nbits(NULL, "ordered"), "options");
    EXPECT_NULL(octet_options_set_nbits(options, NULL), "nbits");
    EXPECT_NULL(octet_options_set_threads(NULL, 1), "options");
    EXPECT_NULL(octet_options_set_shape(NULL, "x", dims, 1), "options");
    EXPECT_NULL(octet_options_set_shape(options, NULL, dims, 1), "input");
    EXPECT_NULL(octet_options_set_shape(options, "x", NULL, 1), "dims");
    EXPECT_NULL(octet_options_set_dimension(NULL, "x", 1), "options");
    EXPECT_NULL(octet_options_set_dimension(options, NULL, 1), "name");
    EXPECT_NULL(octet_options_set_memory_limit(NULL, 1), "options");
    EXPECT_NULL(octet_options_set_progress(NULL, NULL, NULL), "options");
    EXPECT_OK(octet_options_set_progress(options, NULL, NULL));
    EXPECT_REFUSED(octet_options_set_shape(options, "x", dims, OCTET_MAX_DIMS + 1), invalid, "count is 13");
    EXPECT_NULL(octet_network_create(NULL, "path", NULL), "network");
    EXPECT_NULL(octet_network_create(&net, NULL, NULL), "path");
    EXPECT_NULL(octet_network_create_from_memory(NULL, "", 0, "name", NULL), "network");
    EXPECT_NULL(octet_network_create_from_memory(&net, NULL, 0, "name", NULL), "bytes");
    EXPECT_NULL(octet_network_create_from_memory(&net, "", 0, NULL, NULL), "name");
    EXPECT_NULL(octet_network_new_context(NULL, net), "context");
    EXPECT_NULL(octet_network_new_context(&net, NULL), "network");
    EXPECT_NULL(octet_network_run(NULL), "network");
    EXPECT_NULL(octet_network_reset_state(NULL), "network");
    EXPECT_NULL(octet_network_save(NULL, "path"), "network");
    EXPECT_NULL(octet_network_save(net, NULL), "path");
    EXPECT_NULL(octet_network_resize(NULL, options), "network");
    EXPECT_NULL(octet_network_resize(net, NULL), "sizes");
    EXPECT_NULL(octet_network_bind_input(NULL, 0, dims, 8), "network");
    EXPECT_NULL(octet_network_bind_output(NULL, 0, dims, 8), "network");
    EXPECT_NULL(octet_network_input_count(NULL, &count), "network");
    EXPECT_NULL(octet_network_input_count(net, NULL), "count");
    EXPECT_NULL(octet_network_output_count(NULL, &count), "network");
    EXPECT_NULL(octet_network_output_count(net, NULL), "count");
    EXPECT_NULL(octet_network_input(NULL, 0, &tensor), "network");
    EXPECT_NULL(octet_network_input(net, 0, NULL), "tensor");
    EXPECT_NULL(octet_network_output(NULL, 0, &tensor), "network");
    EXPECT_NULL(octet_network_output(net, 0, NULL), "tensor");
    EXPECT_NULL(octet_network_input_by_name(NULL, "x", &tensor), "network");
    EXPECT_NULL(octet_network_input_by_name(net, NULL, &tensor), "name");
    EXPECT_NULL(octet_network_input_by_name(net, "x", NULL), "tensor");
    EXPECT_NULL(octet_network_output_by_name(NULL, "y", &tensor), "network");
    EXPECT_NULL(octet_network_output_by_name(net, NULL, &tensor), "name");
    EXPECT_NULL(octet_network_output_by_name(net, "y", NULL), "tensor");
    EXPECT_NULL(octet_tensor_name(NULL, &name), "tensor");
    EXPECT_NULL(octet_tensor_name(tensor, NULL), "name");
    EXPECT_NULL(octet_tensor_type(NULL, &type), "tensor");
    EXPECT_NULL(octet_tensor_type(tensor, NULL), "type");
    EXPECT_NULL(octet_tensor_dims(NULL, dims, &count), "tensor");
    EXPECT_NULL(octet_tensor_dims(tensor, NULL, &count), "dims");
    EXPECT_NULL(octet_tensor_dims(tensor, dims, NULL), "count");
    EXPECT_NULL(octet_tensor_element_count(NULL, &count), "tensor");
    EXPECT_NULL(octet_tensor_element_count(tensor, NULL), "count");
    EXPECT_NULL(octet_tensor_byte_size(NULL, &count), "tensor");
    EXPECT_NULL(octet_tensor_byte_size(tensor, NULL), "size");
    EXPECT_NULL(octet_tensor_resize(NULL, dims, 1), "tensor");
    EXPECT_NULL(octet_tensor_resize(tensor, NULL, 1), "dims");
    EXPECT_NULL(octet_tensor_quantization(NULL, &real, &code), "tensor");
    EXPECT_NULL(octet_tensor_quantization(tensor, NULL, &code), "scale");
    EXPECT_NULL(octet_tensor_quantization(tensor, &real, NULL), "zero_point");
    EXPECT_NULL(octet_tensor_data(NULL, &data), "tensor");
    EXPECT_NULL(octet_tensor_data(tensor, NULL), "data");
    EXPECT_NULL(octet_tensor_copy_from(NULL, "", 0), "tensor");
    EXPECT_NULL(octet_tensor_copy_from(tensor, NULL, pixels), "bytes");
    EXPECT_NULL(octet_tensor_copy_to(NULL, dims, 0), "tensor");
    EXPECT_NULL(octet_tensor_copy_to(tensor, NULL, pixels), "bytes");
    EXPECT_NULL(octet_tensor_copy_from_float(NULL, &real, 1), "tensor");
    EXPECT_NULL(octet_tensor_copy_from_float(tensor, NULL, pixels), "values");
    EXPECT_NULL(octet_tensor_copy_to_float(NULL, &real, 1), "tensor");
    EXPECT_NULL(octet_tensor_copy_to_float(tensor, NULL, pixels), "values");
    octet_options_destroy(options);
    octet_options_destroy(NULL);
    octet_network_destroy(NULL);
}

/* Sizes that no tensor has: refused, and the network runs on as before. */
static void pass_wrong_sizes(const char *path) {
    const octet_status invalid = octet_invalid_arguments;
    const int64_t negative[OCTET_MAX_DIMS] = {-1, 8, 8, 1}, giant[OCTET_MAX_DIMS] = {INT64_MAX, 8, 8, 1},
                  wrapping[OCTET_MAX_DIMS] = {(int64_t)1 << 32, (int64_t)1 << 32, 1, 1};
    octet_network *net = NULL;
    octet_options *options = NULL;
    octet_tensor *image = NULL, *scores = NULL;
    char bytes[pixels] = {0};
    float reals[pixels] = {0};
    EXPECT_OK(octet_network_create(&net, path, NULL));
    EXPECT_OK(octet_network_input(net, 0, &image));
    EXPECT_OK(octet_network_output(net, 0, &scores));
    EXPECT_REFUSED(octet_network_input(net, SIZE_MAX, &image), invalid, "18446744073709551615");
    const size_t sizes[] = {0, pixels - 1, pixels + 1, SIZE_MAX / 4 + 1 + pixels, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        EXPECT_REFUSED(octet_network_bind_input(net, 0, bytes, sizes[i]), invalid, "bytes are given");
        EXPECT_REFUSED(octet_network_bind_output(net, 0, bytes, sizes[i]), invalid, "bytes are given");
        EXPECT_REFUSED(octet_tensor_copy_from(image, bytes, sizes[i]), invalid, "given are");
        EXPECT_REFUSED(octet_tensor_copy_to(scores, bytes, sizes[i]), invalid, "given are");
        EXPECT_REFUSED(octet_tensor_copy_from_float(image, reals, sizes[i]), invalid, "given are");
        EXPECT_REFUSED(octet_tensor_copy_to_float(scores, reals, sizes[i]), invalid, "given are");
    }
    EXPECT_REFUSED(octet_tensor_resize(image, negative, 4), invalid, "-1x8x8x1");
    EXPECT_REFUSED(octet_tensor_resize(image, giant, 4), invalid, "2^31 - 1 bytes");
    EXPECT_REFUSED(octet_tensor_resize(image, wrapping, 4), invalid, "2^31 - 1 bytes");
    EXPECT_REFUSED(octet_tensor_resize(image, negative, 0), invalid, "4 dimensions");
    EXPECT_REFUSED(octet_tensor_resize(image, negative, SIZE_MAX), invalid, "allowed: up to 12");
    EXPECT_REFUSED(octet_tensor_resize(scores, giant, 2), invalid, "only inputs");
    EXPECT_OK(octet_options_create(&options));
    EXPECT_REFUSED(octet_options_set_threads(options, 4097), invalid, "threads is 4097");
    EXPECT_OK(octet_options_set_batch(options, INT64_MAX));
    EXPECT_REFUSED(octet_network_resize(net, options), invalid, "2^31 - 1 bytes");
    octet_options_destroy(options);
    EXPECT_OK(octet_network_run(net));
    octet_network_destroy(net);
}

/* The cap: down to the lowest level, up to whatever the machine has, and back to where it was. */
static void cap_levels(void) {
    const char *usual = octet_cpu_isa();
    EXPECT_OK(octet_set_max_cpu_isa("ref"));
    EXPECT(strcmp(octet_cpu_isa(), "ref") == 0);
    EXPECT_OK(octet_set_max_cpu_isa(octet_machine_cpu_isa()));
    EXPECT(strcmp(octet_cpu_isa(), octet_machine_cpu_isa()) == 0);
    EXPECT_REFUSED(octet_set_max_cpu_isa("mmx"), octet_invalid_arguments, "mmx");
    EXPECT_OK(octet_set_max_cpu_isa(usual));
    EXPECT(strcmp(octet_cpu_isa(), usual) == 0);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    EXPECT(strcmp(octet_last_error(), "") == 0);
    EXPECT(strlen(octet_version()) >= 5);
    EXPECT(octet_numerics_version() >= 1);
    cap_levels();
    int threads = 0;
    EXPECT_OK(octet_set_threads(2));
    EXPECT_OK(octet_threads(&threads));
    EXPECT(threads == 2);
    EXPECT_REFUSED(octet_set_threads(-1), octet_invalid_arguments, "-1");

    float scores[classes] = {0};
    run_network(argv[1], scores);
    use_options(argv[1], scores);
    use_contexts(argv[1], scores);
    make_contexts_while_sizes_change(argv[1], scores);
    bind_buffers(argv[1]);
    read_from_memory(argv[1]);
    save_plan(argv[1], argv[2], scores);
    ask_for_refusals(argv[1], argv[2]);
    octet_network *net = NULL;
    EXPECT_OK(octet_network_create(&net, argv[1], NULL));
    describe_tensors(net);
    copy_tensors(net);
    pass_null(net);
    pass_wrong_sizes(argv[1]);
    octet_network_destroy(net);
    if (failures == 0)
        printf("octet %s on %s: all as the header says\n", octet_version(), octet_cpu_isa());
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
