import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SettleReply, SettleRequest } from '@tollgate/keyspace';
import { openHold } from '../../../test/usage/holds.ts';
import { finalOf, usageOf } from '../../../test/usage/metered-redis.ts';
import { silent } from '../../../test/usage/open-recorder.ts';
import { pause } from '../../timers.ts';
import { ManualTime } from '../../testing/manual-time.ts';
import { PendingFinal, Settler, type JournalledFinal, type SettlerOptions } from './settler.ts';

type Answer = SettleReply | 'lost';

let time: ManualTime;
let settlers: Settler[];
beforeEach(() => {
  time = new ManualTime(1_000_000);
  settlers = [];
});
afterEach(() => settlers.forEach((settler) => settler.close()));

function settlerOver(
  settle: SettlerOptions['metering']['settle'],
  listeners: Partial<SettlerOptions> = {},
): Settler {
  const settler = new Settler({
    metering: { settle },
    log: silent,
    now: time.now,
    timers: time.timers,
    random: () => 0.5,
    isReachable: () => true,
    onAcknowledged: () => undefined,
    onForgotten: () => undefined,
    onSettled: () => undefined,
    onFenced: () => undefined,
    ...listeners,
  });
  settlers.push(settler);
  return settler;
}

function journalledFinal(): JournalledFinal {
  const hold = openHold();
  const { rid, epoch } = hold;
  return { rid, epoch, final: finalOf(hold, usageOf(2, 2)), atMs: time.nowMs };
}

/** Is a settler with a Redis that answers as scripted, one answer a call, then `duplicate`. */
class Bench {
  readonly asked: SettleRequest[] = [];
  readonly acknowledged: string[] = [];
  readonly forgotten: string[] = [];
  readonly fenced: string[] = [];
  isReachable = true;
  readonly settler: Settler;

  constructor(...answers: Answer[]) {
    this.settler = settlerOver(
      (request) => {
        this.asked.push(request);
        const answer = answers.shift() ?? { kind: 'duplicate' };
        return answer === 'lost'
          ? Promise.reject(new Error('Command timed out'))
          : Promise.resolve(answer);
      },
      {
        isReachable: () => this.isReachable,
        onAcknowledged: ({ rid }, seq) => this.acknowledged.push(`${rid}:${seq}`),
        onForgotten: ({ rid }) => this.forgotten.push(rid),
        onFenced: ({ rid }, by) => this.fenced.push(`${rid}:${by}`),
      },
    );
  }

  add(isReplayed = false): string {
    const final = new PendingFinal(journalledFinal(), { isReplayed });
    this.settler.add(final);
    return final.rid;
  }
}

const SETTLED = (from: 'open' | 'reaped' | 'none'): SettleReply => ({
  kind: 'settled',
  balance: 1,
  from,
});

test('a final is settled as it was admitted: its epoch, account, model, charge and text, whatever else is on its way', () => {
  const bench = new Bench();
  const finals = ['before', 'now'].map((epoch, index) => ({
    ...journalledFinal(),
    ...{ epoch, final: { ...journalledFinal().final, charge: 30 + index } },
  }));
  for (const final of finals) bench.settler.add(new PendingFinal(final));
  bench.settler.replay();
  expect(bench.asked).toEqual(
    finals.map(({ rid, epoch, final }) => ({
      ...{ rid, epoch, payload: JSON.stringify(final), reEmit: false },
      ...{ accountId: 1, modelId: 3, chargeTokens: final.charge },
      ratedTokens: { all: 4, uncached: 4 },
    })),
  );
});

describe('Settler', () => {
  test('counts as ended what Redis was not asked to settle yet, and nothing that it may have settled', async () => {
    const bench = new Bench();
    const subscription = { accountId: 1, modelId: 3 };
    for (let index = 0; index < 130; index += 1) bench.add();
    // All that may be in flight are: Redis counts those by itself.
    expect(bench.settler.unsentOf(subscription)).toBe(2);
    expect(bench.settler.unsentOf({ accountId: 1, modelId: 4 })).toBe(0);
    bench.add(true);
    expect(bench.settler.unsentOf(subscription)).toBe(2);
    await time.pass(0);
    expect(bench.settler.unsettled).toBe(0);
    expect(bench.settler.unsentOf(subscription)).toBe(0);
  });

  test('forgets an acknowledged final once, after its time, also when Redis returned meanwhile', async () => {
    const bench = new Bench(SETTLED('open'), SETTLED('open'));
    const rid = bench.add();
    await time.pass(0);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    bench.settler.replay();
    await time.pass(0);
    await time.pass(14_000);
    expect(bench.forgotten).toEqual([]);
    await time.pass(1_500);
    expect(bench.forgotten).toEqual([rid]);
    await time.pass(20_000);
    expect(bench.forgotten).toEqual([rid]);
    expect(bench.settler.unacknowledged).toBe(0);
  });

  test('does not wake its process before the first final and after the last is forgotten', async () => {
    const bench = new Bench(SETTLED('open'));
    await time.pass(10_000);
    expect(time.wakes).toBe(0);
    const rid = bench.add();
    await time.pass(0);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await time.pass(16_000);
    expect(bench.forgotten).toEqual([rid]);
    const { wakes } = time;
    await time.pass(60_000);
    expect(time.wakes).toBe(wakes);
    bench.add();
    await time.pass(1_000);
    expect(time.wakes).toBeGreaterThan(wakes);
  });

  test('does not take the acknowledgement of the reaper’s event for that of the final', async () => {
    const bench = new Bench(SETTLED('reaped'));
    const rid = bench.add();
    await time.pass(0);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    expect(bench.settler.unacknowledged).toBe(1);
    bench.settler.acknowledge([{ rid, seq: 1 }]);
    expect(bench.settler.unacknowledged).toBe(0);
    expect(bench.acknowledged).toEqual([`${rid}:1`]);
  });

  test('believes an acknowledgement that overtakes the reply of its settle', async () => {
    let answer: (reply: SettleReply) => void = () => undefined;
    const acknowledged: number[] = [];
    const settler = settlerOver(() => new Promise((resolve) => (answer = resolve)), {
      onAcknowledged: (_final, seq) => acknowledged.push(seq),
    });
    const final = new PendingFinal(journalledFinal());
    settler.add(final);
    settler.acknowledge([{ rid: final.rid, seq: 0 }]);
    expect(acknowledged).toEqual([]);
    answer(SETTLED('open'));
    await time.pass(0);
    expect(acknowledged).toEqual([0]);
  });

  test('asks for the event again when an answer was lost, and again until it is acknowledged', async () => {
    const bench = new Bench('lost', { kind: 'duplicate' });
    const rid = bench.add();
    await time.pass(0);
    await time.pass(1_000);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true]);
    await time.pass(9_000);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true, true]);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await time.pass(9_000);
    await time.pass(900_000);
    expect(bench.asked.length).toBe(3);
  });

  test('keeps a final for 15 s after its acknowledgement and says it again when Redis returns in that time', async () => {
    const bench = new Bench(SETTLED('open'), SETTLED('open'));
    const rid = bench.add();
    await time.pass(0);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await time.pass(14_000);
    expect(bench.forgotten).toEqual([]);
    bench.settler.replay();
    await time.pass(0);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true]);
    // Redis may lose its tail again.
    await time.pass(14_000);
    expect(bench.forgotten).toEqual([]);
    await time.pass(1_500);
    expect(bench.forgotten).toEqual([rid]);
    bench.settler.replay();
    await time.pass(0);
    expect(bench.asked.length).toBe(2);
  });

  test('forgets nothing while Redis is away, however long: what Redis may have lost is sent again then', async () => {
    const bench = new Bench(SETTLED('open'));
    const rid = bench.add();
    await time.pass(0);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await time.pass(1_000);
    bench.isReachable = false;
    await time.pass(600_000);
    expect(bench.forgotten).toEqual([]);
    bench.isReachable = true;
    bench.settler.replay();
    await time.pass(0);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true]);
    await time.pass(15_500);
    expect(bench.forgotten).toEqual([rid]);
  });

  test('asks for the events of finals from before a restart', async () => {
    const bench = new Bench({ kind: 'duplicate' });
    const rid = bench.add(true);
    await time.pass(0);
    expect(bench.asked[0]?.reEmit).toBe(true);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    expect(bench.settler.unacknowledged).toBe(0);
  });

  test('keeps a final of a fenced shard, says so once, and settles it when the fence is gone', async () => {
    const bench = new Bench(
      { kind: 'fenced', by: 'epoch' },
      { kind: 'fenced', by: 'epoch' },
      SETTLED('open'),
    );
    const rid = bench.add();
    await time.pass(0);
    await time.pass(6_000);
    await time.pass(6_000);
    expect(bench.fenced).toEqual([`${rid}:epoch`]);
    expect(bench.asked.length).toBe(3);
    expect(bench.settler.unsettled).toBe(0);
    expect(bench.settler.unacknowledged).toBe(1);
  });

  test('does not ask Redis again and again for a final that is too old for it, and says so when its shard is lost as well', async () => {
    const bench = new Bench({ kind: 'fenced', by: 'age' }, { kind: 'fenced', by: 'epoch' });
    const rid = bench.add();
    await time.pass(0);
    await time.pass(200_000);
    expect(bench.asked.length).toBe(1);
    await time.pass(101_000);
    expect(bench.asked.length).toBe(2);
    expect(bench.fenced).toEqual([`${rid}:age`, `${rid}:epoch`]);
    bench.settler.booked([rid]);
    expect([bench.forgotten, bench.settler.unacknowledged]).toEqual([[rid], 0]);
  });

  test('settles thousands at a time without asking for more than 128 at once', async () => {
    let running = 0;
    let most = 0;
    const settler = settlerOver(async () => {
      most = Math.max(most, ++running);
      await pause(time.timers, 1);
      running -= 1;
      return SETTLED('open');
    });
    for (let index = 0; index < 3_000; index++) settler.add(new PendingFinal(journalledFinal()));
    await time.pass(24);
    expect([most, settler.unsettled]).toEqual([128, 0]);
  });
});

test('when Redis returns, what it never confirmed comes before what it may have lost', async () => {
  const bench = new Bench(SETTLED('open'), 'lost');
  const [settled, unconfirmed] = [bench.add(), bench.add()];
  await time.pass(0);
  bench.settler.replay();
  await time.pass(0);
  expect(bench.asked.map(({ rid }) => rid)).toEqual([settled, unconfirmed, unconfirmed, settled]);
});
