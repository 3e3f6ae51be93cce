import { z } from 'zod';
import type { Protocol, TwoUpstreams } from './two-upstreams.ts';

const WORDS = 12;
/** Asks for a word in 5 ms: what breaks off in the middle has been read up to there. */
const PROMPT = `@demo tokens=${WORDS} delay=5`;

/** Holds what a client saw of one request. */
export interface Seen {
  readonly rid: string;
  readonly status: number;
  readonly text: string;
  /** Is true when the answer has as many words as were asked for, and the protocol's end. */
  readonly isWhole: boolean;
  /** Is true for an answer that ended as if it were whole, though it was not. */
  readonly isFalseSuccess: boolean;
  /** Counts the words of text that arrived. */
  readonly words: number;
  /** Is the time until the first byte of the body. */
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export async function ask(
  { tollgate, key }: TwoUpstreams,
  { protocol, model, isStream }: { protocol: Protocol; model: string; isStream: boolean },
): Promise<Seen> {
  const path = protocol === 'chat' ? 'chat/completions' : 'messages';
  const startedAt = Date.now();
  const response = await fetch(`${tollgate.nodeUrls[0]}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: isStream,
      max_tokens: WORDS * 2,
      messages: [{ role: 'user', content: PROMPT }],
    }),
  });
  const { text, firstByteMs } = await readAll(response, startedAt);
  const words = isStream ? streamedWords(text) : jsonWords(text);
  const hasEnd = isStream ? hasStreamEnd(text, protocol) : response.status === 200;
  const isWhole = response.status === 200 && hasEnd && words === WORDS && !text.includes('"error"');
  const isFalseSuccess = response.status === 200 && hasEnd && !isWhole;
  const rid = response.headers.get('x-request-id') ?? '';
  const totalMs = Date.now() - startedAt;
  return {
    rid,
    status: response.status,
    text,
    isWhole,
    isFalseSuccess,
    words,
    firstByteMs,
    totalMs,
  };
}

async function readAll(
  response: Response,
  startedAt: number,
): Promise<{ text: string; firstByteMs: number }> {
  const decoder = new TextDecoder();
  let text = '';
  let firstByteMs = 0;
  for await (const chunk of response.body ?? []) {
    firstByteMs ||= Date.now() - startedAt;
    text += decoder.decode(chunk, { stream: true });
  }
  return { text, firstByteMs };
}

const jsonAnswer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).optional(),
  content: z.array(z.object({ text: z.string() })).optional(),
});

function jsonWords(text: string): number {
  const answer = jsonAnswer.safeParse(JSON.parse(text)).data;
  return countWords(answer?.choices?.[0]?.message.content ?? answer?.content?.[0]?.text ?? '');
}

const streamEvent = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().optional() }) })).optional(),
  delta: z.object({ text: z.string().optional() }).optional(),
});

function streamedWords(text: string): number {
  const pieces = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => streamEvent.safeParse(JSON.parse(line.slice('data: '.length))).data)
    .map((event) => event?.choices?.[0]?.delta.content ?? event?.delta?.text ?? '');
  return countWords(pieces.join(''));
}

function countWords(text: string): number {
  return text.split(' ').filter(Boolean).length;
}

/** Returns true for exactly one beginning and one end: nothing of another attempt is beside the answer. */
function hasStreamEnd(text: string, protocol: Protocol): boolean {
  const [begin, end] =
    protocol === 'chat'
      ? ['"role":"assistant"', 'data: [DONE]']
      : ['event: message_start', 'event: message_stop'];
  return text.split(begin).length === 2 && text.split(end).length === 2;
}
