#ifndef OCTET_COMPAT_DNNL_VERSION_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_VERSION_H

/* The version of oneDNN whose interface this is. Octet's own: octet/version.hpp. */

#define DNNL_VERSION_MAJOR 2
#define DNNL_VERSION_MINOR 6
#define DNNL_VERSION_PATCH 3
#define DNNL_VERSION_HASH "octet"

#endif
