import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { request } from 'node:http';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

const SCRIPT = `console.log(${JSON.stringify('x'.repeat(2000))});`;
const PAGE =
  '<!doctype html><html><head><base href="/" /><script src="./theme.js"></script></head></html>';

let plane: ControlPlane;
/** A file beside the console's folder must not be served. */
let outside: string;

beforeAll(async () => {
  outside = mkdtempSync(path.join(tmpdir(), 'tollgate-console-'));
  const folder = path.join(outside, 'console');
  mkdirSync(path.join(folder, 'assets'), { recursive: true });
  writeFileSync(path.join(folder, 'index.html'), PAGE);
  writeFileSync(path.join(folder, 'theme.js'), 'void 0;');
  const script = path.join(folder, 'assets', 'index-abc.js');
  writeFileSync(script, SCRIPT);
  writeFileSync(`${script}.br`, brotliCompressSync(SCRIPT));
  writeFileSync(`${script}.gz`, gzipSync(SCRIPT));
  writeFileSync(path.join(outside, 'secret.json'), '{}');
  plane = await startControlPlane({ CONSOLE_FOLDER: folder });
}, 60_000);

afterAll(async () => {
  await plane?.stop();
  rmSync(outside, { recursive: true, force: true });
});

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

interface Raw {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Returns bytes as they come: `fetch` would decode them, and resolve dots in paths. */
function ask(
  target: string,
  { method = 'GET', headers = BROWSER }: { method?: string; headers?: object } = {},
): Promise<Raw> {
  const { hostname, port } = new URL(plane.url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path: target, method, headers: { ...headers } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode,
          headers: answer.headers,
          body: Buffer.concat(chunks),
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}

describe('the page', () => {
  test.each([
    ['/', './'],
    ['/login', './'],
    ['/keys/7', '../'],
    ['/admin/users/3', '../../'],
  ])(
    '%s is the console, and finds its files whatever path a proxy has taken off',
    async (address, base) => {
      const { status, headers, body } = await ask(address);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(String(body)).toContain(`<base href="${base}" />`);
    },
  );

  test('allows nothing but this origin, and neither inline script nor inline style', async () => {
    const policy = String((await ask('/')).headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|https?:|\*/);
  });

  test('is asked for again each time, and costs nothing when it has not changed', async () => {
    const first = await ask('/');
    expect(first.headers['cache-control']).toBe('no-cache');
    const again = await ask('/', {
      headers: { ...BROWSER, 'if-none-match': String(first.headers.etag) },
    });
    expect(again.status).toBe(304);
    expect(again.body).toHaveLength(0);
  });

  test.each([
    '/admin-api/nothing',
    '/v1/models',
    '/webhooks/x',
    '/internal/x',
    '/assets/gone.js',
    '/robots.txt',
  ])('%s is not a page', async (address) => {
    const { status, headers } = await ask(address);
    expect(status).toBe(404);
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
  });

  test('programs that ask for JSON get 404', async () => {
    const { status } = await ask('/keys', { headers: { accept: 'application/json' } });
    expect(status).toBe(404);
  });

  test('a client that takes anything gets the page at / alone', async () => {
    const status = async (target: string, accept?: string) =>
      (await ask(target, { headers: accept === undefined ? {} : { accept } })).status;
    expect([await status('/'), await status('/', '*/*'), await status('/keys', '*/*')]).toEqual([
      200, 200, 404,
    ]);
    expect(await status('/', 'application/json')).toBe(404);
  });

  test('nothing can be posted to it', async () => {
    expect((await ask('/', { method: 'POST' })).status).toBe(404);
  });
});

describe('the files', () => {
  test('of hashed names are kept for a year, others are asked for again', async () => {
    expect((await ask('/assets/index-abc.js')).headers['cache-control']).toBe(
      'public, max-age=31536000, immutable',
    );
    expect((await ask('/theme.js')).headers['cache-control']).toBe('no-cache');
  });

  test('come compressed as the browser can read them', async () => {
    const brotli = await ask('/assets/index-abc.js', {
      headers: { 'accept-encoding': 'gzip, deflate, br' },
    });
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(String(brotliDecompressSync(brotli.body))).toBe(SCRIPT);
    const gzip = await ask('/assets/index-abc.js', { headers: { 'accept-encoding': 'gzip' } });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    const plain = await ask('/assets/index-abc.js', { headers: {} });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(String(plain.body)).toBe(SCRIPT);
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
  });

  test.each(['/../secret.json', '/assets/../../secret.json', '/%2e%2e/secret.json'])(
    '%s leads nowhere outside the folder',
    async (address) => {
      expect((await ask(address)).status).toBe(404);
    },
  );
});
