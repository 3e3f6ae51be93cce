import { expect, test } from '@jest/globals';
import { TOKEN_FIELDS } from '@tollgate/contracts';
import { finalOf, readOf, REQUESTED, RID, WITHDRAWAL } from '../../../testing/finals-under-test.ts';
import type { ReadEvent } from './read-event.ts';
import {
  COPY_USAGE_EVENTS,
  INSERT_USAGE_EVENTS,
  usageRowParameters,
  usageRowText,
} from './usage-row.ts';

const NAMES = /\((.*), created_at\)/.exec(COPY_USAGE_EVENTS)?.[1]?.split(', ') ?? [];
const NULL = String.raw`\N`;
const nothing = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, NULL]));

/** Returns the cells of copied rows by the names of their columns. */
function copiedRows(events: readonly ReadEvent[]): Record<string, string>[] {
  const lines = usageRowText(events, 'NOW').split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => {
    const cells = line.split('\t');
    expect(cells.pop()).toBe('NOW');
    expect(cells).toHaveLength(NAMES.length);
    return Object.fromEntries(NAMES.map((name, index) => [name, cells[index] ?? '']));
  });
}
const rowOf = (read: ReadEvent): Record<string, string> => copiedRows([read])[0] ?? {};

const PLACE = { shard: 's09', outbox_ms: '5', outbox_n: '7' };
const OF_REQUEST = {
  ...{
    day: '2026-11-28',
    rid: RID,
    seq: '0',
    user_id: '11',
    subscription_id: '33',
    model_id: '44',
  },
  ...{ key_id: '22', price_version_id: '55', delta: '70', node: 'node-a:3' },
  ...{ started_at: '2026-11-28T10:20:30.400Z', budgets: NULL, ...PLACE },
};
const OF_FINAL = [
  ...['charge', 'basis', 'premiums', 'protocol', 'is_stream', 'upstream_id', 'attempts', 'status'],
  ...[...TOKEN_FIELDS, 'first_token_ms', 'duration_ms'],
];

test('a final fills each column of its row', () => {
  const final = finalOf({ premiums: ['speed=fast'], budgets: '7:0:1+2', output_tokens: 9 });
  expect(rowOf(readOf(final))).toEqual({
    ...OF_REQUEST,
    ...{ kind: 'usage', charge: '70', basis: 'reported', premiums: '["speed=fast"]' },
    ...{ protocol: 'chat', is_stream: 'true', upstream_id: '66', outcome: 'completed' },
    ...{
      attempts: '[{"upstream_id":66,"route_id":77,"status":200,"duration_ms":120}]',
      status: '200',
    },
    ...Object.fromEntries(TOKEN_FIELDS.map((name) => [name, '0'])),
    ...{ input_tokens: '70', output_tokens: '9', first_token_ms: '80', duration_ms: '130' },
    budgets: '7:0:1+2',
  });
  expect(rowOf(readOf(finalOf()))['premiums']).toBe(NULL);
});

test('a reap is of a request whose node is lost', () => {
  expect(rowOf(readOf({ kind: 'reap', ...REQUESTED, budgets: '7:0:1+2' }))).toEqual({
    ...{ ...OF_REQUEST, kind: 'reap', outcome: 'node_lost', budgets: '7:0:1+2' },
    ...nothing(OF_FINAL),
  });
});

test('a withdrawal is of no request', () => {
  expect(rowOf(readOf(WITHDRAWAL, { seq: 2, delta: 12 }))).toEqual({
    ...{ ...OF_REQUEST, kind: 'withdraw', seq: '2', delta: '12' },
    ...nothing([...OF_FINAL, 'outcome', 'key_id', 'price_version_id', 'node']),
  });
});

test('telemetry that could not be read is unknown, but for the time at which a request began', () => {
  const row = rowOf(readOf(finalOf(), { unreadable: ['duration_ms', 'started_at'] }));
  expect([row['duration_ms'], row['started_at']]).toEqual([NULL, '2026-11-28T10:20:30.400Z']);
});

test('an event that came through no outbox has no place in one', () => {
  const placed = (outboxId: string, shard = '') => {
    const read = readOf(finalOf());
    const row = rowOf({ ...read, relayed: { ...read.relayed, shard, outboxId } });
    return [row['shard'], row['outbox_ms'], row['outbox_n']];
  };
  expect(placed('')).toEqual([NULL, NULL, NULL]);
  expect(placed('x5-7')).toEqual([NULL, NULL, NULL]);
  expect(placed('5-7', 's01')).toEqual(['s01', '5', '7']);
});

test('each row of a batch has its own values, in one line', () => {
  const rows = copiedRows([
    readOf(finalOf()),
    readOf(finalOf()),
    readOf(finalOf({ charge: 71, node: 'node-b:0' })),
    readOf(finalOf()),
  ]);
  expect(rows.map((row) => [row['charge'], row['node']])).toEqual([
    ['70', 'node-a:3'],
    ['70', 'node-a:3'],
    ['71', 'node-b:0'],
    ['70', 'node-a:3'],
  ]);
});

test('rows that are inserted are those that are copied', () => {
  const lists = usageRowParameters([readOf(finalOf()), readOf(WITHDRAWAL)]);
  const of = (name: string) => lists[NAMES.indexOf(name)];
  expect(lists).toHaveLength(NAMES.length);
  expect([of('kind'), of('key_id'), of('charge'), of('user_id')]).toEqual([
    '{usage,withdraw}',
    '{22,NULL}',
    '{70,NULL}',
    '{11,11}',
  ]);
  expect(INSERT_USAGE_EVENTS).toContain(
    `INSERT INTO usage_events (${NAMES.join(', ')}, created_at)`,
  );
  expect(INSERT_USAGE_EVENTS).toContain(`unnest($1::date[], $2::uuid[], $3::smallint[], `);
  expect(INSERT_USAGE_EVENTS).toContain(`$${NAMES.length}::bigint[])`);
});
