import {
  controlPlaneReportSchema,
  desiredNodeStateSchema,
  laterFormat,
  nodeDumpSchema,
  nodeReportSchema,
  type ControlPlaneReport,
  type DesiredNodeState,
  type FleetMessage,
  type NodeDump,
  type NodeReport,
} from '@tollgate/contracts';
import {
  snapshotSealSchema,
  verifySnapshot,
  type PublishedSnapshot,
  type SnapshotSeal,
  type SnapshotVerdict,
} from '@tollgate/snapshot';
import type { z } from 'zod';
import type { FunctionLibrary } from './functions/function-library.ts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { parseFleetMessage } from './fleet-message.ts';
import { keys, nodeAddress } from './keys.ts';
import { ReplyReader } from './connection/reply-reader.ts';

const DUMP_TTL_MS = 30_000;

interface ReportAge {
  nowMs: number;
  ageMaxMs: number;
}

export type PublishReply = { kind: 'published' } | { kind: 'stale'; currentVersion: number };

/** Exchanges configuration between control plane and nodes. All of it lives in the one slot `{fleet}`. */
export class FleetStore {
  readonly #redis: RedisConnection;
  readonly #library: FunctionLibrary;

  constructor({ redis, library }: { redis: RedisConnection; library: FunctionLibrary }) {
    this.#redis = redis;
    this.#library = library;
  }

  // The next methods exchange snapshots.

  /**
   * Makes a snapshot current and announces it. A version older than the current one is refused as stale and not announced, unless the caller
   * knows that the current one is forged or of a lower lineage (`isForced`).
   */
  async publish(
    snapshot: PublishedSnapshot,
    seal: SnapshotSeal,
    { isForced = false } = {},
  ): Promise<PublishReply> {
    const { version } = snapshot;
    const reply = await this.#library.call(
      'publish',
      [keys.currentSnapshot, keys.snapshot(version), keys.snapshotSeal(version)],
      [
        ...[version, JSON.stringify(snapshot), JSON.stringify(seal)],
        ...[keys.snapshotPrefix, keys.snapshotSealSuffix, isForced ? 1 : 0],
      ],
    );
    const reader = new ReplyReader(reply);
    if (reader.oneOf('OK', 'STALE') === 'STALE')
      return { kind: 'stale', currentVersion: reader.integer() };
    await this.announce({ kind: 'snapshot', version });
    return { kind: 'published' };
  }

  /** Returns null before the first publication, after Redis lost its data, and when what stands there is no version. */
  async currentVersion(): Promise<number | null> {
    return versionOf(await this.#text(keys.currentSnapshot));
  }

  /** Is true when the key of the current version holds no version: another program wrote it. */
  async isCurrentUnreadable(): Promise<boolean> {
    const text = await this.#text(keys.currentSnapshot);
    return text !== null && versionOf(text) === null;
  }

  /** Returns the seal, which the caller must judge with `sealFault`; null when there is none. */
  async fetchSeal(version: number): Promise<SnapshotSeal | null> {
    const text = await this.#text(keys.snapshotSeal(version));
    return text === null ? null : readJson(text, snapshotSealSchema);
  }

  /** Returns a snapshot that is verified by format, schema and checksum; null when Redis no longer has this version. */
  async fetchSnapshot(version: number): Promise<SnapshotVerdict | null> {
    const text = await this.#text(keys.snapshot(version));
    return text === null ? null : verifySnapshot(parseJson(text));
  }

  /** Returns '' for a key of another type, which only another program makes: publishing writes over it. */
  async #text(key: string): Promise<string | null> {
    try {
      return await this.#redis.get(key);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return '';
      throw error;
    }
  }

  // The next methods exchange messages.

  async announce(message: FleetMessage): Promise<void> {
    await this.#redis.publish(keys.fleetChannel, JSON.stringify(message));
  }

  /**
   * Listens on a connection of its own (role `subscriber`), which subscribes again by itself after a reconnect. Messages sent meanwhile are lost: pull periodically.
   * Drops a message that cannot be read, such as one of a later release. `onMessage` must not throw.
   */
  async subscribe(
    subscriber: RedisConnection,
    onMessage: (message: FleetMessage) => void,
  ): Promise<void> {
    subscriber.on('message', (_channel: string, text: string) => {
      const message = parseFleetMessage(parseJson(text));
      if (message) onMessage(message);
    });
    await subscriber.subscribe(keys.fleetChannel);
  }

  // The next methods exchange states of nodes.

  async writeReport(report: NodeReport): Promise<void> {
    await this.#redis.hset(
      keys.nodes,
      nodeAddress(report.name, report.worker),
      JSON.stringify(report),
    );
  }

  /** Returns the reports not older than `ageMaxMs` that can be read. */
  async listReports(age: ReportAge): Promise<NodeReport[]> {
    return (await this.#sortReports(age)).fresh;
  }

  /** Does the same as `listReports`, and removes the others but for reports of a later format. Only for the control plane: no other process may decide that a node is forgotten. */
  async pruneReports(age: ReportAge): Promise<NodeReport[]> {
    const { fresh, others } = await this.#sortReports(age);
    if (others.length > 0) await this.#redis.hdel(keys.nodes, ...others);
    return fresh;
  }

  /** Removes the reports of all workers of a node. */
  async removeReports(name: string): Promise<void> {
    const addresses = (await this.#redis.hkeys(keys.nodes)).filter((address) =>
      address.startsWith(`${name}:`),
    );
    if (addresses.length > 0) await this.#redis.hdel(keys.nodes, ...addresses);
  }

  /** Stores the desired state of a node and notifies it at once. */
  async setDesired(name: string, desired: DesiredNodeState): Promise<void> {
    await this.#redis.hset(keys.desired, name, JSON.stringify(desired));
    await this.announce({ kind: 'desired', node: name });
  }

  /** Returns null for a node without a desired state. */
  async getDesired(name: string): Promise<DesiredNodeState | null> {
    const text = await this.#redis.hget(keys.desired, name);
    return text === null ? null : readJson(text, desiredNodeStateSchema);
  }

  /** Measures how long Redis takes to answer, and by how much this process' clock is ahead of Redis' in the middle of that time. */
  async measureRedis(): Promise<{ roundTripMs: number; clockAheadMs: number }> {
    const sentAtMs = Date.now();
    const startedAt = performance.now();
    const [seconds, microseconds] = await this.#redis.time();
    const roundTripMs = performance.now() - startedAt;
    const redisMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    return { roundTripMs, clockAheadMs: sentAtMs + roundTripMs / 2 - redisMs };
  }

  /** Returns all decisions, by node name; one that cannot be read counts as absent. */
  async listDesired(): Promise<Map<string, DesiredNodeState>> {
    const texts = await this.#redis.hgetall(keys.desired);
    return new Map(
      Object.entries(texts).flatMap(([name, text]) => {
        const desired = readJson(text, desiredNodeStateSchema);
        return desired ? [[name, desired] as const] : [];
      }),
    );
  }

  async removeDesired(name: string): Promise<void> {
    await this.#redis.hdel(keys.desired, name);
  }

  // The next methods exchange reports of control planes.

  async writeControlPlane(instance: string, report: ControlPlaneReport): Promise<void> {
    await this.#redis.hset(keys.controlPlanes, instance, JSON.stringify(report));
  }

  async removeControlPlanes(...instances: string[]): Promise<void> {
    if (instances.length > 0) await this.#redis.hdel(keys.controlPlanes, ...instances);
  }

  /** Maps instances to their reports; null for a report that cannot be read. */
  async listControlPlanes(): Promise<Map<string, ControlPlaneReport | null>> {
    const texts = await this.#redis.hgetall(keys.controlPlanes);
    return new Map(
      Object.entries(texts).map(([instance, text]) => [
        instance,
        readJson(text, controlPlaneReportSchema),
      ]),
    );
  }

  // The next methods exchange answers to `dump`.

  async writeDump(dump: NodeDump): Promise<void> {
    await this.#redis.set(
      keys.dump(dump.request_id, nodeAddress(dump.name, dump.worker)),
      JSON.stringify(dump),
      'PX',
      DUMP_TTL_MS,
    );
  }

  /** Returns the answers of these workers that have arrived so far. */
  async readDumps(
    requestId: string,
    workers: readonly Pick<NodeReport, 'name' | 'worker'>[],
  ): Promise<NodeDump[]> {
    if (workers.length === 0) return [];
    const texts = await this.#redis.mget(
      workers.map(({ name, worker }) => keys.dump(requestId, nodeAddress(name, worker))),
    );
    return texts.flatMap((text) => (text === null ? [] : (readJson(text, nodeDumpSchema) ?? [])));
  }

  async #sortReports({
    nowMs,
    ageMaxMs,
  }: ReportAge): Promise<{ fresh: NodeReport[]; others: string[] }> {
    const texts = await this.#redis.hgetall(keys.nodes);
    const fresh: NodeReport[] = [];
    const others: string[] = [];
    for (const [address, text] of Object.entries(texts)) {
      const raw = parseJson(text);
      const report = nodeReportSchema.safeParse(raw).data;
      // A copy under another address, of a report that was once proven, would stand beside its node's own.
      const isInPlace = report && address === `${report.name}:${report.worker}`;
      if (isInPlace && report.reported_at >= nowMs - ageMaxMs) fresh.push(report);
      else if (laterFormat('report', raw) === null) others.push(address);
    }
    return { fresh, others };
  }
}

function versionOf(text: string | null): number | null {
  const version = Number(text ?? 0);
  return Number.isSafeInteger(version) && version > 0 ? version : null;
}

function readJson<T>(text: string, schema: z.ZodType<T>): T | null {
  const parsed = schema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
