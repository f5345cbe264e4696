/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/api.h"

#include <dlfcn.h>
#include <string.h>

const bool api_opens_late = true;

struct symbol {
	const char *name;
	size_t at; /* where the pointer to it is in struct api */
};

#define API_SYMBOL(kind, name, params) {#name, offsetof(struct api, name)},

static const struct symbol symbols[] = {
	RUNTIME_CALLS(API_SYMBOL){"gpu_double_set_launch_hook", offsetof(struct api, set_launch_hook)},
	{"gpu_double_set_cost_ns", offsetof(struct api, set_cost_ns)},
	{"gpu_double_used_bytes", offsetof(struct api, used_bytes)},
	{"gpu_double_driver_calls", offsetof(struct api, driver_calls)},
	{"gpu_double_runtime_calls", offsetof(struct api, runtime_calls)},
	{"gpu_double_burn_ns", offsetof(struct api, burn_ns)},
};

const char *api_open(struct api *api)
{
	void *library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(library, symbols[i].name);

		if (!found)
			return dlerror();
		memcpy((char *)api + symbols[i].at, &found, sizeof(found));
	}
	return NULL;
}
