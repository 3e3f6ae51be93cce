import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { LiveRecords, MeteringStore, shardOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { Redis } from 'ioredis';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import type { TestAccount } from '../../testing/ledger-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { LiveRecordAudit } from '../live-state/live-record-audit.ts';

const NONE = { rpm: 0, rph: 0, rpd: 0 };

let account: TestAccount;
let model: Awaited<ReturnType<typeof ledger.model>>;

shareLedgerPlane();
beforeAll(async () => {
  account = await ledger.account('10');
  model = await ledger.model('1');
  await as('POST', '/models/subscribe', { model_id: model.id, tokens: 100_000 });
});
beforeEach(async () => {
  await setCeilings(NONE);
  await setAccount({ rpm_ceiling: null, rph_ceiling: null, rpd_ceiling: null });
});

const as = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: account.token, ...(body === undefined ? {} : { body }) });
const setCeilings = (body: object) => ledger.asAdmin('PUT', '/admin/ceilings', body);
const setAccount = (body: object) => ledger.asAdmin('PUT', `/users/${account.id}`, body);
const createKey = async (limits: object = {}) => {
  const { status, body } = await as('POST', '/keys', { name: 'bounded', ...limits });
  return { status, body, id: body.id, hash: parseApiKey(body.key ?? '')?.hash ?? '' };
};
const live = async (hash: string) => {
  const record = await plane.app.get(LiveRecords).getKey(account.id, hash);
  return record && { rpm: record.rpm, rph: record.rph, rpd: record.rpd };
};
const admit = (keyHash: string) =>
  plane.app.get(MeteringStore).admit({
    rid: uuidv7(Date.now()),
    accountId: account.id,
    keyHash,
    modelId: model.id,
    modelName: model.name,
    priceVersionId: model.priceId,
    wantTokens: 10,
    minTokens: 1,
    addressHex: '',
    concurrencyMax: 0,
    leaseMs: 60_000,
    node: 'node-a:0',
  });

test('a key without a limit gets the ceiling: admission counts it, and the interface shows it (S22a)', async () => {
  expect((await setCeilings({ rpm: 3, rpd: 50 })).body).toMatchObject({ rpm: 3, rph: 0, rpd: 50 });
  const key = await createKey();
  expect(key).toMatchObject({ status: 201, body: { rpm: 0, rph: 0, rpd: 0 } });
  expect(await live(key.hash)).toEqual({ rpm: 3, rph: 0, rpd: 50 });
  expect((await as('GET', `/keys/${key.id}`)).body).toMatchObject({
    rpm: 0,
    limits_in_force: { rpm: 3, rph: 0, rpd: 50 },
  });
  const kinds = [];
  for (let request = 0; request < 4; request += 1) kinds.push((await admit(key.hash)).kind);
  expect(kinds).toEqual(['admitted', 'admitted', 'admitted', 'rate_limited']);
  const { windows } = (await as('GET', `/keys/${key.id}/windows`)).body;
  expect(windows.slice(0, 3)).toMatchObject([
    { window: 'rpm', limit: 3, used: 3, remaining: 0 },
    { window: 'rph', limit: 0 },
    { window: 'rpd', limit: 50, used: 3 },
  ]);
});

test.each(['rpm', 'rph', 'rpd'])(
  'a key above the ceiling of %s is refused, when it is made and when it is changed',
  async (window) => {
    await setCeilings({ [window]: 100 });
    const refusal = {
      status: 400,
      body: { code: 'invalid_request', errors: [{ field: window }] },
    };
    expect(await createKey({ [window]: 101 })).toMatchObject(refusal);
    const key = await createKey({ [window]: 100 });
    expect(key.status).toBe(201);
    expect(await as('PUT', `/keys/${key.id}`, { [window]: 101 })).toMatchObject(refusal);
    expect(await live(key.hash)).toEqual({ ...NONE, [window]: 100 });
  },
);

test('a ceiling that is lowered later applies to the keys that are there; raised again, their own limits do (S22a)', async () => {
  const [low, high, none] = [
    await createKey({ rpm: 5 }),
    await createKey({ rpm: 500, rph: 900 }),
    await createKey(),
  ];
  const inForce = () => Promise.all([low, high, none].map(({ hash }) => live(hash)));
  await setCeilings({ rpm: 60 });
  expect(await inForce()).toEqual([
    { ...NONE, rpm: 5 },
    { rpm: 60, rph: 900, rpd: 0 },
    { ...NONE, rpm: 60 },
  ]);
  // A value above the ceiling stays as it was set: the rest of the key can still be changed.
  expect(
    await as('PUT', `/keys/${high.id}`, { name: 'renamed', rpm: 500, rph: 900 }),
  ).toMatchObject({ status: 200, body: { rpm: 500 } });
  expect(await live(high.hash)).toEqual({ rpm: 60, rph: 900, rpd: 0 });
  await setCeilings({ rpm: 0 });
  expect(await inForce()).toEqual([{ ...NONE, rpm: 5 }, { rpm: 500, rph: 900, rpd: 0 }, NONE]);
});

test("an account's own ceiling replaces the installation's, also where it is higher or none", async () => {
  await setCeilings({ rpm: 60, rph: 1000 });
  const key = await createKey();
  expect((await setAccount({ rpm_ceiling: 600 })).body).toMatchObject({
    rpm_ceiling: 600,
    rph_ceiling: null,
  });
  expect(await live(key.hash)).toEqual({ rpm: 600, rph: 1000, rpd: 0 });
  expect(await createKey({ rpm: 500 })).toMatchObject({ status: 201 });
  await setAccount({ rpm_ceiling: 0, rph_ceiling: 10 });
  expect(await live(key.hash)).toEqual({ rpm: 0, rph: 10, rpd: 0 });
  expect(await createKey({ rph: 11 })).toMatchObject({ status: 400 });
  await setAccount({ rpm_ceiling: null, rph_ceiling: null });
  expect(await live(key.hash)).toEqual({ rpm: 60, rph: 1000, rpd: 0 });
});

test('a temporary key and a rotated one are under the ceiling as well', async () => {
  const key = await createKey({ rpm: 500 });
  await setCeilings({ rpm: 7, rpd: 70 });
  const { body: rotated } = await as('POST', `/keys/${key.id}/rotate`);
  expect(await live(parseApiKey(rotated.key)?.hash ?? '')).toEqual({ rpm: 7, rph: 0, rpd: 70 });
  const { body: temporary } = await as('POST', '/playground/key', { key_id: key.id });
  expect(await live(parseApiKey(temporary.key)?.hash ?? '')).toEqual({ rpm: 7, rph: 0, rpd: 70 });
});

test('keys that are made while the ceiling changes are under it, and no record looks altered (S22a)', async () => {
  const made = Array.from({ length: 12 }, () => createKey());
  const changes = [40, 30, 20].map((rpm) => setCeilings({ rpm }));
  const keys = await Promise.all(made);
  const last = (await Promise.all(changes))
    .map(({ body }) => body)
    .toSorted(byTime)
    .at(-1);
  for (const { hash } of keys) expect(await live(hash)).toEqual({ ...NONE, rpm: last?.rpm });
  const uses = keys.map(({ id, hash }) => ({ accountId: account.id, keyId: id, keyHash: hash }));
  expect(await plane.app.get(LiveRecordAudit).check(uses)).toEqual([]);
});

test.each([
  ['of the installation', () => setCeilings({ rpm: 10 })],
  ['of the account', () => setAccount({ rpm_ceiling: 10 })],
])(
  'a ceiling %s that Redis has lost with the end of its file is written again',
  async (_whose, setCeiling) => {
    const redis = plane.app.get(REDIS);
    const key = await createKey();
    const record = `{${shardOf(account.id, Number(plane.environment['SHARDS']))}}:key:${key.hash}`;
    // The key itself was changed long before what Redis may have lost.
    const longAgo = "UPDATE api_keys SET updated_at = now() - interval '1 day' WHERE id = $1";
    await ledger.query(longAgo, [key.id]);
    const before = await redis.hgetall(record);
    await setCeiling();
    expect(await live(key.hash)).toEqual({ ...NONE, rpm: 10 });
    await redis.hset(record, before);
    if (redis instanceof Redis) redis.disconnect(true);
    await eventually(async () => expect(await live(key.hash)).toEqual({ ...NONE, rpm: 10 }));
  },
);

test('ceilings are for administrators', async () => {
  expect(await as('GET', '/admin/ceilings')).toMatchObject({ status: 403 });
  expect(await as('PUT', '/admin/ceilings', { rpm: 1 })).toMatchObject({ status: 403 });
  for (const body of [{}, { rpm: -1 }, { rpm: 1.5 }, { rpm: null }, { rps: 1 }])
    expect(await setCeilings(body)).toMatchObject({ status: 400 });
});

function byTime(a: { updated_at: string }, b: { updated_at: string }): number {
  return Date.parse(a.updated_at) - Date.parse(b.updated_at);
}
