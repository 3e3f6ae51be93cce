import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { SettleReply } from '@tollgate/keyspace';
import {
  FinalState,
  finalStep,
  isUnsent,
  type FinalAction,
  type FinalEvent,
} from './final-step.ts';

const STARTED: FinalEvent = { kind: 'started' };
const FAILED: FinalEvent = { kind: 'failed', spread: 0.5 };
const DUE: FinalEvent = { kind: 'due' };
const REPLAY: FinalEvent = { kind: 'replay' };
const BOOKED: FinalEvent = { kind: 'booked' };

const replied = (reply: SettleReply): FinalEvent => ({ kind: 'replied', reply, spread: 0.5 });
const settled = (from: 'open' | 'reaped') => replied({ kind: 'settled', balance: 1, from });
const fenced = (by: 'epoch' | 'age') => replied({ kind: 'fenced', by });
const DUPLICATE = replied({ kind: 'duplicate' });
const acknowledged = (seq: number): FinalEvent => ({ kind: 'acknowledged', seq });

/** Returns, for all events in their order, each with its moment, the state and every action so far. */
function after(...events: [number, FinalEvent][]): { state: FinalState; actions: FinalAction[] } {
  const state = new FinalState();
  const actions: FinalAction[] = [];
  for (const [now, event] of events) actions.push(...finalStep(state, event, now));
  return { state, actions };
}

describe('a final that Redis takes', () => {
  test('is owed until the event that carries it is acknowledged, then kept until its time is over', () => {
    const owed = after([0, STARTED], [10, settled('open')]);
    expect(owed).toMatchObject({ state: { stage: 'owed', dueAtMs: 8_010 } });
    expect(owed.actions).toEqual([{ kind: 'settled' }]);
    const actions = finalStep(owed.state, acknowledged(0), 20);
    expect(owed.state).toMatchObject({ stage: 'kept', acknowledgedAtMs: 20 });
    expect(actions).toEqual([{ kind: 'acknowledged', seq: 0 }]);
    const last = finalStep(owed.state, DUE, 15_020);
    expect([owed.state.stage, last]).toEqual(['forgotten', [{ kind: 'forgotten' }]]);
  });

  test('is not acknowledged by the event of the reaper', () => {
    const reaped = after([0, STARTED], [10, settled('reaped')], [20, acknowledged(0)]);
    expect(reaped.state).toMatchObject({ stage: 'owed', acknowledgedAtMs: null });
  });

  test('is acknowledged once, however often its event is', () => {
    const { actions } = after(
      [0, STARTED],
      [5, acknowledged(0)],
      [10, settled('open')],
      [20, acknowledged(0)],
      [30, BOOKED],
    );
    expect(actions).toEqual([{ kind: 'acknowledged', seq: 0 }, { kind: 'settled' }]);
  });

  test('is emitted again at growing intervals of at most five minutes', () => {
    const { state } = after([0, STARTED], [0, settled('open')]);
    const waits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      const now = state.dueAtMs;
      for (const event of [DUE, STARTED, DUPLICATE]) finalStep(state, event, now);
      waits.push(state.dueAtMs - now);
    }
    expect(waits).toEqual([16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000, 300_000]);
  });
});

describe('a final that Redis does not take', () => {
  test('is tried again after growing delays, and its event is emitted again', () => {
    const state = new FinalState();
    const waits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      for (const event of [STARTED, FAILED]) finalStep(state, event, 0);
      waits.push(state.dueAtMs);
      finalStep(state, DUE, 0);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    expect([state.reEmit, isUnsent(state), isUnsent(new FinalState())]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test('is handed over once for each reason', () => {
    const again: [number, FinalEvent][] = [
      [0, DUE],
      [0, STARTED],
    ];
    const { state, actions } = after(
      [0, STARTED],
      [0, fenced('age')],
      ...again,
      [0, fenced('age')],
      ...again,
      [0, fenced('epoch')],
    );
    expect(actions).toEqual([
      { kind: 'fenced', by: 'age' },
      { kind: 'fenced', by: 'epoch' },
    ]);
    expect(state).toMatchObject({ stage: 'later', dueAtMs: 5_000 });
  });

  test('is forgotten at once when PostgreSQL has it', () => {
    const { state, actions } = after([0, STARTED], [0, fenced('epoch')], [9, BOOKED]);
    expect(state.stage).toBe('forgotten');
    expect(actions.slice(1)).toEqual([{ kind: 'acknowledged', seq: 0 }, { kind: 'forgotten' }]);
  });

  test('that PostgreSQL took during the call is forgotten by the refusal', () => {
    const { state, actions } = after([0, STARTED], [5, BOOKED], [9, fenced('epoch')]);
    expect(state.stage).toBe('forgotten');
    expect(actions).toEqual([{ kind: 'acknowledged', seq: 0 }, { kind: 'forgotten' }]);
  });
});

describe('when Redis returns', () => {
  test.each<[string, [number, FinalEvent][]]>([
    [
      'that is owed',
      [
        [0, STARTED],
        [0, settled('open')],
      ],
    ],
    [
      'that is kept',
      [
        [0, STARTED],
        [0, settled('open')],
        [1, acknowledged(0)],
      ],
    ],
  ])('a final %s is emitted again', (_name, events) => {
    expect(after(...events, [2, REPLAY]).state).toMatchObject({ stage: 'ready', reEmit: true });
  });

  test('a final that was never sent is sent at once, and not as a repetition', () => {
    const { state } = after([0, STARTED], [0, fenced('epoch')], [1, REPLAY]);
    expect(state).toMatchObject({ stage: 'ready', reEmit: false });
  });

  test('an acknowledgement from before the repetition does not count for an unknown event', () => {
    const { state } = after(
      [0, STARTED],
      [0, FAILED],
      [1, acknowledged(0)],
      [100, DUE],
      [100, STARTED],
      [110, DUPLICATE],
    );
    expect(state).toMatchObject({ stage: 'owed', acknowledgedAtMs: null });
  });
});

test('a final is acknowledged at most once and forgotten only after that, in any order of events', () => {
  const event = fc.constantFrom<FinalEvent>(
    settled('open'),
    settled('reaped'),
    fenced('epoch'),
    fenced('age'),
    DUPLICATE,
    FAILED,
    DUE,
    REPLAY,
    acknowledged(0),
    acknowledged(1),
    BOOKED,
  );
  const isReply = ({ kind }: FinalEvent): boolean => kind === 'replied' || kind === 'failed';
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const state = new FinalState();
      const kinds: string[] = [];
      const take = (next: FinalEvent): void => {
        kinds.push(...finalStep(state, next, kinds.length).map(({ kind }) => kind));
      };
      for (const next of events) {
        if (state.stage === 'forgotten') break;
        if (state.stage === 'ready') take(STARTED);
        // Only a call that runs is replied to.
        if (isReply(next) && state.stage !== 'settling') continue;
        take(next);
      }
      const story = kinds.filter((kind) => kind === 'acknowledged' || kind === 'forgotten');
      expect(['acknowledged', 'forgotten'].slice(0, story.length)).toEqual(story);
      expect(state.acknowledgedAtMs !== null).toBe(story.length > 0);
      expect(state.stage === 'forgotten').toBe(story.length === 2);
    }),
  );
});
