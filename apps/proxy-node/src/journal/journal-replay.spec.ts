import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openHold } from '../../test/usage/holds.ts';
import { finalOf, usageOf, uuidV7 } from '../../test/usage/metered-redis.ts';
import type { OpenHold } from './open-hold.ts';
import {
  acknowledgedLine,
  admittedLine,
  countsLine,
  encodeLine,
  finalLine,
  toCounts,
  toUsage,
} from './journal-line.ts';
import { emptyReplay, replayText, type Replay } from './journal-replay.ts';
import { lostFinal } from './lost-final.ts';

const STARTED_AT = 1_790_000_000_000;
const CLAIMS = '7:0:1000000';

const holdOf = (rid: string): OpenHold => openHold({ rid, startedAtMs: STARTED_AT });

/** Holds the events of one request, and how much of it the journal has. */
interface Story {
  hold: OpenHold;
  lines: { text: string; kind: 'A' | 'C' | 'F' | 'K'; output: number }[];
}

const story = fc
  .record({
    outputs: fc.array(fc.nat(1_000), { maxLength: 6 }),
    ending: fc.constantFrom('running', 'final', 'acknowledged'),
  })
  .map(({ outputs, ending }): Story => {
    const hold = holdOf(uuidV7(STARTED_AT));
    const rising = outputs.sort((a, b) => a - b);
    const last = (rising.at(-1) ?? 0) + 7;
    const lines: Story['lines'] = [{ text: admittedLine(hold), kind: 'A', output: 0 }];
    for (const output of rising)
      lines.push({
        text: countsLine(STARTED_AT + output, { [hold.rid]: toCounts(usageOf(3, output)) }),
        kind: 'C',
        output,
      });
    if (ending !== 'running')
      lines.push({
        text: finalLine({
          atMs: STARTED_AT + 5_000,
          rid: hold.rid,
          epoch: 'e',
          payload: JSON.stringify(finalOf(hold, usageOf(3, last))),
        }),
        kind: 'F',
        output: last,
      });
    if (ending === 'acknowledged')
      lines.push({
        text: acknowledgedLine(STARTED_AT + 6_000, [[hold.rid, 0]]),
        kind: 'K',
        output: last,
      });
    return { hold, lines };
  });

/** Several stories interleaved, each in its own order. */
const journal = fc
  .tuple(fc.array(story, { minLength: 1, maxLength: 5 }), fc.infiniteStream(fc.nat()))
  .map(([stories, turns]) => {
    const left = stories.map(({ lines }) => [...lines]);
    const order: { rid: string; line: Story['lines'][number] }[] = [];
    for (const turn of turns) {
      const open = left.flatMap((lines, index) => (lines.length > 0 ? [index] : []));
      const index = open[turn % open.length];
      if (index === undefined) break;
      const line = left[index]?.shift();
      if (line) order.push({ rid: stories[index]?.hold.rid ?? '', line });
    }
    return { stories, order };
  });

function replayed(...texts: string[]): Replay {
  const replay = emptyReplay();
  for (const text of texts) replayText(replay, text);
  return replay;
}

describe('journal replay', () => {
  test('gives for a file torn anywhere exactly what its whole lines say, never a count above the last one', () => {
    fc.assert(
      fc.property(
        journal,
        fc.double({ min: 0, max: 1, noNaN: true }),
        ({ stories, order }, share) => {
          const bytes = Buffer.from(order.map(({ line }) => line.text).join(''));
          const replay = replayed(
            bytes.subarray(0, Math.floor(bytes.length * share)).toString('utf8'),
          );
          let room = Math.floor(bytes.length * share);
          const kept = order.filter(({ line }) => (room -= Buffer.byteLength(line.text)) >= 0);
          expect(replay.unreadable).toBeLessThanOrEqual(1);
          for (const { hold } of stories) {
            const lines = kept.filter(({ rid }) => rid === hold.rid).map(({ line }) => line);
            const final = lines.find(({ kind }) => kind === 'F');
            expect(replay.finals.get(hold.rid)?.final.output_tokens).toBe(final?.output);
            expect(replay.finals.get(hold.rid)?.acknowledgedAtMs ?? null).toBe(
              lines.some(({ kind }) => kind === 'K') ? STARTED_AT + 6_000 : null,
            );
            const counted = lines.length > 0 && !final ? (lines.at(-1)?.output ?? 0) : undefined;
            const lost = replay.lost.get(hold.rid);
            expect(lost && toUsage(lost.counts).output).toBe(counted);
          }
          expect(replay.lost.size + replay.finals.size).toBe(
            new Set(kept.map(({ rid }) => rid)).size,
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('says the same when lines were written twice, as they are when a file is retired', () => {
    fc.assert(
      fc.property(journal, ({ order }) => {
        const text = order.map(({ line }) => line.text).join('');
        const carried = order
          .filter(({ line }) => line.kind === 'A' || line.kind === 'F')
          .map(({ line }) => line.text)
          .join('');
        expect(replayed(text, carried)).toEqual(replayed(text));
        expect(replayed(text, text)).toEqual(replayed(text));
      }),
    );
  });

  test('never believes a line whose bytes were damaged', () => {
    fc.assert(
      fc.property(journal, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ order }, at, flip) => {
        const whole = replayed(order.map(({ line }) => line.text).join(''));
        const bytes = Buffer.from(order.map(({ line }) => line.text).join(''));
        const position = at % bytes.length;
        bytes[position] = (bytes[position] ?? 0) ^ flip;
        const damaged = replayed(bytes.toString('latin1'));
        for (const [rid, { final }] of damaged.finals)
          expect(final).toEqual(whole.finals.get(rid)?.final);
        for (const [rid, { counts }] of damaged.lost) {
          const most =
            whole.finals.get(rid)?.final.output_tokens ?? whole.lost.get(rid)?.counts.output ?? 0;
          expect(counts.output ?? 0).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  test('charges a lost request by the weights it was admitted under, to its account, subscription and budgets', () => {
    const hold = openHold({
      rid: uuidV7(STARTED_AT),
      startedAtMs: STARTED_AT,
      claims: CLAIMS,
    });
    const { lost } = replayed(
      admittedLine(hold),
      countsLine(STARTED_AT + 900, { [hold.rid]: toCounts(usageOf(3, 10)) }),
    );
    const [request] = lost.values();
    if (!request) throw new Error('nothing was replayed');
    expect(lostFinal(request, 'node-1:0')).toMatchObject({
      account_id: 1,
      key_id: 2,
      model_id: 3,
      subscription_id: 4,
      price_version_id: hold.price.id,
      budgets: CLAIMS,
      outcome: 'node_lost',
      status: 200,
      basis: 'estimated',
      input_tokens: 3,
      output_tokens: 10,
      charge: Math.ceil(3 * 0.5 + 10 * 2),
      duration_ms: 900,
      node: 'node-1:0',
    });
  });

  test('charges nothing for a lost request that had not been answered', () => {
    const hold = holdOf(uuidV7(STARTED_AT));
    expect(lostFinal({ hold, counts: {}, lastSeenAtMs: STARTED_AT }, 'node-1:0')).toMatchObject({
      charge: 0,
      status: 500,
    });
  });
});

test.each(['line', 'final'])(
  'a final of a later format, by the number of its %s, is not read as one of this release',
  (of) => {
    const hold = holdOf(uuidV7(STARTED_AT));
    const final = { ...finalOf(hold, usageOf(3, 4)), ...(of === 'final' && { format: 2 }) };
    const line = { t: 'F', at: STARTED_AT + 10, rid: hold.rid, epoch: 'e', final };
    const replay = emptyReplay();
    replayText(
      replay,
      admittedLine(hold) +
        encodeLine(JSON.stringify({ ...line, ...(of === 'line' && { format: 2 }) })),
    );
    expect(replay).toMatchObject({ unreadable: 1 });
    expect(replay.finals.size).toBe(0);
  },
);

test('a running request whose hold was restored is lost in the epoch it was restored in, with what it had counted before', () => {
  const hold = holdOf(uuidV7(STARTED_AT));
  const replay = emptyReplay();
  replayText(
    replay,
    admittedLine(hold) +
      countsLine(STARTED_AT + 10, { [hold.rid]: toCounts(usageOf(3, 4)) }) +
      admittedLine({ ...hold, epoch: 'e2' }),
  );
  expect(replay.lost.get(hold.rid)).toEqual({
    hold: { ...hold, epoch: 'e2' },
    counts: toCounts(usageOf(3, 4)),
    lastSeenAtMs: STARTED_AT + 10,
  });
});
