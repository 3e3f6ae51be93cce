import { Injectable, Logger, Optional } from '@nestjs/common';
import { LiveRecords } from '@tollgate/keyspace';
import { Host } from '../../platform/host/host.ts';

export interface LiveBalance {
  balance: number;
  held: number;
  /** Last credit Redis has applied. */
  creditSeq: number;
}

/** A page that shows balances does not wait longer than this for Redis. */
const WAIT_MS = 1_000;

/** Reads what Redis holds for an account's subscriptions, by model id. */
@Injectable()
export class LiveBalances {
  private readonly logger = new Logger('live-balances');

  constructor(
    private readonly records: LiveRecords,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Undefined when Redis does not answer in time; models without a live record are absent. */
  async read(
    accountId: number,
    modelIds: readonly number[],
  ): Promise<Map<number, LiveBalance> | undefined> {
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const cancel = this.host.after(WAIT_MS, () =>
      reject(new Error(`no answer within ${WAIT_MS} ms`)),
    );
    try {
      const balances = await Promise.race([
        this.records.getBalances(modelIds.map((modelId) => ({ accountId, modelId }))),
        tooLate,
      ]);
      return new Map(
        balances.flatMap((one) =>
          one
            ? [
                [
                  one.modelId,
                  { balance: one.balance, held: one.held, creditSeq: one.creditSeq },
                ] as const,
              ]
            : [],
        ),
      );
    } catch (error) {
      this.logger.warn(error, 'live balances are not available');
      return undefined;
    } finally {
      cancel();
    }
  }
}
