import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { auditBooks, describeFindings, isSound } from '@tollgate/audit';
import { recordOf } from '../books.ts';
import { ask, type Seen } from './ask.ts';
import { FAULTS as BY_NAME } from './faults.ts';
import { MODES_IN_TEXT, MODES_OF_FAULT, MODES_OF_STREAMS, tableOfFaults } from './by-default.ts';
import { receiptOf, usedByWinner, type Receipt } from './receipt.ts';
import { PROTOCOLS, TwoUpstreams, type Protocol, type Second } from './two-upstreams.ts';

/** A client sees one complete answer within this time. */
const CLEAN_MS = 20_000;
/** The second upstream of the fault "prompt too long" has a larger window. */
const LARGE_WINDOW = 1_000_000;
/** Bounds the tokens by which the gateway's count of a short prompt or of a broken text may differ from its provider's. */
const TOLERANCE = 8;
/** Bounds the tokens of the words that a continuation repeats; the place of a reset decides which they are. */
const ANCHOR_TOKENS_MAX = 4;
const FAULTS = tableOfFaults();
/** Lists modes after which the first upstream may bill its attempt. */
const BILLED = new Set(BY_NAME.filter(({ isBilled }) => isBilled).flatMap(({ modes }) => modes));

interface Case {
  readonly number: number;
  readonly mode: string;
  readonly protocol: Protocol;
  readonly isStream: boolean;
  readonly second: Second;
}
interface Met extends Case {
  readonly seen: Seen;
  readonly receipt: Receipt;
}

let two: TwoUpstreams;
let met: Met[];
/** Is the charge of an answer that was not broken. */
let wholeCharge: number;

/** Returns every fault by every protocol and shape, and again before other second routes where a stream breaks in its text. */
function cases(): Case[] {
  return Object.entries(MODES_OF_FAULT).flatMap(([number, modes]) =>
    modes.flatMap((mode) =>
      PROTOCOLS.flatMap((protocol) => {
        const each = { number: Number(number), mode, protocol };
        return [
          ...(MODES_OF_STREAMS.has(mode)
            ? []
            : [{ ...each, isStream: false, second: 'plain' as const }]),
          { ...each, isStream: true, second: 'plain' as const },
          ...(MODES_IN_TEXT.has(mode)
            ? (['other', 'prefill', 'hosted'] as const).map((second) => ({
                ...each,
                isStream: true,
                second,
              }))
            : []),
        ];
      }),
    ),
  );
}

beforeAll(async () => {
  two = await TwoUpstreams.start({ limitMs: null });
  const all = cases();
  const models = await two.addModels(
    all.map(({ number, mode, protocol, second }) => ({
      protocol,
      modes: [mode, second === 'other' ? 'reworded' : 'ok'],
      second,
      ...(number === 16 && { window: LARGE_WINDOW }),
    })),
  );
  // They are asked at once, as several of them are silent until the limits by default end them.
  met = await Promise.all(
    all.map(async (each, place) => {
      const seen = await ask(two, { ...each, model: models[place] ?? '' });
      return { ...each, seen, receipt: await receiptOf(two, seen.rid) };
    }),
  );
  const [sound = ''] = await two.addModels([{ protocol: 'chat', modes: ['ok'] }]);
  const unbroken = await ask(two, { protocol: 'chat', isStream: true, model: sound });
  wholeCharge = (await receiptOf(two, unbroken.rid)).charge;
}, 240_000);
afterAll(async () => {
  await two?.tollgate.stop();
});

test('the table of docs/reliability.md has the faults that are tried here', () => {
  const expected = Object.entries(MODES_OF_FAULT).map(([number, modes]) => ({
    number: Number(number),
    json: 'answered',
    stream: modes.some((mode) => MODES_IN_TEXT.has(mode)) ? 'continued, or an error' : 'answered',
  }));
  expect(FAULTS).toMatchObject(expected);
});

describe.each(FAULTS)('$number $fault, with default settings', ({ number, json, stream }) => {
  test('a client sees what the table says, and pays for what it got', async () => {
    for (const each of met.filter((one) => one.number === number)) {
      const cell = each.isStream ? stream : json;
      if (cell === 'answered' || !MODES_IN_TEXT.has(each.mode) || each.second === 'plain')
        await expectAnswer(each);
      // This fault breaks in the text of a stream.
      else if (each.second !== 'other') await expectContinuation(each);
      else await expectError(each);
    }
  });
});

/** Returns how many faults end as one whole answer within 20 s. */
function cleanFaults(isAsked: (each: Met) => boolean): number {
  return FAULTS.filter(({ number }) =>
    met
      .filter((each) => each.number === number && isAsked(each))
      .every(({ seen }) => seen.isWhole && seen.totalMs < CLEAN_MS),
  ).length;
}

test('all 16 faults are clean by default where a route takes a prefill or says the same again, and 12 before one that says something else', () => {
  for (const best of ['plain', 'prefill', 'hosted'] as const)
    expect([best, cleanFaults(isBefore(best))]).toEqual([best, 16]);
  expect(cleanFaults(isBefore('other'))).toBe(12);
});

test('no fault ends as an answer that looks complete and is not', () => {
  expect(met.filter(({ seen }) => seen.isFalseSuccess)).toEqual([]);
});

test('the books close afterwards', async () => {
  const findings = await auditBooks(two.tollgate, { drainMs: 10_000 });
  expect(isSound(findings) ? '' : describeFindings(findings)).toBe('');
}, 60_000);

/** A second route makes a difference where a stream breaks in its text. */
function isBefore(second: Second): (each: Met) => boolean {
  return (each) => !each.isStream || !MODES_IN_TEXT.has(each.mode) || each.second === second;
}

async function expectAnswer({ seen, receipt, ...asked }: Met): Promise<void> {
  expect({ ...asked, ...seen }).toMatchObject({ ...asked, status: 200, isWhole: true });
  expect({ ...asked, isInTime: seen.totalMs < CLEAN_MS }).toEqual({ ...asked, isInTime: true });
  expect(receipt).toMatchObject({
    outcome: 'completed',
    charge: await usedByWinner(two, seen.rid),
    route: [{ error: expect.any(String) }, { status: 200 }],
  });
  // The installation pays the attempt that failed, where its provider bills it.
  expect({ ...asked, isBilled: receipt.route[0]?.cost !== undefined }).toEqual({
    ...asked,
    isBilled: BILLED.has(asked.mode) || MODES_IN_TEXT.has(asked.mode),
  });
}

/** Expects one answer, charged as one: its prompt once, and its words. */
async function expectContinuation({ seen, receipt, ...asked }: Met): Promise<void> {
  expect({ ...asked, ...seen }).toMatchObject({ ...asked, status: 200, isWhole: true });
  expect({ ...asked, isInTime: seen.totalMs < CLEAN_MS }).toEqual({ ...asked, isInTime: true });
  expect(receipt).toMatchObject({
    outcome: 'completed',
    route: [{ error: 'cut' }, { status: 200, cost: { output_tokens: expect.any(Number) } }],
  });
  // The installation pays the tokens of the second route.
  expect(receipt.route[1]?.cost?.output_tokens).toBeGreaterThan(0);
  expect(receipt.route[1]?.cost?.output_tokens).toBeLessThanOrEqual(ANCHOR_TOKENS_MAX);
  expect(Math.abs(receipt.charge - wholeCharge)).toBeLessThanOrEqual(TOLERANCE);
}

/** Expects an error in the stream's own words, charged for what was delivered and no more. */
async function expectError({ seen, receipt, ...asked }: Met): Promise<void> {
  expect({ ...asked, ...seen }).toMatchObject({
    ...asked,
    status: 200,
    isWhole: false,
    isFalseSuccess: false,
  });
  expect(seen.text).toContain('"error"');
  expect(receipt.outcome).toBe('upstream_interrupted');
  const { promptTokens } = await recordOf(two.tollgate, seen.rid);
  expect(receipt.charge).toBeGreaterThan(promptTokens);
  expect(receipt.charge).toBeLessThanOrEqual(promptTokens + seen.words + TOLERANCE);
}
