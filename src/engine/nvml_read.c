// SPDX-License-Identifier: Apache-2.0
/* The state of one device, inside the child. In: loaded calls. Out: struct xp_nvml_reading; what the driver does not tell stays unset. */
#include <time.h>

#include "engine/nvml_priv.h"

const char *const xp_clock_reason_names[XP_CLOCK_REASON_COUNT] = {
	[XP_CLOCK_SW_POWER_CAP] = "sw_power_cap", [XP_CLOCK_HW_SLOWDOWN] = "hw_slowdown", [XP_CLOCK_SYNC_BOOST] = "sync_boost",
	[XP_CLOCK_SW_THERMAL] = "sw_thermal",	  [XP_CLOCK_HW_THERMAL] = "hw_thermal",	  [XP_CLOCK_HW_POWER_BRAKE] = "hw_power_brake",
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* What the device said of itself while the other members were asked. */
struct asking {
	const struct nv_calls *call;
	void *device;
	struct xp_nvml_fault *fault;
};

/* True when the call answered. A device that fell off the bus says so in every call; other statuses mean "not told". */
static bool answered(const struct asking *a, int status, const char *name)
{
	if (status == NV_GPU_IS_LOST || status == NV_RESET_REQUIRED || status == NV_UNINITIALIZED || status == NV_UNKNOWN)
		xp_nvml_set_fault(a->fault, XP_NVML_STATUS, status, name);
	return !status;
}

static struct xp_opt_u32 number(const struct asking *a, int (*call)(void *, unsigned *), const char *name)
{
	unsigned value = 0;

	if (!call || !answered(a, call(a->device, &value), name))
		return (struct xp_opt_u32){ 0 };
	return (struct xp_opt_u32)XP_SOME(value);
}

/* A link of zero lanes, or of generation zero, is a driver that cannot tell. */
static struct xp_opt_u32 positive(struct xp_opt_u32 value)
{
	return value.v ? value : (struct xp_opt_u32){ 0 };
}

static struct xp_opt_u64 wide(struct xp_opt_u32 value)
{
	return (struct xp_opt_u64){ .set = value.set, .v = value.v };
}

static void read_memory(const struct asking *a, struct xp_nvml_reading *r)
{
	struct nv_memory_v2 memory = { .version = NV_VERSION(memory, 2) };
	struct nv_memory old;

	if (a->call->memory_v2 && answered(a, a->call->memory_v2(a->device, &memory), "nvmlDeviceGetMemoryInfo_v2")) {
		r->memory_used = (struct xp_opt_u64)XP_SOME(memory.used);
		r->memory_total = (struct xp_opt_u64)XP_SOME(memory.total);
	} else if (a->call->memory && answered(a, a->call->memory(a->device, &old), "nvmlDeviceGetMemoryInfo")) {
		r->memory_used = (struct xp_opt_u64)XP_SOME(old.used);
		r->memory_total = (struct xp_opt_u64)XP_SOME(old.total);
	}
}

static void read_temperature(const struct asking *a, struct xp_nvml_reading *r)
{
	struct nv_temperature_v1 now = { .version = NV_VERSION(now, 1), .sensor = NV_TEMPERATURE_GPU };
	unsigned old;

	if (a->call->temperature_v && answered(a, a->call->temperature_v(a->device, &now), "nvmlDeviceGetTemperatureV"))
		r->temperature_c = (struct xp_opt_u32)XP_SOME(now.temperature > 0 ? (uint32_t)now.temperature : 0);
	else if (a->call->temperature && answered(a, a->call->temperature(a->device, NV_TEMPERATURE_GPU, &old), "nvmlDeviceGetTemperature"))
		r->temperature_c = (struct xp_opt_u32)XP_SOME(old);
}

static void read_clock(const struct asking *a, bool full, struct xp_nvml_reading *r)
{
	unsigned mhz;

	if (a->call->clock && answered(a, a->call->clock(a->device, NV_CLOCK_SM, &mhz), "nvmlDeviceGetClockInfo"))
		r->sm_clock_mhz = (struct xp_opt_u32)XP_SOME(mhz);
	if (full && a->call->clock_max && answered(a, a->call->clock_max(a->device, NV_CLOCK_SM, &mhz), "nvmlDeviceGetMaxClockInfo"))
		r->sm_clock_max_mhz = (struct xp_opt_u32)XP_SOME(mhz);
}

static void read_reasons(const struct asking *a, struct xp_nvml_reading *r)
{
	static const unsigned bits[XP_CLOCK_REASON_COUNT] = {
		[XP_CLOCK_SW_POWER_CAP] = NV_REASON_SW_POWER_CAP, [XP_CLOCK_HW_SLOWDOWN] = NV_REASON_HW_SLOWDOWN,
		[XP_CLOCK_SYNC_BOOST] = NV_REASON_SYNC_BOOST,	  [XP_CLOCK_SW_THERMAL] = NV_REASON_SW_THERMAL,
		[XP_CLOCK_HW_THERMAL] = NV_REASON_HW_THERMAL,	  [XP_CLOCK_HW_POWER_BRAKE] = NV_REASON_HW_POWER_BRAKE,
	};
	int (*call)(void *, unsigned long long *) = a->call->reasons ? a->call->reasons : a->call->reasons_old;
	unsigned long long mask = 0;

	if (!call || !answered(a, call(a->device, &mask), "nvmlDeviceGetCurrentClocksEventReasons"))
		return;
	r->reasons.set = true;
	for (unsigned i = 0; i < XP_CLOCK_REASON_COUNT; i++)
		r->reasons.v |= mask & bits[i] ? 1u << i : 0;
}

static void read_counters(const struct asking *a, unsigned version, struct xp_nvml_reading *r)
{
	static const struct {
		unsigned field;
		enum xp_clock_reason reason;
	} rows[] = {
		{ NV_FIELD_POWER, XP_CLOCK_SW_POWER_CAP },    { NV_FIELD_THERMAL, XP_CLOCK_SW_THERMAL },
		{ NV_FIELD_SYNC_BOOST, XP_CLOCK_SYNC_BOOST }, { NV_FIELD_SW_THERMAL, XP_CLOCK_SW_THERMAL },
		{ NV_FIELD_HW_THERMAL, XP_CLOCK_HW_THERMAL }, { NV_FIELD_HW_POWER_BRAKE, XP_CLOCK_HW_POWER_BRAKE },
	};
	struct nv_field_value values[XP_LEN(rows)] = { 0 };
	int n = 0;

	for (size_t i = 0; i < XP_LEN(rows); i++)
		if (rows[i].field < NV_FIELD_SW_THERMAL || version >= NV_FIELD_RENUMBERED_DRIVER)
			values[n++].field = rows[i].field;
	uint64_t before_ns = now_ns();
	bool told = a->call->fields && answered(a, a->call->fields(a->device, n, values), "nvmlDeviceGetFieldValues");
	r->t_ns = before_ns + (now_ns() - before_ns) / 2;
	for (int i = 0; told && i < n; i++)
		if (!values[i].status && values[i].value_type == NV_VALUE_U64)
			r->reason_ns[rows[i].reason] = (struct xp_opt_u64)XP_SOME(values[i].value.u64);
}

static void read_errors(const struct asking *a, struct xp_nvml_reading *r)
{
	unsigned corrected, uncorrected, pending, failed;
	unsigned long long errors;

	if (a->call->ecc_errors &&
	    answered(a, a->call->ecc_errors(a->device, NV_ERROR_UNCORRECTED, NV_ECC_VOLATILE, &errors), "nvmlDeviceGetTotalEccErrors"))
		r->ecc_uncorrected = (struct xp_opt_u64)XP_SOME(errors);
	if (a->call->remapped_rows &&
	    answered(a, a->call->remapped_rows(a->device, &corrected, &uncorrected, &pending, &failed), "nvmlDeviceGetRemappedRows"))
		r->remap_pending = (struct xp_opt_bool)XP_SOME(pending != 0);
}

void xp_nvml_read_device(struct xp_nvml_driver *driver, uint32_t device, bool full, struct xp_nvml_reading *ret_reading)
{
	struct xp_nvml_reading *r = ret_reading;
	const struct nv_calls *call = &driver->call;
	struct asking a = { call, driver->device[device], &r->fault };
	struct nv_utilization use;

	*r = (struct xp_nvml_reading){ .fault = driver->list.devices[device].fault };
	if (r->fault.kind)
		return;
	read_counters(&a, driver->version, r);
	read_reasons(&a, r);
	if (call->utilization && answered(&a, call->utilization(a.device, &use), "nvmlDeviceGetUtilizationRates") && use.gpu <= 100)
		r->utilization = (struct xp_opt_f64)XP_SOME(use.gpu / 100.0);
	read_clock(&a, full, r);
	r->power_mw = wide(number(&a, call->power, "nvmlDeviceGetPowerUsage"));
	read_memory(&a, r);
	r->pcie_generation = positive(number(&a, call->pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration"));
	r->pcie_width = positive(number(&a, call->pcie_width, "nvmlDeviceGetCurrPcieLinkWidth"));
	read_temperature(&a, r);
	if (!full)
		return;
	r->power_limit_mw = wide(number(&a, call->power_limit, "nvmlDeviceGetEnforcedPowerLimit"));
	r->pcie_generation_max = positive(number(&a, call->pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration"));
	r->pcie_width_max = positive(number(&a, call->pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth"));
	read_errors(&a, r);
}
