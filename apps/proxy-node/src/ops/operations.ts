import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { Gate } from './gate.ts';
import type { Metrics } from './metrics.ts';

/** What the node tells those who run it. */
export class Operations {
  readonly gate: Gate;
  readonly log: Logger;
  readonly #follower: SnapshotFollower;
  readonly #metrics: Metrics;

  constructor({ gate, follower, metrics, log }: { gate: Gate; follower: SnapshotFollower; metrics: Metrics; log: Logger }) {
    this.gate = gate;
    this.log = log;
    this.#follower = follower;
    this.#metrics = metrics;
  }

  readiness(): { ready: boolean; state: string; snapshot_version: number | null } {
    return { ready: this.gate.isReady, state: this.gate.closure ?? 'serving', snapshot_version: this.#follower.current?.snapshot.version ?? null };
  }

  metrics(authorization: string | undefined): Promise<Response> {
    return this.#metrics.respond(authorization);
  }
}
