import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { CheckpointReply } from '@tollgate/keyspace';
import {
  checkpointStep,
  isTurnIdle,
  startCheckpoints,
  type HoldAction,
  type HoldEvent,
  type HoldState,
} from './checkpoint-step.ts';

const TERMS = {
  isStream: true,
  sliceTokens: 500,
  boundTokens: 9_000,
  leaseMs: 60_000,
  rechargeWaitMs: 2_000,
};
/** Renewed at 0, its next checkpoint is due at 2,500. */
const STARTED = startCheckpoints(TERMS, { heldTokens: 1_000, now: 0, spread: 0 });
const TURN: HoldEvent = { kind: 'turn', charge: 0, isEpochLost: false };
const LOST: HoldEvent = { kind: 'turn', charge: 0, isEpochLost: true };
const WAITS: HoldEvent = { kind: 'waits' };

const counted = (charge: number): HoldEvent => ({ kind: 'turn', charge, isEpochLost: false });
const replied = (reply: CheckpointReply, askedTokens = 0): HoldEvent => ({
  kind: 'checkpointed',
  reply,
  askedTokens,
});
const granted = (heldTokens: number, askedTokens = 0, extendedTokens = 0, isRechargeDue = false) =>
  replied({ kind: 'ok', heldTokens, extendedTokens, isRechargeDue }, askedTokens);

/** All events in their order, each with its moment: the state, and what the last one asks for. */
function after(...events: [number, HoldEvent][]): {
  state: HoldState;
  actions: readonly HoldAction[];
} {
  let state = STARTED;
  let actions: readonly HoldAction[] = [];
  for (const [now, event] of events) [state, actions] = checkpointStep(state, event, now);
  return { state, actions };
}
const actionsOf = (...events: [number, HoldEvent][]) => after(...events).actions;
const checkpoint = (extendTokens = 0): HoldAction => ({ kind: 'checkpoint', extendTokens });
const stop = (reason: 'access_revoked' | 'balance_exhausted'): HoldAction => ({
  kind: 'stop',
  reason,
});

describe('an answer that is made in the background', () => {
  const DETACHED: HoldEvent = { kind: 'detached' };
  const gone = replied({ kind: 'gone', state: 'reaped' });

  test('is ended by its key, account or subscription alone: neither by the end of its lease nor by the reaper', () => {
    expect(actionsOf([100, DETACHED], [2_500, TURN], [2_510, gone])).toEqual([]);
    expect(actionsOf([100, DETACHED], [2_500, TURN], [60_000, TURN])).toEqual([]);
    expect(actionsOf([2_500, TURN], [60_000, TURN])).toEqual([stop('access_revoked')]);
    const revoked = replied({ kind: 'stop', heldTokens: 1_000 });
    expect(actionsOf([100, DETACHED], [2_500, TURN], [2_510, revoked])).toEqual([
      stop('access_revoked'),
    ]);
  });

  test('is asked about no more once it was reaped', () => {
    expect(actionsOf([100, DETACHED], [2_500, TURN], [2_510, gone], [9_000, TURN])).toEqual([]);
  });
});

describe('a lease', () => {
  test('is renewed every five seconds, by one call at a time', () => {
    expect(actionsOf([2_499, TURN])).toEqual([]);
    expect(actionsOf([2_500, TURN])).toEqual([checkpoint()]);
    expect(actionsOf([2_500, TURN], [8_000, TURN])).toEqual([]);
    expect(actionsOf([2_500, TURN], [2_510, granted(1_000)], [7_499, TURN])).toEqual([]);
    expect(actionsOf([2_500, TURN], [2_510, granted(1_000)], [7_500, TURN])).toEqual([
      checkpoint(),
    ]);
  });

  test('is asked for again within a second when the call failed', () => {
    const failed: [number, HoldEvent][] = [
      [2_500, TURN],
      [3_000, { kind: 'unanswered' }],
    ];
    expect(actionsOf(...failed, [3_999, TURN])).toEqual([]);
    expect(actionsOf(...failed, [4_000, TURN])).toEqual([checkpoint()]);
  });

  test('that was not renewed for three quarters of its length ends the stream, once', () => {
    const asked: [number, HoldEvent] = [2_500, TURN];
    expect(actionsOf(asked, [44_999, TURN])).toEqual([]);
    expect(actionsOf(asked, [45_000, TURN])).toEqual([stop('access_revoked')]);
    expect(actionsOf(asked, [45_000, TURN], [45_100, TURN])).toEqual([]);
  });

  test('counts from when Redis was asked, not from when it answered', () => {
    const { state } = after([2_500, TURN], [9_000, granted(1_000)]);
    expect(state.renewedAtMs).toBe(2_500);
  });

  test('ends when Redis says so, or has reaped it', () => {
    expect(actionsOf([2_500, TURN], [2_510, replied({ kind: 'stop', heldTokens: 1 })])).toEqual([
      stop('access_revoked'),
    ]);
    expect(actionsOf([2_500, TURN], [2_510, replied({ kind: 'gone', state: 'reaped' })])).toEqual([
      stop('access_revoked'),
    ]);
    expect(actionsOf([2_500, TURN], [2_510, replied({ kind: 'gone', state: 'done' })])).toEqual([]);
  });
});

describe('a hold', () => {
  test('grows by a slice when less than half of one is left, up to its bound', () => {
    expect(actionsOf([100, counted(750)])).toEqual([]);
    expect(actionsOf([100, counted(751)])).toEqual([checkpoint(500)]);
    const near = { ...STARTED, heldTokens: 8_900 };
    expect(checkpointStep(near, counted(8_800), 100)[1]).toEqual([checkpoint(100)]);
    expect(checkpointStep({ ...near, heldTokens: 9_000 }, counted(8_990), 100)[1]).toEqual([]);
  });

  test('is not asked to grow again for half a second unless it got all it asked for', () => {
    const asked: [number, HoldEvent] = [100, counted(800)];
    expect(actionsOf(asked, [110, granted(1_100, 500, 100)], [599, counted(1_000)])).toEqual([]);
    expect(actionsOf(asked, [110, granted(1_100, 500, 100)], [600, counted(1_000)])).toEqual([
      checkpoint(500),
    ]);
    expect(actionsOf(asked, [110, granted(1_500, 500, 500)], [200, counted(1_400)])).toEqual([
      checkpoint(500),
    ]);
  });

  test('of a request that is not a stream never grows by itself', () => {
    const whole = { ...STARTED, terms: { ...TERMS, isStream: false } };
    expect(checkpointStep(whole, counted(1_000), 100)[1]).toEqual([]);
  });

  test('never counts down', () => {
    expect(after([100, counted(300)], [200, counted(200)]).state.charged).toBe(300);
  });
});

describe('a stream that waits', () => {
  test('goes on with what it got, however little', () => {
    expect(actionsOf([100, WAITS])).toEqual([checkpoint(500)]);
    expect(actionsOf([100, WAITS], [110, granted(1_001, 500, 1)])).toEqual([{ kind: 'grown' }]);
  });

  test('ends when it got nothing, unless a purchase is due: that has two seconds', () => {
    expect(actionsOf([100, WAITS], [110, granted(1_000, 500, 0)])).toEqual([
      stop('balance_exhausted'),
    ]);
    const due = granted(1_000, 500, 0, true);
    expect(actionsOf([100, WAITS], [2_099, due])).toEqual([{ kind: 'recharge_due' }]);
    expect(actionsOf([100, WAITS], [2_100, due])).toEqual([
      { kind: 'recharge_due' },
      stop('balance_exhausted'),
    ]);
  });

  test('and whose lease was just being renewed asks for its slice with the reply', () => {
    expect(actionsOf([2_500, TURN], [2_510, WAITS])).toEqual([]);
    expect(actionsOf([2_500, TURN], [2_510, WAITS], [2_520, granted(1_000)])).toEqual([
      checkpoint(500),
    ]);
  });

  test('asks for nothing once it is released', () => {
    const { state, actions } = after(
      [100, WAITS],
      [105, { kind: 'released' }],
      [110, granted(1_500, 500, 500)],
    );
    expect([actions, state.heldTokens]).toEqual([[], 1_500]);
  });
});

describe('a hold that Redis has lost', () => {
  test('is restored at once when its checkpoint says so', () => {
    expect(actionsOf([2_500, TURN], [2_510, replied({ kind: 'fenced' })])).toEqual([
      { kind: 'epoch_lost' },
      { kind: 'restore' },
    ]);
    expect(actionsOf([2_500, TURN], [2_510, replied({ kind: 'gone', state: 'none' })])).toEqual([
      { kind: 'restore' },
    ]);
  });

  test('is asked for every half second while its shard is not filled', () => {
    expect(actionsOf([100, LOST])).toEqual([{ kind: 'restore' }]);
    const unfilled: HoldEvent = { kind: 'restored', reply: null };
    expect(actionsOf([100, LOST], [110, unfilled], [599, LOST])).toEqual([]);
    expect(actionsOf([100, LOST], [110, unfilled], [600, LOST])).toEqual([{ kind: 'restore' }]);
  });

  test('keeps the moment of its next checkpoint, which alone looks at key and account', () => {
    const back: HoldEvent = { kind: 'restored', reply: { kind: 'restored', heldTokens: 1_000 } };
    expect(actionsOf([2_000, LOST], [2_010, back])).toEqual([{ kind: 'epoch_restored' }]);
    expect(actionsOf([2_000, LOST], [2_010, back], [2_500, TURN])).toEqual([checkpoint()]);
  });

  test('ends its stream when it was reaped, or when there is nothing to wait for', () => {
    const gone = (state: 'reaped' | 'none'): HoldEvent => ({
      kind: 'restored',
      reply: { kind: 'gone', state },
    });
    expect(actionsOf([100, LOST], [110, gone('reaped')])).toEqual([stop('access_revoked')]);
    expect(actionsOf([100, LOST], [110, gone('none')])).toEqual([]);
    expect(actionsOf([100, LOST], [105, WAITS], [110, gone('none')])).toEqual([
      stop('access_revoked'),
    ]);
  });
});

const tokens = fc.nat(2_000);
const anyReply = fc.oneof<fc.Arbitrary<CheckpointReply>[]>(
  fc.record({
    kind: fc.constant('ok' as const),
    heldTokens: tokens,
    extendedTokens: tokens,
    isRechargeDue: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('stop' as const), heldTokens: tokens }),
  fc.record({
    kind: fc.constant('gone' as const),
    state: fc.constantFrom('reaped', 'done', 'none'),
  }),
  fc.constant({ kind: 'fenced' as const }),
);
/** What may come while nothing is asked of Redis; a reply comes exactly when something is. */
const anyEvent = fc.record({
  afterMs: fc.nat(3_000),
  own: fc.oneof(
    fc.record({ kind: fc.constant('turn' as const), charge: tokens, isEpochLost: fc.boolean() }),
    fc.constantFrom<HoldEvent>({ kind: 'waits' }, { kind: 'look_again' }),
  ),
  isReply: fc.boolean(),
  reply: anyReply,
});

test('whatever happens in whatever order, one call is under way at a time, a stream is stopped once, and a wait ends', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
      let [state, now, stops, asked] = [STARTED, 0, 0, null as HoldAction | null];
      for (const { afterMs, own, isReply, reply } of events) {
        now += afterMs;
        const answer: HoldEvent =
          asked?.kind === 'checkpoint'
            ? { kind: 'checkpointed', reply, askedTokens: asked.extendTokens }
            : { kind: 'restored', reply: { kind: 'restored', heldTokens: 1 } };
        const isAnswered = isReply && asked !== null;
        const [next, actions] = checkpointStep(state, isAnswered ? answer : own, now);
        if (isAnswered) asked = null;
        const calls = actions.filter(({ kind }) => kind === 'checkpoint' || kind === 'restore');
        expect(calls.length + (asked ? 1 : 0)).toBeLessThanOrEqual(1);
        asked = calls[0] ?? asked;
        expect(next.isAsking).toBe(asked !== null);
        stops += actions.filter(({ kind }) => kind === 'stop').length;
        if (actions.some(({ kind }) => kind === 'stop' || kind === 'grown'))
          expect(next.waitsSinceMs).toBeNull();
        expect(next.charged).toBeGreaterThanOrEqual(state.charged);
        state = next;
      }
      expect(stops).toBe(state.stopped === null ? 0 : 1);
    }),
  );
});

test('a turn that is left out as idle would have changed nothing and asked for nothing', () => {
  const seen = fc.record({ charge: fc.nat(1_200), isEpochLost: fc.boolean() });
  const event = fc.oneof(
    seen.map((of): HoldEvent => ({ kind: 'turn', ...of })),
    fc.constantFrom<HoldEvent>(
      WAITS,
      { kind: 'unanswered' },
      { kind: 'look_again' },
      { kind: 'detached' },
      { kind: 'released' },
      { kind: 'restored', reply: null },
      granted(1_000),
      granted(1_500, 500, 500),
      replied({ kind: 'gone', state: 'reaped' }),
    ),
  );
  const moment = fc.nat(20_000);
  let idle = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(moment, event)), fc.nat(50_000), seen, (before, later, turn) => {
      let now = 0;
      let state = STARTED;
      for (const [waitMs, next] of before) [state] = checkpointStep(state, next, (now += waitMs));
      if (!isTurnIdle(state, turn, now + later)) return;
      idle += 1;
      const [then, actions] = checkpointStep(state, { kind: 'turn', ...turn }, now + later);
      expect(then).toBe(state);
      expect(actions).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
  expect(idle).toBeGreaterThan(50);
});
