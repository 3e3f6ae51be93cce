import { expect, test } from '@jest/globals';
import { FORMATS, NO_USAGE } from '@tollgate/contracts';
import { openHold } from '../../test/usage/holds.ts';
import { finalOf, usageOf } from '../../test/usage/metered-redis.ts';
import {
  acknowledgedLine,
  admittedLine,
  countsLine,
  decodeLine,
  encodeLine,
  finalLine,
  raisedCounts,
  toCounts,
  toUsage,
} from './journal-line.ts';

const AT_MS = 1_234;
const HOLD = openHold({
  claims: '7:0:1+2',
  promptTokens: 9,
  background: {
    ...{ upstreamId: 66, responseId: 'resp_1', untilMs: 99 },
    bounds: { promptTokens: 1, promptTextBytes: 2, outputTokens: 3 },
    attempts: [{ upstream_id: 66, route_id: 77, status: 200, duration_ms: 5 }],
    traceparent: '00-a-b-01',
  },
});
const FINAL = finalOf(HOLD, usageOf(3, 4));
const line = (body: object) => decodeLine(encodeLine(JSON.stringify(body)).trimEnd());
const decoded = (text: string) => {
  expect(text.endsWith('\n')).toBe(true);
  return decodeLine(text.slice(0, -1));
};

test('each kind of line comes back as it was written', () => {
  expect(decoded(admittedLine(HOLD))).toEqual({ t: 'A', hold: HOLD });
  const counts = { [HOLD.rid]: { input: 3, output: 4 } };
  expect(decoded(countsLine(AT_MS, counts))).toEqual({ t: 'C', at: AT_MS, counts });
  const { rid, epoch } = HOLD;
  const payload = JSON.stringify(FINAL);
  expect(decoded(finalLine({ atMs: AT_MS, rid, epoch, payload }))).toEqual({
    ...{ t: 'F', at: AT_MS, rid, epoch, final: FINAL },
  });
  expect(decoded(acknowledgedLine(AT_MS, [[rid, 1]]))).toEqual({
    ...{ t: 'K', at: AT_MS, acks: [[rid, 1]] },
  });
});

test('a final keeps its charge where its duration cannot be read', () => {
  const final = { ...FINAL, duration_ms: -1, of_tomorrow: 1 };
  expect(line({ t: 'F', at: AT_MS, rid: 'r', epoch: 'e', final })).toMatchObject({
    final: { ...FINAL, duration_ms: 0 },
  });
});

test('a line that is torn, altered or of a later format is none', () => {
  const text = admittedLine(HOLD).slice(0, -1);
  const finalOfLater = { ...FINAL, format: FORMATS.event + 1 };
  for (const bad of [
    text.slice(0, -1),
    text.replace('"accountId":1', '"accountId":2'),
    text.replace(' ', '_'),
    `${'0'.repeat(8)} ${text.slice(9)}`,
    encodeLine('{').trimEnd(),
    encodeLine('null').trimEnd(),
    encodeLine('"A"').trimEnd(),
    '',
  ])
    expect(decodeLine(bad)).toBeUndefined();
  expect(line({ t: 'A', hold: HOLD, format: FORMATS.journal + 1 })).toBeUndefined();
  expect(line({ t: 'F', at: 1, rid: 'r', epoch: 'e', final: finalOfLater })).toBeUndefined();
  expect(line({ t: 'A', hold: HOLD, format: FORMATS.journal })).toBeDefined();
  const ofNow = { ...FINAL, format: FORMATS.event };
  expect(line({ t: 'F', at: 1, rid: 'r', epoch: 'e', final: ofNow })).toBeDefined();
});

test.each([
  ['A', { t: 'A', hold: { ...HOLD, accountId: -1 } }],
  ['A without a generation', { t: 'A', hold: { ...HOLD, generation: undefined } }],
  ['A without an epoch', { t: 'A', hold: { ...HOLD, epoch: undefined } }],
  ['A with an id of 65 characters', { t: 'A', hold: { ...HOLD, rid: 'x'.repeat(65) } }],
  ['A with an empty id', { t: 'A', hold: { ...HOLD, rid: '' } }],
  [
    'A with a run without its id',
    { t: 'A', hold: { ...HOLD, background: { ...HOLD.background, responseId: '' } } },
  ],
  ['C without a time', { t: 'C', counts: {} }],
  ['C with half a token', { t: 'C', at: 1, counts: { r: { input: 1.5 } } }],
  ['F without a time', { t: 'F', rid: 'r', epoch: 'e', final: FINAL }],
  ['F without a request', { t: 'F', at: 1, epoch: 'e', final: FINAL }],
  ['F without an epoch', { t: 'F', at: 1, rid: 'r', final: FINAL }],
  [
    'F without a charge',
    { t: 'F', at: 1, rid: 'r', epoch: 'e', final: { ...FINAL, charge: undefined } },
  ],
  ['K without a time', { t: 'K', acks: [] }],
  ['K with half a number', { t: 'K', at: 1, acks: [['r', 0.5]] }],
  ['a kind of another release', { t: 'Z', at: 1 }],
])('what lacks or spoils a field is no line: %s', (_, body) => {
  expect(line(body)).toBeUndefined();
});

test('counts of nothing are left out, and come back as nothing', () => {
  expect(toCounts({ ...NO_USAGE, input: 1, cacheRead: 2 })).toEqual({ input: 1, cache_read: 2 });
  expect(toUsage({ input: 1, cache_read: 2 })).toEqual({ ...NO_USAGE, input: 1, cacheRead: 2 });
});

test('of two counts the higher one of each class stays', () => {
  expect(raisedCounts({ input: 5, output: 1 }, { input: 3, output: 2, reasoning: 4 })).toEqual({
    ...{ input: 5, output: 2, reasoning: 4 },
  });
});
