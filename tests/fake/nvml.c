/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NVML without a GPU. It says what the file $FAKE_NVML says, read anew at every call, one "key=value" a line:
 *   devices=2  version=580.65.06  entry=24 (bytes of a process entry)  garbage=1 (impossible pids)
 *   0.uuid= 0.name= 0.minor= 0.processes=PID:BYTES[:GI:CI],...  0.mps=PID:BYTES  0.mig=UUID:GI:CI,...
 *   0.utilization= 0.used= 0.total= 0.power= 0.limit= 0.temperature= 0.clock= 0.clock_max= 0.reasons= 0.ecc= 0.remap=
 *   0.gen= 0.gen_max= 0.width= 0.width_max=  0.rate.74=0.25 (counter: ns it grows a ns)  0.minus.74=1 (counter that runs backwards)
 *   fail.CALL=STATUS  sleep.CALL=MS  crash.CALL=1, each also with a device in front: 0.fail.CALL=15
 * What has no key is not supported (status 3). FAKE_EDITION: 3 all calls, 2 as before 12.2 (_v2 list), 1 (list without suffix), 0 no list.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, MAX_MIG = 7, TEXT = 96, LINE = 16384 };
#define CALL __attribute__((visibility("default"))) int
#define HANDLE(i) ((void *)(uintptr_t)((i) + 1))
#define MIG_HANDLE(i, m) ((void *)(uintptr_t)(0x1000 + (i)*16 + (m)))

static int device_of(void *handle)
{
	uintptr_t value = (uintptr_t)handle;

	return value >= 0x1000 ? (int)(value - 0x1000) / 16 : (int)value - 1;
}

static int mig_of(void *handle)
{
	return (uintptr_t)handle >= 0x1000 ? (int)((uintptr_t)handle % 16) : -1;
}

/* The value of a key, or NULL. */
static char *get(char *line, const char *key)
{
	const char *path = getenv("FAKE_NVML");
	FILE *file = path ? fopen(path, "re") : NULL;
	size_t len = strlen(key);
	char *found = NULL;

	while (file && !found && fgets(line, LINE, file))
		if (!strncmp(line, key, len) && line[len] == '=') {
			line[strcspn(line, "\n")] = '\0';
			found = line + len + 1;
		}
	if (file)
		fclose(file);
	return found;
}

static char *get_of(char *line, int device, const char *key)
{
	char whole[192];

	snprintf(whole, sizeof(whole), "%d.%s", device, key);
	return get(line, whole);
}

static char *get_event(char *line, int device, const char *what, const char *call)
{
	char key[128];
	char *value;

	snprintf(key, sizeof(key), "%s.%s", what, call);
	value = device >= 0 ? get_of(line, device, key) : NULL;
	return value ? value : get(line, key);
}

/* What was ordered for this call: a wait, an end, a status. */
static int enter(const char *call, int device)
{
	char line[LINE], *value;

	if ((value = get_event(line, device, "sleep", call))) {
		struct timespec time = { atoi(value) / 1000, atoi(value) % 1000 * 1000000L };

		nanosleep(&time, NULL);
	}
	if (get_event(line, device, "crash", call))
		abort();
	return (value = get_event(line, device, "fail", call)) ? atoi(value) : OK;
}

static int number(const char *call, void *handle, const char *key, unsigned *ret)
{
	int device = device_of(handle), status = enter(call, device);
	char line[LINE], *value = status ? NULL : get_of(line, device, key);

	if (status || !value)
		return status ? status : NOT_SUPPORTED;
	*ret = (unsigned)strtoul(value, NULL, 0);
	return OK;
}

static int text(const char *call, void *handle, const char *key, char *ret, unsigned size)
{
	int device = device_of(handle), status = enter(call, device);
	char line[LINE], *value = status ? NULL : get_of(line, device, key);

	if (status || !value)
		return status ? status : NOT_SUPPORTED;
	snprintf(ret, size, "%s", value);
	return OK;
}

/* The at-th of a list separated by commas. */
static char *item(char *list, unsigned at)
{
	char *save, *word = list ? strtok_r(list, ",", &save) : NULL;

	while (word && at--)
		word = strtok_r(NULL, ",", &save);
	return word;
}

/* ---- as a whole ---- */

CALL nvmlInit_v2(void)
{
	return enter("nvmlInit_v2", -1);
}

CALL nvmlSystemGetDriverVersion(char *ret, unsigned size)
{
	int status = enter("nvmlSystemGetDriverVersion", -1);
	char line[LINE], *value = get(line, "version");

	snprintf(ret, size, "%s", value ? value : "580.65.06");
	return status;
}

CALL nvmlDeviceGetCount_v2(unsigned *ret)
{
	int status = enter("nvmlDeviceGetCount_v2", -1);
	char line[LINE], *value = get(line, "devices");

	*ret = value ? (unsigned)strtoul(value, NULL, 0) : 1;
	return status;
}

CALL nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
	*ret = HANDLE(index);
	return enter("nvmlDeviceGetHandleByIndex_v2", (int)index);
}

CALL nvmlDeviceGetUUID(void *device, char *ret, unsigned size)
{
	char line[LINE], *mig = mig_of(device) >= 0 ? item(get_of(line, device_of(device), "mig"), (unsigned)mig_of(device)) : NULL;

	if (!mig)
		return text("nvmlDeviceGetUUID", device, "uuid", ret, size);
	snprintf(ret, size, "%.*s", (int)strcspn(mig, ":"), mig);
	return enter("nvmlDeviceGetUUID", device_of(device));
}

CALL nvmlDeviceGetName(void *device, char *ret, unsigned size)
{
	return text("nvmlDeviceGetName", device, "name", ret, size);
}

CALL nvmlDeviceGetMinorNumber(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetMinorNumber", device, "minor", ret);
}

/* ---- MIG ---- */

CALL nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
	char line[LINE];
	int status = enter("nvmlDeviceGetMigMode", device_of(device));

	*current = *pending = get_of(line, device_of(device), "mig") != NULL;
	return status;
}

CALL nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret)
{
	*ret = MAX_MIG;
	return enter("nvmlDeviceGetMaxMigDeviceCount", device_of(device));
}

CALL nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret)
{
	char line[LINE];
	int status = enter("nvmlDeviceGetMigDeviceHandleByIndex", device_of(device));

	*ret = MIG_HANDLE(device_of(device), (int)index);
	return status ? status : item(get_of(line, device_of(device), "mig"), index) ? OK : NOT_FOUND;
}

static int instance(const char *call, void *device, int which, unsigned *ret)
{
	char line[LINE], *mig = item(get_of(line, device_of(device), "mig"), (unsigned)mig_of(device)), *save;
	char *word = mig ? strtok_r(mig, ":", &save) : NULL;

	for (int i = 0; i < which && word; i++)
		word = strtok_r(NULL, ":", &save);
	*ret = word ? (unsigned)atoi(word) : ~0u;
	return enter(call, device_of(device));
}

CALL nvmlDeviceGetGpuInstanceId(void *device, unsigned *ret)
{
	return instance("nvmlDeviceGetGpuInstanceId", device, 1, ret);
}

CALL nvmlDeviceGetComputeInstanceId(void *device, unsigned *ret)
{
	return instance("nvmlDeviceGetComputeInstanceId", device, 2, ret);
}

/* ---- processes ---- */

__attribute__((unused)) static int list(const char *call, void *handle, const char *key, unsigned entry, unsigned *count, void *ret)
{
	int device = device_of(handle), status = enter(call, device);
	char line[LINE], extra[LINE], *value = status ? NULL : get_of(line, device, key), *size = get(extra, "entry");
	unsigned room = *count, n = 0, own[2] = { ~0u, ~0u };
	char *save, *word;

	if (status)
		return status;
	if (size)
		entry = (unsigned)atoi(size);
	if (mig_of(handle) >= 0) {
		instance("fake", handle, 1, &own[0]);
		instance("fake", handle, 2, &own[1]);
	}
	for (word = value ? strtok_r(value, ",", &save) : NULL; word; word = strtok_r(NULL, ",", &save)) {
		unsigned pid, instances[2] = { ~0u, ~0u };
		unsigned long long bytes;
		unsigned char *at = (unsigned char *)ret + (size_t)n * entry;

		if (sscanf(word, "%u:%llu:%u:%u", &pid, &bytes, &instances[0], &instances[1]) < 1)
			continue;
		if (!strchr(word, ':'))
			bytes = ~0ull;
		if (mig_of(handle) >= 0 && memcmp(own, instances, sizeof(own)))
			continue;
		if (n++ >= room)
			continue;
		memset(at, 0x77, entry);
		memcpy(at, &pid, 4);
		memcpy(at + 8, &bytes, 8);
		if (entry >= 24)
			memcpy(at + 16, instances, 8);
	}
	*count = n;
	return n > room ? INSUFFICIENT_SIZE : OK;
}

#if FAKE_EDITION >= 3
CALL nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *ret)
{
	return list("nvmlDeviceGetComputeRunningProcesses_v3", device, "processes", 24, count, ret);
}

CALL nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned *count, void *ret)
{
	return list("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, "mps", 24, count, ret);
}
#endif
#if FAKE_EDITION >= 2
CALL nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, void *ret)
{
	return list("nvmlDeviceGetComputeRunningProcesses_v2", device, "processes", 24, count, ret);
}
#endif
#if FAKE_EDITION >= 1
CALL nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *ret)
{
	return list("nvmlDeviceGetComputeRunningProcesses", device, "processes", 16, count, ret);
}
#endif

/* ---- state ---- */

CALL nvmlDeviceGetUtilizationRates(void *device, unsigned *ret)
{
	ret[1] = 0;
	return number("nvmlDeviceGetUtilizationRates", device, "utilization", ret);
}

static int memory(const char *call, void *handle, uint64_t *total, uint64_t *used)
{
	int device = device_of(handle), status = enter(call, device);
	char line[LINE], other[LINE], *a = get_of(line, device, "total"), *b = get_of(other, device, "used");

	if (status || !a || !b)
		return status ? status : NOT_SUPPORTED;
	*total = strtoull(a, NULL, 0);
	*used = strtoull(b, NULL, 0);
	return OK;
}

CALL nvmlDeviceGetMemoryInfo(void *device, uint64_t *ret)
{
	return memory("nvmlDeviceGetMemoryInfo", device, &ret[0], &ret[2]);
}

CALL nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetPowerUsage", device, "power", ret);
}

CALL nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetEnforcedPowerLimit", device, "limit", ret);
}

CALL nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *ret)
{
	return number("nvmlDeviceGetTemperature", device, "temperature", ret);
}

CALL nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *ret)
{
	return number("nvmlDeviceGetClockInfo", device, "clock", ret);
}

CALL nvmlDeviceGetMaxClockInfo(void *device, unsigned kind, unsigned *ret)
{
	return number("nvmlDeviceGetMaxClockInfo", device, "clock_max", ret);
}

static int reasons(const char *call, void *device, unsigned long long *ret)
{
	unsigned value = 0;
	int status = number(call, device, "reasons", &value);

	*ret = value;
	return status;
}

CALL nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret)
{
	return reasons("nvmlDeviceGetCurrentClocksThrottleReasons", device, ret);
}

CALL nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetCurrPcieLinkGeneration", device, "gen", ret);
}

CALL nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetMaxPcieLinkGeneration", device, "gen_max", ret);
}

CALL nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetCurrPcieLinkWidth", device, "width", ret);
}

CALL nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *ret)
{
	return number("nvmlDeviceGetMaxPcieLinkWidth", device, "width_max", ret);
}

CALL nvmlDeviceGetTotalEccErrors(void *device, unsigned type, unsigned counter, unsigned long long *ret)
{
	unsigned value = 0;
	int status = number("nvmlDeviceGetTotalEccErrors", device, "ecc", &value);

	*ret = value;
	return status;
}

CALL nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	*corrected = *uncorrected = *failed = 0;
	return number("nvmlDeviceGetRemappedRows", device, "remap", pending);
}

#if FAKE_EDITION >= 3
CALL nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *ret)
{
	return reasons("nvmlDeviceGetCurrentClocksEventReasons", device, ret);
}

CALL nvmlDeviceGetMemoryInfo_v2(void *device, uint64_t *ret)
{
	if (ret[0] << 32 >> 32 != (40 | 2 << 24))
		return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
	return memory("nvmlDeviceGetMemoryInfo_v2", device, &ret[1], &ret[4]);
}

CALL nvmlDeviceGetTemperatureV(void *device, unsigned *ret)
{
	if (ret[0] != (12 | 1 << 24))
		return 25;
	return number("nvmlDeviceGetTemperatureV", device, "temperature", &ret[2]);
}

struct field {
	uint32_t id, scope;
	int64_t timestamp, latency;
	uint32_t type, status;
	uint64_t value;
};

CALL nvmlDeviceGetFieldValues(void *handle, int n, struct field *ret)
{
	int status = enter("nvmlDeviceGetFieldValues", device_of(handle));
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < n; i++) {
		char line[LINE], key[32], *rate;

		snprintf(key, sizeof(key), "rate.%u", ret[i].id);
		rate = get_of(line, device_of(handle), key);
		ret[i].status = rate ? OK : NOT_SUPPORTED;
		ret[i].type = 3;
		if (rate)
			ret[i].value = (uint64_t)(((double)now.tv_sec * 1e9 + (double)now.tv_nsec) * strtod(rate, NULL));
		snprintf(key, sizeof(key), "minus.%u", ret[i].id);
		if (get_of(line, device_of(handle), key))
			ret[i].value = UINT64_MAX - ret[i].value;
	}
	return status;
}
#endif
