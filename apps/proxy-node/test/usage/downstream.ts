import { USAGE_QUEUE, type UsageJob } from '@tollgate/contracts';
import { Worker } from 'bullmq';
import { z } from 'zod';
import type { MeteredRedis } from './metered-redis.ts';

const payloadSchema = z.looseObject({
  kind: z.string(),
  node: z.string().optional(),
  outcome: z.string().optional(),
});

export interface SeenEvent {
  delta: number;
  kind: string;
  outcome: string | undefined;
  /** Counts the times that it arrived; PostgreSQL counts it once. */
  copies: number;
}

/** Stands where PostgreSQL stands: keeps each (rid, seq) once, then acknowledges it, copies too. */
export class Downstream {
  readonly events = new Map<string, SeenEvent>();
  isAcknowledging = true;
  readonly #world: MeteredRedis;
  readonly #worker: Worker<UsageJob>;

  constructor(world: MeteredRedis) {
    this.#world = world;
    this.#worker = new Worker<UsageJob>(USAGE_QUEUE, async ({ data }) => this.#take(data), {
      connection: world.connect('queue_worker'),
      prefix: '{bull}',
      maxStalledCount: 1_000_000,
    });
    this.#worker.on('error', () => undefined);
  }

  /** Sums what was charged for one request. */
  chargeOf(rid: string): number {
    return [...this.events]
      .filter(([key]) => key.startsWith(`${rid}:`))
      .reduce((sum, [, event]) => sum + event.delta, 0);
  }

  get total(): number {
    return [...this.events.values()].reduce((sum, event) => sum + event.delta, 0);
  }

  async close(): Promise<void> {
    await this.#worker.close(true);
  }

  async #take({ events }: UsageJob): Promise<void> {
    const byNode = new Map<string, { rid: string; seq: number }[]>();
    for (const event of events) {
      const key = `${event.rid}:${event.seq}`;
      const payload = payloadSchema.parse(JSON.parse(event.payload));
      const seen = this.events.get(key);
      if (seen && seen.delta !== Number(event.delta))
        throw new Error(`${key} changed from ${seen.delta} to ${event.delta}`);
      if (seen) seen.copies += 1;
      else
        this.events.set(key, {
          delta: Number(event.delta),
          kind: payload.kind,
          outcome: payload.outcome,
          copies: 1,
        });
      if (payload.node)
        byNode.set(payload.node, [
          ...(byNode.get(payload.node) ?? []),
          { rid: event.rid, seq: Number(event.seq) },
        ]);
    }
    if (this.isAcknowledging)
      for (const [node, acknowledgements] of byNode)
        await this.#world.acknowledgements.push(node, acknowledgements);
  }
}
