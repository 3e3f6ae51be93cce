import { afterAll, beforeAll, expect } from '@jest/globals';
import { eventually, startServices, type Services } from '@tollgate/harness';
import type { DataSource, EntityManager } from 'typeorm';
import type { Config } from '../config.ts';
import { LiveStateService } from '../features/live-state/live-state.service.ts';
import { PricesInForce } from '../features/models/prices-in-force.service.ts';
import { PurchasesService } from '../features/subscriptions/purchases.service.ts';
import { TokenLedger } from '../features/subscriptions/token-ledger.service.ts';
import { WithdrawalBooking } from '../features/subscriptions/withdrawal-booking.sql.ts';
import { LedgerService } from '../features/wallet/ledger.service.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { DomainEvents } from '../platform/domain-events/domain-events.ts';
import { connectedTo, migratedPostgres } from './postgres-under-test.ts';

export const FREE_TOKENS = 1_000;

/** The exported services book tokens and money, on a real PostgreSQL without Redis or HTTP. */
export let dataSource: DataSource;
export let transactions: Transactions;
export const events = new DomainEvents();
export const tokens = new TokenLedger();
export const wallets = new LedgerService(events);
export const live = new LiveStateService({ deliver: () => Promise.resolve() });
export const booking = new WithdrawalBooking(tokens, wallets);
export const purchases = new PurchasesService(new PricesInForce(), wallets, tokens, live, {
  FREE_TOKENS_PER_ACCOUNT: FREE_TOKENS,
  CURRENCY: 'USD',
} as Config);

let subscriptions = 0;

/** Opens one database, which serves the tests of the spec that calls it. */
export function shareBooks(): void {
  let services: Services;
  beforeAll(async () => {
    subscriptions = 0;
    services = await startServices({ postgres: await migratedPostgres(), redis: false });
    dataSource = await connectedTo(services.databaseUrl);
    transactions = new Transactions(dataSource);
  }, 60_000);
  afterAll(async () => {
    await dataSource?.destroy();
    await services?.stop();
  });
}

export interface Subscribed {
  userId: number;
  modelId: number;
  priceId: number;
  id: number;
}

/** Makes an account with a wallet of so many micro-units and an empty subscription. No id of one kind equals one of another kind. */
export async function subscribed({ price = 1_000_000, wallet = 0n } = {}): Promise<Subscribed> {
  const n = (subscriptions += 1);
  const ids = { userId: 1_000 + n, modelId: 20_003 + n, priceId: 300_009 + n, id: 4_000_015 + n };
  await dataSource.query(
    "INSERT INTO users (id, username, password_hash) OVERRIDING SYSTEM VALUE VALUES ($1, $2, '-')",
    [ids.userId, `books-${n}`],
  );
  await dataSource.query(
    'INSERT INTO models (id, name, display_name) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $2)',
    [ids.modelId, `books-${n}`],
  );
  await dataSource.query(
    'INSERT INTO price_versions (id, model_id, price_per_million, effective_at) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, now())',
    [ids.priceId, ids.modelId, price],
  );
  await dataSource.query(
    'INSERT INTO subscriptions (id, user_id, model_id) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)',
    [ids.id, ids.userId, ids.modelId],
  );
  if (wallet > 0n) await recharge(ids.userId, wallet);
  return ids;
}

export function recharge(userId: number, amount: bigint): Promise<unknown> {
  return transactions.run((tx) =>
    wallets.post(tx, {
      kind: 'recharge',
      reference: `test:${(subscriptions += 1)}`,
      actorUserId: null,
      entries: [
        { account: { kind: 'wallet', userId }, amount: amount as never },
        { account: { kind: 'payments' }, amount: -amount as never },
      ],
    }),
  );
}

/** Returns rows with numbers for texts, as a test compares them. */
export async function rowsOf(sql: string, parameters: unknown[] = []): Promise<unknown[]> {
  const rows: Record<string, unknown>[] = await dataSource.query(sql, parameters);
  return rows.map((row) =>
    Object.values(row).map((value) =>
      typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value,
    ),
  );
}

export const stateOf = async ({ id }: { id: number }) =>
  (await rowsOf('SELECT balance, overdraft, credit_seq FROM subscriptions WHERE id = $1', [id]))[0];

/** Returns tokens, remaining, withdrawn, cost, refunded of each lot, the oldest first. */
export const lotsOf = ({ id }: { id: number }) =>
  rowsOf(
    'SELECT tokens, remaining, withdrawn, cost, refunded FROM token_lots WHERE subscription_id = $1 ORDER BY id',
    [id],
  );

/** Returns kind, reference, delta, balance after of each entry. */
export const entriesOf = ({ id }: { id: number }) =>
  rowsOf(
    'SELECT kind, reference, delta, balance_after FROM token_entries WHERE subscription_id = $1 ORDER BY id',
    [id],
  );

export const overdraftsOf = ({ id }: { id: number }) =>
  rowsOf('SELECT reference, tokens FROM token_overdrafts WHERE subscription_id = $1 ORDER BY id', [
    id,
  ]);

export const walletOf = async (userId: number): Promise<bigint> => {
  const [row] = await dataSource.query('SELECT balance FROM ledger_accounts WHERE user_id = $1', [
    userId,
  ]);
  return BigInt(row?.balance ?? 0);
};

export const inTransaction = <T>(work: (tx: EntityManager) => Promise<T>): Promise<T> =>
  transactions.run(work);

/** Makes three lots: 100 tokens for 250 micro-units, 60 for 7, 40 for 1,000. */
export async function threeLots(): Promise<Subscribed> {
  const one = await subscribed();
  await inTransaction(async (tx) => {
    const locked = await tokens.lockOne(tx, one.id);
    for (const [bought, cost] of [
      [100, 250n],
      [60, 7n],
      [40, 1_000n],
    ] as const)
      await tokens.credit(tx, locked, { tokens: bought, cost, kind: 'renew' });
  });
  return one;
}

/** Books usage of several subscriptions in one batch. */
export const charge = (deltas: readonly (readonly [Subscribed, number])[], reference = 'batch') =>
  inTransaction(async (tx) => {
    const locked = await tokens.lock(
      tx,
      deltas.map(([{ id }]) => id),
    );
    await tokens.charge(tx, reference, new Map(deltas.map(([{ id }, n]) => [id, n])), locked);
  });

export const withdraw = ({ id }: Subscribed, reference: string, amount: number) =>
  inTransaction(async (tx) =>
    tokens.withdraw(tx, await tokens.lockOne(tx, id), { reference, tokens: amount }),
  );

const WAITING =
  "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
/** Resolves when exactly one session waits for a lock. */
export const oneWaits = () =>
  eventually(async () => expect(await dataSource.query(WAITING)).toEqual([{ waiting: 1 }]));

/** Makes a purchase as a route books it. */
export const buy = ({ id, modelId }: Subscribed, amount: number, note?: string) =>
  inTransaction(async (tx) => {
    await purchases.lockPrices(tx, modelId);
    return purchases.buy(tx, await tokens.lockOne(tx, id), {
      ...{ tokens: amount, kind: 'renew', actorUserId: null },
      ...(note === undefined ? {} : { note }),
    });
  });

/** Returns kind, reference, note, amount, balance after of each entry of a wallet. */
export const movements = (userId: number) =>
  rowsOf(
    `SELECT t.kind, t.reference, t.note, e.amount, e.balance_after FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
       JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE a.user_id = $1 ORDER BY e.id`,
    [userId],
  );
export const houseAmounts = (reference: string) =>
  rowsOf(
    `SELECT a.kind, e.amount FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id
       JOIN ledger_accounts a ON a.id = e.ledger_account_id WHERE t.reference = $1 AND a.user_id IS NULL ORDER BY e.id`,
    [reference],
  );

/** Returns what remains of each lot, the oldest first. */
export const remaining = async (one: Subscribed) =>
  ((await lotsOf(one)) as number[][]).map(([, left]) => left);
