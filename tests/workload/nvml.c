/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test double of NVIDIA's management library: two GPUs whose values are known, of which the second reports less.
 * NVML_DOUBLE names how it fails: nodriver, crash, hang, lost (the first GPU falls off the bus after one look).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define DRIVER_NOT_LOADED 9
#define GPU_IS_LOST 15

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

/* Declared here, for there is no header of NVIDIA's. */
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int error);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned n);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned n);
EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned n);
EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci_info *pci);
EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates);
EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *c);
EXPORT int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz);
EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *n);

static int gpus[2];
static unsigned looks;

static int fails(const char *how)
{
	const char *asked = getenv("NVML_DOUBLE");

	return asked && !strcmp(asked, how);
}

static int is_first(const void *device)
{
	return device == &gpus[0];
}

static int lost(const void *device)
{
	return is_first(device) && looks > 1 && fails("lost");
}

int nvmlInit_v2(void)
{
	if (fails("nodriver"))
		return DRIVER_NOT_LOADED;
	if (fails("crash"))
		abort();
	while (fails("hang"))
		pause();
	return 0;
}

int nvmlShutdown(void)
{
	return 0;
}

const char *nvmlErrorString(int error)
{
	return error == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned n)
{
	snprintf(text, n, "999.42");
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 2;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
	*device = &gpus[i & 1];
	return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned n)
{
	snprintf(text, n, "Pretended GPU %d", is_first(device) ? 0 : 1);
	return 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned n)
{
	snprintf(text, n, "GPU-00000000-0000-0000-0000-00000000000%d", is_first(device) ? 0 : 1);
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci_info *pci)
{
	memset(pci, 0, sizeof(*pci));
	snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%s:00.0", is_first(device) ? "3B" : "5E");
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
	looks += is_first(device) ? 1 : 0;
	if (lost(device))
		return GPU_IS_LOST;
	rates[0] = 87;
	rates[1] = 43;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
	if (lost(device))
		return GPU_IS_LOST;
	memory[0] = 80ull << 30;
	memory[1] = 79ull << 30;
	memory[2] = 1ull << 30;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
	*mw = 312500;
	return lost(device) ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *c)
{
	*c = 64;
	return lost(device) ? GPU_IS_LOST : sensor;
}

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz)
{
	*mhz = clock == 1 ? 1410 : 1593;
	return lost(device) ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetMaxClockInfo(void *device, int clock, unsigned *mhz)
{
	*mhz = clock == 1 ? 1980 : 2619;
	return lost(device) ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	*reasons = 4;
	return lost(device) ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *n)
{
	if (!is_first(device) || counter)
		return NOT_SUPPORTED;
	*n = type ? 1 : 12;
	return lost(device) ? GPU_IS_LOST : 0;
}
