import { Injectable, Logger, Optional } from '@nestjs/common';
import { LiveRecords, type LiveBudget } from '@tollgate/keyspace';
import { Host } from '../../platform/host/host.ts';

export interface LiveBalance {
  balance: number;
  held: number;
  /** Is the number of the last credit that Redis has applied. */
  creditSeq: number;
}

/** A page that shows balances waits at most this long for Redis. */
const WAIT_MS = 1_000;

/** Reads Redis' balances of an account's subscriptions, by model id. */
@Injectable()
export class LiveBalances {
  private readonly logger = new Logger('live-balances');

  constructor(
    private readonly records: LiveRecords,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Returns undefined when Redis does not answer in time. Models without a live record are absent. */
  async read(
    accountId: number,
    modelIds: readonly number[],
  ): Promise<Map<number, LiveBalance> | undefined> {
    const refs = modelIds.map((modelId) => ({ accountId, modelId }));
    const balances = await this.inTime(() => this.records.getBalances(refs));
    if (!balances) return undefined;
    const found = balances.filter((one) => one !== null);
    return new Map(
      found.map(({ modelId, balance, held, creditSeq }) => [modelId, { balance, held, creditSeq }]),
    );
  }

  /** Returns undefined when Redis does not answer in time. */
  readBudgets(accountId: number): Promise<LiveBudget[] | undefined> {
    return this.inTime(() => this.records.budgets.read(accountId));
  }

  private async inTime<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const cancel = this.host.after(WAIT_MS, () =>
      reject(new Error(`no answer within ${WAIT_MS} ms`)),
    );
    try {
      return await Promise.race([read(), tooLate]);
    } catch (error) {
      this.logger.warn(error, 'live balances are not available');
      return undefined;
    } finally {
      cancel();
    }
  }
}
