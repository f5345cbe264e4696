/* SPDX-License-Identifier: Apache-2.0 */
/* What the host says of itself. Nothing here decides: that does the proof (check.c); this explains it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "record/check/check_internal.h"
#include "format/base/clock.h"
#include "record/host/gpu_health.h"
#include "record/host/hostfacts.h"
#include "record/host/kmsg.h"

bool check_older_than(const struct utsname *name, unsigned major, unsigned minor)
{
	unsigned is_major = 0, is_minor = 0;

	(void)sscanf(name->release, "%u.%u", &is_major, &is_minor);
	return is_major < major || (is_major == major && is_minor < minor);
}

static void check_version(struct check *c, const struct utsname *name)
{
	if (check_older_than(name, 5, 15)) {
		check_report(c, "kernel", CHECK_NO, "Linux %s on %s", name->release, name->machine);
		check_remedy(c, "5.15 or later is needed");
	} else if (check_older_than(name, 6, 6)) {
		check_report(c, "kernel", CHECK_NOTE, "Linux %s on %s: functions are attached one by one",
			     name->release, name->machine);
		check_remedy(c, "6.6 or later attaches them at once and needs fewer capabilities");
	} else {
		check_report(c, "kernel", CHECK_OK, "Linux %s on %s", name->release, name->machine);
	}
}

static const char *const wanted[] = {
	"CONFIG_BPF_SYSCALL",     "CONFIG_BPF_JIT",        "CONFIG_BPF_EVENTS",
	"CONFIG_DEBUG_INFO_BTF",  "CONFIG_UPROBE_EVENTS",  "CONFIG_TRACEPOINTS",
	"CONFIG_FTRACE_SYSCALLS", "CONFIG_SECCOMP_FILTER", "CONFIG_PID_NS",
};
#define NWANTED (sizeof(wanted) / sizeof(wanted[0]))

/* From the kernel itself, or from where distributions put it. gzopen() also reads what is not packed. */
static void check_config(struct check *c, const struct utsname *name)
{
	char path[300], line[256], missing[300] = "";
	gzFile f = gzopen("/proc/config.gz", "re");
	bool has[NWANTED] = {false};
	size_t nmissing = 0;

	strcpy(path, "/proc/config.gz");
	if (!f) {
		snprintf(path, sizeof(path), "/boot/config-%s", name->release);
		f = gzopen(path, "re");
	}
	if (!f) {
		check_report(c, "configuration", CHECK_NOTE, "not reported by this kernel");
		check_remedy(c, "the proofs below show what matters");
		return;
	}
	while (gzgets(f, line, sizeof(line)))
		for (size_t i = 0; i < NWANTED; i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])) && line[strlen(wanted[i])] == '=' &&
			    line[strlen(wanted[i]) + 1] == 'y')
				has[i] = true;
	gzclose(f);
	for (size_t i = 0; i < NWANTED; i++)
		if (!has[i] && ++nmissing)
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), " %s", wanted[i]);
	if (!nmissing) {
		check_report(c, "configuration", CHECK_OK, "all %zu options are set (%s)", NWANTED, path);
		return;
	}
	check_report(c, "configuration", CHECK_NOTE, "not set:%s (%s)", missing, path);
	check_remedy(c, "a kernel with them is needed where a proof below fails");
}

static void check_policies(struct check *c)
{
	char bpf[16] = "?", perf[16] = "?", lockdown[128];

	(void)hostfacts_line("/proc/sys/kernel/unprivileged_bpf_disabled", NULL, bpf, sizeof(bpf));
	(void)hostfacts_line("/proc/sys/kernel/perf_event_paranoid", NULL, perf, sizeof(perf));
	check_report(c, "BPF policy", CHECK_OK, "unprivileged_bpf_disabled %s: CAP_BPF is %s", bpf,
		     bpf[0] == '0' ? "needed all the same" : "needed");
	check_report(c, "perf policy", CHECK_OK, "perf_event_paranoid %s: %s", perf,
		     perf[0] == '-' ? "no matter" : "CAP_PERFMON overrides it");
	if (!hostfacts_line("/sys/kernel/security/lockdown", NULL, lockdown, sizeof(lockdown))) {
		check_report(c, "lockdown", CHECK_NOTE, "unknown: /sys/kernel/security/lockdown: %s", strerror(errno));
		check_remedy(c,
			     "harmless if the line BPF is ok; after mount -t securityfs none /sys/kernel/security it "
			     "is known");
	} else if (strstr(lockdown, "[confidentiality]")) {
		check_report(c, "lockdown", CHECK_NO, "confidentiality: BPF may not read the kernel's memory");
		check_remedy(c, "boot with lockdown=integrity or none");
	} else {
		check_report(c, "lockdown", CHECK_OK, "%s",
			     strstr(lockdown, "[integrity]") ? "integrity, which allows it" : "none");
	}
}

static void check_types(struct check *c)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		check_report(c, "type information", CHECK_OK, "/sys/kernel/btf/vmlinux");
	} else {
		check_report(c, "type information", CHECK_NO, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
		check_remedy(c,
			     "the kernel needs CONFIG_DEBUG_INFO_BTF; in a container mount the host's /sys/kernel/btf");
	}
}

static void check_memlock(struct check *c)
{
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		check_report(c, "memlock", CHECK_OK, "no limit");
	else
		check_report(c, "memlock", CHECK_OK, "%llu KiB: BPF memory is not counted here since Linux 5.11",
			     (unsigned long long)limit.rlim_cur / 1024);
}

static void check_clock(struct check *c)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
	int64_t ahead_ns = c->fs.clock.boot_ns;
	char source[64];

	if (!hostfacts_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL, source,
			    sizeof(source))) {
		check_report(c, "clock", CHECK_NOTE, "which one the kernel reads is unknown");
		check_remedy(c, "mount /sys; a slow one makes each event dearer");
		return;
	}
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		if (strcmp(source, slow[i]) != 0)
			continue;
		check_report(c, "clock", CHECK_NOTE, "%s: reading it takes microseconds, with each event", source);
		check_remedy(c, "find out why the kernel does not trust the CPU's own (dmesg | grep -i tsc)");
		return;
	}
	if (ahead_ns)
		check_report(c, "clock", CHECK_OK, "%s; gpurec's own is %.3f s %s (time namespace): corrected", source,
			     (double)llabs(ahead_ns) / 1e9, ahead_ns < 0 ? "behind" : "ahead");
	else
		check_report(c, "clock", CHECK_OK, "%s", source);
}

/* /proc that hides other users' processes does so from who may not trace them. */
static void check_hidepid(struct check *c)
{
	if (!procfs_hides(&c->fs))
		return;
	check_report(c, "hidepid", CHECK_NOTE, "/proc hides other users' processes from those who lack CAP_SYS_PTRACE");
	check_remedy(c, "hold CAP_SYS_PTRACE; with --no-late-attach, which gives it up, no library is found later");
}

void check_kernel(struct check *c)
{
	struct utsname name;

	if (uname(&name) < 0)
		return;
	check_version(c, &name);
	check_config(c, &name);
	check_types(c);
	check_namespaces(c);
	check_policies(c);
	check_memlock(c);
	check_clock(c);
	check_hidepid(c);
}

void check_gpus(struct check *c, const char *library)
{
	char version[200];
	struct health h;
	int fd;

	if (hostfacts_line("/proc/driver/nvidia/version", NULL, version, sizeof(version)))
		check_report(c, "driver", CHECK_OK, "%s", version);
	else {
		check_report(c, "driver", CHECK_NOTE,
			     "no NVIDIA driver here: CUDA calls fail, and are recorded as failed");
		check_remedy(c, "install it, where there is a GPU; in a container pass its devices and libraries in");
	}
	if (library ? !strcmp(library, "no") : !health_possible()) {
		check_report(c, "GPUs", CHECK_NOTE, "%s: no health is recorded",
			     library ? "not asked" : "no GPU found");
		check_remedy(c, library ? "omit --nvml no" : "name the driver's library with --nvml, if there is one");
	} else {
		health_start(&h, library);
		health_await(&h, 5000);
		health_stop(&h);
		if (h.problem[0]) {
			check_report(c, "GPUs", CHECK_NOTE, "%s: no health is recorded", h.problem);
			check_remedy(c, "see whether nvidia-smi works, or name the library with --nvml");
		} else {
			check_report(c, "GPUs", CHECK_OK, "%u, driver %s, health once a second", h.ngpus, h.driver);
		}
	}
	fd = kmsg_open(KMSG_PATH);
	if (fd < 0 && errno == ENOENT) {
		check_report(c, "kernel log", CHECK_NOTE, "%s is not here: no Xid errors are recorded", KMSG_PATH);
		check_remedy(c, "in a container, mount the host's");
	} else if (fd >= 0) {
		check_report(c, "kernel log", CHECK_OK, "can be read: Xid errors of an NVIDIA driver are recorded");
		close(fd);
	} else {
		check_report(c, "kernel log", CHECK_NOTE, "%s: %s: no Xid errors are recorded", KMSG_PATH,
			     strerror(errno));
		check_remedy(c, "run as root, or with CAP_SYSLOG");
	}
}

#define TRIAL_BYTES (8u << 20)
#define ROOM_BYTES (1ull << 30)
/* Measured: about 8 bytes an event, packed and sealed, so for a million events a second: */
#define NEED_MB 8u

/* Bytes a second, as a capture is written: in pieces, each brought to disk. 0: it could not be tried. */
static uint64_t disk_speed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char *piece = fd < 0 ? NULL : malloc(1u << 20);
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), took;
	bool ok = piece != NULL;

	if (piece)
		memset(piece, 0x5a, 1u << 20);
	for (unsigned done = 0; done < TRIAL_BYTES && ok; done += 1u << 20)
		ok = write(fd, piece, 1u << 20) == (ssize_t)(1u << 20) && fdatasync(fd) == 0;
	took = clock_ns(CLOCK_MONOTONIC) - begin;
	free(piece);
	if (fd >= 0)
		close(fd);
	return ok && took ? (uint64_t)((double)TRIAL_BYTES * 1e9 / (double)took) : 0;
}

void check_output(struct check *c, const char *folder)
{
	struct statvfs fs;
	uint64_t speed, room;

	if (!folder)
		folder = ".";
	if (access(folder, W_OK | X_OK) < 0) {
		check_report(c, "output", CHECK_NO, "%s: %s", folder, strerror(errno));
		check_remedy(c, "choose another folder with -o, or make it one that this user may write to");
		return;
	}
	check_report(c, "output", CHECK_OK, "%s can be written", folder);
	speed = disk_speed(folder);
	if (!speed) {
		check_report(c, "disk speed", CHECK_NOTE, "not known: it cannot be tried in %s", folder);
		check_remedy(c, "watch the line of status, or the summary, for losses");
	} else {
		bool enough = speed >= 2ull * NEED_MB * 1000000;

		check_report(c, "disk speed", enough ? CHECK_OK : CHECK_NOTE,
			     "%.1f MB/s; a million events a second need about %u MB/s", (double)speed / 1e6, NEED_MB);
		if (!enough)
			check_remedy(c, "choose a faster disk, or record less: --max-rate, --sample");
	}
	if (statvfs(folder, &fs) < 0)
		return;
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	check_report(c, "disk space", room < ROOM_BYTES ? CHECK_NOTE : CHECK_OK, "%.1f GiB free",
		     (double)room / (double)(1ull << 30));
	if (room < ROOM_BYTES)
		check_remedy(c, "--max-size ends a recording in time");
}
