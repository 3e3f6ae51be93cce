import { describe, expect, test } from '@jest/globals';
import type { SettleReply } from '@tollgate/keyspace';
import { FinalState, finalStep, type FinalAction, type FinalEvent } from './final-step.ts';

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

test('a final begins ready, and as one that may have been settled where a journal brought it', () => {
  expect(new FinalState()).toEqual({
    ...{ stage: 'ready', carriedBy: null, seen: [], reEmit: false, dueAtMs: 0, failures: 0 },
    ...{ reEmits: 0, acknowledgedAtMs: null, fencedBy: null },
  });
  expect(new FinalState({ isReplayed: true, acknowledgedAtMs: 7 })).toMatchObject({
    ...{ reEmit: true, acknowledgedAtMs: 7 },
  });
});

describe('after a reply', () => {
  test('a failed call is made good: nothing of it is left', () => {
    const { state } = after(
      [0, STARTED],
      [0, FAILED],
      [100, DUE],
      [100, STARTED],
      [110, DUPLICATE],
    );
    expect(state).toEqual({
      ...{ stage: 'owed', carriedBy: null, seen: [], reEmit: false, dueAtMs: 8_110, failures: 0 },
      ...{ reEmits: 0, acknowledgedAtMs: null, fencedBy: null },
    });
  });

  test('a refusal is forgotten once Redis takes it, and its next one is reported again', () => {
    const again: [number, FinalEvent][] = [
      [0, DUE],
      [0, STARTED],
    ];
    const taken = after([0, STARTED], [0, fenced('age')], ...again, [0, settled('open')]);
    expect(taken.state.fencedBy).toBeNull();
    expect(after([0, STARTED], [0, fenced('age')]).state.dueAtMs).toBe(300_000);
  });

  test('a duplicate that was not asked to be emitted again is asked at once', () => {
    expect(after([0, STARTED], [10, DUPLICATE]).state).toMatchObject({
      ...{ stage: 'owed', dueAtMs: 10 },
    });
  });

  test.each([
    [0, 6_000],
    [0.5, 8_000],
    [1, 10_000],
  ])('with a spread of %p the next repetition is due after %i ms', (spread, dueAtMs) => {
    const reply: SettleReply = { kind: 'settled', balance: 1, from: 'open' };
    expect(after([0, STARTED], [0, { kind: 'replied', reply, spread }]).state.dueAtMs).toBe(
      dueAtMs,
    );
  });

  test('an acknowledgement that overtook it counts, in the event that carries the final', () => {
    const overtaken = (seqs: number[], reply: FinalEvent) =>
      after([0, STARTED], ...seqs.map((seq): [number, FinalEvent] => [5, acknowledged(seq)]), [
        10,
        reply,
      ]);
    expect(overtaken([1], settled('reaped')).actions).toEqual([
      { kind: 'acknowledged', seq: 1 },
      { kind: 'settled' },
    ]);
    expect(overtaken([0, 1], DUPLICATE).actions[0]).toEqual({ kind: 'acknowledged', seq: 1 });
    expect(overtaken([0], DUPLICATE).actions[0]).toEqual({ kind: 'acknowledged', seq: 0 });
    expect(overtaken([0], settled('reaped')).state.stage).toBe('owed');
    // It came between two calls, and nothing was emitted again since.
    const between = after([0, STARTED], [0, fenced('epoch')], [1, acknowledged(0)], [2, DUE]);
    finalStep(between.state, STARTED, 2);
    finalStep(between.state, DUPLICATE, 3);
    expect(between.state.stage).toBe('kept');
  });

  test('what was acknowledged before is kept, and its time begins again', () => {
    const events: [number, FinalEvent][] = [
      [0, STARTED],
      [0, settled('open')],
      [1, acknowledged(0)],
      [2, REPLAY],
      [3, STARTED],
      [9, DUPLICATE],
    ];
    const { state, actions } = after(...events);
    expect(state).toMatchObject({
      stage: 'kept',
      acknowledgedAtMs: 9,
      carriedBy: 0,
      reEmit: false,
    });
    expect(actions.filter(({ kind }) => kind === 'acknowledged')).toHaveLength(1);
    // Redis does not take it any longer, and PostgreSQL has it.
    expect(after(...events.slice(0, 5), [9, fenced('epoch')]).state.stage).toBe('forgotten');
  });
});

describe('a final that PostgreSQL takes without Redis', () => {
  test('is kept where Redis has it, and names the event that carries it', () => {
    const { state, actions } = after([0, STARTED], [5, settled('reaped')], [9, BOOKED]);
    expect(state).toMatchObject({ stage: 'kept', acknowledgedAtMs: 9 });
    expect(actions.at(-1)).toEqual({ kind: 'acknowledged', seq: 1 });
  });

  test('is reported once, whatever follows', () => {
    const { state, actions } = after([0, STARTED], [5, BOOKED], [6, BOOKED], [7, acknowledged(0)]);
    expect(state).toMatchObject({ stage: 'settling', acknowledgedAtMs: 5, seen: [] });
    expect(actions).toEqual([{ kind: 'acknowledged', seq: 0 }]);
  });
});

test('its time changes nothing of a final whose call runs, and Redis that returns changes neither', () => {
  for (const events of [[], [[0, STARTED]]] as [number, FinalEvent][][]) {
    const { state } = after(...events);
    expect(after(...events, [9, DUE]).state).toEqual(state);
    expect(after(...events, [9, REPLAY]).state).toEqual(state);
  }
});
