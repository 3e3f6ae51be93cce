import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../checkout.ts';
import {
  debianFolder,
  downloadDebianPackages,
  libraryFolders,
} from '../embedded/debian-packages.mjs';
import { findFreePort } from '../process/free-port.ts';
import { envoyProgram } from './envoy-program.ts';
import { until, letPass } from '../testing/waiting.ts';

/** The samples for reverse proxies run, each with its real program, of Debian's packages or of PyPI, in front of a stream. */
const EVENTS = 5;
const EVERY_MS = 300;
/** Names the folders of a package that is unpacked and not installed. */
const NGINX_FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((each) => `${each}_temp_path ${each};`)
  .concat('access_log off;')
  .join('\n');
/** An event that waits for the next one is late by more. */
const LATE_MS = EVERY_MS / 2;

interface Proxy {
  name: string;
  file: string;
  /** Names the program in the Debian package of this name; null for Envoy, which Debian does not have. */
  program: string | null;
  args: (config: string, folder: string) => string[];
  /** Matches the name of a caller on this machine; 127.0.0.1 unless given. */
  caller?: RegExp;
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    file: 'deploy/proxies/nginx.conf',
    program: 'usr/sbin/nginx',
    args: (config, folder) => [
      '-c',
      config,
      '-p',
      folder,
      '-e',
      'stderr',
      '-g',
      `daemon off; pid ${folder}/pid; user root;`,
    ],
  },
  {
    name: 'haproxy',
    file: 'deploy/proxies/haproxy.cfg',
    program: 'usr/sbin/haproxy',
    args: (config) => ['-db', '-f', config],
  },
  {
    name: 'caddy',
    file: 'deploy/caddy/Caddyfile',
    program: 'usr/bin/caddy',
    args: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
  },
  {
    name: 'envoy',
    file: 'deploy/proxies/envoy.yaml',
    program: null,
    args: (config) => ['-c', config, '--concurrency', '1', '--disable-hot-restart', '-l', 'error'],
    // Envoy names a caller on its own machine by the address of a network card.
    caller: /^node \/v1\/who (?!203\.0\.113\.7)[0-9a-f.:]+$/,
  },
];

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
    writeFileSync(config, configured(proxy, port));
    child = await started(proxy, config, folder);
    await answering(origin, child);
  }, 180_000);
  afterAll(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

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

async function listening(
  handle: (path_: string, response: ServerResponse, forwardedFor: string) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () =>
      handle(
        request.url ?? '',
        response,
        [request.headers['x-forwarded-for'], request.headers.forwarded].filter(Boolean).join(' '),
      ),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function stream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let index = 0; index < EVENTS; index += 1) {
    response.write(`data: ${Date.now()}\n\n`);
    await letPass(EVERY_MS, 'a proxy must pass each event on before the next');
  }
  response.end();
}

function configured({ file }: Proxy, port: number): string {
  const at = (server: Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (
    readFileSync(path.join(ROOT, file), 'utf8')
      .replaceAll(/(?<=[\s{])(?:node-1|node-2):8080/g, at(node))
      .replaceAll(/(?<=\s)control-plane(?:-1)?:8080/g, at(controlPlane))
      .replace('{$TOLLGATE_ADDRESS::8080}', `:${port}`)
      .replace('{$PROXY_ADDRESSES}', at(node))
      // Caddy has it since 2.8, Debian's is older.
      .replace(/^\s*health_fails.*\n/m, '')
      .replace(/^http \{/m, `http {\n${NGINX_FOLDERS}`)
      .replaceAll(/address: (?:node-\d|control-plane-1), port_value: 8080/g, (found) => {
        const { port: to } = (
          found.includes('node') ? node : controlPlane
        ).address() as AddressInfo;
        return `address: 127.0.0.1, port_value: ${to}`;
      })
      .replace('0.0.0.0, port_value: 8080', `127.0.0.1, port_value: ${port}`)
      .replace(/listen 8080/, `listen 127.0.0.1:${port}`)
      .replace(/bind :8080/, `bind 127.0.0.1:${port}`)
  );
}

async function started(
  { name, program, args }: Proxy,
  config: string,
  folder: string,
): Promise<ChildProcess> {
  const { file, libraries } =
    program === null ? { file: envoyProgram(), libraries: [] } : await debianProgram(name, program);
  return spawn(file, args(config, folder), {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, HOME: folder, LD_LIBRARY_PATH: libraries.join(':') },
  });
}

async function debianProgram(
  name: string,
  program: string,
): Promise<{ file: string; libraries: string[] }> {
  const packages = { name, wanted: [name], known: [name] };
  const root = debianFolder(packages);
  if (!existsSync(path.join(root, program))) {
    const problem = await downloadDebianPackages(packages);
    if (problem !== undefined) throw new Error(`${name} could not be downloaded: ${problem}`);
  }
  return { file: path.join(root, program), libraries: libraryFolders(root) };
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
