import { Inject, Injectable } from '@nestjs/common';
import { clockAheadMs } from '@tollgate/contracts';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import type { AlertDetail, AlertRule } from '../alerts/alert-rules.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import type { KnownNode, NodeWatch } from './node-watch.ts';
import { otherShardsOf } from './node-wishes.ts';

type WatchedWorker = ReturnType<NodeWatch['workersOf']>[number];

/**
 * A node settles finals within seconds. More than this many waiting means that relay, queue or PostgreSQL has stopped. Nothing is lost, because the
 * finals are in the journal.
 */
const BACKLOG_MAX = 5_000;

/** Raises and resolves the alerts about nodes. */
@Injectable()
export class NodeAlerts {
  private readonly reported = new Map<string, boolean>();
  /** Holds the rules whose open alerts of other processes were read. */
  private readonly adopted = new Set<AlertRule>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Raises and resolves alerts from the reports of a node's workers. */
  async follow(node: KnownNode, workers: readonly WatchedWorker[]): Promise<void> {
    const live = workers.filter((worker) => worker.isLive);
    const isMissed = live.length === 0 && node.isSilent && node.enabled && !node.stopped;
    await this.note(
      'node_offline',
      `node:${node.id}`,
      isMissed,
      `Node ${node.name} has not reported for 10 s`,
    );
    const unacknowledged = live.reduce((sum, worker) => sum + worker.report.unacknowledged, 0);
    await this.note(
      'settlement_backlog',
      `node:${node.id}`,
      unacknowledged > BACKLOG_MAX,
      `Node ${node.name} holds ${unacknowledged.toLocaleString('en')} finals that are not in PostgreSQL yet`,
      { kind: 'node', finals: unacknowledged },
    );
    // The workers of a node share one DATA_DIR.
    const setAside = Math.max(0, ...live.map((worker) => worker.report.journals_set_aside));
    await this.note(
      'journal_set_aside',
      `node:${node.id}`,
      setAside > 0,
      `Node ${node.name} could not read ${setAside} journal files whole; they are kept in its DATA_DIR as *.set-aside.*`,
      { files: setAside },
    );
    const refusal = live.find((worker) => worker.report.refused !== null)?.report.refused;
    await this.note(
      'node_refuses_snapshot',
      `node:${node.id}`,
      refusal !== undefined,
      `Node ${node.name} refuses the published snapshot: ${refusal}`,
      { reason: refusal },
    );
    await this.followShards(node, workers);
    await this.followClock(node, live);
  }

  private async followShards(node: KnownNode, workers: readonly WatchedWorker[]): Promise<void> {
    const found = otherShardsOf(workers, this.config.SHARDS);
    await this.note(
      'node_misconfigured',
      `node:${node.id}`,
      found !== undefined,
      `Node ${node.name} has SHARDS=${found}, this installation ${this.config.SHARDS}; it takes no requests`,
      { found, shards: this.config.SHARDS },
    );
  }

  /** Signatures and tokens need the provider's time. */
  private async followClock(node: KnownNode, live: readonly WatchedWorker[]): Promise<void> {
    const ahead = live
      .map(({ report }) => clockAheadMs(report.abilities))
      .find((found) => found !== undefined);
    const minutes = Math.round(Math.abs(ahead ?? 0) / 60_000);
    const side = (ahead ?? 0) > 0 ? 'ahead' : 'behind';
    await this.note(
      'node_clock',
      `node:${node.id}`,
      ahead !== undefined,
      `The clock of node ${node.name} is ${minutes} minutes ${side === 'ahead' ? 'ahead of' : 'behind'} its providers' clocks; requests are signed with the providers' time meanwhile`,
      { kind: side, minutes },
    );
  }

  /** Writes an alert only when it begins or ends as this process sees it. The first check always writes, to end alerts of another process. */
  async note(
    rule: AlertRule,
    subject: string,
    isWrong: boolean,
    message: string,
    detail: AlertDetail = {},
  ): Promise<void> {
    const key = `${rule} ${subject}`;
    if (this.reported.get(key) === isWrong) return;
    if (isWrong)
      await this.alerts.raise(this.dataSource.manager, { rule, subject, message, detail });
    else await this.alerts.resolve(this.dataSource.manager, { rule, subject });
    this.reported.set(key, isWrong);
  }

  /** Resolves the open alerts of the rule about all other subjects, whose report or node is gone. */
  async closeOthers(rule: AlertRule, subjects: ReadonlySet<string>): Promise<void> {
    if (!this.adopted.has(rule))
      for (const { subject } of await this.alerts.openOf(this.dataSource.manager, rule))
        this.reported.set(`${rule} ${subject}`, true);
    this.adopted.add(rule);
    for (const [key, isWrong] of this.reported) {
      const subject = key.slice(rule.length + 1);
      if (isWrong && key.startsWith(`${rule} `) && !subjects.has(subject))
        await this.note(rule, subject, false, '');
    }
  }

  /** Resolves the alerts of a removed node. */
  async forget(id: number): Promise<void> {
    await this.alerts.resolve(this.dataSource.manager, {
      rule: 'node_offline',
      subject: `node:${id}`,
    });
  }
}
