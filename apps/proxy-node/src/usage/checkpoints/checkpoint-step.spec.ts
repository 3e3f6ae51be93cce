import { describe, expect, test } from '@jest/globals';
import {
  checkpointStep,
  type HoldAction,
  type HoldEvent,
  type HoldState,
} from './checkpoint-step.ts';
import {
  TERMS,
  STARTED,
  WAITS,
  replied,
  granted,
  checkpoint,
  stop,
} from '../../testing/checkpoint-events.ts';

const TURN: HoldEvent = { kind: 'turn', charge: 0, isEpochLost: false };

const LOST: HoldEvent = { kind: 'turn', charge: 0, isEpochLost: true };

const counted = (charge: number): HoldEvent => ({ kind: 'turn', charge, isEpochLost: false });

/** Returns, for all events in their order, each with its moment, the state and what the last one asks for. */
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

describe('an answer that is made in the background', () => {
  const DETACHED: HoldEvent = { kind: 'detached' };
  const gone = replied({ kind: 'gone', state: 'reaped' });

  test('is ended by its key, account or subscription alone: neither by the end of its lease nor by the reaper', () => {
    expect(actionsOf([100, DETACHED], [2_500, TURN], [2_510, gone])).toEqual([]);
    expect(actionsOf([100, DETACHED], [2_500, TURN], [60_000, TURN])).toEqual([]);
    expect(actionsOf([2_500, TURN], [60_000, TURN])).toEqual([stop('unconfirmed')]);
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
    expect(actionsOf(asked, [45_000, TURN])).toEqual([stop('unconfirmed')]);
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
      stop('unconfirmed'),
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
    expect(actionsOf([100, LOST], [110, gone('reaped')])).toEqual([stop('unconfirmed')]);
    expect(actionsOf([100, LOST], [110, gone('none')])).toEqual([]);
    expect(actionsOf([100, LOST], [105, WAITS], [110, gone('none')])).toEqual([
      stop('access_revoked'),
    ]);
  });
});
