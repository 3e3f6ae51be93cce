import { Inject, Injectable, Optional } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { afterCommit } from '../../platform/database/transactions.ts';
import { Host } from '../../platform/host/host.ts';
import { promiseWrites } from './live-outbox.sql.ts';
import {
  keyOfBudgets,
  raiseAccount,
  raiseKeys,
  raiseRotations,
  type KeyOfBudgets,
} from './live-rows.sql.ts';
import { LiveStatePump } from './live-state-pump.ts';
import type { LiveRecord } from './live-target.ts';

/** An administrator's call waits at most this long for its Redis write. Then it answers, and the outbox row repeats the write until it succeeds. */
const WAIT_MS = 2_000;

/**
 * Promises a write to Redis in the transaction that makes it necessary. The write runs directly after the commit, and the outbox row repeats it if
 * the process dies first. The written record is read from PostgreSQL at that moment, so repeating is harmless.
 */
@Injectable()
export class LiveStateService {
  private readonly deliveries = new WeakMap<
    EntityManager,
    { targets: LiveRecord[]; rowIds: string[] }
  >();

  constructor(
    @Inject(LiveStatePump) private readonly pump: Pick<LiveStatePump, 'deliver'>,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Promises a write for a change of the user's row, such as status or drain. Raise `revision` in the same transaction. */
  accountChanged(tx: EntityManager, userId: number): Promise<void> {
    return this.promise(tx, [{ kind: 'account', id: userId }]);
  }

  keyChanged(tx: EntityManager, keyId: number): Promise<void> {
    return this.keysChanged(tx, [keyId]);
  }

  keysChanged(tx: EntityManager, keyIds: readonly number[]): Promise<void> {
    return this.promise(
      tx,
      keyIds.map((id) => ({ kind: 'key', id })),
    );
  }

  /** Promises writes after the limits in force changed for the keys of these accounts, although the keys' rows did not. */
  async limitsChanged(tx: EntityManager, userIds: readonly number[]): Promise<void> {
    await this.keysChanged(tx, await raiseKeys(tx, userIds));
  }

  /** Promises a write after budgets of this key, or of this account, changed. Locks the row of the key or account until the transaction ends. */
  async budgetsChanged(
    tx: EntityManager,
    { userId, keyId }: { userId: number; keyId: number | null },
  ): Promise<void> {
    if (keyId !== null) return this.keysChanged(tx, await raiseRotations(tx, keyId));
    await raiseAccount(tx, userId);
    return this.accountChanged(tx, userId);
  }

  /** Does what `keyOfBudgets` does. */
  keyOfBudgets(tx: EntityManager, keyId: number): Promise<KeyOfBudgets | undefined> {
    return keyOfBudgets(tx, keyId);
  }

  /** Promises a write after the subscription's row changed or a credit was given. */
  subscriptionChanged(tx: EntityManager, subscriptionId: number): Promise<void> {
    return this.promise(tx, [{ kind: 'subscription', id: subscriptionId }]);
  }

  withdrawalsStarted(tx: EntityManager, subscriptionIds: readonly number[]): Promise<void> {
    return this.promise(
      tx,
      subscriptionIds.map((id) => ({ kind: 'withdrawal', id })),
    );
  }

  private async promise(tx: EntityManager, targets: readonly LiveRecord[]): Promise<void> {
    if (targets.length === 0) return;
    const rowIds = await promiseWrites(tx, targets);
    const delivery = this.deliveryOf(tx);
    delivery.targets.push(...targets);
    delivery.rowIds.push(...rowIds);
  }

  /** Collects all promises of one transaction, to send them after its commit. */
  private deliveryOf(tx: EntityManager): { targets: LiveRecord[]; rowIds: string[] } {
    const known = this.deliveries.get(tx);
    if (known) return known;
    const delivery = { targets: [], rowIds: [] };
    this.deliveries.set(tx, delivery);
    afterCommit(tx, () => this.settledInTime(this.pump.deliver(delivery.targets, delivery.rowIds)));
    return delivery;
  }

  /** Resolves when the work is done, has failed (the pump has logged it) or the time has passed, whichever comes first. */
  private async settledInTime(work: Promise<void>): Promise<void> {
    const { promise: timeUp, resolve } = Promise.withResolvers<void>();
    const cancel = this.host.after(WAIT_MS, resolve);
    try {
      await Promise.race([work.catch(() => undefined), timeUp]);
    } finally {
      cancel();
    }
  }
}
