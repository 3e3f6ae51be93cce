import { afterEach, describe, expect, test } from '@jest/globals';
import type { SettleReply, SettleRequest } from '@tollgate/keyspace';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../test/usage/downstream.ts';
import { finalOf, PRICE, usageOf, uuidV7 } from '../../test/usage/metered-redis.ts';
import { silent } from '../../test/usage/open-recorder.ts';
import { Settler } from './settler.ts';

type Answer = SettleReply | 'lost';

/** A settler with a Redis that answers as scripted, one answer a call, then `duplicate`. */
class Bench {
  readonly asked: SettleRequest[] = [];
  readonly acknowledged: string[] = [];
  readonly forgotten: string[] = [];
  readonly fenced: string[] = [];
  answers: Answer[];
  clock = 1_000_000;
  readonly settler: Settler;

  constructor(...answers: Answer[]) {
    this.answers = answers;
    this.settler = new Settler({
      metering: { settle: (request) => this.#settle(request) },
      log: silent,
      now: () => this.clock,
      random: () => 0.5,
      onAcknowledged: ({ rid }, seq) => this.acknowledged.push(`${rid}:${seq}`),
      onForgotten: ({ rid }) => this.forgotten.push(rid),
      onSettled: () => undefined,
      onFenced: ({ rid }, by) => this.fenced.push(`${rid}:${by}`),
    });
  }

  add(isReplayed = false): string {
    const rid = uuidV7(Date.now());
    const final = finalOf(
      {
        rid,
        accountId: 1,
        keyHash: '',
        keyId: 2,
        modelId: 3,
        subscriptionId: 4,
        generation: 1,
        epoch: 'e',
        price: PRICE,
        grantedTokens: 1,
        sliceTokens: 1,
        boundTokens: 1,
        isStream: false,
        startedAtMs: 0,
        protocol: 'chat',
      },
      usageOf(2, 2),
    );
    this.settler.add(
      { rid, epoch: 'e', final, payload: '{}', atMs: this.clock, place: 1 },
      { isReplayed },
    );
    return rid;
  }

  async pass(ms: number): Promise<void> {
    this.clock += ms;
    await delay(450);
  }

  #settle(request: SettleRequest): Promise<SettleReply> {
    this.asked.push(request);
    const answer = this.answers.shift() ?? { kind: 'duplicate' };
    return answer === 'lost'
      ? Promise.reject(new Error('Command timed out'))
      : Promise.resolve(answer);
  }
}

const SETTLED = (from: 'open' | 'reaped' | 'none'): SettleReply => ({
  kind: 'settled',
  balance: 1,
  from,
});
let bench: Bench;
afterEach(() => bench.settler.close());

describe('Settler', () => {
  test('counts as ended what Redis was not asked to settle yet, and nothing that it may have settled', async () => {
    bench = new Bench();
    const subscription = { accountId: 1, modelId: 3 };
    for (let index = 0; index < 130; index += 1) bench.add();
    // All that may be in flight are: Redis counts those by itself.
    expect(bench.settler.unsentOf(subscription)).toBe(2);
    expect(bench.settler.unsentOf({ accountId: 1, modelId: 4 })).toBe(0);
    bench.add(true);
    expect(bench.settler.unsentOf(subscription)).toBe(2);
    await eventually('all are settled', () => bench.settler.unsettled === 0);
    expect(bench.settler.unsentOf(subscription)).toBe(0);
  });

  test('forgets an acknowledged final once, after its time, also when Redis returned meanwhile', async () => {
    bench = new Bench(SETTLED('open'), SETTLED('open'));
    const rid = bench.add();
    await delay(10);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    bench.settler.replay();
    await delay(10);
    await bench.pass(14_000);
    expect(bench.forgotten).toEqual([]);
    await bench.pass(1_500);
    expect(bench.forgotten).toEqual([rid]);
    await bench.pass(20_000);
    expect(bench.forgotten).toEqual([rid]);
    expect(bench.settler.unacknowledged).toBe(0);
  });

  test('does not take the acknowledgement of the reaper’s event for that of the final', async () => {
    bench = new Bench(SETTLED('reaped'));
    const rid = bench.add();
    await delay(10);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    expect(bench.settler.unacknowledged).toBe(1);
    bench.settler.acknowledge([{ rid, seq: 1 }]);
    expect(bench.settler.unacknowledged).toBe(0);
    expect(bench.acknowledged).toEqual([`${rid}:1`]);
  });

  test('believes an acknowledgement that overtakes the reply of its settle', async () => {
    let answer: (reply: SettleReply) => void = () => undefined;
    bench = new Bench();
    bench.settler.close();
    const acknowledged: number[] = [];
    const settler = new Settler({
      metering: { settle: () => new Promise((resolve) => (answer = resolve)) },
      log: silent,
      now: () => 0,
      random: () => 0,
      onForgotten: () => undefined,
      onSettled: () => undefined,
      onFenced: () => undefined,
      onAcknowledged: (_final, seq) => acknowledged.push(seq),
    });
    const rid = uuidV7(0);
    settler.add({
      rid,
      epoch: 'e',
      final: finalOf(
        {
          rid,
          accountId: 1,
          keyHash: '',
          keyId: 2,
          modelId: 3,
          subscriptionId: 4,
          generation: 1,
          epoch: 'e',
          price: PRICE,
          grantedTokens: 1,
          sliceTokens: 1,
          boundTokens: 1,
          isStream: false,
          startedAtMs: 0,
          protocol: 'chat',
        },
        usageOf(1, 1),
      ),
      payload: '{}',
      atMs: 0,
      place: 1,
    });
    settler.acknowledge([{ rid, seq: 0 }]);
    expect(acknowledged).toEqual([]);
    answer(SETTLED('open'));
    await delay(10);
    expect(acknowledged).toEqual([0]);
    settler.close();
  });

  test('asks for the event again when an answer was lost, and again until it is acknowledged', async () => {
    bench = new Bench('lost', { kind: 'duplicate' });
    const rid = bench.add();
    await delay(10);
    await bench.pass(1_000);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true]);
    await bench.pass(9_000);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true, true]);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await bench.pass(9_000);
    await bench.pass(900_000);
    expect(bench.asked.length).toBe(3);
  });

  test('keeps a final for 15 s after its acknowledgement and says it again when Redis returns in that time', async () => {
    bench = new Bench(SETTLED('open'), SETTLED('open'));
    const rid = bench.add();
    await delay(10);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    await bench.pass(14_000);
    expect(bench.forgotten).toEqual([]);
    bench.settler.replay();
    await delay(10);
    expect(bench.asked.map(({ reEmit }) => reEmit)).toEqual([false, true]);
    await bench.pass(1_500);
    expect(bench.forgotten).toEqual([rid]);
    bench.settler.replay();
    await delay(10);
    expect(bench.asked.length).toBe(2);
  });

  test('asks for the events of finals from before a restart', async () => {
    bench = new Bench({ kind: 'duplicate' });
    const rid = bench.add(true);
    await delay(10);
    expect(bench.asked[0]?.reEmit).toBe(true);
    bench.settler.acknowledge([{ rid, seq: 0 }]);
    expect(bench.settler.unacknowledged).toBe(0);
  });

  test('keeps a final of a fenced shard, says so once, and settles it when the fence is gone', async () => {
    bench = new Bench(
      { kind: 'fenced', by: 'epoch' },
      { kind: 'fenced', by: 'epoch' },
      SETTLED('open'),
    );
    const rid = bench.add();
    await delay(10);
    await bench.pass(6_000);
    await bench.pass(6_000);
    expect(bench.fenced).toEqual([`${rid}:epoch`]);
    expect(bench.asked.length).toBe(3);
    expect(bench.settler.unsettled).toBe(0);
    expect(bench.settler.unacknowledged).toBe(1);
  });

  test('does not ask Redis again and again for a final that is too old for it, and says so when its shard is lost as well', async () => {
    bench = new Bench({ kind: 'fenced', by: 'age' }, { kind: 'fenced', by: 'epoch' });
    const rid = bench.add();
    await delay(10);
    await bench.pass(200_000);
    expect(bench.asked.length).toBe(1);
    await bench.pass(200_000);
    expect(bench.asked.length).toBe(2);
    expect(bench.fenced).toEqual([`${rid}:age`, `${rid}:epoch`]);
    bench.settler.booked([rid]);
    expect([bench.forgotten, bench.settler.unacknowledged]).toEqual([[rid], 0]);
  });

  test('settles thousands at a time without asking for more than 128 at once', async () => {
    bench = new Bench();
    bench.settler.close();
    let running = 0;
    let most = 0;
    const settler = new Settler({
      metering: {
        settle: async () => {
          most = Math.max(most, ++running);
          await delay(1);
          running -= 1;
          return SETTLED('open');
        },
      },
      log: silent,
      now: Date.now,
      random: Math.random,
      onForgotten: () => undefined,
      onSettled: () => undefined,
      onFenced: () => undefined,
      onAcknowledged: () => undefined,
    });
    const final = finalOf(
      {
        rid: uuidV7(0),
        accountId: 1,
        keyHash: '',
        keyId: 2,
        modelId: 3,
        subscriptionId: 4,
        generation: 1,
        epoch: 'e',
        price: PRICE,
        grantedTokens: 1,
        sliceTokens: 1,
        boundTokens: 1,
        isStream: false,
        startedAtMs: 0,
        protocol: 'chat',
      },
      usageOf(1, 1),
    );
    for (let index = 0; index < 3_000; index++)
      settler.add({ rid: uuidV7(index), epoch: 'e', final, payload: '{}', atMs: 0, place: 1 });
    await eventually('all are settled', () => settler.unsettled === 0);
    expect(most).toBe(128);
    settler.close();
  });
});
