import { Inject, Injectable, Logger } from '@nestjs/common';
import { ReapedRequests, shardNames } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { chargedOf, firstLettersOf } from './drift.sql.ts';
import { UsageArrival } from './usage-arrival.ts';

/**
 * Finds charges of reaps that were lost between Redis and the ledger, such as an event that was deleted from its outbox or a job that the queue lost.
 * A node sends its finals again, but the node of a reaped request is gone. Redis keeps such charges for a day, so this class emits the event again,
 * and its number ensures that it is booked once.
 */
@Injectable()
export class LostReaps {
  private readonly logger = new Logger('reconciliation');
  private readonly shards: string[];
  /** Holds the charges for which an alert was raised. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly reaped: ReapedRequests,
    private readonly arrival: UsageArrival,
    private readonly alerts: AlertsService,
    @Inject(CONFIG) config: Pick<Config, 'SHARDS'>,
  ) {
    this.shards = shardNames(config.SHARDS);
  }

  /** Returns the subscriptions whose charges are sent again. */
  async sendAgain(): Promise<number[]> {
    const waiting: { shard: string; rids: string[]; outboxId: string }[] = [];
    for (const shard of this.shards)
      await this.guarded(shard, async () => {
        const rids = await this.unbooked(shard, await this.reaped.waiting(shard));
        // The id of the last event is read second, so that no event of these requests is later.
        if (rids.length > 0)
          waiting.push({ shard, rids, outboxId: await this.reaped.lastEvent(shard) });
      });
    const sent: number[] = [];
    for (const { shard, rids } of await this.arrival.upTo(waiting))
      await this.guarded(shard, async () => {
        for (const rid of await this.unbooked(shard, rids))
          await this.guarded(`request ${rid}`, async () => {
            sent.push(...(await this.repeat(shard, rid)));
          });
      });
    return sent;
  }

  /**
   * Runs the work of one subject. Data that another program wrote into one shard or hold then stops neither the other subjects nor the comparison of
   * balances.
   */
  private async guarded(subject: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) =>
      this.logger.error(error, `the charges of reaps of ${subject} cannot be compared`),
    );
  }

  /** Returns the reaped requests that PostgreSQL has neither booked nor set aside. */
  private async unbooked(shard: string, rids: readonly string[]): Promise<string[]> {
    const charged = await chargedOf(this.dataSource, rids);
    const open = rids.filter((rid) => !charged.has(rid));
    const setAside = await this.setAside(shard, open);
    const isKnown = (rid: string): boolean => charged.has(rid) || setAside.has(rid);
    await this.settled(shard, rids.filter(isKnown));
    return rids.filter((rid) => !isKnown(rid));
  }

  /**
   * Returns those whose charge is a dead letter, open or resolved: sending it again would produce the same one. A letter with other content under the
   * number does not count.
   */
  private async setAside(shard: string, rids: readonly string[]): Promise<ReadonlySet<string>> {
    const letters = await firstLettersOf(this.dataSource, rids);
    if (letters.length === 0) return new Set();
    const sent = new Map((await this.reaped.unbooked(shard)).map((event) => [event.rid, event]));
    const own = letters.filter(({ rid, delta, payload }) => {
      const event = sent.get(rid);
      return event?.delta === delta && event.payload === payload;
    });
    return new Set(own.map(({ rid }) => rid));
  }

  private async settled(shard: string, rids: readonly string[]): Promise<void> {
    await this.reaped.settled(shard, rids);
    for (const rid of rids) this.reported.delete(rid);
  }

  private async repeat(shard: string, rid: string): Promise<number[]> {
    const reply = await this.reaped.repeat(shard, rid);
    if (reply.kind === 'fenced') return [];
    if (reply.kind === 'not_found') {
      this.logger.error(
        `the charge of request ${rid}, whose node is gone, is not in Redis any more`,
      );
      await this.settled(shard, [rid]);
      return [];
    }
    if (!this.reported.has(rid)) await this.tell(rid, reply);
    return [reply.subscriptionId];
  }

  private async tell(
    rid: string,
    { subscriptionId, chargedTokens }: { subscriptionId: number; chargedTokens: number },
  ): Promise<void> {
    const message = `Subscription ${subscriptionId}: the charge of request ${rid}, ${chargedTokens} tokens, was lost between Redis and the ledger; its node is gone, so it is sent again`;
    this.logger.error(message);
    await this.alerts.raise(this.dataSource.manager, {
      rule: 'drift',
      subject: `subscription:${subscriptionId}`,
      message,
      detail: { kind: 'reap', rid, tokens: chargedTokens },
    });
    this.reported.add(rid);
  }
}
