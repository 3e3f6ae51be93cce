import { expect, test } from '@jest/globals';
import { request } from 'node:http';
import { chat, node } from './testing/answering-node.ts';
import { NODE_CREDENTIAL } from './testing/node-under-test.ts';

const CALLERS = 60;
/** These marks end a label or a line of the exposition format. */
const MARKS = ['"', '\\', '}', '{', ',', '=', '#', '%0a', '😀', '$(x)', '../', '<b>'];
/** Has two methods that no route has, and one that Node's parser alone knows. */
const METHODS = ['PURGE', 'PROPFIND', 'OPTIONS'];

async function series(): Promise<string[]> {
  const answer = await fetch(`${node.url}/metrics`, {
    headers: {
      authorization: `Bearer ${NODE_CREDENTIAL}`,
      accept: 'application/openmetrics-text; version=1.0.0',
    },
  });
  const text = await answer.text();
  // Those of the process appear as it collects garbage.
  const lines = text.split('\n').filter((line) => /^(?:tollgate|gen_ai|http)_/.test(line));
  // Each line is compared without the value and its exemplar.
  return lines.map((line) => line.split(' # ')[0]?.replace(/ \S+$/, '') ?? '');
}

function send(method: string, path: string, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(node.url);
    request({ hostname, port, method, path, headers }, (response) =>
      response.resume().on('end', resolve).on('error', reject),
    )
      .on('error', reject)
      .end();
  });
}

/** Everything that a caller chooses is unique to them: account, key, model, path, method, headers, fields. */
async function visit(index: number): Promise<void> {
  const mark = `visitor${index}${MARKS[index % MARKS.length]}`;
  const latin = mark.replaceAll(/[^\x20-\x7e]/g, '_');
  const { key } = await node.addAccount(500_000 + index);
  const headers = {
    authorization: `Bearer ${key}`,
    'x-request-id': latin,
    'user-agent': latin,
    'x-session-id': latin,
  };
  await node.post('/v1/chat/completions', chat({ user: mark, metadata: { mark } }), headers);
  await node.post('/v1/chat/completions', chat({ model: mark, user: mark }), headers);
  await node.post(
    '/v1/messages',
    { ...chat({ model: mark }), metadata: { user_id: mark } },
    headers,
  );
  await node.post('/v1/chat/completions', chat({ user: mark, safety_identifier: mark }), {
    'x-request-id': latin,
  });
  const path = encodeURIComponent(mark);
  await send('GET', `/v1/models/${path}`, headers);
  await send('GET', `/v1/responses/${path}?after=${path}`, headers);
  await send('DELETE', `/${path}/${path}`, headers);
  await send(METHODS[index % METHODS.length] ?? '', `/v1/${path}`, headers);
}

test('callers whose names, models, paths, methods and headers are all their own make no series of their own', async () => {
  // The first dozen meet every mark and every method once.
  for (let index = 0; index < MARKS.length; index += 1) await visit(index);
  const before = await series();
  for (let index = MARKS.length; index < CALLERS; index += 1) await visit(index);
  const after = await series();
  const known = new Set(before);
  expect(after.filter((name) => !known.has(name))).toEqual([]);
  expect(after.length).toBeGreaterThan(50);
  expect(after.filter((name) => /visitor|5000\d\d"|PURGE|PROPFIND/.test(name))).toEqual([]);
}, 60_000);
