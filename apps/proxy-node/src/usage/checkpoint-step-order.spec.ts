import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { CheckpointReply } from '@tollgate/keyspace';
import {
  checkpointStep,
  isTurnIdle,
  type HoldAction,
  type HoldEvent,
} from './checkpoints/checkpoint-step.ts';
import { STARTED, WAITS, replied, granted } from '../testing/checkpoint-events.ts';

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

/** These events may come while no call to Redis is open; a reply comes exactly when one is. */
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
