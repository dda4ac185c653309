// Statuses are oneDNN's numbers in both vocabularies.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/interface/failures.hpp"

#include <new>

namespace octet::onednn {

dnnl_status_t status_of_exception() noexcept {
    try {
        throw;
    } catch (const error &e) {
        report(e.what());
        return static_cast<dnnl_status_t>(e.status);
    } catch (const std::bad_alloc &) {
        report("out of memory");
        return dnnl_out_of_memory;
    } catch (const std::exception &e) {
        report(e.what());
        return dnnl_runtime_error;
    } catch (...) {
        report("an exception of unknown type");
        return dnnl_runtime_error;
    }
}

} // namespace octet::onednn
