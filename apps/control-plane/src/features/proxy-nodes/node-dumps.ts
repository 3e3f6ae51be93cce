import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { NodeDump } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import { NodeRegistry } from './node-registry.ts';
import type { DumpQuery } from './proxy-nodes.dto.ts';

/** A node answers from memory. One that takes longer is stuck, and the caller gets an error. */
const WAIT_MS = 2_000;
const LOOK_MS = 50;

/** Holds the memory of one worker; `dump` is null when it did not answer in time. */
export interface WorkerDump {
  id: number;
  name: string;
  worker: number;
  dump: NodeDump | null;
}

/** Requests the in-memory tables of nodes' live workers over the fleet channel and collects the answers. */
@Injectable()
export class NodeDumps {
  constructor(
    private readonly fleet: FleetStore,
    private readonly registry: NodeRegistry,
  ) {}

  async ask(
    nodes: readonly { id: number; name: string }[],
    query: Pick<DumpQuery, 'page' | 'page_size'> & {
      table: string | null;
      account_id?: number | undefined;
    },
  ): Promise<WorkerDump[]> {
    await this.registry.look();
    const workers = nodes.flatMap(({ id, name }) =>
      this.registry.watch
        .workersOf(name)
        .filter(({ isLive }) => isLive)
        .map(({ report }) => ({ id, name, worker: report.worker })),
    );
    const requestId = randomUUID();
    const only = nodes.length === 1 ? nodes[0] : undefined;
    await this.fleet.announce({
      kind: 'dump',
      node: only?.name ?? null,
      request_id: requestId,
      table: query.table,
      page: query.page,
      page_size: query.page_size,
      ...(query.account_id !== undefined && { account_id: query.account_id }),
    });
    const dumps = await this.collect(requestId, workers);
    return workers.map((worker) => ({
      ...worker,
      dump:
        dumps.find((dump) => dump.name === worker.name && dump.worker === worker.worker) ?? null,
    }));
  }

  private async collect(
    requestId: string,
    workers: readonly { name: string; worker: number }[],
  ): Promise<NodeDump[]> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const dumps = await this.fleet.readDumps(requestId, workers);
      if (dumps.length === workers.length || performance.now() >= deadline) return dumps;
      await sleep(LOOK_MS);
    }
  }
}
