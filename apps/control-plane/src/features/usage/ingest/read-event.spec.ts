import { describe, expect, test } from '@jest/globals';
import { FORMATS, signFinal, type RelayedEvent } from '@tollgate/contracts';
import {
  BEGAN_AT_MS,
  finalOf,
  relayedOf,
  REQUESTED,
  RID,
  WITHDRAWAL,
} from '../../../testing/finals-under-test.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { isRequestId, readEvent, reapOf } from './read-event.ts';

const REAP = { kind: 'reap', ...REQUESTED };
const V4 = '01a2008d-2b35-4d70-8000-000000000001';
const YEAR_2100_MS = Date.UTC(2100, 0, 1);

const signed = (payload: object): string =>
  signFinal({ rid: RID, payload: JSON.stringify(payload) }, 'a'.repeat(64));
/** Returns null where the event is sound. */
function reasonOf(event: RelayedEvent): string | null {
  const reading = readEvent(event);
  return reading.kind === 'poison' ? reading.reason : null;
}
function readOf(event: RelayedEvent) {
  const reading = readEvent(event);
  if (reading.kind === 'poison') throw new Error(reading.reason);
  return reading.read;
}

test('a final is read with its numbers, and the time at which its request began', () => {
  const relayed = relayedOf(finalOf(), { seq: '1', delta: '-12' });
  expect(readOf(relayed)).toEqual({
    event: { rid: RID, seq: 1, delta: -12, payload: finalOf() },
    relayed,
    isSigned: false,
    beganAtMs: BEGAN_AT_MS,
    unreadable: [],
    unknown: [],
  });
});

test('telemetry that cannot be read and fields of another release keep no charge from being booked', () => {
  const odd = { ...finalOf(), duration_ms: -4, of_tomorrow: 'x' };
  const { event, unreadable, unknown } = readOf(relayedOf(odd));
  expect(event.payload).toEqual(finalOf({ duration_ms: 0 }));
  expect([unreadable, unknown]).toEqual([['duration_ms'], ['of_tomorrow']]);
});

const INTEGERS = 'seq and delta must be integers';
const NOT_OF_CENTURY = 'rid is not a UUIDv7 of this century';
const REAP_RULE = 'a reap has seq 0 and a delta of 0 or more';
const WITHDRAWAL_RULE = 'a withdrawal has seq 0 or 2 and a delta of 0 or more';
const later = FORMATS.event + 1;

test.each<[string, string | null, RelayedEvent]>([
  ['a number that is a word', INTEGERS, relayedOf(finalOf(), { seq: 'x' })],
  ['half a token', INTEGERS, relayedOf(finalOf(), { delta: '1.5' })],
  ['a delta of 17 digits', INTEGERS, relayedOf(finalOf(), { delta: '1'.repeat(17) })],
  ['no JSON', 'payload is not JSON', relayedOf('{')],
  [
    'a later format',
    `format ${later} is of a later release`,
    relayedOf({ ...finalOf(), format: later }),
  ],
  [
    'a first charge of another delta',
    'the first charge must equal its delta',
    relayedOf(finalOf(), { delta: '71' }),
  ],
  ['a correction of all that was charged', null, relayedOf(finalOf(), { seq: '1', delta: '70' })],
  [
    'a correction of more',
    'a correction cannot take back more than it charges',
    relayedOf(finalOf(), { seq: '1', delta: '71' }),
  ],
  [
    'a correction that takes back more than its charge',
    null,
    relayedOf(finalOf(), { seq: '1', delta: '-100' }),
  ],
  ['a second release of usage', 'usage has seq 0 or 1', relayedOf(finalOf(), { seq: '2' })],
  ['usage of a foreign id', NOT_OF_CENTURY, relayedOf(finalOf(), { rid: V4 })],
  ['a reap of nothing', null, relayedOf(REAP, { delta: '0' })],
  ['a reap that gives', REAP_RULE, relayedOf(REAP, { delta: '-1' })],
  ['a reap as a correction', REAP_RULE, relayedOf(REAP, { seq: '1' })],
  ['a withdrawal of nothing', null, relayedOf(WITHDRAWAL, { delta: '0' })],
  ['a withdrawal out of a request', null, relayedOf(WITHDRAWAL, { seq: '2' })],
  ['a withdrawal that gives', WITHDRAWAL_RULE, relayedOf(WITHDRAWAL, { delta: '-1' })],
  ['a withdrawal as a correction', WITHDRAWAL_RULE, relayedOf(WITHDRAWAL, { seq: '1' })],
])('an event is judged by its kind and its numbers, %s: %s', (_, reason, event) => {
  expect(reasonOf(event)).toBe(reason);
});

test('a shape that fits nothing is named by its first fault, in at most 500 characters', () => {
  expect(reasonOf(relayedOf({ ...REAP, account_id: 'x' }))).toMatch(/^payload\.account_id: /);
  expect(reasonOf(relayedOf({ ...REAP, ['f'.repeat(600)]: 1, account_id: 'x' }))).toMatch(
    /^payload/,
  );
  expect(reasonOf(relayedOf(REAP, { delta: '9007199254740993' }))).toMatch(/^delta: /);
  expect(reasonOf(relayedOf(REAP, { seq: '3' }))).toMatch(/^seq: /);
});

describe('what a node signed', () => {
  test('is its whole charge: number and delta of Redis are not believed', () => {
    for (const [seq, delta] of [
      ['0', '1'],
      ['1', '999'],
    ] as const) {
      const relayed = relayedOf(signed(finalOf()), { seq, delta });
      expect(readOf(relayed)).toMatchObject({ isSigned: true, event: { payload: finalOf() } });
    }
  });

  test('is refused under a number or an id that no final has', () => {
    expect(reasonOf(relayedOf(signed(finalOf()), { seq: '2' }))).toBe('usage has seq 0 or 1');
    expect(reasonOf(relayedOf(signed(finalOf()), { rid: V4 }))).toBe(NOT_OF_CENTURY);
  });

  test('counts for usage alone: a reap and a withdrawal are judged as Redis wrote them', () => {
    expect(readOf(relayedOf(signed(REAP))).isSigned).toBe(false);
    expect(reasonOf(relayedOf(signed(REAP), { seq: '1' }))).toBe(REAP_RULE);
    expect(reasonOf(relayedOf(signed(WITHDRAWAL), { seq: '1' }))).toBe(WITHDRAWAL_RULE);
  });
});

test('an id of a request is a UUIDv7 from before the year 2100', () => {
  expect(isRequestId(uuidv7(YEAR_2100_MS - 1))).toBe(true);
  expect(isRequestId(uuidv7(YEAR_2100_MS))).toBe(false);
  expect(isRequestId(V4)).toBe(false);
  expect(isRequestId(RID.toUpperCase())).toBe(true);
});

test('the reap that a final corrects is of the same request, and counts against the same budgets', () => {
  expect(reapOf(finalOf())).toEqual(REAP);
  expect(reapOf(finalOf({ budgets: '7:0:1+2' }))).toEqual({ ...REAP, budgets: '7:0:1+2' });
});
