import { letPass } from '@tollgate/harness';
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
    act: (scene) => scene.socket.write(half(scene), () => void resetAfter(scene)),
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
    act: (scene) => scene.socket.write(`${halfInChunks(scene)}zz\r\nnot a chunk`),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'ends its chunked coding early',
    act: (scene) => scene.socket.end(halfInChunks(scene)),
    json: FAILED,
    stream: CUT,
  },
  {
    name: 'resets after the finish',
    act: (scene) => scene.socket.write(finished(scene), () => void resetAfter(scene)),
    json: WHOLE,
    stream: COUNTED,
    messagesStream: WHOLE,
  },
  {
    name: 'stalls after the finish',
    act: (scene) => scene.socket.write(finished(scene)),
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

/** Returns a stream up to its finish, without what is sent after it. */
function finished({ isStream, parts }: Scene): string {
  return isStream
    ? head('200 OK', SSE_HEADERS) + parts.begin + parts.finish
    : head('200 OK', { ...JSON_HEADERS, 'content-length': String(parts.json.length) }) + parts.json;
}

function halfInChunks({ isStream, parts }: Scene): string {
  const headers = { ...(isStream ? SSE_HEADERS : JSON_HEADERS), 'transfer-encoding': 'chunked' };
  return head('200 OK', headers) + chunked(isStream ? parts.begin : parts.json.slice(0, 40));
}

async function resetAfter({ socket }: Scene): Promise<void> {
  await letPass(30, 'a reset discards what its receiver has not read');
  socket.resetAndDestroy();
}

function trickle(scene: Scene): void {
  const text = right(scene);
  const send = (at: number): void => {
    if (at >= 45) return void scene.socket.end(text.slice(at));
    scene.socket.write(text.slice(at, at + 5));
    void letPass(20, 'each piece leaves in a packet of its own').then(() => send(at + 5));
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
