import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  hashCredential,
  isUploadProven,
  type DesiredNodeState,
  type NodeReport,
} from '@tollgate/contracts';
import { FleetStore, InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { SnapshotPublisher } from '../snapshots/snapshot-publisher.ts';
import { FleetFormats } from './fleet-formats.ts';
import { NodeAlerts } from './node-alerts.ts';
import { NodeRepository, type KnownFleet } from './node-repository.sql.ts';
import { acceptedHashes, fleetCredentialHashes } from './node-credentials.ts';
import { abilitiesOf, desiredOf, otherShardsOf, spokenByAll, strangerOf } from './node-wishes.ts';
import { NodeWatch } from './node-watch.ts';

const POLL_MS = 1_000;
const RETRY_MS = 200;
/** A report this young counts as received just now; older ones must not move last_seen_at on. */
const HEARD_MS = 3_000;
const REMOVE_FORGOTTEN_MS = 60_000;
/** Reports of workers gone this long are swept out of Redis. */
const REPORT_KEPT_MS = 24 * 3_600_000;

/**
 * Follows the fleet: reads what nodes report, believes only what is proven, registers new nodes, writes the desired state of each node
 * and operators what is wrong. Every replica runs it; all it writes is idempotent.
 */
@Injectable()
export class NodeRegistry extends BackgroundService {
  readonly watch: NodeWatch;
  private readonly fleetHashes: readonly string[];
  private forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly repository: NodeRepository,
    private readonly fleet: FleetStore,
    private readonly alerts: NodeAlerts,
    private readonly publisher: SnapshotPublisher,
    private readonly formats: FleetFormats,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    super({
      name: 'fleet',
      everyMs: POLL_MS,
      retryMs: RETRY_MS,
      failing: 'the fleet cannot be followed; trying again',
    });
    this.fleetHashes = fleetCredentialHashes(config);
    this.watch = new NodeWatch(this.fleetHashes);
  }

  override async onApplicationBootstrap(): Promise<void> {
    for (const [name, credential] of this.config.NODE_CREDENTIALS)
      await this.repository.declare(name, hashCredential(credential));
    await super.onApplicationBootstrap();
  }

  /** Looks at Redis now. Answers the reports that were believed and the names they came under. */
  async look(): Promise<KnownFleet> {
    return this.observe(await this.repository.fleet());
  }

  /** Looks at Redis for checks that are repeated: the answer may be some milliseconds older than the call, and `isSilent` older than that. */
  async lookAgain(): Promise<KnownFleet> {
    return this.observe(await this.repository.fleetAgain());
  }

  private async observe(known: KnownFleet): Promise<KnownFleet> {
    const reports = await this.reports();
    this.watch.observe(
      reports.filter(
        (report) => this.watch.judge(report, known.nodes, known.removedNames).kind === 'accepted',
      ),
    );
    return known;
  }

  /** Returns whether an upload comes from the node that it names: a known node, or one that may register itself. Never from a node that was removed. */
  async isUploadProven(upload: {
    node: string;
    atMs: number;
    proof: string;
    body: Buffer | string;
    purpose?: 'journal' | 'incidents';
  }): Promise<boolean> {
    const { nodes, removedNames } = await this.repository.fleet();
    try {
      const { name } = parseNodeAddress(upload.node);
      return (
        !removedNames.has(name) &&
        acceptedHashes(nodes.get(name)?.credentialHashes ?? [], this.fleetHashes).some((hash) =>
          isUploadProven(upload, hash),
        )
      );
    } catch (error) {
      if (error instanceof InvalidKeyPart) return false;
      throw error;
    }
  }

  /**
   * Writes the desired state of each node where Redis differs, and notifies the nodes. This also repairs a Redis that lost it. It writes while the nodes are
   * held: a change that commits meanwhile writes its own wish afterwards, so an older one never comes last.
   */
  private async writeDesired(known: KnownFleet, reports: readonly NodeReport[]): Promise<void> {
    const names = (await this.undesired(known, reports)).map(([name]) => name);
    if (names.length === 0) return;
    await this.transactions.run(async (tx) => {
      await this.repository.hold(tx, names);
      for (const [name, desired] of await this.undesired(await this.repository.fleet(tx), reports))
        if (names.includes(name)) await this.fleet.setDesired(name, desired);
    });
  }

  /** Returns the desired states that Redis does not have as they should be, by name. */
  private async undesired(
    known: KnownFleet,
    reports: readonly NodeReport[],
  ): Promise<[string, DesiredNodeState][]> {
    const nodes = [...known.nodes.values()];
    const [present, formats] = await Promise.all([
      this.fleet.listDesired(),
      this.formats.writable(nodes),
    ]);
    const wanted = new Map<string, DesiredNodeState>(
      nodes.map((node) => {
        const found = otherShardsOf(this.watch.workersOf(node.name), this.config.SHARDS);
        const { fleetHashes } = this;
        return [
          node.name,
          desiredOf(node, { formats, isMisconfigured: found !== undefined, fleetHashes }),
        ];
      }),
    );
    for (const name of known.removedNames) wanted.set(name, { state: 'unknown' });
    for (const { name } of reports)
      if (!wanted.has(name)) wanted.set(name, strangerOf(name, this.fleetHashes));
    return [...wanted].filter(([name, desired]) => !isDeepStrictEqual(present.get(name), desired));
  }

  private reports(): Promise<NodeReport[]> {
    return this.fleet.pruneReports({ nowMs: Date.now(), ageMaxMs: REPORT_KEPT_MS });
  }

  protected async runOnce(): Promise<void> {
    const [seen, reports] = await Promise.all([
      this.repository.fleetAgain(),
      this.reports(),
      this.formats.announce(),
    ]);
    const known = await this.admitNewcomers(reports, seen);
    const believed = await this.believed(reports, known);
    this.watch.observe(believed);
    await this.noteAbilities(believed, known);
    await this.publisher.noteSpoken(spokenByAll([...known.nodes.values()]));
    for (const { version, lineage } of believed) this.publisher.noteRun({ lineage, version });
    const heard = [...known.nodes.values()].filter((node) =>
      this.watch
        .workersOf(node.name)
        .some((worker) => performance.now() - worker.seenAtMs < HEARD_MS),
    );
    await this.repository.noteSeen(heard.map((node) => node.id));
    await this.writeDesired(known, reports);
    for (const node of (await this.withSilence(known)).nodes.values())
      await this.alerts.follow(node, this.watch.workersOf(node.name));
    await this.removeForged(reports, known);
    await this.sweep(reports, known);
  }

  /** Asks again whether a node is silent, only where no worker of it reports. */
  private async withSilence(known: KnownFleet): Promise<KnownFleet> {
    const isEachHeard = [...known.nodes.keys()].every((name) =>
      this.watch.workersOf(name).some(({ isLive }) => isLive),
    );
    return isEachHeard ? known : this.repository.fleet();
  }

  private async noteAbilities(believed: readonly NodeReport[], known: KnownFleet): Promise<void> {
    for (const node of known.nodes.values()) {
      const reports = believed.filter((report) => report.name === node.name && isFresh(report));
      if (reports.length === 0) continue;
      // While its workers are replaced, a node can do what all of them can.
      const abilities = abilitiesOf(reports);
      if (abilities.join() !== node.abilities.join())
        await this.repository.noteAbilities(node.id, abilities);
    }
  }

  private async admitNewcomers(
    reports: readonly NodeReport[],
    known: KnownFleet,
  ): Promise<KnownFleet> {
    const newcomers = reports.filter(
      (report) =>
        isFresh(report) &&
        this.watch.judge(report, known.nodes, known.removedNames).kind === 'newcomer',
    );
    if (newcomers.length === 0) return known;
    for (const name of new Set(newcomers.map((report) => report.name))) {
      await this.repository.register(name);
      this.logger.log(`node ${name} registered itself`);
    }
    return this.repository.fleet();
  }

  /** Returns the reports with a valid proof. An invalid report is ignored and raises an alert, until it is replaced or removed, or its node is. */
  private async believed(reports: readonly NodeReport[], known: KnownFleet): Promise<NodeReport[]> {
    const accepted: NodeReport[] = [];
    const unproven = new Set<string>();
    for (const report of reports) {
      const verdict = this.watch.judge(report, known.nodes, known.removedNames);
      if (verdict.kind === 'accepted') accepted.push(report);
      if (verdict.kind !== 'unproven') continue;
      const subject = `node:${report.name}:${report.worker}`;
      unproven.add(subject);
      const message = `A report for node ${report.name} lacks a valid credential and is ignored`;
      await this.alerts.note('bad_node_proof', subject, true, message);
    }
    await this.alerts.closeOthers('bad_node_proof', unproven);
    return accepted;
  }

  private async sweep(reports: readonly NodeReport[], known: KnownFleet): Promise<void> {
    if (performance.now() - this.forgottenAtMs < REMOVE_FORGOTTEN_MS) return;
    this.forgottenAtMs = performance.now();
    for (const node of await this.repository.removeForgotten(this.dataSource.manager)) {
      await this.alerts.forget(node.id);
      await this.fleet.removeDesired(node.name);
    }
    const gone = new Set(
      reports.map((report) => report.name).filter((name) => known.removedNames.has(name)),
    );
    for (const name of gone) await this.fleet.removeReports(name);
  }

  /** Removes reports under names of no node. A fresh report without proof may be of a node that an operator is setting up. */
  private async removeForged(reports: readonly NodeReport[], known: KnownFleet): Promise<void> {
    const { nodes, removedNames } = known;
    const forged = reports.filter(
      (report) =>
        !isFresh(report) &&
        !nodes.has(report.name) &&
        this.watch.judge(report, nodes, removedNames).kind === 'unproven',
    );
    for (const { name } of forged) await this.fleet.removeReports(name);
  }
}

/** Registers by a heartbeat alone: not by a report left in Redis by a node that was forgotten. */
function isFresh(report: NodeReport): boolean {
  return Math.abs(Date.now() - report.reported_at) < REMOVE_FORGOTTEN_MS;
}
