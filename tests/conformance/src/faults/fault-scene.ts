import type { Socket } from 'node:net';
import type { AnswerParts, Speech } from './wire.ts';

/** Is `max_tokens` of every request. */
export const OUTPUT_LIMIT = 50;

/** Describes what the client must get (a whole answer, a status, or an error inside its stream) and what must be charged (nothing, the report, our own count, a number). */
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
  /** Is undefined where no server listens. */
  act: ((scene: Scene) => void) | undefined;
  json: Expected;
  stream: Expected;
  /** Is the outcome of messages, if they can report more or less than chat. */
  messagesStream?: Expected;
  /** Is the `Retry-After` that the client must see. */
  retryAfter?: string;
  /** Is true when the route is left alone at once, so that the next request would not reach it. */
  rests?: true;
}
