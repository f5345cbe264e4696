/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/api.h"

const bool api_opens_late = false;

#define API_LINKED(kind, function, params) .function = function,

const char *api_open(struct api *api)
{
	*api = (struct api){RUNTIME_CALLS(API_LINKED).set_launch_hook = gpu_double_set_launch_hook,
			    .set_cost_ns = gpu_double_set_cost_ns,
			    .used_bytes = gpu_double_used_bytes,
			    .driver_calls = gpu_double_driver_calls,
			    .runtime_calls = gpu_double_runtime_calls,
			    .burn_ns = gpu_double_burn_ns};
	return NULL;
}
