import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createServer,
  request as forward,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { readSecret, secretTexts } from '@tollgate/contracts';
import { createDemoUpstream, demoServiceAccount, PROVIDER_MODELS } from '@tollgate/demo-upstream';
import { until } from '@tollgate/harness';
import { closeRedis, openRedis, type RedisConnection } from '@tollgate/keyspace';
import { pino } from 'pino';
import {
  startNodeUnderTest,
  UPSTREAM_KEY,
  type NodeUnderTest,
  type UpstreamSpec,
} from '../../../apps/proxy-node/src/testing/node-under-test.ts';
import { diskTexts, redisTexts } from './stored-texts.ts';

/** The upstream repeats all that it was sent in an error, as some providers do in theirs. */
const REPEAT = 'repeat what you were sent';
const PROMPT = '@demo tokens=5';

/** Names headers that prove who sends a request, and fields of forms that fetch a token. */
const PROOFS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key', 'x-amz-security-token'];
const FORM_PROOFS = ['assertion', 'client_secret'];

const secrets = new Set<string>();
const logged: string[] = [];
const heard: string[] = [];
const demo = createDemoUpstream();
const relay = createServer((request, response) => void relayed(request, response));
let origin = '';
let node: NodeUnderTest;
let redis: RedisConnection;

/** Notes each secret that a request carries, and passes it on as it is: signatures stay right. */
async function relayed(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  note(request, body.toString());
  if (body.includes(REPEAT)) {
    const message = `${JSON.stringify(request.headers)} ${request.headers.authorization}`;
    response.writeHead(403, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify({ message, error: { code: 403, message } }));
  }
  const { port } = Object(demo.server.address());
  const { method, url: path, headers } = request;
  forward({ port, host: '127.0.0.1', method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  }).end(body);
}

function note({ headers }: IncomingMessage, body: string): void {
  for (const name of PROOFS) {
    const value = headers[name];
    // The part is a signature, a token, or a key, with or without the word before it.
    if (typeof value === 'string')
      for (const part of [value, ...value.split(/[\s,=]+/)])
        if (part.length >= 20) secrets.add(part);
  }
  const form = new URLSearchParams(body);
  for (const name of FORM_PROOFS) {
    const value = form.get(name);
    if (value !== null) secrets.add(value);
  }
}

beforeAll(async () => {
  for (const server of [demo.server, relay])
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${Object(relay.address()).port}`;
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  node = await startNodeUnderTest({ ERROR_EXCERPTS: 'on', ACCESS_LOG: 'on' }, log);
  redis = openRedis(node.services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
});
afterAll(async () => {
  closeRedis(redis);
  await node?.stop();
  for (const server of [demo.server, relay]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Answered {
  status: number;
  rid: string;
}

async function ask(model: string, content: string, stream: boolean): Promise<Answered> {
  const messages = [{ role: 'user', content }];
  const answer = await node.post('/v1/chat/completions', { model, stream, messages });
  heard.push(JSON.stringify([...answer.headers]), await answer.text());
  return { status: answer.status, rid: answer.headers.get('x-request-id') ?? '' };
}

async function metrics(): Promise<string> {
  const headers = { authorization: `Bearer ${node.environment['NODE_CREDENTIAL']}` };
  return (await fetch(`${node.url}/metrics`, { headers })).text();
}

/** Returns the beginnings of the secrets that these texts have. */
function found(texts: readonly string[]): string[] {
  const all = texts.join('\n');
  return [...secrets]
    .filter((secret) => all.includes(secret) || all.includes(JSON.stringify(secret).slice(1, -1)))
    .map((secret) => `${secret.slice(0, 12)}...`);
}

const MODELS = [
  { name: 'openai', upstream: (at: string) => ({ baseUrl: `${at}/v1` }) },
  {
    name: 'anthropic',
    upstream: (at: string) => ({ baseUrl: `${at}/v1`, protocol: 'anthropic' as const }),
  },
  ...PROVIDER_MODELS,
];

test.each(MODELS)(
  'the secrets of a model behind $name appear in no log, journal, snapshot, error, report or metric',
  async ({ upstream }) => {
    const spec: UpstreamSpec = upstream(origin, demoServiceAccount());
    for (const text of secretTexts(readSecret(spec.secret ?? UPSTREAM_KEY))) secrets.add(text);
    const model = await node.addModel([spec]);
    await until('it answers', async () => (await ask(model.name, PROMPT, false)).status === 200);
    expect((await ask(model.name, PROMPT, true)).status).toBe(200);
    const refused = await ask(model.name, REPEAT, false);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    await until('the error is reported', async () =>
      (await redisTexts(redis)).some(
        (text) => text.includes('incident') && text.includes(refused.rid),
      ),
    );
    const places = {
      logs: logged,
      answers: heard,
      disk: await diskTexts(node.environment['DATA_DIR'] ?? ''),
      redis: await redisTexts(redis),
      metrics: [await metrics()],
    };
    // The places that are searched know the request.
    for (const texts of [places.logs, places.disk, places.redis])
      expect(texts.join('\n')).toContain(refused.rid);
    expect(places.metrics.join('\n')).toContain(model.name);
    for (const [place, texts] of Object.entries(places))
      expect({ place, found: found(texts) }).toEqual({ place, found: [] });
  },
);

test('the secrets that were looked for are those of requests: keys, tokens, assertions and signatures', () => {
  const kinds = [/^[0-9a-f]{64}$/, /^demo-token-/, /^eyJ.*\..*\./, /^demo-client-secret$/];
  for (const kind of [...kinds, new RegExp(UPSTREAM_KEY)])
    expect([...secrets].some((secret) => kind.test(secret))).toBe(true);
});
