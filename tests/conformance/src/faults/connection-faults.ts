import { chunked, head, JSON_HEADERS, SSE_HEADERS } from './wire.ts';
import type { Fault, Scene } from './fault-scene.ts';
import { COUNTED, CUT, FAILED, half, LATE, right, says, WHOLE } from './fault-parts.ts';

export const CONNECTIONS: readonly Fault[] = [
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
