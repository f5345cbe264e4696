/* SPDX-License-Identifier: Apache-2.0 */
/* Names, numbers and layouts are those of nvml.h; older names are behind newer ones, for older drivers. */
#include "record/host/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NVML_TEMPERATURE_GPU 0
#define NVML_CLOCK_SM 1
#define NVML_CLOCK_MEM 2
#define NVML_CORRECTED 0
#define NVML_UNCORRECTED 1
#define NVML_VOLATILE 0 /* since the driver was loaded */

typedef void *device; /* nvmlDevice_t, opaque */

struct utilization {
	unsigned gpu, memory;
};

struct memory {
	unsigned long long total, free, used;
};

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
	char later[256]; /* in case a later version is longer */
};

struct nvml {
	void *library;
	uint32_t ngpus;
	device gpu[NVML_GPUS_MAX];
	int (*init)(void);
	int (*shutdown)(void);
	int (*driver)(char *, unsigned);
	int (*count)(unsigned *);
	int (*by_index)(unsigned, device *);
	int (*name)(device, char *, unsigned);
	int (*uuid)(device, char *, unsigned);
	int (*pci)(device, struct pci_info *);
	int (*utilization)(device, struct utilization *);
	int (*memory)(device, struct memory *);
	int (*power)(device, unsigned *);
	int (*temperature)(device, int, unsigned *);
	int (*clock)(device, int, unsigned *);
	int (*clock_max)(device, int, unsigned *);
	int (*throttle)(device, unsigned long long *);
	int (*ecc)(device, int, int, unsigned long long *);
	const char *(*error)(int);
};

#define AT(member) __builtin_offsetof(struct nvml, member)

static const struct symbol {
	const char *name, *older;
	size_t at;
	bool needed;
} symbols[] = {
	{"nvmlInit_v2", "nvmlInit", AT(init), true},
	{"nvmlShutdown", NULL, AT(shutdown), true},
	{"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", AT(count), true},
	{"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", AT(by_index), true},
	{"nvmlSystemGetDriverVersion", NULL, AT(driver), false},
	{"nvmlDeviceGetName", NULL, AT(name), false},
	{"nvmlDeviceGetUUID", NULL, AT(uuid), false},
	{"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", AT(pci), false},
	{"nvmlDeviceGetUtilizationRates", NULL, AT(utilization), false},
	{"nvmlDeviceGetMemoryInfo", NULL, AT(memory), false},
	{"nvmlDeviceGetPowerUsage", NULL, AT(power), false},
	{"nvmlDeviceGetTemperature", NULL, AT(temperature), false},
	{"nvmlDeviceGetClockInfo", NULL, AT(clock), false},
	{"nvmlDeviceGetMaxClockInfo", NULL, AT(clock_max), false},
	{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons", AT(throttle), false},
	{"nvmlDeviceGetTotalEccErrors", NULL, AT(ecc), false},
	{"nvmlErrorString", NULL, AT(error), false},
};

static int find_symbols(struct nvml *n, const char *library, struct fault *why)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const struct symbol *s = &symbols[i];
		void *at = dlsym(n->library, s->name);

		if (!at && s->older)
			at = dlsym(n->library, s->older);
		if (!at && s->needed)
			return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s has no function %s", library, s->name);
		memcpy((char *)n + s->at, &at, sizeof(at));
	}
	return 0;
}

static const char *words(const struct nvml *n, int error)
{
	const char *text = n->error ? n->error(error) : NULL;

	return text ? text : "an error without words";
}

static int start(struct nvml *n, const char *library, struct fault *why)
{
	unsigned count = 0;
	int error = n->init();

	if (error) {
		n->shutdown = NULL;
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s finds no driver: %s", library, words(n, error));
	}
	error = n->count(&count);
	if (error)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s does not count GPUs: %s", library, words(n, error));
	/* Indices stay NVML's, also behind one that cannot be had. */
	for (unsigned i = 0; i < count && i < NVML_GPUS_MAX; i++)
		if (n->by_index(i, &n->gpu[i]))
			n->gpu[i] = NULL;
	n->ngpus = count < NVML_GPUS_MAX ? count : NVML_GPUS_MAX;
	return 0;
}

int nvml_open(struct nvml **out, const char *library, struct fault *why)
{
	struct nvml *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return fault_no_memory(why);
	n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		const char *said = dlerror();

		r = fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%s", said ? said : library);
		free(n);
		return r;
	}
	r = find_symbols(n, library, why);
	if (r == 0)
		r = start(n, library, why);
	else
		n->shutdown = NULL;
	if (r < 0)
		nvml_close(n);
	else
		*out = n;
	return r;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	if (n->shutdown)
		n->shutdown();
	dlclose(n->library);
	free(n);
}

uint32_t nvml_ngpus(const struct nvml *n)
{
	return n->ngpus;
}

void nvml_driver(const struct nvml *n, char text[NVML_TEXT])
{
	if (!n->driver || n->driver(text, NVML_TEXT))
		*text = 0;
	text[NVML_TEXT - 1] = 0;
}

void nvml_describe(const struct nvml *n, uint32_t gpu, struct nvml_gpu *out)
{
	device d = n->gpu[gpu];
	struct pci_info pci;
	struct memory memory;

	memset(out, 0, sizeof(*out));
	memset(&pci, 0, sizeof(pci));
	memset(&memory, 0, sizeof(memory));
	if (!d)
		return;
	if (!n->name || n->name(d, out->name, NVML_TEXT))
		out->name[0] = 0;
	if (!n->uuid || n->uuid(d, out->uuid, NVML_TEXT))
		out->uuid[0] = 0;
	if (n->pci && n->pci(d, &pci) == 0) {
		pci.bus_id[sizeof(pci.bus_id) - 1] = 0;
		strcpy(out->pci, pci.bus_id);
	}
	if (n->memory && n->memory(d, &memory) == 0)
		out->memory_bytes = memory.total;
	out->name[NVML_TEXT - 1] = out->uuid[NVML_TEXT - 1] = 0;
}

static void know(uint64_t *v, int field, uint64_t value)
{
	v[field] = value;
	v[F_health_known] |= 1u << (field - F_health_known);
}

static void sample_clocks(const struct nvml *n, device d, uint64_t *v)
{
	unsigned mhz = 0;

	if (n->clock && n->clock(d, NVML_CLOCK_SM, &mhz) == 0)
		know(v, F_health_sm_mhz, mhz);
	if (n->clock && n->clock(d, NVML_CLOCK_MEM, &mhz) == 0)
		know(v, F_health_memory_mhz, mhz);
	if (n->clock_max && n->clock_max(d, NVML_CLOCK_SM, &mhz) == 0)
		know(v, F_health_sm_mhz_max, mhz);
}

void nvml_sample(const struct nvml *n, uint32_t gpu, uint64_t v[NFIELDS_health])
{
	struct utilization busy = {0};
	struct memory memory = {0};
	unsigned long long wide = 0;
	device d = n->gpu[gpu];
	unsigned value = 0;

	memset(v, 0, NFIELDS_health * sizeof(*v));
	v[F_health_gpu] = gpu;
	if (!d)
		return;
	if (n->utilization && n->utilization(d, &busy) == 0) {
		know(v, F_health_busy_percent, busy.gpu);
		know(v, F_health_memory_busy_percent, busy.memory);
	}
	if (n->memory && n->memory(d, &memory) == 0)
		know(v, F_health_memory_used, memory.used);
	if (n->power && n->power(d, &value) == 0)
		know(v, F_health_power_mw, value);
	if (n->temperature && n->temperature(d, NVML_TEMPERATURE_GPU, &value) == 0)
		know(v, F_health_temperature_c, value);
	sample_clocks(n, d, v);
	if (n->throttle && n->throttle(d, &wide) == 0)
		know(v, F_health_throttle, wide);
	if (n->ecc && n->ecc(d, NVML_CORRECTED, NVML_VOLATILE, &wide) == 0)
		know(v, F_health_ecc_corrected, wide);
	if (n->ecc && n->ecc(d, NVML_UNCORRECTED, NVML_VOLATILE, &wide) == 0)
		know(v, F_health_ecc_uncorrected, wide);
}
