import { beforeAll, expect, test } from '@jest/globals';
import { hashCredential, parseApiKey, proveUpload, type Incidents } from '@tollgate/contracts';
import { IncidentReports } from '@tollgate/keyspace';
import { Transactions } from '../../platform/database/transactions.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import {
  FLEET_CREDENTIAL,
  PASSWORD,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane, shareControlPlane } from '../../testing/shared-plane-under-test.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { eraseAccount } from '../users/erase-account.sql.ts';
import { IncidentIntake } from './incident-intake.ts';
import './running.part.spec.ts';

shareControlPlane();

const NODE = 'node-1:0';
const NOTHING: Incidents = { refused: [], counts: [], excerpts: [] };
const now = Date.now();
const minute = now - (now % 60_000);

let plane: ControlPlane;
let reports: IncidentReports;
let intake: IncidentIntake;
let ada: { id: number; token: string; keyId: number; hash: string };
let bob: { id: number; token: string };

beforeAll(async () => {
  plane = await sharedControlPlane();
  reports = plane.app.get(IncidentReports);
  intake = plane.app.get(IncidentIntake, { strict: false });
  const user = await plane.createUser('ada');
  const { body: key } = await plane.call('POST', '/keys', {
    token: user.token,
    body: { name: 'laptop' },
  });
  // The tests take the reports themselves.
  await intake.onApplicationShutdown();
  ada = { ...user, keyId: key.id, hash: parseApiKey(key.key)?.hash ?? '' };
  bob = await plane.createUser('bob');
});

async function report(
  incidents: Partial<Incidents>,
  { credential = FLEET_CREDENTIAL, atMs = Date.now(), node = NODE } = {},
): Promise<void> {
  const upload = { node, atMs, body: JSON.stringify({ ...NOTHING, ...incidents }) };
  const proof = proveUpload({ ...upload, purpose: 'incidents' }, hashCredential(credential));
  await reports.write({ ...upload, proof });
  await intake.runOnce();
}

const refused = (change: Partial<Incidents['refused'][number]> = {}) => ({
  rid: uuidv7(now),
  at: now,
  key_hashes: [ada.hash],
  status: 429,
  code: 'rate_limit_exceeded',
  model: 'gpt-x',
  message: 'Rate limit reached',
  ...change,
});
const excerpt = (change: Partial<Incidents['excerpts'][number]> = {}) => ({
  rid: uuidv7(now),
  at: now,
  place: 0,
  account_id: ada.id,
  upstream_id: 1,
  status: 500,
  excerpt: '<script>alert(1)</script>',
  ...change,
});
const list = async (token: string, query = '') =>
  (await plane.call('GET', `/refused-requests?${query}`, { token })).body.data;

test('a refused request is found by its id: by its owner without the node, by administrators with it, by no other account', async () => {
  const one = refused();
  const ofNobody = refused({ key_hashes: ['c'.repeat(64)], code: 'invalid_api_key', status: 401 });
  await report({ refused: [one, ofNobody] });
  const shown = {
    ...{ rid: one.rid, user_id: ada.id, username: 'ada', key_id: ada.keyId, key_name: 'laptop' },
    ...{ status: 429, code: 'rate_limit_exceeded', model: 'gpt-x', message: 'Rate limit reached' },
  };
  expect(await list(ada.token, `rid=${one.rid}`)).toEqual([
    expect.objectContaining({ ...shown, node: null }),
  ]);
  expect(await list(plane.adminToken, `rid=${one.rid}`)).toEqual([
    expect.objectContaining({ ...shown, node: NODE }),
  ]);
  expect(await list(bob.token, `rid=${one.rid}`)).toEqual([]);
  expect(await list(bob.token)).toEqual([]);
  expect((await plane.call('GET', `/refused-requests?user_id=${ada.id}`, bob)).status).toBe(404);
  expect(await list(plane.adminToken, `rid=${ofNobody.rid}`)).toMatchObject([
    { user_id: null, key_id: null, code: 'invalid_api_key' },
  ]);
  const search = async (token: string) =>
    (await plane.call('GET', `/search?q=${one.rid}`, { token })).body.data;
  expect(await search(ada.token)).toMatchObject([
    { kind: 'request', id: one.rid, detail: '429 rate_limit_exceeded' },
  ]);
  expect(await search(bob.token)).toEqual([]);
});

test('of two keys that were presented, the one that an account has names it', async () => {
  const one = refused({ key_hashes: ['d'.repeat(64), ada.hash] });
  await report({ refused: [one] });
  expect(await list(plane.adminToken, `rid=${one.rid}`)).toMatchObject([{ key_id: ada.keyId }]);
});

test('the first 100 of a key and minute are kept, however many workers report them, and all are counted', async () => {
  const at = minute - 10 * 60_000;
  const batch = () => Array.from({ length: 60 }, () => refused({ rid: uuidv7(at), at }));
  const count = { minute: at, key_hashes: [ada.hash], status: 429, code: 'rate_limit_exceeded' };
  for (const node of ['node-1:0', 'node-1:1', 'node-2:0'])
    await report({ refused: batch(), counts: [{ ...count, count: 5_000 }] }, { node });
  const from = new Date(at).toISOString();
  const query = `from=${from}&to=${new Date(at + 60_000).toISOString()}`;
  const { body } = await plane.call('GET', `/refused-requests?${query}&page_size=100`, ada);
  expect([body.data.length, body.has_more]).toEqual([100, false]);
  const counts = async (token: string) =>
    (await plane.call('GET', `/refused-requests/counts?${query}`, { token })).body;
  expect(await counts(ada.token)).toEqual({
    total: 15_000,
    data: [expect.objectContaining({ count: 15_000, key_name: 'laptop', last_at: from })],
  });
  expect(await counts(bob.token)).toEqual({ total: 0, data: [] });
});

test('pages are read by cursor, and each row is shown once', async () => {
  const rids: string[] = [];
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await plane.call('GET', `/refused-requests?page_size=40${next}`, ada);
    rids.push(...page.body.data.map(({ rid }: { rid: string }) => rid));
    cursor = page.body.next_cursor as string | null;
  } while (cursor !== null);
  expect(rids).toEqual([...new Set(rids)].toSorted().toReversed());
  expect(rids.length).toBeGreaterThan(100);
});

test('a report that is not of its node, of another purpose, old, or unreadable is dropped, and those after it are read', async () => {
  const count = async () => (await list(plane.adminToken, 'code=forged')).length;
  const forged = () => ({ refused: [refused({ code: 'forged' })] });
  await report(forged(), { credential: 'x'.repeat(43) });
  await report(forged(), { atMs: now - 25 * 3_600_000 });
  const journal = { node: NODE, atMs: now, body: JSON.stringify({ ...NOTHING, ...forged() }) };
  const proof = proveUpload(journal, hashCredential(FLEET_CREDENTIAL));
  await reports.write({ ...journal, proof });
  await report({ refused: [refused({ code: 'forged', message: 'a\u0000b' })] });
  await report({ refused: [refused({ code: 'forged', rid: uuidv7(now + 30 * 24 * 3_600_000) })] });
  expect(await count()).toBe(0);
  await report({ refused: [refused({ code: 'forged' })] });
  expect(await count()).toBe(1);
});

test('excerpts are for administrators alone, as they were sent, and end with the erasure of their person', async () => {
  const [one, ofNobody] = [excerpt(), excerpt({ account_id: 999_999 })];
  await report({ excerpts: [one, ofNobody], refused: [refused()] });
  const errors = (token: string, query = '') =>
    plane.call('GET', `/upstream-errors?${query}`, { token });
  expect((await errors(ada.token)).status).toBe(403);
  expect((await errors(plane.adminToken, `rid=${one.rid}`)).body.data).toEqual([
    expect.objectContaining({ place: 0, username: 'ada', status: 500, excerpt: one.excerpt }),
  ]);
  expect((await errors(plane.adminToken, `rid=${ofNobody.rid}`)).body.data).toEqual([]);
  await plane.call('DELETE', `/users/${ada.id}`, {
    token: plane.adminToken,
    body: { password: PASSWORD },
  });
  const erased = await plane.app.get(Transactions).run((tx) =>
    eraseAccount(tx, plane.app.get(ActivityService, { strict: false }), {
      userId: ada.id,
      isDryRun: false,
    }),
  );
  expect(erased).toMatchObject({ error_excerpts: 1, refused_requests: expect.any(Number) });
  expect((await errors(plane.adminToken, `rid=${one.rid}`)).body.data).toEqual([]);
  expect(await list(plane.adminToken, `user_id=${ada.id}`)).toBeUndefined();
  await report({ excerpts: [excerpt({ rid: one.rid })] });
  expect((await errors(plane.adminToken, `rid=${one.rid}`)).body.data).toEqual([]);
});

test('nothing is kept longer than 7 days', async () => {
  const rows = async () =>
    plane.administrator.query(
      `SELECT (SELECT count(*)::int FROM refused_requests) AS refused, (SELECT count(*)::int FROM refusal_counts) AS counts, (SELECT count(*)::int FROM error_excerpts) AS excerpts`,
    );
  await report({
    refused: [refused({ key_hashes: [] })],
    counts: [{ minute, key_hashes: [], status: 401, code: 'invalid_api_key', count: 3 }],
    excerpts: [excerpt({ account_id: bob.id })],
  });
  await intake.forgetOld();
  const [kept] = await rows();
  expect(Math.min(kept.refused, kept.counts, kept.excerpts)).toBeGreaterThan(0);
  for (const [table, column] of Object.entries({
    refused_requests: 'at',
    refusal_counts: 'minute',
    error_excerpts: 'at',
  }))
    await plane.administrator.query(
      `UPDATE ${table} SET ${column} = ${column} - interval '7 days 1 hour'`,
    );
  await intake.forgetOld();
  expect(await rows()).toEqual([{ refused: 0, counts: 0, excerpts: 0 }]);
});
