import { gzipped, head, JSON_HEADERS, SSE_HEADERS } from './wire.ts';
import type { Fault } from './fault-scene.ts';
import { body, CUT, ERROR, FAILED, right, says, status, WHOLE } from './fault-parts.ts';

export const BODIES: readonly Fault[] = [
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
