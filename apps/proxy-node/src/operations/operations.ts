import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { Gate } from '../pipeline/request/gate.ts';
import type { Metrics, Scrape } from './metrics.ts';
import type { Served } from '../observe/observed-request.ts';

/** Serves the node's reports to its operators. */
export class Operations {
  readonly gate: Gate;
  readonly log: Logger;
  readonly #follower: SnapshotFollower;
  readonly #metrics: Metrics;
  readonly #scrape: () => Promise<string>;
  readonly #meteringRefusal: () => string | null;

  /** `scrape` returns the metrics of the whole node. */
  constructor({
    gate,
    follower,
    metrics,
    scrape,
    meteringRefusal,
    log,
  }: {
    gate: Gate;
    follower: SnapshotFollower;
    metrics: Metrics;
    scrape: () => Promise<string>;
    meteringRefusal: () => string | null;
    log: Logger;
  }) {
    this.gate = gate;
    this.log = log;
    this.#follower = follower;
    this.#metrics = metrics;
    this.#scrape = scrape;
    this.#meteringRefusal = meteringRefusal;
  }

  /** A node that cannot meter is not ready either, because another node may still reach its Redis. */
  readiness(): {
    ready: boolean;
    state: string;
    metering: string;
    snapshot_version: number | null;
  } {
    const refusal = this.#meteringRefusal();
    return {
      ready: this.gate.isReady && refusal === null,
      state: this.gate.closure ?? 'serving',
      metering: refusal ?? 'ok',
      snapshot_version: this.#follower.current?.snapshot.version ?? null,
    };
  }

  metrics(headers: Parameters<Metrics['respond']>[0]): Promise<Scrape> {
    return this.#metrics.respond(headers, this.#scrape);
  }

  served(served: Served): void {
    this.#metrics.served(served);
  }
}
