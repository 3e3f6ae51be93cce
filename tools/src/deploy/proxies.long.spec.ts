import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findFreePort } from '../process/free-port.ts';
import { letPass, until } from '../testing/waiting.ts';
import { configured, ended, listening, PROXIES, started } from './proxies-under-test.ts';

/** The samples for reverse proxies run, each with its real program, of Debian's packages or of PyPI, in front of a stream. */
const EVENTS = 5;
const EVERY_MS = 300;
/** An event that waits for the next one is late by more. */
const LATE_MS = EVERY_MS / 2;

/** Is longer than the 3 s that a look waits, shorter than the 30 s of those for late nodes. */
const LATE_LOOK_MS = 5_000;
/** So many looks at a late node are over only after those of the first pool have counted three strikes. */
const LOOKS = 8;

let node: Server;
let controlPlane: Server;
beforeAll(async () => {
  node = await listening((path_, response, forwardedFor) => {
    if (path_ === '/v1/stream') return void stream(response);
    response.end(`node ${path_} ${forwardedFor}`);
  });
  controlPlane = await listening((path_, response) => {
    if (path_ === '/admin-api/events') return void stream(response);
    response.end(`control plane ${path_}`);
  });
});
afterAll(() => {
  for (const server of [node, controlPlane]) {
    server.closeAllConnections();
    server.close();
  }
});

describe.each(PROXIES)('$name', (proxy) => {
  let child: ChildProcess;
  let folder: string;
  let origin: string;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), `tollgate-${proxy.name}-`));
    const port = await findFreePort();
    origin = `http://127.0.0.1:${port}`;
    const config = path.join(folder, path.basename(proxy.file));
    writeFileSync(config, configured(proxy, port, { nodes: [node, node], controlPlane }));
    child = await started(proxy, config, folder);
    await answering(origin, child);
  }, 180_000);
  afterAll(() => ended(child, folder));

  test.each(['/v1/stream', '/admin-api/events'])(
    'passes each event of %s on as it comes',
    async (at) => {
      const response = await fetch(`${origin}${at}`);
      const latenessMs: number[] = [];
      for await (const bytes of response.body ?? [])
        for (const [, sentAt] of new TextDecoder().decode(bytes).matchAll(/data: (\d+)/g))
          latenessMs.push(Date.now() - Number(sentAt));
      expect(latenessMs).toHaveLength(EVENTS);
      // The median counts: the machine may be busy for one of them, but a proxy that buffers delays all but the last.
      expect(latenessMs.toSorted((a, b) => a - b)[Math.floor(EVENTS / 2)]).toBeLessThan(LATE_MS);
    },
    30_000,
  );

  test('takes a body of 20 MB', async () => {
    const body = Buffer.alloc(20 * 1024 * 1024, 'a');
    const response = await fetch(`${origin}/v1/large`, { method: 'POST', body });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringMatching(/^node \/v1\/large/),
    ]);
  }, 30_000);

  test('leads each path to the process that serves it, and no outside caller to what is internal', async () => {
    const ask = async (at: string, method = 'GET'): Promise<string> => {
      const response = await fetch(`${origin}${at}`, { method });
      return response.ok ? response.text() : String(response.status);
    };
    expect(await ask('/v1/models')).toMatch(/^node \/v1\/models/);
    expect(await ask('/api/hello')).toMatch(/^node/);
    expect(await ask('/admin-api/users')).toBe('control plane /admin-api/users');
    expect(await ask('/')).toBe('control plane /');
    for (const closed of ['/internal/journal', '/Internal/journal', '/metrics', '/%69nternal/x'])
      expect(await ask(closed)).toBe('404');
  });

  test('gives nodes the address that it sees, whatever the caller claims', async () => {
    const response = await fetch(`${origin}/v1/who`, {
      headers: { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7' },
    });
    expect(await response.text()).toMatch(proxy.caller ?? /^node \/v1\/who 127\.0\.0\.1$/);
  });
});

describe.each(PROXIES)('$name while no node answers its looks in time', (proxy) => {
  let child: ChildProcess;
  let folder: string;
  let late: Server;
  let away: Server;
  let looks = 0;
  beforeAll(async () => {
    late = await listening((path_, response) => {
      if (path_ !== '/readyz') return void response.end('late node');
      looks += 1;
      void letPass(LATE_LOOK_MS, 'a node that is short of CPU is slow').then(() => response.end());
    });
    away = await listening((_, response) => {
      response.writeHead(503, { 'x-envoy-immediate-health-check-fail': 'true' }).end('away');
    });
    folder = mkdtempSync(path.join(tmpdir(), `tollgate-late-${proxy.name}-`));
  });
  afterAll(async () => {
    await ended(child, folder);
    for (const server of [late, away]) {
      server.closeAllConnections();
      server.close();
    }
  });

  test('the late one gets each request, and the one that takes none refuses none of them', async () => {
    const port = await findFreePort();
    const config = path.join(folder, path.basename(proxy.file));
    // nginx, which does not look, cannot know of one that takes none.
    writeFileSync(
      config,
      configured(proxy, port, {
        nodes: [late, proxy.name === 'nginx' ? late : away],
        controlPlane,
      }),
    );
    child = await started(proxy, config, folder);
    const ask = (): Promise<string> =>
      fetch(`http://127.0.0.1:${port}/v1/x`, { method: 'POST', body: 'a'.repeat(50_000) }).then(
        (response) => response.text(),
        String,
      );
    if (proxy.name === 'nginx')
      await until('nginx listens', async () => (await ask()) === 'late node');
    else await until('the late node is found late', () => looks >= LOOKS, 60_000);
    await letPass(LATE_LOOK_MS, 'the last of the three looks is over');
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array(20).fill('late node'));
  }, 120_000);
});

async function stream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let index = 0; index < EVENTS; index += 1) {
    response.write(`data: ${Date.now()}\n\n`);
    await letPass(EVERY_MS, 'a proxy must pass each event on before the next');
  }
  response.end();
}

async function answering(origin: string, child: ChildProcess): Promise<void> {
  await until('the proxy answers', () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended with ${child.exitCode}`);
    return fetch(`${origin}/v1/up`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
