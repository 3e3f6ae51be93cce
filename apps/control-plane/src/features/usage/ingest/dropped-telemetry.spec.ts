import { expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DroppedTelemetry } from './dropped-telemetry.ts';

/** Notes these fields. */
function noted(...reads: Parameters<DroppedTelemetry['note']>[0][]): object[] {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  const dropped = new DroppedTelemetry();
  for (const read of reads) dropped.note(read);
  const counts = warn.mock.calls.map(([said]) => (said as { fields: object }).fields);
  warn.mockRestore();
  return counts;
}

test('dropped fields are counted by name, with those that no release knows, and logged once a minute', () => {
  const bad = { unreadable: ['duration_ms'], unknown: ['of_tomorrow', 'x'.repeat(100)] };
  expect(noted([{ unreadable: [], unknown: [] }], [bad, bad], [bad])).toEqual([
    { duration_ms: 2, of_tomorrow: 2, ['x'.repeat(64)]: 2 },
  ]);
});

test('no more than a hundred names are kept, whatever a writer makes up', () => {
  const names = Array.from({ length: 150 }, (_, n) => `field_${n}`);
  const [counts = {}] = noted([{ unreadable: names, unknown: ['field_0', 'field_120'] }]);
  expect(Object.keys(counts)).toEqual(names.slice(0, 100));
  expect(Object.values(counts)).toEqual([2, ...names.slice(1, 100).map(() => 1)]);
});
