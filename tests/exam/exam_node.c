// SPDX-License-Identifier: Apache-2.0
// For exam_node.js: launch(), tid() and ran(), as Node-API.
#define _GNU_SOURCE
#include <node_api.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **arguments, void **extra);

static napi_value launch(napi_env env, napi_callback_info info)
{
	(void)env, (void)info;
	cuLaunchKernel((void *)0x1000, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
	return 0;
}

static napi_value tid(napi_env env, napi_callback_info info)
{
	napi_value number = 0;
	(void)info;
	napi_create_int64(env, syscall(SYS_gettid), &number);
	return number;
}

// Nanoseconds that this thread had a CPU.
static napi_value ran(napi_env env, napi_callback_info info)
{
	napi_value number = 0;
	struct timespec t;
	(void)info;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	napi_create_bigint_int64(env, t.tv_sec * 1000000000L + t.tv_nsec, &number);
	return number;
}

NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback call;
	} functions[] = {{"launch", launch}, {"tid", tid}, {"ran", ran}};
	for (int i = 0; i < 3; i++) {
		napi_value function;
		napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, 0, &function);
		napi_set_named_property(env, exports, functions[i].name, function);
	}
	cuInit(0);
	return exports;
}
