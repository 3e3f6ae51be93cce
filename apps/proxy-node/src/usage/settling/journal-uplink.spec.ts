import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  hashCredential,
  isUploadProven,
  JOURNAL_BODY_BYTES_MAX,
  JOURNAL_FINALS_MAX,
  JOURNAL_HEADERS,
  JOURNAL_PATH,
  journalUploadSchema,
} from '@tollgate/contracts';
import { openHold } from '../../../test/usage/holds.ts';
import { finalOf, usageOf } from '../../../test/usage/metered-redis.ts';
import { silent } from '../../../test/usage/open-recorder.ts';
import { ManualTime } from '../../testing/manual-time.ts';
import { JournalUplink, type JournalPost, type JournalUplinkOptions } from './journal-uplink.ts';
import { PendingFinal } from './settler.ts';

const CREDENTIAL = 'a credential of this node';
const NODE = 'node-1:0';
const STARTED_MS = 1_000_000;

type Answer = { status: number; text: string } | Error;

let time: ManualTime;
let uplink: JournalUplink;
let posts: JournalPost[];
let booked: string[];
let warnings: number;
beforeEach(() => {
  time = new ManualTime(STARTED_MS);
  [posts, booked, warnings] = [[], [], 0];
});
afterEach(() => uplink.close());

const ridsOf = ({ body }: JournalPost): string[] =>
  journalUploadSchema.parse(JSON.parse(body)).finals.map(({ rid }) => rid);
const receipt = (rids: readonly string[]): Answer => ({
  status: 200,
  text: JSON.stringify({ booked: rids }),
});

/** Opens an uplink. The control plane answers as `answer` says, by default that all of it is booked. */
function open(
  answer: (post: JournalPost) => Answer | Promise<Answer> = (post) => receipt(ridsOf(post)),
  changes: Partial<JournalUplinkOptions> = {},
): void {
  uplink = new JournalUplink({
    controlPlaneUrl: 'http://127.0.0.1:1/',
    credential: CREDENTIAL,
    node: NODE,
    log: { warn: () => void (warnings += 1), info: () => undefined },
    now: time.now,
    timers: time.timers,
    onBooked: (rids) => void booked.push(...rids),
    post: async (post) => {
      posts.push(post);
      const answered = await answer(post);
      if (answered instanceof Error) throw answered;
      return answered;
    },
    ...changes,
  });
}

function offer(payload?: string): string {
  const hold = openHold();
  const { rid, epoch } = hold;
  const final = finalOf(hold, usageOf(2, 2));
  const pending = new PendingFinal({ rid, epoch, final, atMs: time.nowMs });
  uplink.offer({ rid, payload: payload ?? pending.payload });
  return rid;
}

test('finals of one moment are handed over together, with a proof of this node over the very bytes', async () => {
  open();
  const rids = [offer(), offer()];
  await time.pass(49);
  expect(posts).toEqual([]);
  await time.pass(1);
  expect(posts.map(ridsOf)).toEqual([rids]);
  const [{ url, body, headers }] = posts as [JournalPost];
  expect(url.href).toBe('http://127.0.0.1:1/internal/journal');
  expect(headers['content-type']).toBe('application/json');
  const { [JOURNAL_HEADERS.node]: node, [JOURNAL_HEADERS.at]: at } = headers;
  const proof = headers[JOURNAL_HEADERS.proof] ?? '';
  expect([node, at]).toEqual([NODE, String(STARTED_MS + 50)]);
  const key = hashCredential(CREDENTIAL);
  expect(isUploadProven({ node: NODE, atMs: STARTED_MS + 50, proof, body }, key)).toBe(true);
  expect(booked).toEqual(rids);
  await time.pass(60_000);
  expect(posts).toHaveLength(1);
});

test.each([
  ['no answer', new Error('ECONNREFUSED')],
  ['a refusal', { status: 503, text: JSON.stringify({ booked: ['all of it'] }) }],
  ['an answer that is no receipt', { status: 200, text: '{}' }],
])(
  'after %s they are handed over again two seconds later, until they are booked',
  async (_what, failure) => {
    const answers: Answer[] = [failure, failure];
    open((post) => answers.shift() ?? receipt(ridsOf(post)));
    const rid = offer();
    await time.pass(50);
    const later = offer();
    await time.pass(1_999);
    expect([posts.length, booked]).toEqual([1, []]);
    await time.pass(1);
    expect([posts.length, booked, warnings]).toEqual([2, [], 1]);
    await time.pass(2_000);
    expect([posts.slice(1).map(ridsOf), booked]).toEqual([
      [
        [rid, later],
        [rid, later],
      ],
      [rid, later],
    ]);
    answers.push(failure);
    const third = offer();
    await time.pass(50);
    expect(warnings).toBe(2);
    await time.pass(2_000);
    expect(booked).toEqual([rid, later, third]);
  },
);

test('what the receipt does not name stays, and is handed over again at once', async () => {
  open((post) => receipt(ridsOf(post).slice(0, 1)));
  const rids = [offer(), offer(), offer()];
  await time.pass(50);
  expect(posts.map(ridsOf)).toEqual([rids, rids.slice(1), rids.slice(2)]);
  expect(booked).toEqual(rids);
});

test('finals that are offered while one upload is on its way follow it', async () => {
  const first = Promise.withResolvers<void>();
  open(async (post) => {
    if (posts.length === 1) await first.promise;
    return receipt(ridsOf(post));
  });
  const rid = offer();
  await time.pass(50);
  const later = offer();
  await time.pass(1_000);
  expect(posts.map(ridsOf)).toEqual([[rid]]);
  first.resolve();
  await time.pass(0);
  await time.pass(0);
  expect(posts.map(ridsOf)).toEqual([[rid], [later]]);
});

test('an upload has no more finals and bytes than the control plane takes; one that is too large by itself goes alone', async () => {
  open();
  const many = Array.from({ length: JOURNAL_FINALS_MAX + 1 }, () => offer('{}'));
  await time.pass(50);
  expect(posts.map((post) => ridsOf(post).length)).toEqual([JOURNAL_FINALS_MAX, 1]);
  expect(booked).toEqual(many);
  posts = [];
  const half = JSON.stringify('x'.repeat(JOURNAL_BODY_BYTES_MAX / 2 - 1_000));
  const rids = [half, half, half].map((payload) => offer(payload));
  const large = offer(JSON.stringify('x'.repeat(JOURNAL_BODY_BYTES_MAX)));
  await time.pass(50);
  expect(posts.map(ridsOf)).toEqual([rids.slice(0, 2), rids.slice(2), [large]]);
  for (const { body } of posts.slice(0, 2))
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(JOURNAL_BODY_BYTES_MAX);
  posts = [];
  for (let index = 0; index < JOURNAL_FINALS_MAX; index += 1)
    offer(JSON.stringify('x'.repeat(400)));
  await time.pass(50);
  expect(posts.length).toBeGreaterThan(1);
  for (const { body } of posts)
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(JOURNAL_BODY_BYTES_MAX);
});

test('without the address of a control plane, and once closed, nothing is handed over', async () => {
  open(undefined, { controlPlaneUrl: undefined });
  offer();
  await time.pass(10_000);
  open(() => new Error('ECONNREFUSED'));
  offer();
  await time.pass(50);
  expect([posts.length, posts[0]?.signal.aborted]).toEqual([1, false]);
  uplink.close();
  expect(posts[0]?.signal.aborted).toBe(true);
  offer();
  await time.pass(10_000);
  expect([posts.length, booked]).toEqual([1, []]);
});

test('an upload is a POST with its proof, and its receipt is read', async () => {
  const asked: unknown[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { 'content-type': type, [JOURNAL_HEADERS.node]: node } = request.headers;
      asked.push([request.method, request.url, type, node]);
      const rids = ridsOf({ body } as JournalPost);
      response.end(JSON.stringify({ booked: rids }));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const received = Promise.withResolvers<readonly string[]>();
  const { port } = server.address() as AddressInfo;
  const controlPlaneUrl = `http://127.0.0.1:${port}/`;
  uplink = new JournalUplink({
    ...{ controlPlaneUrl, credential: CREDENTIAL, node: NODE, log: silent },
    ...{ now: time.now, timers: time.timers, onBooked: received.resolve },
  });
  const rid = offer();
  await time.pass(50);
  expect(await received.promise).toEqual([rid]);
  expect(asked).toEqual([['POST', JOURNAL_PATH, 'application/json', NODE]]);
  server.close();
});
