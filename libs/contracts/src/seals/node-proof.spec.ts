import { expect, test } from '@jest/globals';
import type { NodeReport } from '../fleet.ts';
import { hashCredential, isReportProven, proveReport } from './node-proof.ts';

const KEY = hashCredential('a-credential-of-tests');
const plain: Omit<NodeReport, 'proof'> = {
  name: 'node-1',
  worker: 0,
  instance: '7b0c1a52-8a54-4a53-9b3c-7a3b0f3f3a10',
  url: null,
  state: 'online',
  version: 7,
  checksum: 'c'.repeat(64),
  applied_at: 1,
  refused: null,
  started_at: 1,
  reported_at: 2,
  in_flight: 3,
  unacknowledged: 4,
  software: 'test',
  lineage: 2,
  abilities: ['speaks_openai'],
  upstreams: [{ id: 3, failures_in_row: 5, open_for_ms: 100 }],
  journals_set_aside: 0,
  doubted: [{ id: 3, doubts: 4, last_doubt: null, hold_factor: 2 }],
  redis: { round_trip_ms: 0.4, clock_ahead_ms: -3 },
};
const report: NodeReport = { ...plain, proof: proveReport(plain, KEY) };

test('a report proves the credential of its sender', () => {
  expect(isReportProven(report, KEY)).toBe(true);
  expect(isReportProven(report, hashCredential('another-credential-of-tests'))).toBe(false);
});

test.each(
  Object.entries({
    name: 'node-2',
    worker: 1,
    instance: '7b0c1a52-8a54-4a53-9b3c-7a3b0f3f3a11',
    url: 'http://elsewhere',
    state: 'stopped',
    version: 8,
    checksum: 'd'.repeat(64),
    applied_at: 2,
    refused: 'no',
    started_at: 2,
    reported_at: 3,
    in_flight: 4,
    unacknowledged: 0,
    software: 'other',
    lineage: 3,
    abilities: [],
    upstreams: [],
    journals_set_aside: 1,
    doubted: [],
    redis: { round_trip_ms: 0.4, clock_ahead_ms: 0 },
  } satisfies typeof plain),
)('its %s cannot be altered or removed without the credential', (field, value) => {
  expect(isReportProven({ ...report, [field]: value }, KEY)).toBe(false);
  const less = { ...report };
  delete less[field as keyof NodeReport];
  expect(isReportProven(less, KEY)).toBe(false);
});
