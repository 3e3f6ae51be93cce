import type { SignHold } from '@tollgate/contracts';
import type {
  LiveCounts,
  LiveRecords,
  LostWithdrawals,
  MeteringStore,
  ReapedRequests,
} from '@tollgate/keyspace';
import { uuidTimeMs } from '../../../apps/control-plane/src/features/usage/ingest/read-event.ts';
import type { ReferenceModel } from '../../../libs/keyspace/test/reference-model.ts';
import type { Link } from './link.ts';
import type { LiveStore } from './live-store.ts';

type Metering = Pick<
  MeteringStore,
  | 'admit'
  | 'settle'
  | 'checkpoint'
  | 'restore'
  | 'epochOf'
  | 'reap'
  | 'relay'
  | 'releaseRelay'
  | 'shardOf'
  | 'credit'
  | 'withdraw'
>;
type Records = Pick<
  LiveRecords,
  | 'putKey'
  | 'putAccount'
  | 'putSubscription'
  | 'discardBalance'
  | 'getBalances'
  | 'forgetHolds'
  | 'mark'
  | 'oldestEvent'
>;
type Reaped = Pick<
  ReapedRequests,
  'waiting' | 'repeat' | 'settled' | 'unbooked' | 'unrelayed' | 'lastEvent'
>;
type Lost = Pick<LostWithdrawals, 'repeatWithdrawal' | 'repeatRelease'>;

export type RedisClient = Metering & Records & Lost & Reaped & Pick<LiveCounts, 'recountAllHolds'>;

/** What a process asks of Redis, answered by the model of its functions. To the filler of a shard the mark of a rebuild is the epoch. */
export function redisClient(
  store: LiveStore,
  link: Link,
  { isFiller = false, signHold = () => '' }: { isFiller?: boolean; signHold?: SignHold } = {},
): RedisClient {
  const call = <R>(label: string, shard: string, act: (model: ReferenceModel) => R): Promise<R> =>
    link.call(label, () => store.run(shard, act));
  const of = <R>(
    label: string,
    { accountId }: { accountId: number },
    act: (model: ReferenceModel) => R,
  ): Promise<R> => call(label, store.shardOf(accountId), act);
  const signed = <R>(
    label: string,
    request: { rid: string; accountId: number; modelId: number; usedTokens?: number },
    act: (model: ReferenceModel, mac: string) => R,
  ): Promise<R> => {
    const { rid, accountId, modelId, usedTokens = 0 } = request;
    const mac = signHold({ rid, accountId, modelId, usedTokens });
    return of(label, request, (model) => act(model, mac));
  };
  const put = <R>(label: string, ref: { accountId: number }, act: (model: ReferenceModel) => R) => {
    const shard = store.shardOf(ref.accountId);
    return link.call(label, () =>
      store.runIn(shard, (state, model) =>
        isFiller && state.epochOf(shard) !== null ? asFiller(model, act) : act(model),
      ),
    );
  };
  return {
    shardOf: (accountId) => store.shardOf(accountId),
    admit: (request) =>
      signed('admit', request, (model, mac) => model.admit({ ...request, mac }, '')),
    settle: (request) =>
      of('settle', request, (model) =>
        model.settle({ ...request, startedMs: uuidTimeMs(request.rid) }),
      ),
    checkpoint: (request) =>
      signed('checkpoint', request, (model, mac) => model.checkpoint({ ...request, mac })),
    restore: (request) =>
      signed('restore', request, (model, mac) => model.restore({ ...request, mac })),
    epochOf: (accountId) => of('epoch', { accountId }, (model) => model.epoch),
    reap: (hold) => of('reap', hold, (model) => model.reap(hold)),
    relay: (shard, request) =>
      call('relay', shard, (model) => {
        const reply = model.relay(request);
        if (!reply) throw new RangeError('leaseMs must be positive');
        return reply;
      }),
    releaseRelay: (shard, request) =>
      call('releaseRelay', shard, (model) => {
        model.relay({ ...request, leaseMs: 0, entriesMax: 0, bytesMax: 0, expiredHoldsMax: 0 });
      }),
    credit: (request) => of('credit', request, (model) => model.credit(request)),
    withdraw: (request) => of('withdraw', request, (model) => model.withdraw(request)),
    putKey: (record) =>
      put('putKey', record, (model) => model.putKey({ ...record, allowlist: [] })),
    putAccount: (record) => put('putAccount', record, (model) => model.putAccount(record)),
    putSubscription: (record) =>
      put('putSubscription', record, (model) => model.putSubscription(record)),
    discardBalance: ({ accountId, modelId }) =>
      of('discardBalance', { accountId }, (model) => {
        model.subscriptions.delete(`${accountId}:${modelId}`);
      }),
    forgetHolds: (shard, booked = new Set()) =>
      call('forgetHolds', shard, (model) => {
        for (const [rid, { state }] of model.holds) if (state === 'open') model.holds.delete(rid);
        for (const { rid, seq } of model.outbox)
          if (seq === 0 && !booked.has(rid)) model.holds.delete(rid);
        model.outbox.length = 0;
        model.reaped.clear();
      }),
    waiting: (shard) => call('waiting reaps', shard, (model) => [...model.reaped]),
    repeat: (shard, rid) => call('repeatReap', shard, (model) => model.repeatReap({ rid })),
    settled: (shard, rids) =>
      call('settled reaps', shard, (model) => rids.forEach((rid) => void model.reaped.delete(rid))),
    unbooked: (shard) => call('unbooked reaps', shard, (model) => model.unbookedReaps()),
    unrelayed: async function* (shard) {
      yield await call('unrelayed events', shard, ({ outbox }) =>
        outbox.map(({ rid, seq, delta, payload }) => {
          return { rid, seq: String(seq), delta: String(delta), payload };
        }),
      );
    },
    getBalances: (refs) =>
      Promise.all(
        refs.map((ref) =>
          of('balance', ref, (model) => {
            const { record, balance, held, running, creditSeq } = model.subscription(ref);
            if (!record) return null;
            const { id, status, generation, revision } = record;
            const counts = { balance, held, running, creditSeq: creditSeq ?? 0 };
            return { ...ref, id, status, generation, revision, ...counts };
          }),
        ),
      ),
    mark: (ref) =>
      of('mark', ref, (model) => {
        const { record, balance, held, running, creditSeq } = model.subscription(ref);
        return (
          record && {
            ...ref,
            id: record.id,
            status: record.status,
            generation: record.generation,
            revision: record.revision,
            balance,
            held,
            running,
            creditSeq: creditSeq ?? 0,
            shard: store.shardOf(ref.accountId),
            outboxId: model.lastOutboxId,
          }
        );
      }),
    lastEvent: (shard) => call('last event', shard, ({ lastOutboxId }) => lastOutboxId),
    oldestEvent: (shard) =>
      call('oldest event', shard, ({ outbox }) => outbox[0]?.outboxId ?? null),
    recountAllHolds: async () => {
      const found = [];
      for (const shard of store.names)
        found.push(...(await call('recount', shard, (model) => model.recount())));
      return found;
    },
    repeatWithdrawal: (request) =>
      of('repeatWithdrawal', request, (model) => model.repeatWithdrawal(request)),
    repeatRelease: (request) =>
      of('repeatRelease', request, (model) => model.repeatRelease(request)),
  };
}

function asFiller<R>(model: ReferenceModel, act: (model: ReferenceModel) => R): R {
  const { epoch } = model;
  model.epoch ??= 'rebuilding';
  const reply = act(model);
  model.epoch = epoch;
  return reply;
}
