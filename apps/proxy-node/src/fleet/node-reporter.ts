import {
  FORMATS,
  hashCredential,
  NODE_ABILITIES,
  READ_FORMATS,
  proveReport,
  REPORTED_UPSTREAMS_MAX,
  shardsAbility,
  type FormatNumbers,
  type DesiredNodeState,
  type NodeReport,
} from '@tollgate/contracts';
import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { Gate } from '../pipeline/request/gate.ts';

/** `FleetStore` of libs/keyspace. */
export interface FleetPort {
  writeReport(report: NodeReport): Promise<void>;
  getDesired(name: string): Promise<DesiredNodeState | null>;
  measureRedis(): Promise<{ roundTripMs: number; clockAheadMs: number }>;
}

export interface NodeIdentity {
  name: string;
  worker: number;
  instance: string;
  url: string | null;
  credential: string;
  software: string;
  shards: number;
  startedAtMs: number;
}

export interface NodeReporterParts {
  fleet: FleetPort;
  gate: Gate;
  follower: SnapshotFollower;
  unacknowledged: () => number;
  /** Worst first. */
  journalsSetAside: () => number;
  failingUpstreams: () => NonNullable<NodeReport['upstreams']>;
  doubtedUpstreams: () => NonNullable<NodeReport['doubted']>;
  identity: NodeIdentity;
  periodMs: number;
  log: Logger;
}

/** Reports the state of this node to the fleet and applies its desired state. While Redis is away the last known desired state applies. */
export class NodeReporter {
  readonly #parts: NodeReporterParts;
  readonly #credentialHash: string;
  #timer: NodeJS.Timeout | null = null;
  /** Of the report before: a report does not wait for it. */
  #redis: NodeReport['redis'];
  #isFailing = false;
  /** What every process reads, as the control plane last reported it. */
  #formats: FormatNumbers = {};

  constructor(parts: NodeReporterParts) {
    this.#parts = parts;
    this.#credentialHash = hashCredential(parts.identity.credential);
  }

  start(): void {
    void this.report();
    this.#timer = setInterval(() => void this.report(), this.#parts.periodMs);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  /** Never throws: an unheard report is made up for by the next. */
  async report(): Promise<void> {
    const { fleet, identity, log } = this.#parts;
    try {
      await fleet.writeReport(this.#compose());
      const [desired, { roundTripMs, clockAheadMs }] = await Promise.all([
        fleet.getDesired(identity.name),
        fleet.measureRedis(),
      ]);
      this.#redis = {
        round_trip_ms: Math.round(roundTripMs * 100) / 100,
        clock_ahead_ms: Math.round(clockAheadMs),
      };
      this.#follow(desired);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn({ err: error }, 'the node report cannot be written');
      this.#isFailing = true;
    }
  }

  /** A node without a desired state is not part of the fleet yet: it waits for its registration. */
  #follow(desired: DesiredNodeState | null): void {
    const { gate, log } = this.#parts;
    this.#formats = desired?.formats ?? {};
    const before = gate.closure;
    switch (desired?.state) {
      case 'serve':
        gate.want(null);
        break;
      case 'stopped':
      case 'disabled':
        gate.want(desired.state);
        break;
      case 'unknown':
        gate.want('removed');
        break;
      case undefined:
        gate.want('unregistered');
        break;
    }
    if (gate.closure !== before)
      log.info({ from: before ?? 'serving', to: gate.closure ?? 'serving' }, 'node state changed');
  }

  #compose(): NodeReport {
    const {
      gate,
      follower,
      identity,
      unacknowledged,
      failingUpstreams,
      doubtedUpstreams,
      journalsSetAside,
    } = this.#parts;
    const snapshot = follower.current?.snapshot;
    const report: Omit<NodeReport, 'proof'> = {
      name: identity.name,
      worker: identity.worker,
      instance: identity.instance,
      url: identity.url,
      state: reportedState(gate),
      version: snapshot?.version ?? 0,
      checksum: snapshot?.checksum ?? '',
      applied_at: follower.appliedAt,
      refused: follower.refused,
      started_at: identity.startedAtMs,
      reported_at: Date.now(),
      in_flight: gate.inFlight,
      unacknowledged: unacknowledged(),
      software: identity.software,
      lineage: follower.standing?.lineage ?? 0,
      abilities: [...NODE_ABILITIES, ...READ_FORMATS, shardsAbility(identity.shards)],
      journals_set_aside: journalsSetAside(),
      upstreams: failingUpstreams().slice(0, REPORTED_UPSTREAMS_MAX),
      doubted: doubtedUpstreams().slice(0, REPORTED_UPSTREAMS_MAX),
      ...((this.#formats['report'] ?? 1) >= FORMATS.report && {
        format: FORMATS.report,
        ...(this.#redis && { redis: this.#redis }),
      }),
    };
    return { ...report, proof: proveReport(report, this.#credentialHash) };
  }
}

function reportedState({ closure }: Gate): NodeReport['state'] {
  switch (closure) {
    case 'draining':
    case 'stopped':
    case 'disabled':
      return closure;
    case 'unregistered':
    case 'removed':
    case null:
      return 'online';
  }
}
