import type { NodeResponse } from './node-answers.ts';
import type { NodeWatch, SeenWorker } from './node-watch.ts';
import type { ProxyNode } from './proxy-node.entity.ts';

/** Describes a node as PostgreSQL wants it and as its workers last said it is. */
export function toNodeResponse(row: ProxyNode, watch: NodeWatch): NodeResponse {
  const workers = watch.workersOf(row.name);
  const live = workers.filter((worker) => worker.isLive).map((worker) => worker.report);
  const behind = live.toSorted((a, b) => a.version - b.version)[0];
  return {
    ...toNodeRecord(row),
    url: row.url ?? live.find((report) => report.url !== null)?.url ?? null,
    state: watch.stateOf(row),
    version: behind?.version ?? null,
    checksum: behind?.checksum ?? null,
    applied_at: behind && behind.applied_at > 0 ? new Date(behind.applied_at).toISOString() : null,
    in_flight: live.reduce((sum, report) => sum + report.in_flight, 0),
    unacknowledged: live.reduce((sum, report) => sum + report.unacknowledged, 0),
    workers: workers.map(toWorkerResponse),
  };
}

/** Returns the stored side alone, for the activity log. */
export function toNodeRecord(row: ProxyNode) {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    enabled: row.enabled,
    stopped: row.stopped,
    self_registered: row.isSelfRegistered,
    last_seen_at: row.lastSeenAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

function toWorkerResponse({ report, isLive }: SeenWorker): NodeResponse['workers'][number] {
  return {
    worker: report.worker,
    instance: report.instance,
    state: isLive ? report.state : 'offline',
    version: report.version,
    checksum: report.checksum,
    applied_at: report.applied_at > 0 ? new Date(report.applied_at).toISOString() : null,
    refused: report.refused,
    in_flight: report.in_flight,
    unacknowledged: report.unacknowledged,
    software: report.software,
    redis_round_trip_ms: report.redis?.round_trip_ms ?? null,
    clock_ahead_ms: report.redis?.clock_ahead_ms ?? null,
    started_at: new Date(report.started_at).toISOString(),
    reported_at: new Date(report.reported_at).toISOString(),
  };
}
