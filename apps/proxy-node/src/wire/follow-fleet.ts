import { randomUUID } from 'node:crypto';
import { createControlPlaneMac, encryptionKeysOf, VERSION } from '@tollgate/contracts';
import { IncidentReports, nodeAddress } from '@tollgate/keyspace';
import { fleetListener } from '../fleet/fleet-listener.ts';
import { IncidentReporter } from '../fleet/incident-reporter.ts';
import { composeDump } from '../fleet/node-dump.ts';
import { NodeReporter } from '../fleet/node-reporter.ts';
import { nodeTables } from '../fleet/node-tables.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { largestOf } from '../upstream/identity/provider-tokens.ts';
import type { Foundation } from './foundation.ts';
import type { Serving } from './serving.ts';

const SOFTWARE = `tollgate/${VERSION}`;

/** Reports the node to the control plane, and applies what the control plane and other nodes announce. */
export function followFleet(foundation: Foundation, serving: Serving): NodeReporter {
  const { config, fleet, recorder, follower, log } = foundation;
  const { gate, pools, tokens, health, trust } = serving;
  const identity = {
    name: config.NODE_NAME,
    worker: config.NODE_WORKER,
    instance: randomUUID(),
    url: config.PUBLIC_URL ?? null,
    credential: config.NODE_CREDENTIAL,
    software: SOFTWARE,
    shards: config.SHARDS,
    startedAtMs: Date.now(),
  };
  const reporter = new NodeReporter({
    fleet,
    gate,
    follower,
    unacknowledged: () => recorder.state.unacknowledged,
    journalsSetAside: () => recorder.state.journalsSetAside,
    failingUpstreams: () => health.failing(monotonicMs()),
    doubtedUpstreams: () => trust.doubted(monotonicMs()),
    clockAheadMs: () => largestOf([tokens.clockAheadMs, ...pools.clocksAheadMs]),
    identity,
    periodMs: config.REPORT_MS,
    log,
  });
  follower.onApplied((index) => {
    const { document } = index.snapshot;
    const upstreamIds = new Set(document.upstreams.map(({ id }) => id));
    pools.retain(index.served);
    tokens.retain(pools.identified(index.served));
    trust.retain(upstreamIds);
    health.retain(document);
    void reporter.report();
  });
  listen(foundation, serving, { reporter, identity });
  return reporter;
}

/** Reports incidents of this node from now on. */
export function reportIncidents({ config, redis, incidents, log }: Foundation): IncidentReporter {
  const { NODE_NAME: name, NODE_WORKER: worker, NODE_CREDENTIAL: credential } = config;
  const node = nodeAddress(name, worker);
  const reports = new IncidentReports(redis.plain);
  const reporter = new IncidentReporter({ incidents, reports, node, credential, log });
  reporter.start();
  return reporter;
}

function listen(
  { config, redis, fleet, recorder, follower, log }: Foundation,
  { health, trust, restNews, denials, waits, pipeline }: Serving,
  { reporter, identity }: { reporter: NodeReporter; identity: Parameters<typeof composeDump>[2] },
): void {
  const tables = nodeTables({
    follower,
    health,
    trust,
    denials,
    denialsMax: config.DENY_CACHE_MAX,
    waits,
    waitersMax: config.RECHARGE_WAITERS_MAX,
    running: pipeline.running,
  });
  const mac = createControlPlaneMac(encryptionKeysOf(config));
  const listener = fleetListener({
    name: config.NODE_NAME,
    follower,
    reporter,
    dump: (request) => fleet.writeDump(composeDump(tables, request, identity)),
    endRequest: (ended) => {
      if (mac.isSigned('end-request', [ended.rid], ended.mac)) pipeline.end(ended.rid);
    },
    keyChanged: (keyHash) => (denials.forget(keyHash), recorder.keyChanged(keyHash)),
    subscriptionChanged: (subscription) => waits.changed(subscription),
    shardFilled: (shard, epoch) => recorder.shardFilled(shard, epoch),
    rest: (message) => restNews.hear(message, health, monotonicMs()),
    log,
  });
  fleet
    .subscribe(redis.subscriber, listener)
    .catch((error: unknown) =>
      log.error({ err: error }, 'the fleet channel cannot be followed; pulling only'),
    );
}
