import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { Counter, Histogram, Registry, type OpenMetricsContentType } from 'prom-client';
import { LiveCounter, LiveHistogram } from './instruments.ts';

const TRACE = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const BUCKETS = [0.1, 1, 5];
const LABELS = ['model', 'outcome'];
const VALUES = [0.05, 0.1, 0.5, 5, 7, 0.2];

function registry(): Registry<OpenMetricsContentType> {
  const made = new Registry<OpenMetricsContentType>();
  made.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  made.setDefaultLabels({ worker: '0' });
  return made;
}

beforeEach(() => void jest.useFakeTimers({ now: 1_767_225_600_123 }));
afterEach(() => void jest.useRealTimers());

test("a scrape of histograms reads as one of prom-client's own, with exemplars", async () => {
  const [own, theirs] = [registry(), registry()];
  const shape = { name: 'seconds', help: 'Of a "request".' };
  const live = new LiveHistogram(own, { ...shape, bounds: BUCKETS, labelNames: LABELS });
  const known = new Histogram({
    ...shape,
    buckets: BUCKETS,
    labelNames: LABELS,
    registers: [theirs],
    enableExemplars: true,
  });
  VALUES.forEach((value, index) => {
    const [model, outcome] = [`model "${index % 2}"`, index > 3 ? 'failed' : 'completed'];
    const rid = `rid-${index}`;
    const trace = index % 3 === 0 ? { ...TRACE, isSampled: true } : null;
    live.observe(value, { rid, trace }, model, outcome);
    known.observe({
      labels: { model, outcome },
      value,
      exemplarLabels: trace
        ? { request_id: rid, trace_id: trace.traceId, span_id: trace.spanId }
        : { request_id: rid },
    });
  });
  expect(await own.metrics()).toBe(await theirs.metrics());
});

test.each([1, 2, 3])(
  "a scrape of counters of %i labels reads as prom-client's own",
  async (size) => {
    const [own, theirs] = [registry(), registry()];
    const labelNames = ['one', 'two', 'three'].slice(0, size);
    const shape = { name: 'tokens_total', help: 'Tokens.', labelNames };
    const live = new LiveCounter(own, shape);
    const known = new Counter({ ...shape, registers: [theirs] });
    for (let index = 0; index < 12; index += 1) {
      const values = [`a${index % 2}`, `b${index % 3}`, `c${index % 4}`];
      live.inc(index, values[0] ?? '', values[1], values[2]);
      known.inc(
        Object.fromEntries(labelNames.map((name, place) => [name, values[place] ?? ''])),
        index,
      );
    }
    expect(await own.metrics()).toBe(await theirs.metrics());
    expect(await own.metrics()).toBe(await theirs.metrics());
  },
);
