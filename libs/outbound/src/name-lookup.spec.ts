import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createSocket, type Socket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { NameLookup, addressesOf, lookupName } from './name-lookup.ts';
import { OneByOne } from './one-by-one.ts';

const before = dns.getServers();
const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-names-'));
const files = { hosts: path.join(folder, 'hosts'), resolv: path.join(folder, 'resolv.conf') };
let server: Socket;
const asked: string[] = [];
const withheld: (() => void)[] = [];
let isSilent = true;
/** Holds the names that the DNS server knows. It never answers a name that begins with "silent". */
const known = new Map([
  ['provider.test', '192.0.2.1'],
  ['models.cluster.test', '192.0.2.2'],
]);

beforeAll(async () => {
  server = createSocket('udp4', (question, peer) => {
    const name = nameIn(question);
    asked.push(name);
    const answer = () => server.send(answerTo(question, name), peer.port, peer.address);
    if (name.startsWith('silent') && isSilent) withheld.push(answer);
    else answer();
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  dns.setServers([`127.0.0.1:${server.address().port}`]);
});
afterAll(() => {
  dns.setServers(before);
  server.close();
  rmSync(folder, { recursive: true });
});
afterEach(() => void asked.splice(0));

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; question[at]; at += (question[at] ?? 0) + 1)
    labels.push(question.toString('ascii', at + 1, at + 1 + (question[at] ?? 0)));
  return labels.join('.').toLowerCase();
}

/** Answers as RFC 1035 says: the question with one A record, or with the code of a name that does not exist. */
function answerTo(question: Buffer, name: string): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const isForA = question.readUInt16BE(end - 4) === 1;
  const address = known.get(name);
  const answer = Buffer.from(question.subarray(0, end));
  answer.writeUInt16BE(address === undefined ? 0x81_83 : 0x81_80, 2);
  answer.writeUInt16BE(address !== undefined && isForA ? 1 : 0, 6);
  answer.writeUInt32BE(0, 8);
  if (address === undefined || !isForA) return answer;
  const octets = address.split('.').map(Number);
  return Buffer.concat([answer, Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...octets])]);
}

function withFiles(hosts: string, resolv = ''): NameLookup {
  writeFileSync(files.hosts, hosts);
  writeFileSync(files.resolv, resolv);
  return new NameLookup(files);
}

test('names that no server answers keep no thread: all are asked at once, and the system looks its own up meanwhile', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `silent-${index}.test`);
  const lookups = withFiles('');
  const outcomes = names.map((name) => lookups.addresses(name).catch((error: Error) => error));
  while (new Set(asked).size < names.length) await promisify(setImmediate)();
  const first = await Promise.race([...outcomes, dns.promises.lookup('localhost')]);
  expect(first).toMatchObject({ address: expect.any(String) });
  isSilent = false;
  for (const answer of withheld) answer();
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(Error);
});

test('a name in the hosts file leads where the file says, in any case, and no server is asked', async () => {
  const lookups = withFiles('# ours\n192.0.2.7 llm.internal LLM # the model\n::1 llm.internal\n');
  expect(await lookups.addresses('LLM.internal')).toEqual([
    { address: '192.0.2.7', family: 4 },
    { address: '::1', family: 6 },
  ]);
  expect(await lookups.addresses('llm')).toEqual([{ address: '192.0.2.7', family: 4 }]);
  expect(asked).toEqual([]);
});

test('a short name is looked for in the search domains, a whole one as it stands', async () => {
  const lookups = withFiles('', 'search nowhere.test cluster.test\noptions timeout:1 ndots:2\n');
  expect(await lookups.addresses('models')).toEqual([{ address: '192.0.2.2', family: 4 }]);
  expect([...new Set(asked)]).toEqual(['models.nowhere.test', 'models.cluster.test']);
  asked.splice(0);
  expect(await lookups.addresses('provider.test.')).toEqual([{ address: '192.0.2.1', family: 4 }]);
  expect([...new Set(asked)]).toEqual(['provider.test']);
});

test('a name that DNS does not know is asked of the system, which knows this machine', async () => {
  await expect(withFiles('').addresses('localhost')).resolves.toContainEqual({
    address: '127.0.0.1',
    family: 4,
  });
  expect(asked).toEqual([]);
  await expect(withFiles('').addresses('absent.invalid')).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
  expect(asked).toContain('absent.invalid');
});

test('an address is its own answer, and a socket gets one address or all', async () => {
  expect(await addressesOf('2001:db8::1')).toEqual([{ address: '2001:db8::1', family: 6 }]);
  const one = await new Promise((resolve) =>
    lookupName('provider.test', {}, (error, address, family) => resolve([error, address, family])),
  );
  expect(one).toEqual([null, '192.0.2.1', 4]);
  const all = await new Promise((resolve) =>
    lookupName('provider.test', { all: true }, (_error, addresses) => resolve(addresses)),
  );
  expect(all).toEqual([{ address: '192.0.2.1', family: 4 }]);
});

test('one task runs at a time, equal ones are one, and who waited too long is refused without its turn', async () => {
  const queue = new OneByOne<string>(50);
  const order: string[] = [];
  const slow = queue.run('a', async () => {
    await promisify(setTimeout)(100);
    order.push('a');
    return 'a';
  });
  expect(queue.run('a', () => Promise.resolve('another'))).toBe(slow);
  const late = queue.run('b', () => Promise.resolve('b'));
  await expect(late).rejects.toThrow('waited too long');
  expect(order).toEqual(['a']);
  await expect(queue.run('b', () => Promise.resolve('b'))).resolves.toBe('b');
});
