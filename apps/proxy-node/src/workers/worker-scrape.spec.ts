import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { Counter, Histogram, Registry, type OpenMetricsContentType } from 'prom-client';
import { joinScrapes, ScrapeGatherer, type ScrapePort } from './worker-scrape.ts';

/** Makes a worker and its channel to the primary; messages arrive later, as between processes. */
function workerOf(
  gatherer: ScrapeGatherer,
  own: () => Promise<string>,
): { scrape: () => Promise<string>; port: ScrapePort } {
  const toWorker = new EventEmitter();
  const port: ScrapePort = {
    send: (message) => setImmediate(() => toWorker.emit('message', structuredClone(message))),
  };
  const primary = {
    send: (message: object) => setImmediate(() => gatherer.receive(port, structuredClone(message))),
    on: (event: 'message', listener: (message: unknown) => void) => toWorker.on(event, listener),
  };
  return { scrape: joinScrapes(primary, own), port };
}

async function expositionOf(worker: number, requests: number): Promise<string> {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  registry.setDefaultLabels({ worker: String(worker) });
  new Counter({
    name: 'requests_total',
    help: 'Requests.',
    labelNames: ['status'],
    registers: [registry],
  }).inc({ status: '200' }, requests);
  const seconds = new Histogram({
    name: 'seconds',
    help: 'Seconds.',
    buckets: [1],
    registers: [registry],
  });
  for (let index = 0; index < requests; index += 1) seconds.observe(0.5);
  return registry.metrics();
}

test('every worker answers a scrape with the figures of all, each under its own label and described once', async () => {
  const gatherer = new ScrapeGatherer();
  const workers = [0, 1, 2].map((index) =>
    workerOf(gatherer, () => expositionOf(index, index + 1)),
  );
  for (const { scrape } of workers) {
    const text = await scrape();
    for (const index of [0, 1, 2]) {
      expect(text).toContain(`requests_total{status="200",worker="${index}"} ${index + 1}\n`);
      expect(text).toContain(`seconds_count{worker="${index}"} ${index + 1}\n`);
    }
    expect(text.match(/^# TYPE requests counter$/gm)).toHaveLength(1);
    expect(text.match(/^# TYPE seconds histogram$/gm)).toHaveLength(1);
  }
});

test('a worker that hangs is left out, one that is gone is not waited for', async () => {
  const gatherer = new ScrapeGatherer();
  const asked = workerOf(gatherer, () => expositionOf(0, 1));
  const hanging = workerOf(gatherer, () => new Promise(() => undefined));
  expect(await asked.scrape()).toContain('worker="0"');
  gatherer.forget(hanging.port);
  const startedAt = performance.now();
  await asked.scrape();
  expect(performance.now() - startedAt).toBeLessThan(900);
});

test('a primary that does not answer is an error, not waited for without end', async () => {
  const scrape = joinScrapes({ send: () => true, on: () => undefined }, () => expositionOf(0, 1));
  await expect(scrape()).rejects.toThrow('does not answer');
});
