// SPDX-License-Identifier: Apache-2.0
#include "network/tests/fuzz/saved_plans.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <plan_generated.h>

#include "network/saved/format.hpp"
#include "octet/network.hpp"

namespace octet::tests {

namespace {

std::vector<std::uint8_t> bytes_of_plan(const network &net) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("octet_plan_" + std::to_string(std::random_device()()) + ".octet");
    net.save(path.string());
    std::ifstream file(path, std::ios::binary);
    std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    return bytes;
}

} // namespace

std::vector<std::uint8_t> saved_plan_of(const std::string &model) { return bytes_of_plan(network(model)); }

std::vector<std::uint8_t> saved_plan_of(const std::vector<std::uint8_t> &model) {
    return bytes_of_plan(network(model.data(), model.size(), "model"));
}

std::vector<std::uint8_t> resealed(std::vector<std::uint8_t> plan) {
    model::saved_plan_header header;
    if (plan.size() < sizeof header)
        return plan;
    std::memcpy(&header, plan.data(), sizeof header);
    std::uint8_t *structure = plan.data() + sizeof header;
    const std::size_t space = plan.size() - sizeof header;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(header.structure_size, space));
    flatbuffers::Verifier verifier(structure, size);
    if (size >= 8 && saved::VerifyPlanBuffer(verifier) && saved::GetPlan(structure)->blobs()) {
        const auto &blobs = *saved::GetPlan(structure)->blobs();
        for (std::size_t i = 0; i < blobs.size(); i++) {
            auto *place = const_cast<std::uint8_t *>(blobs.Data()) + i * sizeof(saved::Blob);
            saved::Blob b;
            std::memcpy(&b, place, sizeof b);
            if (b.offset() > plan.size() || b.size() > plan.size() - b.offset())
                continue;
            b = saved::Blob(b.offset(), b.size(),
                            model::crc32c(plan.data() + b.offset(), static_cast<std::size_t>(b.size())));
            std::memcpy(place, &b, sizeof b);
        }
    }
    header.file_size = plan.size();
    header.checksum = model::crc32c(structure, size);
    std::memcpy(plan.data(), &header, sizeof header);
    return plan;
}

std::vector<std::uint8_t> changed_plan(const std::vector<std::uint8_t> &plan,
                                       const std::function<void(saved::PlanT &)> &change) {
    model::saved_plan_header header;
    std::memcpy(&header, plan.data(), sizeof header);
    std::unique_ptr<saved::PlanT> fields(saved::GetPlan(plan.data() + sizeof header)->UnPack());
    const std::uint64_t blobs = fields->blobs.empty() ? plan.size() : fields->blobs.front().offset();
    const auto structure = [&] {
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(saved::Plan::Pack(builder, fields.get()), saved::PlanIdentifier());
        return std::vector<std::uint8_t>(builder.GetBufferPointer(),
                                         builder.GetBufferPointer() + builder.GetSize());
    };
    change(*fields);
    const std::size_t first = model::rounded_up_to_alignment(sizeof header + structure().size());
    for (saved::Blob &b : fields->blobs)
        b = saved::Blob(b.offset() - blobs + first, b.size(), b.checksum());
    const std::vector<std::uint8_t> bytes = structure();
    header.structure_size = bytes.size();
    std::vector<std::uint8_t> result(first);
    std::memcpy(result.data(), &header, sizeof header);
    std::memcpy(result.data() + sizeof header, bytes.data(), bytes.size());
    result.insert(result.end(), plan.begin() + static_cast<std::ptrdiff_t>(blobs), plan.end());
    return resealed(std::move(result));
}

} // namespace octet::tests
