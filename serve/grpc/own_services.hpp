#pragma once // SPDX-License-Identifier: Apache-2.0

// The methods of gRPC's own services, whose messages are few and have their fields written by number:
// reflection and health.

#include "grpc/call.hpp"

namespace octet::serve {

std::shared_ptr<call> new_reflection_call(const shared_by_calls &s, origin &&o);
/// One that is told once, and one that is told when the health changes.
std::shared_ptr<call> new_health_call(const shared_by_calls &s, origin &&o);
std::shared_ptr<call> new_health_watcher(const shared_by_calls &s, origin &&o);

} // namespace octet::serve
