import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { FleetStore } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { SnapshotRepository, type SnapshotHead } from '../snapshots/snapshot-repository.sql.ts';
import { SnapshotPublisher } from '../snapshots/snapshot-publisher.ts';
import type { SyncedNode, SyncResult } from './node-answers.ts';
import { NodeRegistry } from './node-registry.ts';
import type { KnownNode, SeenWorker } from './node-watch.ts';

const WAIT_MS = 10_000;
const LOOK_MS = 100;

/** Publishes, and waits until every node has proved which configuration it runs. Administrators act on the answer, so it is never a guess. */
@Injectable()
export class FleetSync {
  constructor(
    private readonly dataSource: DataSource,
    private readonly publisher: SnapshotPublisher,
    private readonly repository: SnapshotRepository,
    private readonly registry: NodeRegistry,
    private readonly fleet: FleetStore,
  ) {}

  /** Syncs the nodes that `isWanted` selects; the caller has checked that they exist. */
  async sync(isWanted: (node: KnownNode) => boolean): Promise<SyncResult> {
    const head = await this.publisher.publish();
    const known = await this.registry.look();
    const nodes = [...known.nodes.values()].filter(isWanted);
    // Only reports from now on count: the last report may come from a process that has died since.
    const said = new Map(
      nodes
        .flatMap((node) => this.registry.watch.workersOf(node.name))
        .map((worker) => [workerKey(worker), worker.report.reported_at]),
    );
    const isNews = (worker: SeenWorker): boolean =>
      said.get(workerKey(worker)) !== worker.report.reported_at;
    await this.fleet.announce({ kind: 'snapshot', version: head.version });
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      await this.registry.look();
      const results = await Promise.all(nodes.map((node) => this.judge(node, head, isNews)));
      if (
        results.every(
          (node) =>
            node.outcome === 'applied' || node.outcome === 'offline' || node.outcome === 'failed',
        ) ||
        performance.now() >= deadline
      )
        return {
          version: head.version,
          checksum: head.checksum,
          pinned_version: head.pinnedVersion,
          nodes: results,
        };
      await sleep(LOOK_MS);
    }
  }

  private async judge(
    node: KnownNode,
    head: SnapshotHead,
    isNews: (worker: SeenWorker) => boolean,
  ): Promise<SyncedNode> {
    const workers = this.registry.watch.workersOf(node.name);
    const live = workers.filter((worker) => worker.isLive);
    const last = (live.length > 0 ? live : workers).toSorted(
      (a, b) => a.report.version - b.report.version,
    )[0]?.report;
    const said = {
      id: node.id,
      name: node.name,
      version: last?.version ?? null,
      applied_at: last && last.applied_at > 0 ? new Date(last.applied_at).toISOString() : null,
    };
    if (live.length === 0) return { ...said, outcome: 'offline' };
    const applied = await Promise.all(
      live.map(async (worker) => isNews(worker) && (await this.runs(worker, head))),
    );
    if (applied.every(Boolean)) return { ...said, outcome: 'applied' };
    return {
      ...said,
      outcome: live.some((worker) => isNews(worker) && worker.report.refused !== null)
        ? 'failed'
        : 'timeout',
    };
  }

  /** A later version also contains this version's changes, provided that this installation published it. */
  private async runs({ report }: SeenWorker, head: SnapshotHead): Promise<boolean> {
    if (report.version < head.version) return false;
    const checksum =
      report.version === head.version
        ? head.checksum
        : await this.repository.checksumOfVersion(this.dataSource.manager, report.version);
    return report.checksum === checksum;
  }
}

function workerKey({ report }: SeenWorker): string {
  return `${report.name}:${report.worker}:${report.instance}`;
}
