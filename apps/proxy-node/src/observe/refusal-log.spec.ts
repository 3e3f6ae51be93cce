import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { RefusedAsking } from './incident-log.ts';
import { RefusalLog } from './refusal-log.ts';

test('every refusal is counted and logged with its id; a model without a route is named once a minute', () => {
  const lines: Record<string, unknown>[] = [];
  const BUDGET = { unit: 'money', scope: 'session' } as const;
  const counted: object[] = [];
  let now = 0;
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const incidents: RefusedAsking[] = [];
  const refusals = new RefusalLog({
    log,
    count: (each) => counted.push(each),
    incidents: { refused: (each) => void incidents.push(each) },
    now: () => now,
  });
  const refuse = (rid: string, about: string | null) =>
    refusals.note({
      ...{ rid, ids: {}, callerId: `c-${rid}`, status: 503, code: 'unavailable', about },
      message: 'none',
      budget: rid === 'r2' ? BUDGET : null,
      asking: rid === 'r5' ? null : { keyHashes: [], model: about },
    });
  refuse('r1', 'one');
  refuse('r2', 'one');
  refuse('r3', 'other');
  now = 60_000;
  refuse('r4', 'one');
  refuse('r5', null);
  const each = { status: 503, code: 'unavailable' };
  expect(counted).toEqual([null, BUDGET, null, null, null].map((budget) => ({ ...each, budget })));
  expect(lines.filter(({ level }) => level === 20).map(({ rid }) => rid)).toEqual([
    'r1',
    'r2',
    'r3',
    'r4',
    'r5',
  ]);
  expect(lines.filter(({ level }) => level === 40).map(({ model }) => model)).toEqual([
    'one',
    'other',
    'one',
  ]);
  // The last one was admitted: its usage says how it ended.
  expect(incidents.map(({ rid }) => rid)).toEqual(['r1', 'r2', 'r3', 'r4']);
});
