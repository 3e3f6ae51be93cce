import { expect, test } from '@jest/globals';
import type { NodeReport } from '../fleet.ts';
import { hashCredential, isReportProven, proveReport } from './node-proof.ts';

const KEY = hashCredential('a-credential-of-tests');
const bare: Omit<NodeReport, 'proof'> = {
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
};
const later = {
  lineage: 2,
  abilities: ['final_mac'],
  upstreams: [{ id: 3, failures_in_row: 5, open_for_ms: 100 }],
};
const report: NodeReport = { ...bare, proof: proveReport(bare, KEY) };

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
  } satisfies Omit<NodeReport, 'proof' | 'redis' | keyof typeof later>),
)('its %s cannot be altered without the credential', (field, value) => {
  expect(isReportProven({ ...report, [field]: value }, KEY)).toBe(false);
});

test('the fields that only newer nodes report cannot be altered, added or removed without the credential', () => {
  const full: NodeReport = { ...bare, ...later, proof: proveReport({ ...bare, ...later }, KEY) };
  expect(isReportProven(full, KEY)).toBe(true);
  const { abilities: _, ...lessAble } = full;
  expect(isReportProven(lessAble, KEY)).toBe(false);
  expect(isReportProven({ ...bare, proof: full.proof }, KEY)).toBe(false);
  expect(isReportProven({ ...report, ...later }, KEY)).toBe(false);
  expect(isReportProven({ ...full, lineage: 3 }, KEY)).toBe(false);
  expect(isReportProven({ ...full, upstreams: [] }, KEY)).toBe(false);
});

test('upstreams that a node doubts cannot be altered without the credential in a report of format 2, nor can its number be taken away', () => {
  const doubted = [{ id: 3, doubts: 4, last_doubt: null, hold_factor: 2 }];
  const second = { ...bare, ...later, doubted, format: 2 } as const;
  const full: NodeReport = { ...second, proof: proveReport(second, KEY) };
  expect(isReportProven(full, KEY)).toBe(true);
  expect(isReportProven({ ...full, doubted: [] }, KEY)).toBe(false);
  const { format: _, ...unnumbered } = full;
  expect(isReportProven(unnumbered, KEY)).toBe(false);
});

test('how a node finds Redis cannot be altered, added or removed without the credential in a report of format 2', () => {
  const seen = {
    ...bare,
    ...later,
    format: 2,
    redis: { round_trip_ms: 0.4, clock_ahead_ms: -3 },
  } as const;
  const full: NodeReport = { ...seen, proof: proveReport(seen, KEY) };
  expect(isReportProven(full, KEY)).toBe(true);
  const altered = { round_trip_ms: 0.4, clock_ahead_ms: 0 };
  expect(isReportProven({ ...full, redis: altered }, KEY)).toBe(false);
  const { redis: _, ...without } = full;
  expect(isReportProven(without, KEY)).toBe(false);
  const silent: NodeReport = { ...without, proof: proveReport(without, KEY) };
  expect(isReportProven({ ...silent, redis: altered }, KEY)).toBe(false);
});
