import {
  credentialMark,
  hashCredential,
  NODE_ABILITIES,
  READ_FORMATS,
  proveReport,
  REPORTED_UPSTREAMS_MAX,
  clockAbility,
  shardsAbility,
  type DesiredNodeState,
  type NodeReport,
} from '@tollgate/contracts';
import type { Logger } from 'pino';
import type { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import type { Closure, Gate } from '../pipeline/request/gate.ts';

/** Is `FleetStore` of libs/keyspace. */
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
  journalsSetAside: () => number;
  /** Returns the failing upstreams, the worst one first. */
  failingUpstreams: () => NodeReport['upstreams'];
  doubtedUpstreams: () => NodeReport['doubted'];
  /** Returns 0 while the node's clock agrees with those of its providers. */
  clockAheadMs: () => number;
  identity: NodeIdentity;
  periodMs: number;
  log: Logger;
}

/** Gives the remedy for a node that the fleet does not let serve. */
const REMEDIES = {
  wrong_credential: (name: string): string =>
    `NODE_CREDENTIAL is not the credential of node ${name}: its reports and its usage are not believed, so it takes no requests. Fix: start it with the credential that NODE_CREDENTIALS of the control plane has for ${name}, or with a new one from "tollgate-ops rotate node ${name}"; a node without a credential of its own needs FLEET_CREDENTIAL.`,
  removed: (name: string): string =>
    `node ${name} was removed from the fleet, so it takes no requests. Fix: register it again with "tollgate nodes create ${name}", and start it with the NODE_CREDENTIAL that this prints.`,
} as const;

/** Reports the state of this node to the fleet and applies its desired state. While Redis is away the last known desired state applies. */
export class NodeReporter {
  readonly #parts: NodeReporterParts;
  readonly #credentialHash: string;
  /** Is true when the last desired state does not accept this node's credential. */
  #hasWrongCredential = false;
  #timer: NodeJS.Timeout | null = null;
  /** Is the state at the previous report, so that a report does not wait for a new measurement. */
  #redis: NodeReport['redis'] = null;
  #isFailing = false;

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

  /** Never throws: the next report replaces one that was lost. */
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

  /** A node without a desired state is not part of the fleet yet and waits for its registration. */
  #follow(desired: DesiredNodeState | null): void {
    const { gate, log, identity } = this.#parts;
    const before = gate.closure;
    const mark = credentialMark(identity.name, this.#credentialHash);
    if (desired?.credentials) this.#hasWrongCredential = !desired.credentials.includes(mark);
    gate.want(this.#hasWrongCredential ? 'wrong_credential' : closureBy(desired));
    const { closure } = gate;
    if (closure === before) return;
    log.info({ from: before ?? 'serving', to: closure ?? 'serving' }, 'node state changed');
    if (closure === 'wrong_credential' || closure === 'removed')
      log.error(REMEDIES[closure](identity.name));
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
      clockAheadMs,
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
      abilities: abilitiesOf(identity.shards, clockAheadMs()),
      journals_set_aside: journalsSetAside(),
      upstreams: failingUpstreams().slice(0, REPORTED_UPSTREAMS_MAX),
      doubted: doubtedUpstreams().slice(0, REPORTED_UPSTREAMS_MAX),
      redis: this.#redis,
    };
    return { ...report, proof: proveReport(report, this.#credentialHash) };
  }
}

function abilitiesOf(shards: number, aheadMs: number): string[] {
  const clock = aheadMs === 0 ? [] : [clockAbility(aheadMs)];
  return [...NODE_ABILITIES, ...READ_FORMATS, shardsAbility(shards), ...clock];
}

/** Returns null when the node may serve. */
function closureBy(desired: DesiredNodeState | null): Exclude<Closure, 'draining'> | null {
  switch (desired?.state) {
    case 'serve':
      return null;
    case 'stopped':
    case 'disabled':
      return desired.state;
    case 'unknown':
      return 'removed';
    case undefined:
      return 'unregistered';
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
    case 'wrong_credential':
    case null:
      return 'online';
  }
}
