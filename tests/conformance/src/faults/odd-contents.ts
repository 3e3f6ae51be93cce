import { brotliCompressSync, deflateRawSync, deflateSync, zstdCompressSync } from 'node:zlib';
import type { Fault } from './fault-scene.ts';
import { FAILED, WHOLE, right, parts, raw, both } from './odd-answer.ts';
import { gzipped, head, JSON_HEADERS } from './wire.ts';

const CODINGS: readonly Fault[] = [
  ...(
    [
      ['deflate', deflateSync],
      ['deflate', deflateRawSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const
  ).map(([coding, encode], at): Fault => ({
    name: `compresses with ${coding}${at === 1 ? ', raw' : ''}`,
    act: right((text) => encode(Buffer.from(text)), { 'content-encoding': coding }),
    ...both(at === 1 ? FAILED : WHOLE),
  })),
  {
    name: 'compresses twice',
    act: right((text) => gzipped(gzipped(text).toString('latin1')), {
      'content-encoding': 'gzip, gzip',
    }),
    ...both(FAILED),
  },
  {
    name: 'says identity',
    act: right((text) => text, { 'content-encoding': 'identity' }),
    ...both(WHOLE),
  },
  {
    name: 'compresses with an unknown coding',
    act: right((text) => text, { 'content-encoding': 'snappy' }),
    ...both(FAILED),
  },
  {
    name: 'cuts its compressed answer',
    act: right((text) => gzipped(text).subarray(0, 60), { 'content-encoding': 'gzip' }),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'sends garbage behind its compressed answer',
    act: right((text) => Buffer.concat([gzipped(text), Buffer.from('garbage')]), {
      'content-encoding': 'gzip',
    }),
    ...both(FAILED),
  },
];

const CONTENTS: readonly Fault[] = [
  {
    name: 'says NaN',
    act: right((text) =>
      text
        .replace('"created":1', '"created":NaN')
        .replace('"type":"message"', '"type":"message","odd":NaN'),
    ),
    ...both(FAILED),
  },
  {
    name: 'nests without end',
    act: right((text, { isStream }) => {
      const deep = `"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}`;
      return isStream ? text.replace('{', `{${deep},`) : text.replace(/\}$/, `,${deep}}`);
    }),
    ...both(WHOLE),
  },
  {
    name: 'sends lone surrogates',
    act: right((text) => text.replace('three', 'th\\ud800ee')),
    ...both(WHOLE),
  },
  {
    name: 'sends null bytes',
    act: right((text) => text.replace('three', 'th\\u0000ee')),
    ...both(WHOLE),
  },
  {
    name: 'names its prototype',
    act: right((text) =>
      text.replaceAll(/"(model)":/g, '"__proto__":{"usage":null},"constructor":1,"$1":'),
    ),
    ...both(WHOLE),
  },
  {
    name: 'answers with events where JSON was asked for, and JSON where events were',
    act: (scene) => right()({ ...scene, isStream: !scene.isStream }),
    json: FAILED,
    stream: WHOLE,
  },
  {
    name: 'answers null',
    act: right(() => 'null'),
    ...both(FAILED),
  },
  {
    name: 'answers a list',
    act: right((text, { isStream }) => (isStream ? 'data: []\n\n' : `[${text}]`)),
    ...both(FAILED),
  },
  {
    name: 'says its finish twice, and more behind it',
    act: parts(({ finish, begin }, { speech }) => ({
      finish:
        speech === 'openai' ? finish + finish + begin.slice(begin.lastIndexOf('data:')) : finish,
    })),
    ...both(WHOLE),
  },
  {
    name: 'sends an empty event between all others',
    act: right((text, { isStream }) =>
      isStream ? text.replaceAll('\n\n', '\n\ndata:\n\n:\n\n\n\n') : text,
    ),
    ...both(WHOLE),
  },
];

const waits = (value: string, retryAfter?: string): Fault => ({
  name: `asks to wait: ${value}`,
  act: raw(
    () =>
      head('429 Too Many Requests', { ...JSON_HEADERS, 'retry-after': value }) +
      '{"error":{"message":"slow down","type":"rate_limit_error"}}',
  ),
  json: ['rate limited', 'nothing'],
  stream: ['rate limited', 'nothing'],
  retryAfter: retryAfter ?? '1',
});

const WAITS: readonly Fault[] = [
  waits('-5'),
  waits('soon'),
  waits('1e99'),
  waits('99999999999999999999', '60'),
  waits('Wed, 21 Oct 2015 07:28:00 GMT'),
  waits('Fri, 01 Jan 2100 00:00:00 GMT', '60'),
  waits('0'),
  waits('2.5', '3'),
];

/** Answers whose coding, JSON or time to wait is unusual or wrong. */
export const ODD_CONTENTS: readonly Fault[] = [...CODINGS, ...CONTENTS, ...WAITS];
