import { expect, test } from '@jest/globals';
import { Trace } from './trace.ts';

test('ids of traces and spans are distinct and of the length that W3C Trace Context prescribes', () => {
  const tracing = { samples: () => true, record: () => undefined, close: () => Promise.resolve() };
  const traces = Array.from({ length: 1_000 }, () => new Trace(tracing, null));
  const spans = traces.flatMap((trace) =>
    ['one', 'two'].map((name) => trace.open({ name, kind: 'internal' })),
  );
  const traceIds = new Set(traces.map(({ traceId }) => traceId));
  const spanIds = new Set(spans.map(({ id }) => id));
  expect([traceIds.size, spanIds.size]).toEqual([1_000, 2_000]);
  for (const id of traceIds) expect(id).toMatch(/^[0-9a-f]{32}$/);
  for (const id of spanIds) expect(id).toMatch(/^[0-9a-f]{16}$/);
});
