import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startS3Server, type S3Server } from '@tollgate/harness';
import { AwsClient } from 'aws4fetch';
import { Archive } from './archive.ts';
import { S3Store } from './s3-store.ts';

const KEYS = { accessKeyId: 'an-id', secretAccessKey: 'a-secret', region: 'us-east-1' };
let server: S3Server;
beforeAll(async () => {
  server = await startS3Server('archives');
}, 400_000);
afterAll(() => server?.stop());

const storeAt = (place: string): S3Store =>
  new S3Store(place, {
    ...KEYS,
    endpoint: server.endpoint,
  });
async function* rows(count: number): AsyncGenerator<string[]> {
  for (let n = 1; n <= count; n += 1) yield [String(n), 'a "b", c'];
}
/** Acts as another program in the bucket. */
const elsewhere = (file: string, init?: RequestInit): Promise<Response> =>
  new AwsClient({ ...KEYS, service: 's3' }).fetch(`${server.endpoint}/archives/${file}`, init);
const object = async (file: string): Promise<Buffer> =>
  Buffer.from(await (await elsewhere(file)).arrayBuffer());

test('a day is kept in a bucket with its manifest, and a later export finds it whole', async () => {
  const archive = await Archive.open(storeAt('s3://archives/tollgate/usage/'), ['n', 'text']);
  expect(await archive.whole('2026-11-01')).toBeNull();
  const entry = await archive.write('2026-11-01', rows(20_000));
  const bytes = await object('tollgate/usage/usage-2026-11-01.csv.gz');
  expect(entry).toMatchObject({ rows: 20_000, bytes: bytes.length });
  expect(entry.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
  expect(gunzipSync(bytes).toString().trimEnd().split('\r\n')).toHaveLength(20_001);
  const { days } = JSON.parse(String(await object('tollgate/usage/manifest.json')));
  expect(days['2026-11-01']).toEqual(entry);
  const again = await Archive.open(storeAt('s3://archives/tollgate/usage'), ['n', 'text']);
  expect(await again.whole('2026-11-01')).toEqual(entry);
});

test('a day beyond the size of a part is several objects, and whole only with all of them', async () => {
  const archive = await Archive.open(storeAt('s3://archives/parts'), ['n', 'text'], 1_000);
  const entry = await archive.write('2026-11-03', rows(200));
  expect(entry).toMatchObject({ rows: 200, parts: expect.anything() });
  const again = await Archive.open(storeAt('s3://archives/parts'), ['n', 'text'], 1_000);
  expect(await again.whole('2026-11-03')).toEqual(entry);
  await elsewhere('parts/usage-2026-11-03.2.csv.gz', { method: 'DELETE' });
  expect(await again.whole('2026-11-03')).toBeNull();
});

test('a file that was removed from the bucket, or put there by another, does not count as whole', async () => {
  const archive = await Archive.open(storeAt('s3://archives/lost'), ['n', 'text']);
  await archive.write('2026-11-02', rows(3));
  const file = 'usage-2026-11-02.csv.gz';
  await elsewhere(`lost/${file}`, { method: 'PUT', body: 'torn' });
  expect(await archive.whole('2026-11-02')).toBeNull();
  await elsewhere(`lost/${file}`, { method: 'DELETE' });
  expect(await archive.whole('2026-11-02')).toBeNull();
  await archive.write('2026-11-02', rows(3));
  expect(await archive.whole('2026-11-02')).toMatchObject({ rows: 3 });
});

test('a bucket that does not exist, and a manifest of another program, are refused by name', async () => {
  await expect(storeAt('s3://no-such-bucket/usage').readText('manifest.json')).rejects.toThrow(
    's3://no-such-bucket/usage/manifest.json: the store answered 404 NoSuchBucket',
  );
  await storeAt('s3://archives/other').writeText('manifest.json', '{"format": 99}');
  await expect(Archive.open(storeAt('s3://archives/other'), ['n'])).rejects.toThrow(
    's3://archives/other/manifest.json is not a manifest of this release',
  );
});
