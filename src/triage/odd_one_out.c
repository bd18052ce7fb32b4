/* SPDX-License-Identifier: Apache-2.0 */
/* Median and median distance of each metric, and who lies far from it. No state. */
#include "triage/odd_one_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "triage/gpu_view.h"

#define LEAST_DISTANCE 0.10
#define LEAST_DIFFERENCE 0.20	    /* of two */
#define FAR_IN_SPREADS (3 * 1.4826) /* three standard deviations, as the median distance of a normal distribution tells them */
#define ROUNDING 1e-9		    /* shares are quotients: 0.9 - 0.8 is a little less than 0.1 */

const char *const xp_metric_names[XP_METRIC_COUNT] = {
	[XP_METRIC_ON_CPU_SHARE] = "on_cpu_share",
	[XP_METRIC_RUNQUEUE_SHARE] = "runqueue_share",
	[XP_METRIC_THROTTLED_SHARE] = "throttled_share",
	[XP_METRIC_SYSCALL_SHARE] = "syscall_share",
	[XP_METRIC_GPU_BUSY_SHARE] = "gpu_busy_share",
	[XP_METRIC_TOP_KERNEL_MEAN_NS] = "top_kernel_mean_ns",
	[XP_METRIC_CLOCK_LIMITED_SHARE] = "clock_limited_share",
};

static const struct xp_field odd_fields[] = {
	XP_FIELD_ENUM(xp_odd, metric, xp_metric_names, "what differs"),
	XP_FIELD(xp_odd, pid, OPT_U32, "the process; null: there are two, and either may be the odd one"),
	XP_FIELD(xp_odd, value, F64, "of that process; of two the larger one"),
	XP_FIELD(xp_odd, median, F64, "of all processes that have the metric"),
	XP_FIELD(xp_odd, spread, F64, "median distance from the median"),
	XP_FIELD(xp_odd, window_share, OPT_F64, "distance from the median, of two from each other; null: the metric is no share"),
};
const struct xp_record xp_odd_record = XP_RECORD("OddOneOut", xp_odd, odd_fields, "a process that differs from the others");

static struct xp_opt_f64 some(double value)
{
	return (struct xp_opt_f64)XP_SOME(value < 1 ? value : 1);
}

static const struct xp_thread_row *busiest_thread(const struct xp_thread_time *threads)
{
	const struct xp_thread_row *busiest = NULL;

	for (size_t i = 0; i < threads->n_threads; i++)
		if (!busiest || threads->threads[i].on_cpu_ns > busiest->on_cpu_ns)
			busiest = &threads->threads[i];
	return busiest;
}

static uint64_t longest_wait(const struct xp_thread_time *threads)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < threads->n_threads; i++)
		ns = threads->threads[i].runqueue_ns > ns ? threads->threads[i].runqueue_ns : ns;
	return ns;
}

static uint64_t time_in_calls(const struct xp_syscall_view *view, uint32_t tid)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < view->n_uses; i++)
		ns += view->uses[i].tid == tid ? view->uses[i].total_ns : 0;
	return ns;
}

/* Of all devices and reasons. */
static uint64_t longest_limit(const struct xp_gpu_health *gpu)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < gpu->n_devices; i++)
		for (size_t k = 0; k < gpu->devices[i].n_clock_events; k++)
			ns = gpu->devices[i].clock_events[k].ns > ns ? gpu->devices[i].clock_events[k].ns : ns;
	return ns;
}

/* The busiest device, and the kernel that it ran longest. A process without a kernel has no GPU to compare. */
static void add_kernels(const struct xp_triage_input *input, struct xp_metrics *metrics)
{
	struct xp_gpu_load devices[XP_GPU_DEVICES];
	size_t n = input->cuda_kernels && xp_input_has(input, XP_SOURCE_CUDA_KERNELS) ? xp_gpu_loads(input, devices) : 0;

	if (!n || !devices[0].top || !devices[0].top->count)
		return;
	metrics->v[XP_METRIC_GPU_BUSY_SHARE] = some(devices[0].busy);
	metrics->top_kernel = devices[0].top->name;
	metrics->v[XP_METRIC_TOP_KERNEL_MEAN_NS] =
		(struct xp_opt_f64)XP_SOME((double)devices[0].top->duration_ns.total / (double)devices[0].top->count);
}

struct xp_metrics xp_metrics_of(const struct xp_triage_input *input)
{
	struct xp_metrics metrics = { .pid = input->target.pid };
	const struct xp_thread_row *busiest = input->threads ? busiest_thread(input->threads) : NULL;

	if (busiest) {
		metrics.v[XP_METRIC_ON_CPU_SHARE] = some(xp_input_share(input, busiest->on_cpu_ns));
		metrics.v[XP_METRIC_RUNQUEUE_SHARE] = some(xp_input_share(input, longest_wait(input->threads)));
	}
	if (input->cgroup && input->cgroup->n_levels && input->cgroup->levels[input->cgroup->chosen].throttled_ns.set)
		metrics.v[XP_METRIC_THROTTLED_SHARE] = some(xp_input_share(input, xp_input_throttled_ns(input)));
	if (busiest && input->syscalls)
		metrics.v[XP_METRIC_SYSCALL_SHARE] = some(xp_input_share(input, time_in_calls(input->syscalls, busiest->tid)));
	if (input->gpu && input->gpu->n_devices && xp_input_has(input, XP_SOURCE_GPU))
		metrics.v[XP_METRIC_CLOCK_LIMITED_SHARE] = some(xp_input_share(input, longest_limit(input->gpu)));
	add_kernels(input, &metrics);
	return metrics;
}

/* The known values of one metric. */
struct known {
	uint32_t *pids;
	double *values;
	size_t n;
	double median, spread;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts. */
static double median_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static bool same_kernel(const struct xp_metrics *each, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!each[i].top_kernel || strcmp(each[i].top_kernel, each[0].top_kernel) != 0)
			return false;
	return n > 0;
}

static struct known collect(const struct xp_metrics *each, size_t n, enum xp_metric metric, struct xp_arena *arena)
{
	struct known known = { .pids = xp_arena_array(arena, uint32_t, n), .values = xp_arena_array(arena, double, n) };
	double *sorted = xp_arena_array(arena, double, n);

	for (size_t i = 0; i < n; i++) {
		if (!each[i].v[metric].set)
			continue;
		known.pids[known.n] = each[i].pid;
		sorted[known.n] = each[i].v[metric].v;
		known.values[known.n++] = each[i].v[metric].v;
	}
	if (known.n < 2)
		return known;
	known.median = median_of(sorted, known.n);
	for (size_t i = 0; i < known.n; i++)
		sorted[i] = fabs(known.values[i] - known.median);
	known.spread = median_of(sorted, known.n);
	return known;
}

struct odds {
	struct xp_odd at[XP_MAX_ODD];
	size_t n;
};

/* Two: they differ, and that is all there is to say. `unit`: what differences are measured in. */
static void judge_two(const struct known *known, enum xp_metric metric, double unit, struct odds *odds)
{
	double difference = fabs(known->values[0] - known->values[1]);

	if (difference / unit + ROUNDING < LEAST_DIFFERENCE || odds->n == XP_MAX_ODD)
		return;
	odds->at[odds->n++] = (struct xp_odd){
		.metric = metric,
		.value = fmax(known->values[0], known->values[1]),
		.median = known->median,
		.spread = known->spread,
		.window_share = metric == XP_METRIC_TOP_KERNEL_MEAN_NS ? (struct xp_opt_f64){ 0 } : some(difference),
	};
}

static int farthest_first(const void *a, const void *b)
{
	const struct xp_odd *x = a, *y = b;
	double dx = fabs(x->value - x->median), dy = fabs(y->value - y->median);

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return x->pid.v < y->pid.v ? -1 : x->pid.v > y->pid.v;
}

static void judge_many(const struct known *known, enum xp_metric metric, double unit, struct xp_arena *arena, struct odds *odds)
{
	struct xp_odd *found = xp_arena_array(arena, struct xp_odd, known->n);
	double bound = fmax(LEAST_DISTANCE, FAR_IN_SPREADS * known->spread / unit);
	size_t n = 0;

	for (size_t i = 0; i < known->n; i++) {
		double distance = fabs(known->values[i] - known->median);

		if (distance / unit + ROUNDING < bound)
			continue;
		found[n++] = (struct xp_odd){
			.metric = metric,
			.pid = XP_SOME(known->pids[i]),
			.value = known->values[i],
			.median = known->median,
			.spread = known->spread,
			.window_share = metric == XP_METRIC_TOP_KERNEL_MEAN_NS ? (struct xp_opt_f64){ 0 } : some(distance),
		};
	}
	qsort(found, n, sizeof(*found), farthest_first);
	for (size_t i = 0; i < n && odds->n < XP_MAX_ODD; i++)
		odds->at[odds->n++] = found[i];
}

const struct xp_odd *xp_odd_find(const struct xp_metrics *each, size_t n, struct xp_arena *arena, size_t *ret_n)
{
	struct odds *odds = xp_arena_new_of(arena, struct odds);

	for (int metric = 0; metric < XP_METRIC_COUNT; metric++) {
		bool relative = metric == XP_METRIC_TOP_KERNEL_MEAN_NS;
		struct known known = collect(each, n, metric, arena);
		double unit = relative ? known.median : 1;

		if (known.n < 2 || (relative && (!same_kernel(each, n) || unit <= 0)))
			continue;
		if (known.n == 2)
			judge_two(&known, metric, unit, odds);
		else
			judge_many(&known, metric, unit, arena, odds);
	}
	*ret_n = odds->n;
	return odds->at;
}
