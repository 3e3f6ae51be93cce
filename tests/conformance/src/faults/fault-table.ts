import type { Socket } from 'node:net';
import {
  answerParts,
  chunked,
  gzipped,
  head,
  JSON_HEADERS,
  SSE_HEADERS,
  TEXT,
  usageOf,
  type AnswerParts,
  type Speech,
} from './wire.ts';

/** `max_tokens` of every request. */
export const OUTPUT_LIMIT = 50;

/** What the client must get: a whole answer, a status, or an error inside its stream. What must be charged: nothing, the report, our own count, a number. */
export type Ending =
  | 'whole'
  | 'error event'
  | 'bad gateway'
  | 'timeout'
  | 'rate limited'
  | 'overloaded'
  | 'bad request'
  | 'too large';
export type Charge = 'nothing' | 'reported' | 'counted' | number;
export type Expected = readonly [Ending, Charge];

export interface Scene {
  socket: Socket;
  speech: Speech;
  isStream: boolean;
  parts: AnswerParts;
}

export interface Fault {
  name: string;
  /** Undefined: nothing listens. */
  act: ((scene: Scene) => void) | undefined;
  json: Expected;
  stream: Expected;
  /** Where chat and messages differ in what they can tell. */
  messagesStream?: Expected;
  /** Header the client must see. */
  retryAfter?: string;
}

const FAILED: Expected = ['bad gateway', 'nothing'];
const WHOLE: Expected = ['whole', 'reported'];
const CUT: Expected = ['error event', 'counted'];
const LATE: Expected = ['timeout', 'nothing'];
const COUNTED: Expected = ['whole', 'counted'];
const CUT_TO_LIMIT: Expected = ['whole', 7 + OUTPUT_LIMIT];

/** The whole answer, as JSON or events, with its head. */
function right({ isStream, parts }: Scene, headers: Record<string, string> = {}): string {
  return (
    head('200 OK', { ...(isStream ? SSE_HEADERS : JSON_HEADERS), ...headers }) +
    body(isStream, parts)
  );
}

function body(isStream: boolean, { json, begin, finish, end }: AnswerParts): string {
  return isStream ? begin + finish + end : json;
}

/** The head and the first half of the answer. */
function half({ isStream, parts }: Scene): string {
  return isStream
    ? head('200 OK', SSE_HEADERS) + parts.begin
    : head('200 OK', { ...JSON_HEADERS, 'content-length': '5000' }) + parts.json.slice(0, 40);
}

const says = (text: string | ((scene: Scene) => string)) => (scene: Scene) =>
  void scene.socket.end(typeof text === 'string' ? text : text(scene));
const status = (line: string, content: object | string, headers: Record<string, string> = {}) =>
  says(
    head(line, { ...JSON_HEADERS, ...headers }) +
      (typeof content === 'string' ? content : JSON.stringify(content)),
  );
const withUsage = (usage: (speech: Speech) => object | null) =>
  says((scene) =>
    right({ ...scene, parts: answerParts(scene.speech, { usage: usage(scene.speech) }) }),
  );
const ERROR = {
  type: 'error',
  error: { type: 'server_error', message: 'secret words of the upstream' },
};
const LONG = 'word '.repeat(2_000);

const CONNECTIONS: readonly Fault[] = [
  { name: 'refuses the connection', act: undefined, json: FAILED, stream: FAILED },
  {
    name: 'resets before it answers',
    act: ({ socket }) => socket.resetAndDestroy(),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'hangs up without an answer',
    act: ({ socket }) => socket.end(),
    json: FAILED,
    stream: FAILED,
  },
  { name: 'answers garbage', act: says('SSH-2.0-OpenSSH_9.2\r\n'), json: FAILED, stream: FAILED },
  { name: 'never answers', act: () => undefined, json: LATE, stream: LATE },
  {
    name: 'stalls after its headers',
    act: ({ socket, isStream }) =>
      socket.write(head('200 OK', isStream ? SSE_HEADERS : JSON_HEADERS)),
    json: LATE,
    stream: LATE,
  },
  {
    name: 'stalls in the middle',
    act: (scene) => scene.socket.write(half(scene)),
    json: LATE,
    stream: CUT,
  },
  {
    name: 'resets in the middle',
    act: (scene) =>
      scene.socket.write(half(scene), () => setTimeout(() => scene.socket.resetAndDestroy(), 30)),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'half-closes in the middle',
    act: (scene) => scene.socket.end(half(scene)),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'breaks its chunked coding',
    act: ({ socket, isStream, parts }) =>
      socket.write(
        head('200 OK', {
          ...(isStream ? SSE_HEADERS : JSON_HEADERS),
          'transfer-encoding': 'chunked',
        }) +
          chunked(isStream ? parts.begin : parts.json.slice(0, 40)) +
          'zz\r\nnot a chunk',
      ),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'ends its chunked coding early',
    act: ({ socket, isStream, parts }) =>
      socket.end(
        head('200 OK', {
          ...(isStream ? SSE_HEADERS : JSON_HEADERS),
          'transfer-encoding': 'chunked',
        }) + chunked(isStream ? parts.begin : parts.json.slice(0, 40)),
      ),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'resets after the finish',
    act: (scene) =>
      scene.socket.write(
        head(
          '200 OK',
          scene.isStream
            ? SSE_HEADERS
            : { ...JSON_HEADERS, 'content-length': String(scene.parts.json.length) },
        ) + (scene.isStream ? scene.parts.begin + scene.parts.finish : scene.parts.json),
        () => setTimeout(() => scene.socket.resetAndDestroy(), 30),
      ),
    json: WHOLE,
    stream: COUNTED,
    messagesStream: WHOLE,
  },
  {
    name: 'stalls after the finish',
    act: (scene) =>
      scene.socket.write(
        head(
          '200 OK',
          scene.isStream
            ? SSE_HEADERS
            : { ...JSON_HEADERS, 'content-length': String(scene.parts.json.length) },
        ) + (scene.isStream ? scene.parts.begin + scene.parts.finish : scene.parts.json),
      ),
    json: WHOLE,
    stream: COUNTED,
    messagesStream: WHOLE,
  },
  { name: 'trickles headers', act: trickle, json: WHOLE, stream: WHOLE },
  { name: 'never stops talking', act: babble, json: LATE, stream: CUT },
  {
    name: 'sends 1xx first',
    act: says((scene) => `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${right(scene)}`),
    json: WHOLE,
    stream: WHOLE,
  },
];

function trickle(scene: Scene): void {
  const text = right(scene);
  const send = (at: number): void => {
    if (at >= 45) return void scene.socket.end(text.slice(at));
    scene.socket.write(text.slice(at, at + 5));
    setTimeout(() => send(at + 5), 20);
  };
  send(0);
}

function babble(scene: Scene): void {
  const { socket, isStream, parts } = scene;
  socket.write(half(scene));
  const timer = setInterval(
    () =>
      socket.write(
        isStream
          ? parts.begin.slice(
              parts.begin.lastIndexOf(scene.speech === 'openai' ? 'data:' : 'event:'),
            )
          : ' ',
      ),
    300,
  );
  socket.on('close', () => clearInterval(timer));
}

const STATUSES: readonly Fault[] = [
  {
    name: 'answers 400',
    act: status('400 Bad Request', {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'messages.0: too odd' },
    }),
    json: ['bad request', 'nothing'],
    stream: ['bad request', 'nothing'],
  },
  { name: 'answers 401', act: status('401 Unauthorized', ERROR), json: FAILED, stream: FAILED },
  { name: 'answers 403', act: status('403 Forbidden', ERROR), json: FAILED, stream: FAILED },
  { name: 'answers 404', act: status('404 Not Found', ERROR), json: FAILED, stream: FAILED },
  {
    name: 'answers 413',
    act: status('413 Content Too Large', {
      error: { message: 'too much', type: 'request_too_large' },
    }),
    json: ['too large', 'nothing'],
    stream: ['too large', 'nothing'],
  },
  {
    name: 'answers 429 with Retry-After',
    act: status('429 Too Many Requests', ERROR, { 'retry-after': '7' }),
    json: ['rate limited', 'nothing'],
    stream: ['rate limited', 'nothing'],
    retryAfter: '7',
  },
  {
    name: 'answers 429 with an hour to wait',
    act: status('429 Too Many Requests', ERROR, { 'retry-after': '3600' }),
    json: ['rate limited', 'nothing'],
    stream: ['rate limited', 'nothing'],
    retryAfter: '60',
  },
  {
    name: 'answers 500',
    act: status('500 Internal Server Error', ERROR),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'answers 503',
    act: status('503 Service Unavailable', 'busy'),
    json: ['overloaded', 'nothing'],
    stream: ['overloaded', 'nothing'],
  },
  {
    name: 'answers 529',
    act: status('529 Overloaded', ERROR),
    json: ['overloaded', 'nothing'],
    stream: ['overloaded', 'nothing'],
  },
  {
    name: 'redirects',
    act: status('301 Moved Permanently', '', { location: 'http://169.254.169.254/latest' }),
    json: FAILED,
    stream: FAILED,
  },
];

const BODIES: readonly Fault[] = [
  {
    name: 'answers 200 with an error body',
    act: status('200 OK', { error: { message: 'fell over', type: 'server_error' } }),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'answers HTML',
    act: status('200 OK', '<html><body>Login</body></html>', { 'content-type': 'text/html' }),
    json: FAILED,
    stream: FAILED,
  },
  { name: 'answers nothing', act: status('200 OK', ''), json: FAILED, stream: FAILED },
  {
    name: 'answers cut JSON',
    act: says(({ parts }) => head('200 OK', JSON_HEADERS) + parts.json.slice(0, 60)),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'answers JSON in any case',
    act: says(({ parts }) => head('200 OK', JSON_HEADERS) + parts.json),
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'names the wrong content type',
    act: says((scene) => right(scene, { 'content-type': 'text/plain' })),
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'compresses unasked',
    act: ({ socket, isStream, parts }) => {
      socket.write(
        head('200 OK', { ...(isStream ? SSE_HEADERS : JSON_HEADERS), 'content-encoding': 'gzip' }),
      );
      socket.end(gzipped(body(isStream, parts)));
    },
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'claims to compress',
    act: says((scene) => right(scene, { 'content-encoding': 'gzip' })),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'sends invalid UTF-8',
    act: ({ socket, ...scene }) => {
      const [before = '', after = ''] = right({ socket, ...scene }).split('three');
      socket.write(before);
      socket.write(Buffer.from([0xff, 0xc3, 0x28]));
      socket.end(after);
    },
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'sends a line of a megabyte',
    act: says((scene) =>
      scene.isStream
        ? head('200 OK', SSE_HEADERS) + `: ${'x'.repeat(1_000_000)}\n\n` + body(true, scene.parts)
        : head('200 OK', JSON_HEADERS) + ' '.repeat(1_000_000) + scene.parts.json,
    ),
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'sends a broken event',
    act: says(({ isStream, parts }) =>
      isStream
        ? head('200 OK', SSE_HEADERS) + parts.begin + 'data: {"id": \n\n' + parts.finish + parts.end
        : head('200 OK', JSON_HEADERS) + '{"id": ',
    ),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'errs before any content',
    act: says(({ isStream, parts }) =>
      isStream
        ? head('200 OK', SSE_HEADERS) + parts.error
        : head('200 OK', JSON_HEADERS) + JSON.stringify(ERROR),
    ),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'errs after content',
    act: says((scene) =>
      scene.isStream
        ? head('200 OK', SSE_HEADERS) + scene.parts.begin + scene.parts.error
        : head('200 OK', JSON_HEADERS) + JSON.stringify(ERROR),
    ),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'ends without a finish',
    act: says((scene) =>
      scene.isStream
        ? head('200 OK', SSE_HEADERS) + scene.parts.begin
        : head('200 OK', JSON_HEADERS) + scene.parts.json.slice(0, 60),
    ),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'sends its end mark first',
    act: says((scene) =>
      scene.isStream
        ? head('200 OK', SSE_HEADERS) + scene.parts.mark
        : head('200 OK', JSON_HEADERS) + '{}',
    ),
    json: FAILED,
    stream: FAILED,
  },
];

const USAGES: readonly Fault[] = [
  {
    name: 'reports negative usage',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: -5 })),
    json: COUNTED,
    stream: COUNTED,
  },
  { name: 'reports no usage', act: withUsage(() => null), json: COUNTED, stream: COUNTED },
  {
    name: 'reports absurd usage',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 1e12 })),
    json: CUT_TO_LIMIT,
    stream: CUT_TO_LIMIT,
  },
  {
    name: 'reports usage in words',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 'five' })),
    json: COUNTED,
    stream: COUNTED,
  },
  {
    name: 'reports fractions',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 4.5 })),
    json: COUNTED,
    stream: COUNTED,
  },
  {
    name: 'repeats its usage',
    act: says((scene) => {
      const { begin, finish, end } = scene.parts;
      return scene.isStream && scene.speech === 'openai'
        ? head('200 OK', SSE_HEADERS) + begin + finish + end.replace(/^(data: .*\n\n)/, '$1$1$1')
        : right({
            ...scene,
            parts: {
              ...scene.parts,
              finish: finish.replace(/(event: message_delta[\s\S]*)$/, '$1$1'),
            },
          });
    }),
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'talks beyond the limit it was given',
    act: says((scene) =>
      right({
        ...scene,
        parts: answerParts(scene.speech, {
          text: LONG,
          usage: usageOf(scene.speech, { prompt: 7, output: 2_000 }),
        }),
      }),
    ),
    json: ['whole', 2_007],
    stream: ['whole', 2_007],
  },
];

/** Upstream misbehaviours, with the answer the client must get and the charge that must result. */
export const FAULTS: readonly Fault[] = [...CONNECTIONS, ...STATUSES, ...BODIES, ...USAGES];

export const SAID = TEXT.slice(0, 7);
