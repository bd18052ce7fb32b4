/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples of several processes from one sampler. In: its records. Out: the sums and counts of each member. State: xp_peer_group. */
#include "inventory/cpu_member.h"

#include "engine/floor.h"

struct xp_sampler *xp_cpu_member_sampler(const struct xp_cpu_member *member)
{
	return member->peer.group ? member->peer.group->engine : NULL;
}

/* A sample goes to the inventory of its process. */
static void take(void *arg, const struct xp_rec_sample *record)
{
	const struct xp_peer_group *group = arg;
	struct xp_cpu_member *member = xp_peer_at(group, group->targets.n > 1 ? xp_bpf_target_index(&group->targets, record->pid) : 0);

	if (member)
		xp_cpu_sum_take(&member->sum, record, &member->peer.err);
}

static int attach(void *engine, struct xp_err *reterr)
{
	return xp_sampler_attach(engine, reterr);
}

static int detach(void *engine, struct xp_err *reterr)
{
	xp_sampler_detach(engine);
	return 0;
}

static int start(void *engine, uint64_t start_ns, struct xp_err *reterr)
{
	return xp_sampler_switch(engine, true, reterr);
}

static int stop(void *engine, struct xp_err *reterr)
{
	return xp_sampler_switch(engine, false, reterr);
}

static int drain_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	const struct xp_sample_reader reader = { take, group };

	return xp_sampler_read(group->engine, &reader, reterr);
}

static int collect_all(struct xp_peer_group *group, struct xp_err *reterr)
{
	int rc = drain_all(group, reterr);

	if (!rc)
		rc = xp_sampler_verify(group->engine, reterr);
	for (size_t i = 0; i < group->targets.n && !rc; i++) {
		struct xp_cpu_member *member = xp_peer_at(group, i);

		if (member)
			rc = xp_sampler_count_of(group->engine, i, &member->counts, reterr);
	}
	return rc;
}

static void free_engine(void *engine)
{
	xp_sampler_free(engine);
}

static const struct xp_peer_ops peer_ops = {
	.attach = attach,
	.detach = detach,
	.start = start,
	.stop = stop,
	.drain = drain_all,
	.collect = collect_all,
	.free_engine = free_engine,
};

int xp_cpu_member_join(struct xp_cpu_member *member, const struct xp_inventory_request *request, uint32_t pid, struct xp_err *reterr)
{
	return xp_peer_join(&member->peer, request->peers, XP_PEER_CPU_SAMPLES, &peer_ops, pid, member, reterr);
}

static int load_engine(struct xp_cpu_member *member, const struct xp_inventory_request *request, uint32_t pid,
		       const struct xp_python *python, struct xp_err *reterr)
{
	struct xp_peer_group *group = member->peer.group;
	bool several = xp_peer_several(&member->peer);
	const struct xp_sampler_config config = {
		.pid = several ? 0 : pid,
		.targets = group->targets,
		.frequency_hz = (uint32_t)request->frequency_hz,
		.max_threads = (uint32_t)request->max_threads,
		.threads = request->threads,
		.python = several ? NULL : xp_python_layout(python),
	};
	struct xp_opt_u64 floor = { 0 };
	struct xp_sampler *sampler;
	xp_auto_err refused = { 0 };
	int rc = xp_sampler_new(&config, &sampler, reterr);

	if (rc)
		return rc;
	group->engine = sampler;
	/* Without BPF no floor can be measured; what samples cost is not told then. */
	if (!xp_floor_measure_sample(&floor, &refused) && floor.set)
		group->floor_ns[0] = floor.v;
	return 0;
}

int xp_cpu_member_load(struct xp_cpu_member *member, const struct xp_inventory_request *request, uint32_t pid,
		       const struct xp_python *python, struct xp_err *reterr)
{
	int rc = xp_cpu_member_sampler(member) ? 0 : load_engine(member, request, pid, python, reterr);

	if (rc || !xp_peer_several(&member->peer))
		return rc;
	return xp_sampler_python(xp_cpu_member_sampler(member), member->peer.at, xp_python_layout(python), reterr);
}

void xp_cpu_member_count(const struct xp_cpu_member *member, struct xp_sampler_counts *ret_counts)
{
	struct xp_sampler *sampler = xp_cpu_member_sampler(member);
	xp_auto_err unknown = { 0 };

	*ret_counts = (struct xp_sampler_counts){ 0 };
	if (sampler)
		xp_sampler_count_of(sampler, member->peer.at, ret_counts, &unknown);
}

int xp_cpu_member_fd(const struct xp_cpu_member *member)
{
	for (size_t i = 0; i < member->peer.at; i++)
		if (member->peer.group->members[i])
			return -1;
	return xp_sampler_fd(xp_cpu_member_sampler(member));
}
