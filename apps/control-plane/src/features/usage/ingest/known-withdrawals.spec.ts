import { beforeEach, expect, test } from '@jest/globals';
import type { DataSource } from 'typeorm';
import {
  BEGAN_AT_MS,
  finalOf,
  readOf,
  RID,
  WITHDRAWAL,
} from '../../../testing/finals-under-test.ts';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { KnownWithdrawals } from './known-withdrawals.sql.ts';
import type { ReadEvent } from './read-event.ts';

const OTHER = uuidv7(BEGAN_AT_MS - 86_400_000);

/** Subscription 33 has withdrawals that are its last or in the token ledger, and those that are booked as usage. */
let begun: string[];
let booked: string[];
let asked: unknown[][];
let known: KnownWithdrawals;
beforeEach(() => {
  [begun, booked, asked] = [[], [], []];
  const query = (_sql: string, parameters: [string[], number[], string[]?]): Promise<object[]> => {
    asked.push(parameters);
    const [ids, subscriptions, days] = parameters;
    const those = days ? booked : begun;
    const rows = ids.map((id, index) => ({ id, subscription_id: subscriptions[index] ?? 0 }));
    return Promise.resolve(
      rows.filter((row) => row.subscription_id === 33 && those.includes(row.id)),
    );
  };
  known = new KnownWithdrawals({ query } as unknown as DataSource);
});

const withdrawal = (changes: object = {}, seq = 0, rid = RID): ReadEvent => {
  const read = readOf({ ...WITHDRAWAL, ...changes }, { seq });
  return { ...read, event: { ...read.event, rid } };
};
const unknown = async (...events: ReadEvent[]) => [...(await known.unknownOf(events))];

test('a withdrawal is believed under an id that its subscription has, of now or of before', async () => {
  begun = [RID];
  booked = [OTHER];
  const own = [withdrawal(), withdrawal({ withdrawal_id: OTHER }, 0, OTHER)];
  expect(await unknown(...own, readOf(finalOf()))).toEqual([]);
  expect(asked).toEqual([
    [
      [RID, OTHER],
      [33, 33],
    ],
    [[OTHER], [33], ['2026-11-27']],
  ]);
});

test('not under the id of another subscription, nor under one that was never given', async () => {
  begun = [RID];
  const forged = [withdrawal({ subscription_id: 34 }), withdrawal({ withdrawal_id: OTHER }, 2)];
  expect(await unknown(withdrawal(), ...forged)).toEqual(forged);
});

test('a withdrawal has the id of its event; what a request releases into it has that of the request', async () => {
  begun = [RID];
  const foreign = withdrawal({}, 0, OTHER);
  expect(await unknown(foreign, withdrawal({}, 2, OTHER))).toEqual([foreign]);
});

test('an id that is none is not asked for', async () => {
  const odd = withdrawal({ withdrawal_id: 'x' }, 2);
  expect(await unknown(odd)).toEqual([odd]);
  expect(await unknown(readOf(finalOf()))).toEqual([]);
  expect(asked).toEqual([]);
});

test('only what is not the last withdrawal is looked for on its day', async () => {
  begun = [RID];
  expect(await unknown(withdrawal())).toEqual([]);
  expect(asked).toHaveLength(1);
});
