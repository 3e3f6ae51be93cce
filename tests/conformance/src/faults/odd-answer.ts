import type { Expected, Fault, Scene } from './fault-scene.ts';
import { head, JSON_HEADERS, SSE_HEADERS, type AnswerParts } from './wire.ts';

export const FAILED: Expected = ['bad gateway', 'nothing'];
export const WHOLE: Expected = ['whole', 'reported'];

export const headers = (
  isStream: boolean,
  more: Record<string, string> = {},
): Record<string, string> => ({
  ...(isStream ? SSE_HEADERS : JSON_HEADERS),
  ...more,
});
export const body = ({ isStream, parts: { json, begin, finish, end } }: Scene): string =>
  isStream ? begin + finish + end : json;

/** Returns the whole answer with its bytes or headers changed. */
export const right =
  (
    change: (text: string, scene: Scene) => string | Buffer = (text) => text,
    more: Record<string, string> = {},
  ) =>
  (scene: Scene): void => {
    scene.socket.write(head('200 OK', headers(scene.isStream, more)));
    scene.socket.end(change(body(scene), scene));
  };
/** Has the meaning of `right` of other parts. */
export const parts =
  (change: (parts: AnswerParts, scene: Scene) => Partial<AnswerParts>) =>
  (scene: Scene): void =>
    right()({ ...scene, parts: { ...scene.parts, ...change(scene.parts, scene) } });
export const raw =
  (text: (scene: Scene) => string) =>
  (scene: Scene): void =>
    void scene.socket.end(text(scene));
export const both = (expected: Expected): Pick<Fault, 'json' | 'stream'> => ({
  json: expected,
  stream: expected,
});
