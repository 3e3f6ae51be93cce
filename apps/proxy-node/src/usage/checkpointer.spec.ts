import { NO_USAGE } from '@tollgate/contracts';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { CheckpointReply, CheckpointRequest, RestoreRequest } from '@tollgate/keyspace';
import { pino } from 'pino';
import { eventually } from '../../test/usage/downstream.ts';
import { PRICE } from '../../test/usage/metered-redis.ts';
import type { OpenHold } from '../journal/open-hold.ts';
import { Checkpointer, type CheckpointerOptions } from './checkpointer.ts';
import { SYSTEM_TIMERS } from '../timers.ts';

const HOLD: OpenHold = {
  rid: 'r',
  accountId: 1,
  keyHash: 'k',
  keyId: 1,
  modelId: 1,
  subscriptionId: 1,
  generation: 1,
  epoch: 'e',
  price: PRICE,
  grantedTokens: 1_000,
  sliceTokens: 500,
  boundTokens: 9_000,
  isStream: true,
  startedAtMs: 0,
  protocol: 'chat',
};

function checkpointerOver(
  metering: Partial<CheckpointerOptions['metering']>,
  now: () => number,
  onRechargeDue: CheckpointerOptions['onRechargeDue'] = () => undefined,
): Checkpointer {
  const never = (): never => {
    throw new Error('not expected');
  };
  return new Checkpointer({
    timers: SYSTEM_TIMERS,
    metering: { checkpoint: never, epochOf: never, restore: never, ...metering },
    log: pino({ level: 'silent' }),
    now,
    random: () => 0,
    leaseMs: 60_000,
    onCounted: () => undefined,
    node: 'node-1:0',
    rechargeWaitMs: 2_000,
    onRechargeDue,
    onRestoring: (hold, epoch) => {
      hold.epoch = epoch;
      return true;
    },
  });
}

test('a stream that begins to wait while its lease is being renewed gets its slice all the same', async () => {
  const asked: { extendTokens: number; answer: (reply: CheckpointReply) => void }[] = [];
  const checkpoint = ({ extendTokens }: CheckpointRequest): Promise<CheckpointReply> =>
    new Promise((answer) => void asked.push({ extendTokens, answer }));
  let now = 0;
  const checkpointer = checkpointerOver({ checkpoint }, () => now);
  try {
    const kept = checkpointer.keep(HOLD);
    now = 5_000;
    await eventually('the lease is being renewed', () => asked.length === 1);
    const grown = new Promise<void>((resolve) => kept.grow(resolve));
    await delay(50);
    expect(asked.map(({ extendTokens }) => extendTokens)).toEqual([0]);
    asked[0]?.answer({ kind: 'ok', heldTokens: 1_000, extendedTokens: 0, isRechargeDue: false });
    await eventually('the slice is asked for', () => asked.length === 2);
    expect(asked[1]?.extendTokens).toBe(500);
    asked[1]?.answer({ kind: 'ok', heldTokens: 1_500, extendedTokens: 500, isRechargeDue: false });
    await grown;
  } finally {
    checkpointer.close();
  }
});

test('a restored hold is asked about when it would have been without the loss: a key that was disabled meanwhile ends its stream within five seconds', async () => {
  let now = 0;
  let asked = 0;
  let epoch = 'e1';
  const checkpointer = checkpointerOver(
    {
      checkpoint: () =>
        Promise.resolve(
          ++asked === 1
            ? { kind: 'ok', heldTokens: 1_000, extendedTokens: 0, isRechargeDue: false }
            : { kind: 'stop', heldTokens: 1_000 },
        ),
      epochOf: () => Promise.resolve(epoch),
      restore: () => Promise.resolve({ kind: 'restored', heldTokens: 1_000 }),
    },
    () => now,
  );
  try {
    const hold = { ...HOLD, epoch };
    const stopped = new Promise<string>((resolve) => checkpointer.keep(hold).onStop(resolve));
    now = 2_500;
    await eventually('the first checkpoint', () => asked === 1);
    now = 7_000;
    epoch = 'e2';
    checkpointer.lost('e1');
    await eventually('the hold is restored', () => hold.epoch === 'e2');
    now = 7_500;
    expect(await stopped).toBe('access_revoked');
  } finally {
    checkpointer.close();
  }
});

test('a stream that waits when Redis loses everything is restored as soon as its shard is filled, and gets its slice then', async () => {
  let now = 0;
  let epoch: string | null = null;
  const restored: RestoreRequest[] = [];
  const checkpointer = checkpointerOver(
    {
      checkpoint: ({ epoch: of, extendTokens }) =>
        Promise.resolve(
          of === 'e2'
            ? {
                kind: 'ok',
                heldTokens: 1_000 + extendTokens,
                extendedTokens: extendTokens,
                isRechargeDue: false,
              }
            : { kind: 'fenced' },
        ),
      epochOf: () => Promise.resolve(epoch),
      restore: (request) => {
        restored.push(request);
        return Promise.resolve({ kind: 'restored', heldTokens: request.wantTokens });
      },
    },
    () => now,
  );
  try {
    const kept = checkpointer.keep({ ...HOLD });
    kept.count(() => ({ ...NO_USAGE, input: 100, output: 475 }));
    await delay(150);
    const stops: string[] = [];
    kept.onStop((reason) => stops.push(reason));
    const grown = new Promise<void>((resolve) => kept.grow(resolve));
    for (now = 500; now < 30_000; now += 5_000) await delay(60);
    expect([restored, stops]).toEqual([[], []]);
    epoch = 'e2';
    now += 500;
    await grown;
    expect(restored).toMatchObject([
      {
        rid: 'r',
        epoch: 'e2',
        wantTokens: 1_000,
        usedTokens: 1_000,
        generation: 1,
        node: 'node-1:0',
        leaseMs: 60_000,
      },
    ]);
    expect(stops).toEqual([]);
  } finally {
    checkpointer.close();
  }
});

test('a stream that waits while a purchase is due is given two seconds for it, asked about twice a second', async () => {
  let now = 0;
  let bought = 0;
  let isArmed = true;
  const askedAt: number[] = [];
  let hints = 0;
  const checkpointer = checkpointerOver(
    {
      checkpoint: ({ extendTokens }) => {
        askedAt.push(now);
        const extendedTokens = Math.min(bought, extendTokens);
        const isRechargeDue = isArmed && extendedTokens < extendTokens;
        return Promise.resolve({
          kind: 'ok',
          heldTokens: 1_000 + extendedTokens,
          extendedTokens,
          isRechargeDue,
        });
      },
    },
    () => now,
    () => void (hints += 1),
  );
  try {
    const outcomeOf = (rid: string): Promise<string> => {
      const kept = checkpointer.keep({ ...HOLD, rid });
      return new Promise((resolve) => {
        kept.onStop(resolve);
        kept.grow(() => resolve('grown'));
      });
    };
    const served = outcomeOf('served');
    await delay(50);
    expect([askedAt, hints]).toEqual([[0], 1]);
    now = 499;
    await delay(150);
    expect(askedAt).toEqual([0]);
    bought = 10;
    now = 500;
    expect(await served).toBe('grown');
    bought = 0;
    const unserved = outcomeOf('unserved');
    await delay(50);
    for (now = 1_000; now <= 2_500; now += 500) await delay(150);
    expect(await unserved).toBe('balance_exhausted');
    expect(askedAt.length).toBeLessThanOrEqual(8);
    isArmed = false;
    expect(await outcomeOf('not armed')).toBe('balance_exhausted');
  } finally {
    checkpointer.close();
  }
});
