import { expect, test } from '@jest/globals';
import { generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { opened, sealed } from './envelope.ts';

const STATEMENT = '{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"a"}]}\n';
const pair = (kind: 'ed25519' | 'ec'): { privateKey: KeyObject; publicKey: KeyObject } =>
  kind === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('ed25519');
const { privateKey, publicKey } = pair('ed25519');

test.each(['ed25519', 'ec'] as const)(
  'what a key of %s has signed is read with it alone',
  (kind) => {
    const own = pair(kind);
    const text = sealed(STATEMENT, own.privateKey);
    expect(opened(text, own.publicKey)).toBe(STATEMENT);
    expect(opened(text, pair(kind).publicKey)).toBeNull();
  },
);

test('neither another content, nor another type, nor a missing signature passes', () => {
  const good: Record<string, unknown> = JSON.parse(sealed(STATEMENT, privateKey));
  const judge = (change: object): string | null =>
    opened(JSON.stringify({ ...good, ...change }), publicKey);
  expect(judge({})).toBe(STATEMENT);
  expect(
    judge({ payload: Buffer.from(STATEMENT.replace('"a"', '"b"')).toString('base64') }),
  ).toBeNull();
  expect(judge({ payloadType: 'application/json' })).toBeNull();
  expect(judge({ signatures: [] })).toBeNull();
  expect(opened('no envelope', publicKey)).toBeNull();
});

test('the signature is over the encoding of the specification, with the length of type and content', () => {
  // https://github.com/secure-systems-lab/dsse/blob/master/protocol.md: "DSSEv1" SP LEN(type) SP type SP LEN(body) SP body.
  const { signatures } = JSON.parse(sealed('{"é":1}', privateKey));
  const body = Buffer.from('DSSEv1 28 application/vnd.in-toto+json 8 {"é":1}');
  expect(verify(null, body, publicKey, Buffer.from(signatures[0].sig, 'base64'))).toBe(true);
});
