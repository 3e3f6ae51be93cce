import type { Fault } from './fault-scene.ts';
import { FAILED, WHOLE, headers, body, right, raw, both } from './odd-answer.ts';
import { answerParts, chunked, head, JSON_HEADERS } from './wire.ts';

const BOM = '\uFEFF';

/** Answers whose lines, lengths, heads and statuses are unusual or wrong. */
export const ODD_FRAMING: readonly Fault[] = [
  {
    name: 'ends its lines with CRLF, behind a byte order mark',
    act: right((text, { isStream }) => BOM + (isStream ? text.replaceAll('\n', '\r\n') : text)),
    ...both(WHOLE),
  },
  {
    name: 'ends its lines with CR alone, which no provider does',
    act: right((text, { isStream }) => (isStream ? text.replaceAll('\n', '\r') : text)),
    json: WHOLE,
    stream: FAILED,
  },
  {
    name: 'leaves out the blank after the colon',
    act: right((text, { speech }) => {
      const [all, last] = [text.replaceAll(/(data|event): /g, '$1:'), answerParts(speech).mark];
      return text.endsWith(last)
        ? all.slice(0, all.lastIndexOf('\n\n', all.length - 3) + 2) + last
        : all;
    }),
    ...both(WHOLE),
  },
  {
    name: 'sends ids, times to reconnect and unknown fields',
    act: right((text, { isStream }) =>
      isStream
        ? text.replaceAll(
            /^data: \{"(?!type":"message_stop)/gm,
            'id: 7\nretry: 5\nodd: x\ndata: {"',
          )
        : text,
    ),
    ...both(WHOLE),
  },
  {
    name: 'sends an event in two lines of data',
    act: right((text, { isStream }) =>
      isStream
        ? text.replaceAll(/^data: \{(?!"type":"message_stop)(.+)$/gm, 'data: {\ndata: $1')
        : text,
    ),
    ...both(WHOLE),
  },
  {
    name: 'sends one byte at a time',
    act: ({ socket, ...scene }) => {
      socket.setNoDelay(true);
      socket.write(head('200 OK', { ...headers(scene.isStream), 'transfer-encoding': 'chunked' }));
      for (const byte of Buffer.from(body({ socket, ...scene })))
        socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]));
      socket.end('0\r\n\r\n');
    },
    ...both(WHOLE),
  },
  {
    name: 'goes on after its end',
    act: right((text, { isStream }) => (isStream ? `${text}data: garbage\n\n` : `${text}\n\n  `)),
    ...both(WHOLE),
  },
  {
    name: 'sends a second document behind the first',
    act: right((text) => text + text),
    json: FAILED,
    stream: WHOLE,
  },
  {
    name: 'sends trailers',
    act: (scene) =>
      scene.socket.end(
        head('200 OK', {
          ...headers(scene.isStream),
          'transfer-encoding': 'chunked',
          trailer: 'x-sum',
        }) +
          chunked(body(scene)) +
          '0\r\nx-sum: 1\r\nset-cookie: a=b\r\n\r\n',
      ),
    ...both(WHOLE),
  },
  {
    name: 'promises more bytes than it sends',
    act: (scene) =>
      scene.socket.end(
        head(
          '200 OK',
          headers(scene.isStream, { 'content-length': String(body(scene).length + 99) }),
        ) + body(scene),
      ),
    json: FAILED,
    stream: WHOLE,
  },
  {
    name: 'sends more bytes than it promised',
    act: (scene) =>
      scene.socket.end(
        head(
          '200 OK',
          headers(scene.isStream, { 'content-length': String(body(scene).indexOf('four')) }),
        ) + body(scene),
      ),
    json: FAILED,
    stream: FAILED,
  },
  {
    name: 'states two lengths',
    act: raw(
      (scene) =>
        `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: ${headers(scene.isStream)['content-type']}\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n${body(scene)}`,
    ),
    ...both(FAILED),
  },
  {
    name: 'answers in HTTP/1.0',
    act: raw(
      (scene) =>
        `HTTP/1.0 200 OK\r\ncontent-type: ${headers(scene.isStream)['content-type']}\r\n\r\n${body(scene)}`,
    ),
    ...both(WHOLE),
  },
  {
    name: 'folds a header',
    act: raw(
      (scene) =>
        head('200 OK', headers(scene.isStream)).replace(/\r\n\r\n$/, '\r\nx-odd: a\r\n b\r\n\r\n') +
        body(scene),
    ),
    ...both(FAILED),
  },
  {
    name: 'sends headers without end',
    act: raw(() => `HTTP/1.1 200 OK\r\n${'x-much: '.padEnd(200, 'y')}\r\n`.repeat(2_000)),
    ...both(FAILED),
  },
  {
    name: 'sends a hundred informational heads',
    act: raw(
      (scene) =>
        'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50) +
        head('200 OK', headers(scene.isStream)) +
        body(scene),
    ),
    ...both(WHOLE),
  },
  {
    // undici takes it for a broken answer.
    name: 'says to continue unasked',
    act: raw(
      (scene) =>
        `HTTP/1.1 100 Continue\r\n\r\n${head('200 OK', headers(scene.isStream))}${body(scene)}`,
    ),
    ...both(FAILED),
  },
  {
    name: 'switches protocols',
    act: raw(
      () => 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    ),
    ...both(FAILED),
  },
  { name: 'answers 204', act: raw(() => 'HTTP/1.1 204 No Content\r\n\r\n'), ...both(FAILED) },
  {
    name: 'answers 206 with a part',
    act: raw(
      (scene) => head('206 Partial Content', headers(scene.isStream)) + body(scene).slice(0, 50),
    ),
    ...both(FAILED),
  },
  { name: 'answers 304', act: raw(() => 'HTTP/1.1 304 Not Modified\r\n\r\n'), ...both(FAILED) },
  { name: 'answers 599', act: raw(() => head('599 Odd', JSON_HEADERS) + '{}'), ...both(FAILED) },
  {
    name: 'answers 499',
    act: raw(() => head('499 Odd', JSON_HEADERS) + '{}'),
    ...both(['bad request', 'nothing']),
  },
];
