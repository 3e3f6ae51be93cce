import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import { openTracing } from './open-tracing.ts';
import { TRACES_SETTINGS } from './settings.ts';

const settings = z.object(TRACES_SETTINGS);
const SERVICE = { name: 'spec', version: '1', instance: '1' };

/** Returns the modules that a process loads when it imports the library and opens tracing with these settings. */
function loadedBy(environment: Record<string, string>): string {
  const hook =
    "import { registerHooks } from 'node:module'; registerHooks({ resolve: (name, context, next) => { console.log(name); return next(name, context); } });";
  const program = `
    const { openTracing, TRACES_SETTINGS } = await import(process.env.LIBRARY);
    const { z } = await import('zod');
    const tracing = await openTracing(z.object(TRACES_SETTINGS).parse(process.env), { name: 's', version: '1', instance: '1' }, () => undefined);
    await tracing?.close();`;
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      '--input-type=module',
      '--eval',
      program,
    ],
    {
      encoding: 'utf8',
      cwd: path.join(import.meta.dirname, '..'),
      env: { LIBRARY: path.join(import.meta.dirname, 'index.ts'), ...environment },
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

test('the SDK is loaded only while tracing is on', () => {
  expect(loadedBy({})).not.toContain('opentelemetry');
  expect(loadedBy({ TRACES_URL: 'http://127.0.0.1:9/v1/traces' })).toContain('@opentelemetry/');
});

test('a collector that refuses traces is reported', async () => {
  const collector = createServer((_request, response) => response.writeHead(400).end());
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const failure = Promise.withResolvers<Error>();
  const tracing = await openTracing(
    settings.parse({ TRACES_URL: `http://127.0.0.1:${port}/v1/traces` }),
    SERVICE,
    failure.resolve,
  );
  tracing?.record({
    name: 'one',
    kind: 'internal',
    context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true },
    parentSpanId: null,
    startMs: Date.now(),
    endMs: Date.now(),
    attributes: {},
    error: null,
  });
  await tracing?.close();
  expect((await failure.promise).message).not.toBe('');
  collector.close();
});

test('the share of traced requests is the ratio; a caller decides only where it is trusted', async () => {
  const url = 'http://127.0.0.1:9/v1/traces';
  const sampled = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
  const open = (more: Record<string, string>) =>
    openTracing(settings.parse({ TRACES_URL: url, ...more }), SERVICE, () => undefined);
  const never = await open({ TRACES_RATIO: '0' });
  const following = await open({ TRACES_RATIO: '0', TRACES_FOLLOW_CALLER: 'true' });
  const tenth = await open({ TRACES_RATIO: '0.1' });
  expect(never?.samples(sampled)).toBe(false);
  expect(following?.samples(sampled)).toBe(true);
  expect(following?.samples({ ...sampled, isSampled: false })).toBe(false);
  const chosen = Array.from({ length: 20_000 }, () => tenth?.samples(sampled)).filter(Boolean);
  expect(chosen.length / 20_000).toBeCloseTo(0.1, 1);
  for (const each of [never, following, tenth]) await each?.close();
});
