import { beforeAll } from '@jest/globals';
import { ledgerOf, type EventParts, subscribedAccount } from './ledger-under-test.ts';
import type { ControlPlane } from './control-plane-under-test.ts';
import { sharedControlPlane } from './shared-plane-under-test.ts';
import { UsageWorker } from '../features/usage/ingest/usage-worker.ts';

export let plane: ControlPlane;

export let ledger: ReturnType<typeof ledgerOf>;

export let worker: UsageWorker;

export const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);

export const stateOf = async ({ subscriptionId }: EventParts) => {
  const [row] = await ledger.query('SELECT balance, overdraft FROM subscriptions WHERE id = $1', [
    subscriptionId,
  ]);
  return { balance: Number(row.balance), overdraft: Number(row.overdraft) };
};

export const deadLetters = (rid: string) =>
  ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid]);

/** Called by the spec that imports the parts: one control plane and its worker serve them all. */
export function shareUsageIngest(): void {
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    worker = plane.app.get(UsageWorker);
    await ledger.initialiseShards();
  }, 60_000);
}
