import { Injectable } from '@nestjs/common';
import type { NodeReport } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { tryLock } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';
import { modelReadings, type ModelReading } from '../snapshots/read-routing-rows.sql.ts';
import { joined, sayExcess, type Excesses } from './prompt-excess.ts';
import { upstreamNames } from './read-upstreams.sql.ts';

const LOOK_MS = 5_000;
/** Tolerates single odd reports, which are accidents; workers count the last hour or two. */
const DOUBTS_MIN = 3;

const RULES = ['usage_doubted', 'prompt_excess', 'upstream_overruns'] as const;

type Doubted = NonNullable<NodeReport['doubted']>[number];

/** Holds the facts that all workers together know of one upstream. */
interface Standing {
  doubts: number;
  lastDoubt: string | null;
  holdFactor: number;
  excess: Excesses;
  workers: string[];
}

/** Raises `RULES` from what the workers report, and closes them when no worker has a reason any more. */
@Injectable()
export class TrustWatch extends Watch {
  constructor(
    private readonly transactions: Transactions,
    private readonly registry: NodeRegistry,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'trust-watch',
      everyMs: LOOK_MS,
      failing: 'usage reports cannot be watched; trying again',
    });
  }

  async look(): Promise<void> {
    const standings = await this.standings();
    const doubted = pick(standings, ({ doubts }) => doubts >= DOUBTS_MIN);
    const overrunning = pick(standings, ({ holdFactor }) => holdFactor > 1);
    const exceeding = pick(standings, ({ excess }) => excess.size > 0);
    const found = doubted.size + overrunning.size + exceeding.size;
    if (found === 0 && !(await this.hasOpen())) return;
    await this.transactions.run(async (tx) => {
      if (!(await tryLock(tx, ADVISORY_LOCKS.trustWatch))) return;
      await this.keep(tx, 'usage_doubted', doubted, (name, { doubts, lastDoubt }) => ({
        message: `Usage that upstream ${name} reports is doubtful (${doubts} times in the last hours, the last: ${lastDoubt}); where it cannot be right, requests are charged up to their bound, or by the gateway's own count`,
        detail: { doubts, last_doubt: lastDoubt },
      }));
      const ids = [...exceeding.values()].flatMap(({ excess }) => [...excess.keys()]);
      const models = await modelReadings(tx, ids);
      const isEverywhere = ({ id, upstream_ids }: ModelReading): boolean =>
        upstream_ids.length > 0 &&
        upstream_ids.every((upstream) => exceeding.get(upstream)?.excess.has(id));
      await this.keep(tx, 'prompt_excess', exceeding, (name, { excess }) =>
        sayExcess(name, excess, { models, isEverywhere }),
      );
      await this.keep(tx, 'upstream_overruns', overrunning, (name, { holdFactor }) => ({
        message: `Upstream ${name} generates more than its output limit allows; the excess is not charged, and holds of the accounts that met it are multiplied by up to ${holdFactor} for an hour`,
        detail: { hold_factor: holdFactor },
      }));
    });
  }

  private async hasOpen(): Promise<boolean> {
    for (const rule of RULES) if (await this.alerts.hasOpen(rule)) return true;
    return false;
  }

  /** Raises the rule for these upstreams and closes it for all others. */
  private async keep(
    tx: EntityManager,
    rule: (typeof RULES)[number],
    standings: ReadonlyMap<number, Standing>,
    say: (name: string, standing: Standing) => { message: string; detail: object },
  ): Promise<void> {
    const kept = new Set<string>();
    for (const { id, name } of await upstreamNames(tx, [...standings.keys()])) {
      const standing = standings.get(id);
      if (!standing) continue;
      const { message, detail } = say(name, standing);
      const subject = `upstream:${id}`;
      kept.add(subject);
      await this.alerts.raise(tx, {
        rule,
        subject,
        message,
        detail: { ...detail, workers: standing.workers },
      });
    }
    for (const { subject } of await this.alerts.openOf(tx, rule))
      if (!kept.has(subject)) await this.alerts.resolve(tx, { rule, subject });
  }

  private async standings(): Promise<ReadonlyMap<number, Standing>> {
    const { nodes } = await this.registry.lookAgain();
    const standings = new Map<number, Standing>();
    for (const { report } of [...nodes.keys()].flatMap((name) =>
      this.registry.watch.workersOf(name).filter(({ isLive }) => isLive),
    ))
      for (const doubted of report.doubted)
        add(standings, `${report.name}:${report.worker}`, doubted);
    return standings;
  }
}

function add(standings: Map<number, Standing>, worker: string, doubted: Doubted): void {
  const known = standings.get(doubted.id);
  standings.set(doubted.id, {
    doubts: (known?.doubts ?? 0) + doubted.doubts,
    lastDoubt: doubted.last_doubt ?? known?.lastDoubt ?? null,
    holdFactor: Math.max(known?.holdFactor ?? 1, doubted.hold_factor),
    excess: joined(known?.excess ?? new Map(), doubted.excess ?? []),
    workers: [...(known?.workers ?? []), worker],
  });
}

function pick(
  standings: ReadonlyMap<number, Standing>,
  isMeant: (standing: Standing) => boolean,
): ReadonlyMap<number, Standing> {
  return new Map([...standings].filter(([, standing]) => isMeant(standing)));
}
