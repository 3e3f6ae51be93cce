import { Injectable } from '@nestjs/common';
import { tryLock } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { upstreamNames } from './read-upstreams.sql.ts';
import { NodeRegistry } from '../proxy-nodes/node-registry.ts';

/** A worker reports a breaker that opens at once, and this finds it. */
const LOOK_MS = 2_000;
/** Is the number of failures that open a node's circuit breaker. */
const FAILURES_IN_ROW = 5;
/** Between the end of a breaker's time and the probe's failure, which opens it again, the alert stays. An upstream that no worker has tried for so long is no longer known to fail. */
const PROBE_TIME_MS = 10_000;

/** Raises `upstream_failing` while any worker leaves an upstream alone, also when other routes hide it from callers; closes it when it answers again, is reconfigured, or has not failed since. */
@Injectable()
export class UpstreamWatch extends Watch {
  constructor(
    private readonly transactions: Transactions,
    private readonly registry: NodeRegistry,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'upstream-watch',
      everyMs: LOOK_MS,
      failing: 'upstreams cannot be watched; trying again',
    });
  }

  async look(): Promise<void> {
    const failing = await this.failing();
    if (failing.length === 0 && !(await this.alerts.hasOpen('upstream_failing'))) return;
    await this.transactions.run(async (tx) => {
      if (!(await tryLock(tx, ADVISORY_LOCKS.upstreamWatch))) return;
      const open = failing.filter((each) => each.isOpen);
      const names = await upstreamNames(
        tx,
        open.map((each) => each.upstreamId),
      );
      for (const { id, name } of names) {
        const workers = open.filter((each) => each.upstreamId === id).map((each) => each.by);
        await this.alerts.raise(tx, {
          rule: 'upstream_failing',
          subject: subjectOf(id),
          message: `Upstream ${name} failed ${FAILURES_IN_ROW} requests in a row or more; nodes send nothing to the routes that failed for up to 15 s, then try each with one request`,
          detail: { workers, failures: FAILURES_IN_ROW },
        });
      }
      const known = new Set(failing.map((each) => subjectOf(each.upstreamId)));
      for (const { subject, unseenMs } of await this.alerts.openOf(tx, 'upstream_failing')) {
        if (!known.has(subject) || unseenMs > PROBE_TIME_MS)
          await this.alerts.resolve(tx, { rule: 'upstream_failing', subject });
      }
    });
  }

  /** Returns which workers see which upstream fail again and again, and if they leave it alone now. */
  private async failing(): Promise<{ upstreamId: number; by: string; isOpen: boolean }[]> {
    const { nodes } = await this.registry.lookAgain();
    const reports = [...nodes.keys()]
      .flatMap((name) => this.registry.watch.workersOf(name))
      .filter(({ isLive }) => isLive)
      .map(({ report }) => report);
    return reports.flatMap(({ name, worker, upstreams }) =>
      upstreams
        .filter((upstream) => upstream.failures_in_row >= FAILURES_IN_ROW)
        .map((upstream) => ({
          upstreamId: upstream.id,
          by: `${name}:${worker}`,
          isOpen: upstream.open_for_ms > 0,
        })),
    );
  }
}

function subjectOf(upstreamId: number): string {
  return `upstream:${upstreamId}`;
}
