import { NO_USAGE, tokenFieldsOf, type RelayedEvent } from '@tollgate/contracts';
import { shardNames, shardOf } from '@tollgate/keyspace';
import { chargeOf } from '@tollgate/metering';
import {
  chargedOf,
  driftsAt,
  firstLettersOf,
  misnumberedOf,
} from '../../../../apps/control-plane/src/features/reconciliation/drift.sql.ts';
import {
  markClosing,
  openSubscription,
} from '../../../../apps/control-plane/src/features/subscriptions/subscription-states.sql.ts';
import { FIRST_SUBSCRIPTIONS, MODEL_ID, type Subscription } from '../postgres/first-rows.ts';
import { Random } from '../random.ts';
import type { Act, EventSpec } from './acts.ts';
import { redisReturned, SHARDS, type Side } from './side.ts';

const DAY_MS = 86_400_000;
export const PRICE = {
  id: 1,
  effective_at: 0,
  weight_input: 500_000,
  weight_output: 2_000_000,
  weight_cache_read: 500_000,
  weight_cache_write: 500_000,
};
const UNSETTLED = `SELECT id, user_id, model_id FROM subscriptions WHERE status = 'closed' AND balance <> overdraft AND (balance > greatest(overdraft, 0) OR overdraft > 0 AND updated_at > now() - interval '1 day') AND id > $1 ORDER BY id LIMIT 500`;
const OPEN =
  "SELECT id, user_id, model_id FROM subscriptions WHERE id > $1 AND status <> 'closing' ORDER BY id LIMIT $2";

/** Holds what a sequence knows beyond the databases; the same for both sides. */
export interface Sequence {
  seed: number;
  startMs: number;
  nowMs: number;
  outboxId: number;
  /** Maps shards to the current one, and the one before. */
  epochs: Map<string, { current: string; old: string }>;
  /** Holds ids of the withdrawals of each subscription, the last one last. */
  withdrawals: Map<number, string[]>;
}

export function newSequence(seed: number, startMs: number): Sequence {
  return { seed, startMs, nowMs: startMs, outboxId: 0, epochs: new Map(), withdrawals: new Map() };
}

function subscriptionAt(index: number): Subscription {
  return FIRST_SUBSCRIPTIONS[index % FIRST_SUBSCRIPTIONS.length] as Subscription;
}

/** Returns the id of a request; ids in turn are of today, of yesterday and of the day before. */
function ridOf({ seed, startMs }: Sequence, request: number): string {
  const atMs = startMs - (request % 3) * DAY_MS - request * 1_000;
  return new Random(seed, `request ${request}`).uuidV7(atMs);
}

/** Returns what both sides do next; `prepare` runs once, before them. */
export function prepare(sequence: Sequence, act: Act): (side: Side) => Promise<unknown> {
  switch (act.type) {
    case 'ingest': {
      const events = act.events.map((event) => relayed(sequence, event));
      const ofJournal = act.fromJournal && !act.events.some(({ kind }) => kind !== 'usage');
      const shard = events[0]?.shard;
      const given = ofJournal
        ? events
            .filter((event) => event.shard === shard)
            .map((event) => ({ ...event, shard: '', epoch: '', outboxId: '' }))
        : events;
      return ({ ingest }) =>
        ingest.ingest(given, { fromJournal: ofJournal, isConfirmed: act.isConfirmed });
    }
    case 'buy':
      return (side) => buy(side, subscriptionAt(act.sub).id, Math.max(1, act.tokens));
    case 'unsubscribe':
      return unsubscribe(sequence, act);
    case 'repair':
      return (side) => repair(side, subscriptionAt(act.sub).id, act.tokens);
    case 'write':
      return (side) => {
        side.redis.isBehind = act.isBehind;
        return side.writer.write({ kind: act.kind, id: subscriptionAt(act.sub).id });
      };
    case 'changeEpoch': {
      const shard = shardNames(SHARDS)[act.shard] ?? '';
      const next = `epoch-${sequence.outboxId}-${sequence.nowMs}`;
      const old = sequence.epochs.get(shard)?.current ?? 'none';
      sequence.epochs.set(shard, { current: next, old });
      return ({ epochs }) => epochs.change(shard, next);
    }
    case 'dropDays':
      return (side) => dropDays(side, dayOf(sequence.startMs - act.daysAgo * DAY_MS));
    case 'redisReturned':
      return redisReturned;
    case 'sweep':
      return ({ pump }) => pump.sweep();
    case 'recharge':
      return (side) => recharge(side, act);
    case 'look':
      return (side) => look(side, sequence, act);
    case 'wait':
      sequence.nowMs += act.ms;
      return () => Promise.resolve();
  }
}

function relayed(sequence: Sequence, event: EventSpec): RelayedEvent {
  const { kind, request, tokens, fault } = event;
  const { id, accountId, keyId } = subscriptionAt(request);
  const shard = shardOf(accountId, SHARDS);
  const { current, old } = sequence.epochs.get(shard) ?? { current: 'none', old: 'none' };
  sequence.outboxId += 1;
  const given = sequence.withdrawals.get(id) ?? [];
  const withdrawalId = given[request % Math.max(1, given.length)] ?? ridOf(sequence, 100 + request);
  const common = {
    account_id: fault === 'stranger' ? accountId + 1 : accountId,
    subscription_id: id,
    model_id: MODEL_ID,
  };
  const charge = chargeOf({ ...NO_USAGE, input: tokens }, PRICE);
  const place = {
    shard,
    epoch: event.epoch === 'none' ? '' : event.epoch === 'old' ? old : current,
    outboxId: `${sequence.nowMs}-${sequence.outboxId}`,
  };
  const rid = kind === 'withdraw' ? withdrawalId : ridOf(sequence, request);
  const of = (seq: number, delta: number, payload: object): RelayedEvent => ({
    ...place,
    rid,
    seq: String(seq),
    delta: fault === 'text' ? 'x' : String(delta),
    payload: JSON.stringify(payload),
  });
  const who = { key_id: keyId, price_version_id: fault === 'price' ? 9 : 1, node: 'node-a:0' };
  if (kind === 'withdraw' || kind === 'release')
    return of(kind === 'withdraw' ? 0 : 2, tokens, {
      kind: 'withdraw',
      ...common,
      withdrawal_id: withdrawalId,
    });
  if (kind === 'reap') return of(0, tokens, { kind: 'reap', ...common, ...who });
  const final = {
    kind: 'usage',
    ...common,
    ...who,
    protocol: 'chat',
    is_stream: false,
    upstream_id: 1,
    attempts: [],
    outcome: 'completed',
    status: 200,
    ...tokenFieldsOf({ ...NO_USAGE, input: tokens }),
    charge,
    basis: 'reported',
    started_at: sequence.nowMs,
    first_token_ms: null,
    duration_ms: 5,
  };
  return kind === 'usage' ? of(0, charge, final) : of(1, charge - (tokens >> 1), final);
}

function buy({ transactions, tokens: ledger, live }: Side, id: number, tokens: number) {
  return transactions.run(async (tx) => {
    const row = await ledger.lockOne(tx, id);
    if (row.status === 'closing') return;
    await openSubscription(tx, row.userId, { model_id: MODEL_ID, tokens });
    await ledger.credit(tx, row, { tokens, cost: BigInt(tokens * 3), kind: 'renew' });
    await live.subscriptionChanged(tx, id);
  });
}

/** Auto-recharge finds so many tokens free in Redis. */
async function recharge(
  { rows, redis, recharge: service }: Side,
  { sub, free, isBehind, isRearmed }: Extract<Act, { type: 'recharge' }>,
): Promise<void> {
  const { id, accountId } = subscriptionAt(sub);
  const [row] = await rows.subscriptions([id]);
  redis.live = { balance: free, held: 0, creditSeq: (row?.creditSeq ?? 0) - (isBehind ? 1 : 0) };
  if (isRearmed) await service.rearm(accountId, 'insufficient_funds');
  service.consider([id]);
  await service.idle();
  await service.considerRefused([{ accountId, modelId: MODEL_ID, neededTokens: free + 1 }]);
  await service.idle();
  await service.sweep();
  await service.idle();
}

function repair({ transactions, tokens: ledger, live }: Side, id: number, delta: number) {
  return transactions.run(async (tx) => {
    const row = await ledger.lockOne(tx, id);
    await ledger.correctLive(tx, row, { delta, kind: 'reconciliation' });
    await live.subscriptionChanged(tx, id);
  });
}

function unsubscribe(sequence: Sequence, { sub, drain }: { sub: number; drain: boolean }) {
  const { id } = subscriptionAt(sub);
  const given = sequence.withdrawals.get(id) ?? [];
  const random = new Random(sequence.seed, `withdrawal ${id} ${given.length}`);
  const withdrawalId = random.uuidV7(sequence.nowMs + given.length);
  sequence.withdrawals.set(id, [...given, withdrawalId]);
  return ({ transactions, tokens, live }: Side): Promise<void> =>
    transactions.run(async (tx) => {
      const row = await tokens.lockOne(tx, id);
      if (row.status !== 'active') return;
      await markClosing(tx, [{ id: withdrawalId, subscriptionId: id }], drain);
      await live.withdrawalsStarted(tx, [id]);
    });
}

function dropDays({ transactions, days }: Side, before: string): Promise<void> {
  return transactions.run(async (tx) => {
    await days.drop(tx, before);
    await tx.query('DELETE FROM usage_events WHERE day < $1', [before]);
  });
}

/** Returns what rebuild, reconciliation and payout of rests read. */
async function look(
  { rows, dataSource }: Side,
  sequence: Sequence,
  { shard, marks }: Extract<Act, { type: 'look' }>,
): Promise<void> {
  const page = { shards: SHARDS, index: shard, afterId: 0, limit: 500 };
  await rows.accounts(page);
  await rows.keys(page);
  await rows.subscriptions(page);
  await dataSource.query(UNSETTLED, [0]);
  await dataSource.query(OPEN, [10, 2]);
  await dataSource.query('SELECT shard, epoch FROM shard_epochs WHERE shard = ANY($1)', [
    [shardNames(SHARDS)[shard]],
  ]);

  const rids = Array.from({ length: 9 }, (_, request) => ridOf(sequence, request));
  await chargedOf(dataSource, rids);
  await firstLettersOf(dataSource, rids);
  const found = FIRST_SUBSCRIPTIONS.map(({ id, accountId }, index) => ({
    id,
    accountId,
    modelId: MODEL_ID,
    shard: shardOf(accountId, SHARDS),
    outboxId: `${sequence.nowMs - 1_000}-${marks[index]?.outbox ?? 0}`,
    creditSeq: marks[index]?.creditSeq ?? 0,
    balance: marks[index]?.balance ?? 0,
    held: 0,
    running: 0,
    status: 'active',
    revision: 1,
    generation: 1,
  }));
  await driftsAt(dataSource, found);
  await misnumberedOf(dataSource, found);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
