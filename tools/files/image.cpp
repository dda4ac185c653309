// From a file to RGBA pixels, and from them to the order, size and numbers of a tensor.
// SPDX-License-Identifier: Apache-2.0
#include "files/image.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <png.h>
#include <turbojpeg.h>

#include "octet/octet.hpp"

namespace octet::tools {
namespace {

constexpr std::uint64_t most_pixels = std::uint64_t{1} << 26; ///< a small file can say that it has many
constexpr std::size_t rgba_bytes = 4;

image allocate(std::uint64_t height, std::uint64_t width, const std::string &name) {
    if (height == 0 || width == 0 || height > most_pixels / width)
        refuse(name, "has " + std::to_string(width) + " x " + std::to_string(height) +
                         " pixels, allowed are up to " + std::to_string(most_pixels));
    return {static_cast<dim_t>(height), static_cast<dim_t>(width),
            std::vector<std::uint8_t>(height * width * rgba_bytes)};
}

/// The places of an image's sizes among a tensor's dimensions.
struct image_tensor {
    dim_t height, width, channels;
    bool is_channels_last;
};

std::optional<image_tensor> as_image(const target &to) {
    memory::dims dims = to.tensor.dims;
    if (dims.size() == 4) {
        if (dims[0] != 1)
            return {};
        dims.erase(dims.begin());
    }
    if (dims.size() == 2)
        return image_tensor{dims[0], dims[1], 1, true};
    if (dims.size() != 3)
        return {};
    const auto are_channels = [](dim_t d) { return d == 1 || d == 3 || d == 4; };
    const bool last = are_channels(dims[2]), first = are_channels(dims[0]);
    if (last && (!first || to.framework == "tflite"))
        return image_tensor{dims[0], dims[1], dims[2], true};
    if (first)
        return image_tensor{dims[1], dims[2], dims[0], false};
    return {};
}

/// Linear, by Octet's own primitive, so that pixels are equal on every machine.
image resized(const image &from, dim_t height, dim_t width) {
    const auto desc_of = [](dim_t h, dim_t w) {
        return memory::desc({1, rgba_bytes, h, w}, data_type::u8, format_tag::nhwc);
    };
    image to{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height * width) * rgba_bytes)};
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const resampling_forward::primitive_desc pd({prop_kind::forward_inference, algorithm::resampling_linear,
                                                 desc_of(from.height, from.width), desc_of(height, width)},
                                                cpu);
    const memory src(pd.src_desc(), cpu, const_cast<std::uint8_t *>(from.rgba.data()));
    const memory dst(pd.dst_desc(), cpu, to.rgba.data());
    resampling_forward(pd).execute(s, {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, dst}});
    s.wait();
    return to;
}

/// Weights of ITU-R 601 in 16 bits, whose sum is 1: grey stays what it is.
std::uint8_t luma(const std::uint8_t *rgba) {
    return static_cast<std::uint8_t>((rgba[0] * 19595u + rgba[1] * 38470u + rgba[2] * 7471u + 0x8000u) >> 16);
}

/// The channels that the tensor has, in its order.
std::vector<std::uint8_t> arranged(const image &i, const image_tensor &to) {
    const auto pixels = static_cast<std::size_t>(i.height * i.width),
               channels = static_cast<std::size_t>(to.channels);
    std::vector<std::uint8_t> bytes(pixels * channels);
    for (std::size_t p = 0; p < pixels; p++)
        for (std::size_t c = 0; c < channels; c++) {
            const std::uint8_t *rgba = &i.rgba[p * rgba_bytes];
            bytes[to.is_channels_last ? p * channels + c : c * pixels + p] =
                channels == 1 ? luma(rgba) : rgba[c];
        }
    return bytes;
}

/// The channel's value in a list with one value or one per channel; nothing given: `none`.
float of_channel(const std::vector<float> &values, std::size_t channel, float none) {
    return values.empty() ? none : values[values.size() == 1 ? 0 : channel];
}

std::vector<float> reals_of(const std::vector<std::uint8_t> &pixels, const image_tensor &to,
                            const pixel_options &options) {
    const auto channels = static_cast<std::size_t>(to.channels);
    const std::size_t per_channel = pixels.size() / channels;
    std::vector<float> reals(pixels.size());
    for (std::size_t i = 0; i < pixels.size(); i++) {
        const std::size_t c = to.is_channels_last ? i % channels : i / per_channel;
        const auto pixel = static_cast<float>(pixels[i]);
        const float scaled = options.scale ? pixel * *options.scale : pixel / 255.f;
        reals[i] = (scaled - of_channel(options.mean, c, 0.f)) / of_channel(options.std, c, 1.f);
    }
    return reals;
}

tensor_values numbers_for(std::vector<std::uint8_t> pixels, const target &to, const image_tensor &order,
                          const pixel_options &options, const std::string &source) {
    const data_type type = to.tensor.type;
    if (type == data_type::f32) {
        const std::vector<float> reals = reals_of(pixels, order, options);
        std::vector<std::uint8_t> bytes(reals.size() * sizeof(float));
        std::memcpy(bytes.data(), reals.data(), bytes.size());
        return {std::move(bytes), {}};
    }
    if (type != data_type::u8 && type != data_type::s8)
        refuse(source, "pixels become u8, s8 or f32, but " + to.text + " takes something else");
    if (options.are_reals()) {
        if (!to.may_have_scale())
            refuse(source,
                   to.text + " has no scale by which pixels with --scale, --mean or --std become codes");
        return {{}, reals_of(pixels, order, options)};
    }
    if (type == data_type::s8)
        for (std::uint8_t &p : pixels)
            p ^= 0x80; // pixel - 128
    return {std::move(pixels), {}};
}

void check_count(const std::vector<float> &values, const char *option, const image_tensor &order,
                 const target &to) {
    if (values.size() > 1 && values.size() != static_cast<std::size_t>(order.channels))
        throw error(status::invalid_arguments, std::string(option) + ": " + std::to_string(values.size()) +
                                                   " values given, but " + to.text + " has " +
                                                   std::to_string(order.channels) +
                                                   " channels; allowed: 1 or as many");
}

} // namespace

image parse_png(const std::vector<std::uint8_t> &file, const std::string &name) {
    png_image facts = {};
    facts.version = PNG_IMAGE_VERSION;
    const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&facts, png_image_free);
    if (!png_image_begin_read_from_memory(&facts, file.data(), file.size()))
        refuse(name, std::string("is no PNG file: ") + facts.message);
    facts.format = PNG_FORMAT_RGBA;
    facts.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; // else 16 bits without a gamma are taken as linear
    image result = allocate(facts.height, facts.width, name);
    const bool is_whole = png_image_finish_read(&facts, nullptr, result.rgba.data(), 0, nullptr) != 0;
    if (!is_whole || facts.warning_or_error != 0)
        refuse(name, std::string("is damaged: ") + facts.message);
    return result;
}

image parse_jpeg(const std::vector<std::uint8_t> &file, const std::string &name) {
    const std::unique_ptr<void, decltype(&tjDestroy)> decoder(tjInitDecompress(), tjDestroy);
    if (!decoder)
        throw error(status::runtime_error, "libjpeg-turbo cannot be used");
    int width = 0, height = 0, subsampling = 0, colours = 0;
    if (tjDecompressHeader3(decoder.get(), file.data(), file.size(), &width, &height, &subsampling,
                            &colours) != 0)
        refuse(name, std::string("is no JPEG file: ") + tjGetErrorStr2(decoder.get()));
    image result = allocate(static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width), name);
    if (tjDecompress2(decoder.get(), file.data(), file.size(), result.rgba.data(), width, 0, height,
                      TJPF_RGBA, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
        refuse(name, std::string("is damaged: ") + tjGetErrorStr2(decoder.get()));
    return result;
}

tensor_values values_for(const image &i, const target &to, const pixel_options &options,
                         const std::string &source) {
    const std::optional<image_tensor> order = as_image(to);
    if (!order)
        refuse(source,
               "is an image, but " + to.text + " takes none: that would be one of 1, 3 or 4 channels");
    const bool is_same_size = i.height == order->height && i.width == order->width;
    if (!is_same_size && !options.resize)
        refuse(source, "is " + std::to_string(i.width) + " x " + std::to_string(i.height) + " pixels, but " +
                           to.text + " takes " + std::to_string(order->width) + " x " +
                           std::to_string(order->height) + " (--resize)");
    check_count(options.mean, "--mean", *order, to);
    check_count(options.std, "--std", *order, to);
    const std::vector<std::uint8_t> pixels =
        arranged(is_same_size ? i : resized(i, order->height, order->width), *order);
    return numbers_for(pixels, to, *order, options, source);
}

} // namespace octet::tools
