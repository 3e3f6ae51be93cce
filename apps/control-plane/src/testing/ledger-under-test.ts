import { randomUUID } from 'node:crypto';
import {
  hashCredential,
  holdSigner,
  NO_USAGE,
  signFinal,
  tokenFieldsOf,
  type RelayedEvent,
  type UsageFinal,
} from '@tollgate/contracts';
import { Epochs, LiveRecords, shardNames } from '@tollgate/keyspace';
import { differs, ROLLUPS, RULES } from '../features/books/equalities.ts';
import { SUMMED_COLUMNS } from '../platform/database/summed-columns.ts';
import { uuidv7 } from '../platform/http/visitor.ts';
import { FLEET_CREDENTIAL, type ControlPlane } from './control-plane-under-test.ts';

let sequence = 0;

/** Names the summed columns, some latency buckets included. */
const SUMMED = [...SUMMED_COLUMNS, 'duration_histogram[9]', 'first_token_histogram[8]'];

/** Holds rules for the ledger at any moment; each query finds the rows that break its rule. */
const CHECKS = {
  'a ledger transaction does not sum to zero':
    'SELECT transaction_id FROM ledger_entries GROUP BY transaction_id HAVING sum(amount) <> 0',
  'a ledger balance is not the sum of its entries':
    'SELECT a.id, a.kind, a.balance, coalesce(sum(e.amount), 0) AS entries FROM ledger_accounts a LEFT JOIN ledger_entries e ON e.ledger_account_id = a.id GROUP BY a.id HAVING a.balance <> coalesce(sum(e.amount), 0)',
  'a wallet is negative': "SELECT id FROM ledger_accounts WHERE kind = 'wallet' AND balance < 0",
  'a token balance is not the sum of its entries':
    'SELECT s.id, s.balance, coalesce(sum(t.delta), 0) AS entries FROM subscriptions s LEFT JOIN token_entries t ON t.subscription_id = s.id GROUP BY s.id HAVING s.balance <> coalesce(sum(t.delta), 0)',
  'a token balance is not what its lots hold':
    'SELECT s.id, s.balance, coalesce(sum(l.remaining), 0) AS lots FROM subscriptions s LEFT JOIN token_lots l ON l.subscription_id = s.id GROUP BY s.id HAVING s.balance <> coalesce(sum(l.remaining), 0)',
  'an overdraft is not the sum of its rows':
    'SELECT s.id, s.overdraft FROM subscriptions s LEFT JOIN token_overdrafts o ON o.subscription_id = s.id GROUP BY s.id HAVING s.overdraft <> coalesce(sum(o.tokens), 0)',
  'an overdraft stands beside a balance':
    'SELECT id, balance, overdraft FROM subscriptions WHERE overdraft > 0 AND balance > 0',
  ...Object.fromEntries(
    Object.values(RULES).map((rule) => [`not so: ${rule.says}`, rule.sql('true')]),
  ),
  ...Object.fromEntries(
    Object.entries(ROLLUPS).map(([name, rollup]) => [
      `${name} are not the sums of what they sum`,
      differs(rollup, SUMMED),
    ]),
  ),
  'tokens went missing between credits, usage and balance': `
    SELECT s.id FROM subscriptions s
    WHERE s.balance - s.overdraft <> coalesce((SELECT sum(delta) FROM token_credits c WHERE c.subscription_id = s.id AND c.kind NOT IN ('reconciliation', 'late_usage')), 0)
                                   - coalesce((SELECT sum(delta) FROM usage_events u WHERE u.subscription_id = s.id), 0)`,
};

export interface TestAccount {
  id: number;
  token: string;
}

/** Offers everything the specs of the ledger need beyond the control plane itself. */
export function ledgerOf(plane: ControlPlane) {
  // Statements of tests run with the owner's rights, because tests make states that the control plane must withstand.
  const query = (sql: string, parameters: unknown[] = []) =>
    plane.administrator.query(sql, parameters);
  const asAdmin = <Method extends string, Path extends string>(
    method: Method,
    path: Path,
    body?: unknown,
  ) =>
    plane.call(method, path, { token: plane.adminToken, ...(body === undefined ? {} : { body }) });
  return {
    query,
    asAdmin,

    /** Gives every shard its epoch, as at a first start. It is harmless where the epochs feature has done it. */
    async initialiseShards(): Promise<void> {
      for (const shard of shardNames(Number(plane.environment['SHARDS'])))
        await plane.app.get(Epochs).initialise(shard, randomUUID());
    },

    /** Makes an account with money; amounts are decimal strings. */
    async account(money: string): Promise<TestAccount> {
      const account = await plane.createUser(`books${(sequence += 1)}`);
      if (money !== '0')
        await asAdmin('POST', '/wallet/admin-recharge', { user_id: account.id, amount: money });
      return account;
    },

    async model(pricePerMillion = '1'): Promise<{ id: number; name: string; priceId: number }> {
      const { body: model } = await asAdmin('POST', '/models', {
        name: `model-${(sequence += 1)}`,
        price: { price_per_million: pricePerMillion, free: pricePerMillion === '0' },
        is_on_shelf: true,
      });
      const [price] = await query('SELECT id FROM price_versions WHERE model_id = $1', [model.id]);
      return { id: model.id, name: model.name, priceId: price.id };
    },

    /** Returns the row as PostgreSQL has it; undefined when there is none. */
    async subscription(account: TestAccount, model: { id: number }) {
      const rows = await query('SELECT * FROM subscriptions WHERE user_id = $1 AND model_id = $2', [
        account.id,
        model.id,
      ]);
      return rows[0];
    },

    /** Begins a withdrawal as `unsubscribe` does, without Redis. Returns its id. */
    async beginWithdrawal(subscriptionId: number): Promise<string> {
      const id = uuidv7(Date.now());
      await query('UPDATE subscriptions SET withdrawal_id = $2 WHERE id = $1', [
        subscriptionId,
        id,
      ]);
      return id;
    },

    async live(account: TestAccount, model: { id: number }) {
      return (
        (
          await plane.app
            .get(LiveRecords)
            .getBalances([{ accountId: account.id, modelId: model.id }])
        )[0] ?? null
      );
    },

    async wallet(account: TestAccount): Promise<bigint> {
      const [row] = await query(
        "SELECT balance FROM ledger_accounts WHERE kind = 'wallet' AND user_id = $1",
        [account.id],
      );
      return BigInt(row?.balance ?? 0);
    },

    /** Returns the rows that break a promise of the ledger, by promise; empty when it balances. */
    async violations(): Promise<Record<string, unknown[]>> {
      const found: Record<string, unknown[]> = {};
      for (const [name, sql] of Object.entries(CHECKS)) {
        const rows = await query(sql);
        if (rows.length > 0) found[name] = rows;
      }
      return found;
    },
  };
}

/** Creates an account with a subscription of so many tokens, and returns what its events need. */
export async function subscribedAccount(plane: ControlPlane, tokens: number): Promise<EventParts> {
  const ledger = ledgerOf(plane);
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  const body = { model_id: model.id, tokens };
  await plane.call('POST', '/models/subscribe', { token: account.token, body });
  return { account, model, subscriptionId: (await ledger.subscription(account, model)).id };
}

export interface EventParts {
  account: TestAccount;
  model: { id: number; name: string; priceId: number };
  subscriptionId: number;
  keyId?: number;
  rid?: string;
  seq?: number;
  delta?: number;
  final?: Partial<UsageFinal>;
}

/** Makes a completed request that used `tokens` input tokens at weight 1, as the relay would hand it over. */
export function usageEvent(
  tokens: number,
  {
    account,
    model,
    subscriptionId,
    keyId = 1,
    rid = uuidv7(Date.now()),
    seq = 0,
    delta = tokens,
    final = {},
  }: EventParts,
): RelayedEvent {
  const payload: UsageFinal = {
    kind: 'usage',
    account_id: account.id,
    key_id: keyId,
    subscription_id: subscriptionId,
    model_id: model.id,
    price_version_id: model.priceId,
    node: 'node-a:0',
    protocol: 'chat',
    is_stream: false,
    upstream_id: 1,
    attempts: [{ upstream_id: 1, route_id: 1, status: 200, duration_ms: 120 }],
    outcome: 'completed',
    status: 200,
    ...tokenFieldsOf({ ...NO_USAGE, input: tokens }),
    charge: tokens,
    basis: 'reported',
    started_at: Date.now(),
    first_token_ms: 80,
    duration_ms: 130,
    ...final,
  };
  return {
    shard: 's00',
    epoch: '',
    outboxId: '1-1',
    rid,
    seq: String(seq),
    delta: String(delta),
    payload: signFinal({ rid, payload: JSON.stringify(payload) }, hashCredential(FLEET_CREDENTIAL)),
  };
}

/** Returns the event that the reaper writes for a hold whose node vanished. */
export function reapEvent(
  tokens: number,
  { account, model, subscriptionId, keyId = 1, rid = uuidv7(Date.now()), final }: EventParts,
): RelayedEvent {
  const claims = final?.budgets;
  const payload = {
    kind: 'reap',
    account_id: account.id,
    key_id: keyId,
    subscription_id: subscriptionId,
    model_id: model.id,
    price_version_id: model.priceId,
    node: 'node-a:0',
    budgets: claims,
  };
  const use = { rid, accountId: account.id, modelId: model.id, usedTokens: tokens, claims };
  const mac = holdSigner(hashCredential(FLEET_CREDENTIAL))(use);
  return {
    shard: 's00',
    epoch: '',
    outboxId: '1-2',
    rid,
    seq: '0',
    delta: String(tokens),
    payload: JSON.stringify({ ...payload, mac }),
  };
}

/** Returns the event of a withdrawal (seq 0), or of a hold that ends after it (seq 2). */
export function withdrawEvent(
  tokens: number,
  {
    account,
    model,
    subscriptionId,
    withdrawalId = uuidv7(Date.now()),
    rid = withdrawalId,
    seq = 0,
  }: EventParts & { withdrawalId?: string },
): RelayedEvent {
  const payload = {
    kind: 'withdraw',
    account_id: account.id,
    subscription_id: subscriptionId,
    model_id: model.id,
    withdrawal_id: withdrawalId,
  };
  return {
    shard: 's00',
    epoch: '',
    outboxId: '1-3',
    rid,
    seq: String(seq),
    delta: String(tokens),
    payload: JSON.stringify(payload),
  };
}
