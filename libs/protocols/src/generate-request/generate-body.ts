import type { JsonLayout } from '../json/json-layout.ts';

/** Describes a body of `generateContent`, or of a method that makes vectors. */
export interface GenerateBody {
  readonly raw: Uint8Array;
  readonly layout: JsonLayout;
  readonly body: Readonly<Record<string, unknown>>;
  /** The stream is a JSON array in place of server-sent events. */
  readonly isArray: boolean;
  /** Lists the paths of the members that no other protocol has. */
  readonly native: readonly string[];
  /** Is set for a request for vectors. */
  readonly embed?: EmbedCall;
}

export interface EmbedCall {
  readonly isBatch: boolean;
  /** Is the model that the client asked for; the request may name it again. */
  readonly named: string;
  readonly inputs: readonly EmbedInput[];
}

/** A text to embed, and what it is for; only Google's models ask. */
export interface EmbedInput {
  readonly text: string;
  readonly taskType?: unknown;
  readonly title?: unknown;
}
