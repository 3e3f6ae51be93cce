import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startStream, type StreamEvent } from './streams/stream-state.ts';
import { streamStep } from './streams/stream-step.ts';
import { factsOf, STAYS, CLOSES, READ, BROKE, type Facts } from '../testing/stream-facts.ts';

const anyFacts: fc.Arbitrary<Facts> = fc.record({
  state: fc.constantFrom('running', 'finished', 'failed'),
  hasContent: fc.boolean(),
  hasFinish: fc.boolean(),
  backgroundId: fc.constantFrom(null, 'resp_1'),
  isCommitted: fc.boolean(),
  isBlocked: fc.boolean(),
  isDrained: fc.boolean(),
});

const anyEvent: fc.Arbitrary<StreamEvent> = fc.constantFrom<StreamEvent[]>(
  { kind: 'begun' },
  { kind: 'asked' },
  { kind: 'answered' },
  READ,
  { kind: 'taken', hasRest: true },
  { kind: 'taken', hasRest: false },
  { kind: 'flushed' },
  { kind: 'preamble_full' },
  { kind: 'upstream_ended' },
  { kind: 'ended_early' },
  BROKE,
  { kind: 'cut', by: 'break', isContinued: true },
  { kind: 'cut', by: 'statement', isContinued: false },
  { kind: 'hold_grown' },
  { kind: 'client_reads' },
  STAYS,
  CLOSES,
  { kind: 'drain_over' },
  { kind: 'stop', reason: 'balance_exhausted' },
  { kind: 'stop', reason: 'access_revoked' },
  { kind: 'stop', reason: 'node_stopped' },
  { kind: 'closed' },
);

test('whatever happens in whatever order, a stream ends once, is counted from one moment on, and writes nothing after its end', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.array(fc.tuple(anyEvent, anyFacts), { maxLength: 40 }),
      (isBackground, happenings) => {
        const state = startStream({ isBackground });
        const done: string[] = [];
        for (const [event, facts] of happenings) {
          const wasOver = state.isOver;
          const kinds = streamStep(state, event, factsOf(facts)).map(({ kind }) => kind);
          if (wasOver) expect(['count', 'resume', undefined]).toContain(kinds[0]);
          done.push(...kinds);
        }
        for (const once of ['end', 'count', 'note_background', 'drain'])
          expect(done.filter((kind) => kind === once).length).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 500 },
  );
});
