import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlaneMac } from '@tollgate/contracts';
import {
  sealFault,
  type PublishedSnapshot,
  type SnapshotSeal,
  type SnapshotStanding,
  type SnapshotVerdict,
} from '@tollgate/snapshot';
import type { Logger } from 'pino';
import { RoutingIndex } from './routing-index.ts';
import type { SnapshotFile } from './snapshot-file.ts';

const FIRST_PULL_MS = 2_000;

/** Reads published snapshots; `FleetStore` of libs/keyspace implements it. */
export interface SnapshotSource {
  currentVersion(): Promise<number | null>;
  /** Returns the snapshot, checked by format, schema and checksum; null when a newer one replaced this version. */
  fetchSnapshot(version: number): Promise<SnapshotVerdict | null>;
  /** Returns null when it has none. */
  fetchSeal(version: number): Promise<SnapshotSeal | null>;
}

/**
 * Keeps the node on the newest published snapshot: looks on every message and periodically, judges before it uses, swaps whole, and keeps
 * the last good one on disk. A refused snapshot changes nothing but `refused`, which the node's report shows. Redis is not trusted: a snapshot
 * without the control plane's seal, or older than what this node has run, is refused.
 */
export class SnapshotFollower {
  #current: RoutingIndex | null = null;
  #standing: SnapshotStanding | null = null;
  #appliedAt = 0;
  #refused: { version: number; text: string } | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pulling: Promise<void> | null = null;
  #isPullWanted = false;
  #isReloadWanted = false;
  readonly #listeners: ((index: RoutingIndex) => void)[] = [];
  readonly #source: SnapshotSource;
  readonly #file: SnapshotFile;
  readonly #mac: ControlPlaneMac;
  readonly #log: Logger;
  readonly #pullMs: number;

  constructor({
    source,
    file,
    mac,
    log,
    pullMs,
  }: {
    source: SnapshotSource;
    file: SnapshotFile;
    mac: ControlPlaneMac;
    log: Logger;
    pullMs: number;
  }) {
    this.#source = source;
    this.#file = file;
    this.#mac = mac;
    this.#log = log;
    this.#pullMs = pullMs;
  }

  /** Is null until the first good snapshot was found. */
  get current(): RoutingIndex | null {
    return this.#current;
  }

  /** Identifies the last sealed snapshot that was applied; null before the first. */
  get standing(): SnapshotStanding | null {
    return this.#standing;
  }

  get appliedAt(): number {
    return this.#appliedAt;
  }

  get refused(): string | null {
    return this.#refused?.text ?? null;
  }

  onApplied(listener: (index: RoutingIndex) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Starts from disk, then follows. It looks for a published version first, for a short time: a node that once reported a version must not serve an
   * older one from its disk after a restart.
   */
  async start(): Promise<void> {
    this.#standing = await this.#file.loadStanding();
    const saved = await this.#file.load();
    if (saved) this.#apply(saved);
    await Promise.race([this.pull(), delay(FIRST_PULL_MS, undefined, { ref: false })]);
    this.#timer = setInterval(() => void this.pull(), this.#pullMs);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  /** Looks for a newer snapshot. Calls during a look cause one more look after it, so that no message is missed. */
  pull(): Promise<void> {
    if (this.#pulling) {
      this.#isPullWanted = true;
      return this.#pulling;
    }
    this.#pulling = this.#pullUntilQuiet().finally(() => (this.#pulling = null));
    return this.#pulling;
  }

  /** Fetches and applies the current version again, also when it is in use. */
  reload(): Promise<void> {
    this.#isReloadWanted = true;
    return this.pull();
  }

  async #pullUntilQuiet(): Promise<void> {
    do {
      this.#isPullWanted = false;
      try {
        await this.#pullOnce();
      } catch (error) {
        this.#log.warn({ err: error }, 'snapshot pull failed; serving the last good one');
        return;
      }
    } while (this.#isPullWanted);
  }

  async #pullOnce(): Promise<void> {
    const version = await this.#source.currentVersion();
    if (version === null) return;
    // A snapshot that was refused under the number of the version in use is checked again, so that the refusal lasts as long as its reason.
    const isWanted = this.#isReloadWanted || this.#refused?.version === version;
    if (version === this.#current?.snapshot.version && !isWanted) {
      this.#refused = null;
      return;
    }
    this.#isReloadWanted = false;
    const verdict = await this.#source.fetchSnapshot(version);
    if (!verdict) return;
    if (verdict.kind === 'refused') return this.#refuse(version, verdict.message);
    const { snapshot } = verdict;
    const seal = await this.#source.fetchSeal(version);
    const fault = sealFault(this.#mac, { snapshot, seal, standing: this.#standing });
    if (fault !== null || !seal) return this.#refuse(version, fault ?? 'it carries no seal');
    this.#standing = {
      installation: seal.installation,
      lineage: seal.lineage,
      version: seal.version,
    };
    this.#apply(snapshot);
    await this.#file.save(snapshot, this.#standing);
  }

  #apply(snapshot: PublishedSnapshot): void {
    const index = new RoutingIndex(snapshot);
    this.#current = index;
    this.#appliedAt = Date.now();
    this.#refused = null;
    this.#log.info(
      { version: snapshot.version, models: snapshot.document.models.length },
      'snapshot applied',
    );
    for (const listener of this.#listeners) listener(index);
  }

  #refuse(version: number, message: string): void {
    const text = `version ${version}: ${message}`.slice(0, 500);
    if (text !== this.#refused?.text)
      this.#log.error({ version, message }, 'snapshot refused; serving the last good one');
    this.#refused = { version, text };
  }
}
