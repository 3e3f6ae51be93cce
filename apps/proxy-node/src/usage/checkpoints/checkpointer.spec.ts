import { NO_USAGE } from '@tollgate/contracts';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CheckpointReply, CheckpointRequest, RestoreRequest } from '@tollgate/keyspace';
import { pino } from 'pino';
import { openHold } from '../../../test/usage/holds.ts';
import type { OpenHold } from '../../journal/open-hold.ts';
import { KeptHold } from './kept-hold.ts';
import { Checkpointer, type CheckpointerOptions } from './checkpointer.ts';
import { ManualTime } from '../../testing/manual-time.ts';

const HOLD = openHold({ rid: 'r', grantedTokens: 1_000, sliceTokens: 500, boundTokens: 9_000 });

let time: ManualTime;
let checkpointer: Checkpointer;
beforeEach(() => {
  time = new ManualTime();
});
afterEach(() => checkpointer.close());

function checkpointerOver(
  metering: Partial<CheckpointerOptions['metering']>,
  onRechargeDue: CheckpointerOptions['onRechargeDue'] = () => undefined,
  onCounted: CheckpointerOptions['onCounted'] = () => undefined,
): Checkpointer {
  const never = (): never => {
    throw new Error('not expected');
  };
  return new Checkpointer({
    metering: { checkpoint: never, epochOf: never, restore: never, ...metering },
    log: pino({ level: 'silent' }),
    now: time.now,
    timers: time.timers,
    random: () => 0,
    leaseMs: 60_000,
    onCounted,
    node: 'node-1:0',
    rechargeWaitMs: 2_000,
    onRechargeDue,
    onRestoring: (hold, epoch) => {
      hold.epoch = epoch;
      return true;
    },
  });
}

const ok = (extendedTokens = 0, isRechargeDue = false): CheckpointReply => ({
  kind: 'ok',
  heldTokens: 1_000 + extendedTokens,
  extendedTokens,
  isRechargeDue,
});

const keep = (hold: OpenHold): KeptHold => checkpointer.keep(new KeptHold(checkpointer, hold));

test('a stream that begins to wait while its lease is being renewed still gets its slice', async () => {
  const asked: { extendTokens: number; answer: (reply: CheckpointReply) => void }[] = [];
  checkpointer = checkpointerOver({
    checkpoint: ({ extendTokens }: CheckpointRequest) =>
      new Promise((answer) => void asked.push({ extendTokens, answer })),
  });
  let grown = 0;
  const kept = keep(HOLD);
  await time.pass(3_000);
  kept.grow(() => (grown += 1));
  await time.pass(50);
  expect(asked.map(({ extendTokens }) => extendTokens)).toEqual([0]);
  asked[0]?.answer(ok());
  await time.pass(0);
  expect(asked.map(({ extendTokens }) => extendTokens)).toEqual([0, 500]);
  asked[1]?.answer(ok(500));
  await time.pass(0);
  expect(grown).toBe(1);
});

test('a restored hold is asked about when it would have been without the loss: a key that was disabled meanwhile ends its stream within five seconds', async () => {
  const replies: CheckpointReply[] = [ok(), { kind: 'stop', heldTokens: 1_000 }];
  const askedAt: number[] = [];
  let epoch = 'e1';
  checkpointer = checkpointerOver({
    checkpoint: () => {
      askedAt.push(time.nowMs);
      return Promise.resolve(replies.shift() ?? ok());
    },
    epochOf: () => Promise.resolve(epoch),
    restore: () => Promise.resolve({ kind: 'restored', heldTokens: 1_000 }),
  });
  const hold = { ...HOLD, epoch };
  const stops: string[] = [];
  keep(hold).onStop((reason) => stops.push(reason));
  await time.pass(7_000);
  epoch = 'e2';
  checkpointer.lost('e1');
  await time.pass(100);
  expect([hold.epoch, askedAt, stops]).toEqual(['e2', [2_500], []]);
  await time.pass(500);
  expect([askedAt, stops]).toEqual([[2_500, 7_500], ['access_revoked']]);
});

test('a stream that waits when Redis loses everything is restored as soon as its shard is filled, and gets its slice then', async () => {
  let epoch: string | null = null;
  const restored: RestoreRequest[] = [];
  checkpointer = checkpointerOver({
    checkpoint: ({ epoch: of, extendTokens }) =>
      Promise.resolve(of === 'e2' ? ok(extendTokens) : { kind: 'fenced' }),
    epochOf: () => Promise.resolve(epoch),
    restore: (request) => {
      restored.push(request);
      return Promise.resolve({ kind: 'restored', heldTokens: request.wantTokens });
    },
  });
  const stops: string[] = [];
  let grown = 0;
  const kept = keep({ ...HOLD });
  kept.count(() => ({ ...NO_USAGE, input: 100, output: 475 }));
  kept.onStop((reason) => stops.push(reason));
  await time.pass(100);
  kept.grow(() => (grown += 1));
  await time.pass(30_000);
  expect([restored, stops, grown]).toEqual([[], [], 0]);
  epoch = 'e2';
  await time.pass(600);
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
  expect([stops, grown]).toEqual([[], 1]);
});

test.each([
  [44_000, 1],
  [46_000, 0],
])(
  'a hold is restored only while it cannot have been reaped before the loss: after %i ms without Redis, %i times',
  async (awayMs, times) => {
    let epoch: string | null = null;
    let restored = 0;
    checkpointer = checkpointerOver({
      checkpoint: () => Promise.reject(new Error('Redis is away')),
      epochOf: () => Promise.resolve(epoch),
      restore: () => {
        restored += 1;
        return Promise.resolve({ kind: 'restored', heldTokens: 1_000 });
      },
    });
    const hold = { ...HOLD, epoch: 'e1' };
    keep(hold);
    await time.pass(awayMs);
    epoch = 'e2';
    checkpointer.lost('e1');
    await time.pass(700);
    expect(restored).toBe(times);
    expect(hold.epoch).toBe(times === 1 ? 'e2' : 'e1');
  },
);

test('a hold whose lease ends while Redis is asked for its epoch is not restored', async () => {
  const answers: (() => void)[] = [];
  let restored = 0;
  checkpointer = checkpointerOver({
    checkpoint: () => Promise.resolve({ kind: 'fenced' }),
    epochOf: () => new Promise((resolve) => answers.push(() => resolve('e2'))),
    restore: () => {
      restored += 1;
      return Promise.resolve({ kind: 'restored', heldTokens: 1_000 });
    },
  });
  const hold = { ...HOLD, epoch: 'e1' };
  keep(hold);
  await time.pass(46_000);
  expect(answers).toHaveLength(1);
  answers[0]?.();
  await time.pass(1);
  expect([hold.epoch, restored]).toEqual(['e1', 0]);
});

test('a purchase that is due is hinted at, and asked about twice a second', async () => {
  const askedAt: number[] = [];
  let hints = 0;
  checkpointer = checkpointerOver(
    {
      checkpoint: () => {
        askedAt.push(time.nowMs);
        return Promise.resolve(ok(0, true));
      },
    },
    () => void (hints += 1),
  );
  const stops: string[] = [];
  const kept = keep(HOLD);
  kept.onStop((reason) => stops.push(reason));
  kept.grow(() => stops.push('grown'));
  await time.pass(1_999);
  expect([askedAt, hints, stops]).toEqual([[0, 500, 1_000, 1_500], 4, []]);
  await time.pass(101);
  expect([hints, stops]).toEqual([5, ['balance_exhausted']]);
});

test('a call to Redis that fails is repeated within a second, and costs no other stream its count', async () => {
  const askedAt: number[] = [];
  const counted: string[] = [];
  checkpointer = checkpointerOver(
    {
      checkpoint: () => {
        askedAt.push(time.nowMs);
        return Promise.reject(new Error('Command timed out'));
      },
    },
    undefined,
    (counts) => counted.push(...Object.keys(counts)),
  );
  keep({ ...HOLD, rid: 'broken' }).count(() => {
    throw new Error('cannot be counted');
  });
  keep(HOLD).count(() => ({ ...NO_USAGE, output: 1 }));
  await time.pass(3_600);
  expect(counted).toEqual(['r']);
  expect(askedAt).toEqual([2_500, 2_520, 3_500, 3_520]);
});

test('a node without running requests is not woken, and the next request is counted again', async () => {
  const counted: string[] = [];
  checkpointer = checkpointerOver({}, undefined, (counts) => counted.push(...Object.keys(counts)));
  keep(HOLD).release();
  await time.pass(100);
  expect(time.wakes).toBe(1);
  await time.pass(10_000);
  expect(time.wakes).toBe(1);
  const kept = keep(openHold({ rid: 'next', grantedTokens: 1_000 }));
  kept.count(() => ({ ...NO_USAGE, output: 3 }));
  await time.pass(200);
  expect(counted).toEqual(['next']);
});

test('requests that end before their turn wake a node ten times a second, not once a turn', async () => {
  checkpointer = checkpointerOver({});
  for (let index = 0; index < 100; index += 1) {
    const kept = keep(openHold({ rid: `short-${index}`, grantedTokens: 1_000 }));
    await time.pass(3);
    kept.release();
    await time.pass(7);
  }
  expect(time.wakes).toBe(10);
});

test('a stream that comes while another turn is awaited is counted within 100 ms', async () => {
  const countedAt: number[] = [];
  checkpointer = checkpointerOver({}, undefined, () => countedAt.push(time.nowMs));
  keep(HOLD);
  for (let index = 0; index < 5; index += 1) {
    await time.pass(10);
    const kept = keep(openHold({ rid: `later-${index}`, grantedTokens: 1_000 }));
    kept.count(() => ({ ...NO_USAGE, output: 3 }));
  }
  await time.pass(100);
  expect(countedAt.length).toBeGreaterThan(0);
  expect(checkpointer.open).toBe(6);
  expect(Math.max(...countedAt)).toBeLessThanOrEqual(150);
});

test('a stream that says when there is more is asked after that, and else once a second; another each time', async () => {
  checkpointer = checkpointerOver({});
  const asked = { silent: 0, pushed: 0 };
  const silent = keep(openHold({ rid: 'silent', grantedTokens: 1_000 }));
  const pushed = keep(openHold({ rid: 'pushed', grantedTokens: 1_000 }));
  silent.count(() => ((asked.silent += 1), NO_USAGE));
  pushed.count(() => ((asked.pushed += 1), NO_USAGE));
  pushed.more();
  await time.pass(400);
  expect(asked).toEqual({ silent: 4, pushed: 1 });
  pushed.more();
  await time.pass(100);
  expect(asked.pushed).toBe(2);
  await time.pass(1_000);
  expect(asked.pushed).toBe(3);
});
