// Arrays and images as the command reads and writes them. .npy files are written here by the letter of their
// format (numpy.lib.format), images by libpng and libjpeg-turbo; NumPy itself is asked in numpy_files.py.
// Damaged files are whole ones with a byte changed or the end cut off: whatever they are, reading ends with an
// array or with one sentence.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <png.h>
#include <turbojpeg.h>

#include "files/image.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "octet/octet.hpp"

namespace octet::tests {
namespace {

using namespace tools;
using bytes = std::vector<std::uint8_t>;

bytes bytes_of(const std::string &text) { return {text.begin(), text.end()}; }

template <typename T> bytes bytes_of(const std::vector<T> &values) {
    bytes result(values.size() * sizeof(T));
    std::memcpy(result.data(), values.data(), result.size());
    return result;
}

/// A .npy file of a dictionary and data, by hand.
bytes npy(const std::string &dictionary, const bytes &data, char version = 1) {
    std::string head = dictionary + '\n';
    std::string file = std::string("\x93NUMPY") + version + '\0';
    for (std::size_t i = 0; i < (version == 1 ? 2 : 4); i++)
        file += static_cast<char>(head.size() >> 8 * i);
    bytes result = bytes_of(file + head);
    result.insert(result.end(), data.begin(), data.end());
    return result;
}

bytes npy(const char *type, const char *shape, const bytes &data, bool is_fortran = false) {
    return npy(std::string("{'descr': '") + type + "', 'fortran_order': " + (is_fortran ? "True" : "False") +
                   ", 'shape': " + shape + ", }",
               data);
}

model::tensor tensor(data_type type, const memory::dims &dims) {
    model::tensor t;
    t.name = "x";
    t.type = type;
    t.dims = dims;
    return t;
}

/// The sentence with which something fails.
template <typename Function> std::string complaint(const Function &f) {
    try {
        f();
    } catch (const error &e) {
        return e.what();
    }
    return "no error";
}

// ---- .npy

TEST(Npy, ReadsTypesShapesAndVersions) {
    const array a = parse_npy(npy("<f4", "(2, 1)", bytes_of<float>({1.5f, -2.f})), "a");
    EXPECT_EQ(a.text(), "float32 2x1");
    EXPECT_EQ(a.bytes, bytes_of<float>({1.5f, -2.f}));
    EXPECT_EQ(parse_npy(npy("|i1", "(3,)", {1, 2, 3}), "a").text(), "int8 3");
    EXPECT_EQ(parse_npy(npy("|b1", "()", {1}), "a").text(), "bool scalar");
    EXPECT_EQ(parse_npy(npy("<u8", "(0, 7)", {}), "a").text(), "uint64 0x7");
    for (const char version : {'\1', '\2', '\3'})
        EXPECT_EQ(
            parse_npy(npy(R"({"shape": (2,), "fortran_order": False, "descr": "|u1"})", {7, 8}, version), "a")
                .bytes,
            (bytes{7, 8}));
}

TEST(Npy, OrdersOfBytesAndDimensionsBecomeOne) {
    EXPECT_EQ(parse_npy(npy(">i2", "(2,)", {1, 2, 3, 4}), "a").bytes, (bytes{2, 1, 4, 3}));
    // [[0, 1, 2], [3, 4, 5]] column by column
    EXPECT_EQ(parse_npy(npy("|u1", "(2, 3)", {0, 3, 1, 4, 2, 5}, true), "a").bytes,
              (bytes{0, 1, 2, 3, 4, 5}));
    // element (i, j, k) of 2 x 2 x 3 is 6i + 3j + k, and lies at i + 2j + 4k
    EXPECT_EQ(parse_npy(npy("|u1", "(2, 2, 3)", {0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}, true), "a").bytes,
              (bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Npy, WritesWhatItReads) {
    for (const memory::dims &dims : {memory::dims{}, {5}, {1, 2, 3}}) {
        array a{{'i', 4}, dims, {}};
        a.bytes.resize(static_cast<std::size_t>(model::element_count(dims)) * 4, 9);
        const std::string file = npy_text(a);
        EXPECT_EQ((file.size() - a.bytes.size()) % 64, 0u);
        const array back = parse_npy(bytes_of(file), "a");
        EXPECT_EQ(back.text(), a.text());
        EXPECT_EQ(back.bytes, a.bytes);
    }
}

TEST(Npy, RefusesWithASentence) {
    const auto said = [](const bytes &file) { return complaint([&] { parse_npy(file, "a.npy"); }); };
    EXPECT_EQ(said({}), "a.npy: is no .npy file");
    EXPECT_EQ(said(bytes_of("\x93NUMPY\x04_____")),
              "a.npy: has version 4 of the .npy format, known are 1 to 3");
    EXPECT_EQ(said(bytes_of("\x93NUMPY\x01\x01zz__")), "a.npy: ends within its .npy header");
    EXPECT_EQ(said(npy("<f4", "(2,)", {1, 2, 3})), "a.npy: has 3 bytes of elements, but float32 2 takes 8");
    EXPECT_EQ(said(npy("|u1", "(2,)", {1, 2, 3})), "a.npy: has 3 bytes of elements, but uint8 2 takes 2");
    for (const char *type : {"<f2", "<c8", "|O", "<U4", "f4", "<i3", ""})
        EXPECT_EQ(said(npy(type, "(1,)", {1})),
                  std::string("a.npy: its elements are '") + type +
                      "', allowed are bool, int8 to int64, uint8 to uint64, float32, float64");
    EXPECT_EQ(said(npy("<f4", "(4294967296, 4294967296)", {})), "a.npy: has more than 2 GiB of elements");
    for (const char *dictionary :
         {"", "{", "{}", "{'descr': '<f4'}", "{'descr': [('a', '<f4')]}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x",
          "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (1,)}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1 2)}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': 1}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
          "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 'x'}",
          "{'descr': '|u1' 'fortran_order': False, 'shape': (1,)}"})
        EXPECT_EQ(said(npy(dictionary, {1})),
                  "a.npy: its .npy header is no dictionary of one type, fortran_order and shape")
            << dictionary;
}

// ---- Arrays for tensors

TEST(Arrays, KeepTheirValuesOrAreRefused) {
    const auto values = [](const bytes &file, const model::tensor &t) {
        return values_for(parse_npy(file, "a"), {t, "tflite", "0 ('x')"}, "a.npy");
    };
    const bytes wide = npy("<i8", "(2,)", bytes_of<std::int64_t>({-128, 127}));
    EXPECT_EQ(values(wide, tensor(data_type::s8, {2})).bytes, (bytes{0x80, 0x7f}));
    EXPECT_EQ(values(wide, tensor(data_type::s32, {2})).bytes, bytes_of<std::int32_t>({-128, 127}));
    EXPECT_EQ(values(npy("<f8", "(1,)", bytes_of<double>({0.1})), tensor(data_type::f32, {1})).bytes,
              bytes_of<float>({0.1f}));
    const auto said = [&](const bytes &file, const model::tensor &t) {
        return complaint([&] { values(file, t); });
    };
    EXPECT_EQ(said(wide, tensor(data_type::u8, {2})), "a.npy: element 0 is -128, which does not fit 0 ('x')");
    EXPECT_EQ(said(npy("<u8", "(1,)", bytes_of<std::uint64_t>({~0ull})), tensor(data_type::s32, {1})),
              "a.npy: element 0 is 9223372036854775807, which does not fit 0 ('x')");
    EXPECT_EQ(said(wide, tensor(data_type::s8, {2, 1})), "a.npy: holds int64 2, but 0 ('x') takes 2x1");
    EXPECT_EQ(said(npy("|i1", "(3, 2)", bytes(6)), tensor(data_type::s8, {1, 2})),
              "a.npy: holds int8 3x2, but 0 ('x') takes 1x2 (--batch 3 takes the whole file)");
    EXPECT_EQ(said(wide, tensor(data_type::f32, {2})), "a.npy: holds int64 2, but 0 ('x') takes floats");
    const bytes real = npy("<f4", "(1,)", bytes_of<float>({0.5f}));
    EXPECT_EQ(
        said(real, tensor(data_type::u8, {1})),
        "a.npy: holds float32 1, but 0 ('x') takes codes, and has no scale by which floats become codes");
    model::tensor codes = tensor(data_type::u8, {1});
    codes.quant = {{0.5f}, {3}, 0};
    EXPECT_EQ(values(real, codes).reals, (std::vector<float>{0.5f}));
}

// ---- .npz

named_arrays two_arrays() {
    return {{"first", {{'u', 1}, {3}, {1, 2, 3}}}, {"a/b: c", {{'f', 4}, {}, bytes_of<float>({2.f})}}};
}

TEST(Npz, KeepsNamesAndArrays) {
    const std::string file = npz_text(two_arrays());
    EXPECT_EQ(file, npz_text(two_arrays())) << "depends on the time";
    const named_arrays back = parse_npz(bytes_of(file), "a.npz");
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0].first, "first");
    EXPECT_EQ(back[0].second.bytes, (bytes{1, 2, 3}));
    EXPECT_EQ(back[1].first, "a/b: c");
    EXPECT_EQ(back[1].second.text(), "float32 scalar");
}

TEST(Npz, RefusesWithASentence) {
    const auto said = [](const bytes &file) { return complaint([&] { parse_npz(file, "a.npz"); }); };
    EXPECT_EQ(said({}), "a.npz: holds 0 arrays, allowed are 1 to 10000");
    EXPECT_EQ(said(bytes_of("no archive")).rfind("a.npz: is no .npz file: ", 0), 0u);
    std::string wrong = npz_text({{"first", {{'u', 1}, {1}, {1}}}});
    for (std::size_t at = wrong.find("first.npy"); at != std::string::npos; at = wrong.find("first.npy"))
        wrong.replace(at, 9, "first.txt");
    EXPECT_EQ(said(bytes_of(wrong)), "a.npz: entry 0 'first.txt' is no .npy file");
}

// ---- Images

bytes png(const std::vector<std::uint8_t> &pixels, unsigned width, unsigned height, png_uint_32 format) {
    png_image facts = {};
    facts.version = PNG_IMAGE_VERSION;
    facts.width = width;
    facts.height = height;
    facts.format = format;
    png_alloc_size_t size = 0;
    png_image_write_to_memory(&facts, nullptr, &size, 0, pixels.data(), 0, nullptr);
    bytes file(size);
    png_image_write_to_memory(&facts, file.data(), &size, 0, pixels.data(), 0, nullptr);
    return file;
}

bytes jpeg(const std::vector<std::uint8_t> &rgb, int width, int height) {
    const std::unique_ptr<void, decltype(&tjDestroy)> encoder(tjInitCompress(), tjDestroy);
    unsigned char *made = nullptr;
    unsigned long size = 0;
    tjCompress2(encoder.get(), rgb.data(), width, 0, height, TJPF_RGB, &made, &size, TJSAMP_444, 100, 0);
    const bytes file(made, made + size);
    tjFree(made);
    return file;
}

/// Red, green, blue: 2 rows of 3 pixels with every byte different.
const std::vector<std::uint8_t> six_pixels = {0,  10,  20,  30,  40,  50,  60,  70,  80,
                                              90, 100, 110, 120, 130, 140, 150, 160, 255};

tensor_values values(const model::tensor &t, const pixel_options &options = {},
                     const char *framework = "onnx") {
    return values_for(parse_png(png(six_pixels, 3, 2, PNG_FORMAT_RGB), "a"), {t, framework, "0 ('x')"},
                      options, "a.png");
}

TEST(Images, TakeTheOrderAndTypeOfTheTensor) {
    EXPECT_EQ(values(tensor(data_type::u8, {1, 2, 3, 3}), {}, "tflite").bytes, six_pixels);
    EXPECT_EQ(values(tensor(data_type::u8, {2, 3, 3})).bytes, six_pixels);
    const bytes planes = {0, 30, 60, 90, 120, 150, 10, 40, 70, 100, 130, 160, 20, 50, 80, 110, 140, 255};
    EXPECT_EQ(values(tensor(data_type::u8, {1, 3, 2, 3})).bytes, planes);
    bytes centred = planes;
    for (std::uint8_t &b : centred)
        b = static_cast<std::uint8_t>(b - 128);
    EXPECT_EQ(values(tensor(data_type::s8, {1, 3, 2, 3})).bytes, centred);
    bytes with_alpha;
    for (std::size_t i = 0; i < six_pixels.size(); i++) {
        with_alpha.push_back(six_pixels[i]);
        if (i % 3 == 2)
            with_alpha.push_back(255);
    }
    EXPECT_EQ(values(tensor(data_type::u8, {1, 2, 3, 4})).bytes, with_alpha);
    // 0.299 R + 0.587 G + 0.114 B
    EXPECT_EQ(values(tensor(data_type::u8, {2, 3})).bytes, (bytes{8, 38, 68, 98, 128, 168}));
}

TEST(Images, BecomeNumbersInFloat) {
    std::vector<float> plain, normalized;
    const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    for (std::size_t i = 0; i < six_pixels.size(); i++) {
        plain.push_back(static_cast<float>(six_pixels[i]) / 255.f);
        normalized.push_back((plain.back() - mean[i % 3]) / deviation[i % 3]);
    }
    const model::tensor floats = tensor(data_type::f32, {1, 2, 3, 3});
    pixel_options options;
    EXPECT_EQ(values(floats, options).bytes, bytes_of(plain));
    options.mean = {mean[0], mean[1], mean[2]};
    options.std = {deviation[0], deviation[1], deviation[2]};
    EXPECT_EQ(values(floats, options).bytes, bytes_of(normalized));
    model::tensor codes = tensor(data_type::u8, {1, 2, 3, 3});
    EXPECT_EQ(complaint([&] { values(codes, options, "tflite"); }),
              "a.png: 0 ('x') has no scale by which pixels with --scale, --mean or --std become codes");
    codes.quant = {{0.5f}, {3}, 0};
    EXPECT_EQ(values(codes, options, "tflite").reals, normalized);
    options = {};
    options.scale = 1.f;
    EXPECT_EQ(values(floats, options).bytes,
              bytes_of(std::vector<float>(six_pixels.begin(), six_pixels.end())));
}

TEST(Images, AreResizedOnRequest) {
    const model::tensor larger = tensor(data_type::u8, {1, 4, 6, 3});
    EXPECT_EQ(complaint([&] { values(larger, {}, "tflite"); }),
              "a.png: is 3 x 2 pixels, but 0 ('x') takes 6 x 4 (--resize)");
    pixel_options options;
    options.resize = true;
    const bytes got = values(larger, options, "tflite").bytes;
    ASSERT_EQ(got.size(), 4u * 6 * 3);
    // Red of the image is 90 y + 30 x at pixel (y, x): linear in both directions, and constant beyond the centres.
    for (std::size_t y = 0; y < 4; y++)
        for (std::size_t x = 0; x < 6; x++) {
            const double source_y = std::clamp((static_cast<double>(y) + 0.5) / 2 - 0.5, 0., 1.);
            const double source_x = std::clamp((static_cast<double>(x) + 0.5) / 2 - 0.5, 0., 2.);
            EXPECT_EQ(got[(y * 6 + x) * 3], std::nearbyint(90 * source_y + 30 * source_x)) << y << ' ' << x;
        }
}

TEST(Images, RefuseOtherTensors) {
    for (const memory::dims &dims : {memory::dims{2, 2, 3, 3}, {1, 2, 3, 5}, {18}, {1, 1, 2, 3, 3}, {}})
        EXPECT_EQ(complaint([&] { values(tensor(data_type::u8, dims)); }),
                  "a.png: is an image, but 0 ('x') takes none: that would be one of 1, 3 or 4 channels");
    EXPECT_EQ(complaint([&] {
                  values(tensor(data_type::s32, {2, 3, 3}));
              }),
              "a.png: pixels become u8, s8 or f32, but 0 ('x') takes something else");
    pixel_options options;
    options.mean = {1, 2};
    EXPECT_EQ(complaint([&] {
                  values(tensor(data_type::f32, {2, 3, 3}), options);
              }),
              "--mean: 2 values given, but 0 ('x') has 3 channels; allowed: 1 or as many");
}

TEST(Images, GreyAndJpegAreRead) {
    const image grey = parse_png(png({7, 9}, 2, 1, PNG_FORMAT_GRAY), "a");
    EXPECT_EQ(grey.rgba, (bytes{7, 7, 7, 255, 9, 9, 9, 255}));
    const image flat = parse_jpeg(jpeg(std::vector<std::uint8_t>(16 * 8 * 3, 100), 16, 8), "a");
    EXPECT_EQ(flat.width, 16);
    EXPECT_EQ(flat.height, 8);
    for (std::size_t i = 0; i < flat.rgba.size(); i++)
        EXPECT_NEAR(flat.rgba[i], i % 4 == 3 ? 255 : 100, 1);
}

// ---- Hostile files

/// Reads mutants of a file; counts those that were refused. A crash or another exception fails the test.
template <typename Parse> std::size_t refused_mutants(const bytes &whole, const Parse &parse) {
    std::mt19937 random(1);
    std::size_t refused = 0;
    for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 100)
        refused += complaint([&] {
                       parse({whole.begin(), whole.begin() + static_cast<long>(cut)}, "m");
                   }).rfind("m", 0) == 0;
    for (int i = 0; i < 2000; i++) {
        bytes mutant = whole;
        for (unsigned changes = 1 + random() % 4; changes > 0; changes--)
            mutant[random() % mutant.size()] = random() % 2
                                                   ? static_cast<std::uint8_t>(random())
                                                   : static_cast<std::uint8_t>(random() % 2 ? 255 : 0);
        refused += complaint([&] { parse(mutant, "m"); }).rfind("m", 0) == 0;
    }
    return refused;
}

TEST(HostileFiles, AreReadOrRefused) {
    const bytes array_file = npy("<f4", "(2, 3)", bytes_of(std::vector<float>(6, 1.f)), true);
    EXPECT_GT(refused_mutants(array_file, parse_npy), 1000u);
    EXPECT_GT(refused_mutants(bytes_of(npz_text(two_arrays())), parse_npz), 500u);
    std::mt19937 random(2);
    std::vector<std::uint8_t> noise(24 * 16 * 3);
    for (std::uint8_t &b : noise)
        b = static_cast<std::uint8_t>(random());
    EXPECT_GT(refused_mutants(png(noise, 24, 16, PNG_FORMAT_RGB), parse_png), 1000u);
    EXPECT_GT(refused_mutants(jpeg(noise, 24, 16), parse_jpeg), 100u);
}

} // namespace
} // namespace octet::tests
