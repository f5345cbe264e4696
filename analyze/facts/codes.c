// SPDX-License-Identifier: Apache-2.0
#include "analyze/facts/codes.h"

enum error_nature { ORDINARY = 0, NONE = 1, STICKS = 2, HARMLESS = 4 };

struct error_code {
	int16_t code;
	uint8_t nature;
	const char *text;
	const char *remedy; /* NULL: the general one */
};

#define ARGUMENTS "Check the arguments that this caller passes"
#define DRIVER                                                                                                         \
	"Install or load an NVIDIA driver that is new enough for the CUDA runtime (nvidia-smi shows both versions)"
#define VISIBLE                                                                                                        \
	"Let the program see a GPU: the driver loaded, the container given the device, CUDA_VISIBLE_DEVICES right"
#define BUILD "Build for this GPU (nvcc -arch, TORCH_CUDA_ARCH_LIST), or with the CUDA that the driver knows"
#define ALIVE "Look whether what is used was destroyed before, or belongs to another context or GPU"
#define PEERS "Look which GPUs reach each other (nvidia-smi topo -m), and enable peer access once"

/* cudaError_t and CUresult share these numbers. */
static const struct error_code cuda_errors[] = {
	{1, ORDINARY, "invalid value", ARGUMENTS},
	{2, ORDINARY, "out of memory",
	 "GPU memory ran out, for memory that this call needs and no allocation shows: check alloc-leak and object-leak, and "
	 "other processes on that GPU"},
	{3, ORDINARY, "not initialised", "Initialise CUDA in this process first; after fork() only the parent has it"},
	{4, ORDINARY, "the driver is shutting down",
	 "Let threads end their GPU work before the process exits: CUDA was being shut down"},
	{9, ORDINARY, "invalid launch configuration",
	 "Check the grid, block and shared memory of the launch: the GPU has less"},
	{11, ORDINARY, "invalid value", ARGUMENTS},
	{21, ORDINARY, "invalid copy direction", ARGUMENTS},
	{35, ORDINARY, "no driver, or one that is too old", DRIVER},
	{46, ORDINARY, "no device is available", VISIBLE},
	{98, ORDINARY, "invalid device function", BUILD},
	{100, ORDINARY, "no device", VISIBLE},
	{101, ORDINARY, "invalid device", VISIBLE},
	{200, ORDINARY, "invalid kernel image", BUILD},
	{201, ORDINARY, "invalid context", ALIVE},
	{209, ORDINARY, "no kernel image for this GPU", BUILD},
	{214, STICKS, "uncorrectable ECC error", NULL},
	{217, ORDINARY, "peer access is not possible", PEERS},
	{218, ORDINARY, "invalid PTX", BUILD},
	{220, STICKS, "uncorrectable NVLink error", NULL},
	{222, ORDINARY, "unsupported PTX version", BUILD},
	{301, ORDINARY, "file not found", "Check the path that the program passes for its module"},
	{400, ORDINARY, "invalid handle", ALIVE},
	{401, ORDINARY, "illegal state", ALIVE},
	{500, ORDINARY, "symbol not found", "Check the requested name: the module has no such function or variable"},
	{600, NONE, "not ready", NULL},
	{700, STICKS, "illegal address", NULL},
	{701, ORDINARY, "out of resources for the launch",
	 "Launch with fewer threads in a block, or let the kernel use fewer registers and less shared memory"},
	{702, STICKS, "launch timed out", NULL},
	{704, HARMLESS, "peer access is enabled already", NULL},
	{705, ORDINARY, "peer access is not enabled", PEERS},
	{709, ORDINARY, "the context is destroyed", ALIVE},
	{710, STICKS, "assertion in a kernel", NULL},
	{712, HARMLESS, "host memory is registered already", NULL},
	{713, ORDINARY, "host memory is not registered",
	 "Register or allocate that host memory with CUDA before it is used so"},
	{714, STICKS, "hardware stack error", NULL},
	{715, STICKS, "illegal instruction", NULL},
	{716, STICKS, "misaligned address", NULL},
	{717, STICKS, "invalid address space", NULL},
	{718, STICKS, "invalid program counter", NULL},
	{719, STICKS, "launch failure", NULL},
	{720, ORDINARY, "cooperative launch too large",
	 "Launch a smaller grid: all blocks of a cooperative launch must fit on the GPU at once"},
	{721, STICKS, "contained error", NULL},
	{800, ORDINARY, "not permitted",
	 "Check the GPU's compute mode (nvidia-smi -q -d COMPUTE), MPS, and the rights of the user"},
	{801, ORDINARY, "not supported",
	 "Ask whether the GPU and driver can do it before asking for it (cudaDeviceGetAttribute)"},
	{802, ORDINARY, "system not ready",
	 "Start what the GPUs of this host need before use: nvidia-fabricmanager on hosts with NVSwitch"},
	{803, ORDINARY, "driver and library do not fit",
	 "Load the driver that belongs to the libraries: after an update, reload the module or reboot"},
	{900, ORDINARY, "not permitted while a stream is captured",
	 "Keep this call out of the capture of the stream, or capture in relaxed mode"},
	{901, ORDINARY, "capture is invalid",
	 "Look for the first call that was not permitted while the stream was captured"},
	{999, ORDINARY, "unknown error", "Read the kernel's log (dmesg) for the driver's messages of the same time"},
};

static const char *const nccl_errors[] = {
	NULL,
	"unhandled CUDA error",
	"system error",
	"internal error",
	"invalid argument",
	"invalid usage",
	"a remote rank failed",
	"in progress",
};

#define NCCL_IN_PROGRESS 7

static const struct error_code *find(int64_t code)
{
	for (size_t i = 0; i < sizeof(cuda_errors) / sizeof(cuda_errors[0]); i++)
		if (cuda_errors[i].code == code)
			return &cuda_errors[i];
	return NULL;
}

const char *cuda_error_text(int64_t code)
{
	const struct error_code *e = find(code);

	return e ? e->text : NULL;
}

const char *nccl_error_text(int64_t code)
{
	return code > 0 && code < (int64_t)(sizeof(nccl_errors) / sizeof(nccl_errors[0])) ? nccl_errors[code] : NULL;
}

bool nccl_error_is_none(int64_t code)
{
	return code == NCCL_IN_PROGRESS;
}

const char *cuda_error_remedy(int64_t code)
{
	const struct error_code *e = find(code);

	return e ? e->remedy : NULL;
}

static bool is_of(int64_t code, enum error_nature nature)
{
	const struct error_code *e = find(code);

	return e && e->nature == nature;
}

bool cuda_error_is_none(int64_t code)
{
	return is_of(code, NONE);
}

bool cuda_error_sticks(int64_t code)
{
	return is_of(code, STICKS);
}

bool cuda_error_is_harmless(int64_t code)
{
	return is_of(code, HARMLESS);
}

#define RESTART "Start the program again, and check what it computes there"
#define DRAIN "Take the GPU out of service, reset it, and have it checked if this comes again"
#define SANITIZE "Run the program under compute-sanitizer: mostly it is its own mistake"
#define WATCH "Nothing now; have the GPU checked if this becomes frequent"

static const struct xid_code xids[] = {
	{8, SEVERITY_ERROR, "the GPU stopped processing", DRAIN},
	{13, SEVERITY_ERROR, "a kernel did something invalid", SANITIZE},
	{31, SEVERITY_ERROR, "a kernel touched memory that is not there", SANITIZE},
	{32, SEVERITY_ERROR, "an invalid or corrupted push buffer", DRAIN},
	{38, SEVERITY_ERROR, "the driver's firmware failed", DRAIN},
	{43, SEVERITY_ERROR, "the GPU stopped a channel of this program", SANITIZE},
	{45, SEVERITY_WARNING, "channels of a program were cleaned up, mostly because of another error or its end",
	 RESTART},
	{48, SEVERITY_ERROR, "a double-bit ECC error: data in GPU memory was lost", DRAIN},
	{61, SEVERITY_ERROR, "the GPU's microcontroller broke off", DRAIN},
	{62, SEVERITY_ERROR, "the GPU's microcontroller halted", DRAIN},
	{63, SEVERITY_WARNING, "a memory row or page is to be retired", WATCH},
	{64, SEVERITY_ERROR, "a memory row or page could not be retired", DRAIN},
	{68, SEVERITY_ERROR, "the video processor failed", RESTART},
	{69, SEVERITY_ERROR, "a graphics engine class error", SANITIZE},
	{74, SEVERITY_ERROR, "an NVLink error", DRAIN},
	{79, SEVERITY_ERROR, "the GPU has fallen off the bus",
	 "Reboot the host; check power, cooling and seating of the GPU"},
	{92, SEVERITY_WARNING, "a high rate of single-bit ECC errors", WATCH},
	{94, SEVERITY_ERROR, "a contained memory error: the program that used it is lost", RESTART},
	{95, SEVERITY_ERROR, "an uncontained memory error: all programs on the GPU are lost", DRAIN},
	{109, SEVERITY_ERROR, "a context switch timed out", DRAIN},
	{119, SEVERITY_ERROR, "the GPU's system processor did not answer", DRAIN},
	{120, SEVERITY_ERROR, "the GPU's system processor failed", DRAIN},
	{121, SEVERITY_WARNING, "a corrected error on the link to the CPU", WATCH},
	{140, SEVERITY_ERROR, "an ECC error that was not recovered from", DRAIN},
	{154, SEVERITY_WARNING, "the driver reports what it takes to recover the GPU", "Follow the message"},
};

static const struct xid_code xid_unknown = {0, SEVERITY_ERROR, "an error that this version has no words for",
					    "Look the number up in NVIDIA's list of Xid errors"};

const struct xid_code *xid_find(uint64_t code)
{
	for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (xids[i].code == code)
			return &xids[i];
	return &xid_unknown;
}

/* NVML's nvmlClocksEventReason*: those that take speed away. Idle (1) and clocks set by a person (2, 0x100) do not
 * count. */
const struct throttle_reason throttle_reasons[] = {
	{0x4, "power-cap", "its power limit", SEVERITY_INFO,
	 "Raise the power limit if the rack allows (nvidia-smi -pl), or accept it: this is how busy GPUs run"},
	{0x8, "hardware-slowdown", "a slowdown by its hardware (heat, or the power supply)", SEVERITY_WARNING,
	 "Check fans, airflow and the power supply; nvidia-smi -q -d PERFORMANCE shows which"},
	{0x10, "sync-boost", "another GPU that it keeps step with", SEVERITY_INFO,
	 "Look which GPU of the sync-boost group is slow"},
	{0x20, "thermal", "heat (the driver slowed it down)", SEVERITY_WARNING,
	 "Cool it: check fans, filters and airflow"},
	{0x40, "hardware-thermal", "heat (its hardware slowed it down by half or more)", SEVERITY_WARNING,
	 "Cool it at once: check fans, filters and airflow"},
	{0x80, "power-brake", "the power brake signal of the system", SEVERITY_WARNING,
	 "Check the host's power supplies: the system asked all GPUs to save power"},
};
const size_t throttle_nreasons = sizeof(throttle_reasons) / sizeof(throttle_reasons[0]);
