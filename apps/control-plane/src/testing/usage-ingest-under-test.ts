import { ledger, plane } from './ledger-plane-under-test.ts';
import { type EventParts, subscribedAccount } from './ledger-under-test.ts';

export { ledger, plane, worker } from './ledger-plane-under-test.ts';

export const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);

export const stateOf = async ({ subscriptionId }: EventParts) => {
  const [row] = await ledger.query('SELECT balance, overdraft FROM subscriptions WHERE id = $1', [
    subscriptionId,
  ]);
  return { balance: Number(row.balance), overdraft: Number(row.overdraft) };
};

export const deadLetters = (rid: string) =>
  ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid]);
