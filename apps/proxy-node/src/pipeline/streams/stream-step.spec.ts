import { describe, expect, test } from '@jest/globals';
import {
  startStream,
  type StreamAction,
  type StreamEvent,
  type StreamState,
} from './stream-state.ts';
import { streamStep } from './stream-step.ts';
import { factsOf, STAYS, CLOSES, READ, BROKE, type Facts } from '../../testing/stream-facts.ts';

const AT_FIRST: Facts = {
  state: 'running',
  hasContent: false,
  hasFinish: false,
  backgroundId: null,
  isCommitted: false,
  isBlocked: false,
  isDrained: false,
};

const SPEAKING = { hasContent: true, isCommitted: true };

/** Is a stream whose upstream has answered, or one before that. */
class Stream {
  readonly state: StreamState;
  #facts: Facts = AT_FIRST;

  constructor({ isBackground = false, isAnswered = true } = {}) {
    this.state = startStream({ isBackground });
    this.on({ kind: 'begun' });
    this.on({ kind: 'asked' });
    if (isAnswered) this.on({ kind: 'answered' });
  }

  /** Facts stay as they are until they are given again. */
  on(event: StreamEvent, facts: Partial<Facts> = {}): readonly StreamAction[] {
    this.#facts = { ...this.#facts, ...facts };
    return streamStep(this.state, event, factsOf(this.#facts));
  }

  kinds(event: StreamEvent, facts: Partial<Facts> = {}): string[] {
    return this.on(event, facts).map(({ kind }) => kind);
  }
}

describe('before the first content', () => {
  test('what the upstream sends is kept back, and sent once it is more than a preamble', () => {
    const stream = new Stream();
    expect(stream.kinds(READ)).toEqual(['keep_back']);
    expect(stream.kinds({ kind: 'preamble_full' })).toEqual(['write']);
  });

  test('an error that the upstream states, and a break, fail the attempt unseen by the client', () => {
    expect(new Stream().on(READ, { state: 'failed' })).toEqual([
      { kind: 'reject', evidence: 'stated' },
    ]);
    expect(new Stream().on(BROKE)).toEqual([{ kind: 'reject', evidence: 'contentless' }]);
    expect(new Stream().on({ kind: 'ended_early' })).toEqual([
      { kind: 'reject', evidence: 'contentless' },
    ]);
  });

  test('an attempt that failed is no answer: the next one restarts, and a stop aborts it', () => {
    const stream = new Stream();
    stream.on(BROKE);
    stream.on({ kind: 'begun' });
    stream.on({ kind: 'asked' });
    expect(stream.on({ kind: 'stop', reason: 'access_revoked' })).toEqual([
      { kind: 'abort_attempt', why: 'access has ended' },
    ]);
    expect(stream.state).toMatchObject({ isOver: false, stopReason: 'access_revoked' });
  });

  test('bytes that reached the client without content bind the request to this upstream', () => {
    expect(new Stream().kinds(BROKE, { isCommitted: true })).toEqual(['try_to_cut']);
  });
});

describe('content', () => {
  test('is noted once for each attempt, and passed on', () => {
    const stream = new Stream();
    expect(stream.kinds(READ, { hasContent: true })).toEqual(['note_content', 'write']);
    expect(stream.kinds(READ)).toEqual(['write']);
    stream.on({ kind: 'begun' });
    expect(stream.kinds(READ)).toEqual(['note_content', 'write']);
  });

  test('costs no allocation for each chunk: its actions are the same objects', () => {
    const stream = new Stream();
    stream.on(READ, SPEAKING);
    expect(stream.on(READ)).toBe(stream.on(READ));
    const taken = { kind: 'taken', hasRest: false } as const;
    expect(stream.on(taken)).toBe(stream.on(taken));
  });

  test('a finished answer ends as its upstream ended it', () => {
    expect(new Stream().on(READ, { ...SPEAKING, state: 'finished', hasFinish: true })).toEqual([
      { kind: 'note_content' },
      { kind: 'commit' },
      { kind: 'end', outcome: 'completed', closing: 'finished' },
    ]);
  });

  test('a connection that breaks after the finish is the end of the answer, not a failure', () => {
    const stream = new Stream();
    expect(stream.kinds(BROKE, { ...SPEAKING, hasFinish: true })).toEqual(['flush_reader']);
    expect(stream.kinds({ kind: 'flushed' }, { state: 'finished' })).toEqual(['commit', 'end']);
  });
});

describe('an upstream that fails in the middle of an answer', () => {
  test('is replaced where another upstream may continue', () => {
    const stream = new Stream();
    expect(stream.on(BROKE, SPEAKING)).toEqual([{ kind: 'try_to_cut', by: 'break' }]);
    expect(stream.kinds({ kind: 'cut', by: 'break', isContinued: true })).toEqual(['hand_over']);
    expect(stream.state).toMatchObject({ isOver: false, hasAnswer: false });
  });

  test.each([
    ['break', 'broken'],
    ['statement', 'stated'],
  ] as const)('ends by its %s where no other may', (by, closing) => {
    const stream = new Stream();
    expect(stream.on({ kind: 'cut', by, isContinued: false }, SPEAKING)).toEqual([
      { kind: 'commit' },
      { kind: 'end', outcome: 'upstream_interrupted', closing },
    ]);
  });

  test('is not replaced once the request was stopped', () => {
    const stream = new Stream({ isAnswered: false });
    stream.on({ kind: 'stop', reason: 'node_stopped' });
    stream.on({ kind: 'answered' });
    expect(stream.kinds(BROKE, SPEAKING)).toEqual(['commit', 'end']);
  });
});

describe('the hold', () => {
  test('that covers part of a chunk stops the reading until it has grown', () => {
    const stream = new Stream();
    stream.on(READ, SPEAKING);
    expect(stream.kinds({ kind: 'taken', hasRest: true })).toEqual(['wait_for_hold']);
    expect(stream.kinds({ kind: 'client_reads' })).toEqual([]);
    expect(stream.kinds({ kind: 'hold_grown' })).toEqual(['resume']);
  });

  test('that has grown does not resume a stream whose client takes nothing', () => {
    const stream = new Stream();
    stream.on({ kind: 'taken', hasRest: true }, SPEAKING);
    expect(stream.kinds({ kind: 'hold_grown' }, { isBlocked: true })).toEqual([]);
    expect(stream.kinds({ kind: 'client_reads' }, { isBlocked: false })).toEqual(['resume']);
  });

  test('that cannot grow ends the stream as if it had met its limit', () => {
    const stream = new Stream();
    stream.on(READ, SPEAKING);
    expect(stream.on({ kind: 'stop', reason: 'balance_exhausted' })).toEqual([
      { kind: 'commit' },
      { kind: 'end', outcome: 'balance_exhausted', closing: 'finished_early' },
    ]);
  });

  test('that was not renewed in time ends the stream by the node, not by the caller', () => {
    const stream = new Stream();
    stream.on(READ, SPEAKING);
    expect(stream.on({ kind: 'stop', reason: 'unconfirmed' })).toEqual([
      { kind: 'commit' },
      { kind: 'end', outcome: 'node_stopped', closing: 'stopped' },
    ]);
  });
});

describe('a client that leaves', () => {
  test('is read on for, until the drain has its tokens or its time', () => {
    for (const event of [{ kind: 'taken', hasRest: false }, { kind: 'drain_over' }] as const) {
      const stream = new Stream();
      expect(stream.kinds(STAYS, SPEAKING)).toEqual(['drain']);
      expect(stream.kinds(STAYS)).toEqual([]);
      expect(stream.kinds({ kind: 'taken', hasRest: false })).toEqual([]);
      expect(stream.on(event, { isDrained: true })).toEqual([
        { kind: 'end', outcome: 'client_closed', closing: 'left' },
      ]);
    }
  });

  test('is read on for beyond the tokens of the drain once there is a finish: only the usage follows', () => {
    const stream = new Stream();
    stream.on(STAYS, SPEAKING);
    const facts = { isDrained: true, hasFinish: true };
    expect(stream.kinds({ kind: 'taken', hasRest: false }, facts)).toEqual([]);
  });

  test('ends the stream at once where closing it ends the bill, or where nothing was sent', () => {
    expect(new Stream().kinds(CLOSES)).toEqual(['end']);
    expect(new Stream().kinds({ ...STAYS, isSent: false })).toEqual(['end']);
    expect(new Stream({ isAnswered: false }).kinds(CLOSES)).toEqual(['abort_attempt']);
  });

  test('is counted for while its attempt has no answer yet', () => {
    const stream = new Stream({ isAnswered: false });
    expect(stream.kinds(STAYS)).toEqual(['count', 'drain']);
    expect(stream.kinds({ kind: 'answered' })).toEqual([]);
  });
});

describe('an answer in the background', () => {
  const begun = (): Stream => {
    const stream = new Stream({ isBackground: true });
    expect(stream.kinds(READ, { backgroundId: 'resp_1' })).toEqual(['note_background', 'write']);
    expect(stream.kinds(READ)).toEqual(['write']);
    return stream;
  };

  test('goes on without its client', () => {
    expect(begun().kinds(STAYS)).toEqual(['end']);
  });

  test('ends when its upstream has said in one piece that it makes the answer', () => {
    const stream = new Stream({ isBackground: true });
    expect(stream.kinds({ kind: 'upstream_ended' })).toEqual(['flush_reader']);
    expect(stream.on({ kind: 'flushed' }, { backgroundId: 'resp_1' })).toEqual([
      { kind: 'note_background' },
      { kind: 'commit' },
      { kind: 'end', outcome: 'completed', closing: 'finished' },
    ]);
    expect(stream.kinds({ kind: 'ended_early' })).toEqual([]);
  });

  test('is severed when its upstream breaks off or the node stops: its error event would be false', () => {
    const stream = begun();
    expect(stream.kinds({ kind: 'upstream_ended' })).toEqual([]);
    expect(stream.on({ kind: 'ended_early' })).toEqual([{ kind: 'try_to_cut', by: 'break' }]);
    expect(stream.on({ kind: 'cut', by: 'break', isContinued: false })).toMatchObject([
      { kind: 'end', closing: 'severed' },
    ]);
    expect(begun().on({ kind: 'stop', reason: 'node_stopped' })).toMatchObject([
      { kind: 'commit' },
      { kind: 'end', closing: 'severed' },
    ]);
  });
});
