export interface StreamAsk {
  origin: string;
  key: string;
  model: string;
  protocol: 'chat' | 'messages';
  tokens: number;
  delayMs: number;
}

/** Holds what a client heard of one stream. */
export interface Heard {
  rid: string;
  words: number;
  /** Is `finished` when it ends as the protocol ends a complete answer, `refused` for an error event in the protocol's own words and then the end, `broken` for neither. */
  ending: 'finished' | 'refused' | 'broken';
  endedAtMs: number;
}

/** Sends a streamed request of the demo upstream, one word a token. `begun` resolves with the first word. */
export function openStream(ask: StreamAsk): { begun: Promise<void>; ended: Promise<Heard> } {
  const { promise: begun, resolve, reject } = Promise.withResolvers<void>();
  const ended = listen(ask, resolve);
  ended.then(() => reject(new Error('the stream ended before its first word')), reject);
  return { begun, ended };
}

async function listen(
  { origin, key, model, protocol, tokens, delayMs }: StreamAsk,
  onBegun: () => void,
): Promise<Heard> {
  const response = await fetch(
    `${origin}/v1/${protocol === 'chat' ? 'chat/completions' : 'messages'}`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: tokens,
        messages: [{ role: 'user', content: `@demo tokens=${tokens} delay=${delayMs}` }],
      }),
    },
  );
  if (!response.ok || !response.body)
    throw new Error(`a stream could not be opened: ${response.status} ${await response.text()}`);
  const events: string[] = [];
  let words = 0;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = `${rest}${text}`.split('\n\n');
    rest = parts.pop() ?? '';
    for (const event of parts) {
      events.push(event);
      if (!isWord(event)) continue;
      words += 1;
      if (words === 1) onBegun();
    }
  }
  return {
    rid: response.headers.get('x-request-id') ?? '',
    words,
    ending: rest === '' ? endingOf(events, protocol) : 'broken',
    endedAtMs: Date.now(),
  };
}

function isWord(event: string): boolean {
  return /"content":"[^"]/.test(event) || event.includes('"text_delta"');
}

function endingOf(events: readonly string[], protocol: StreamAsk['protocol']): Heard['ending'] {
  const last = events.findLast((event) => !event.startsWith(':')) ?? '';
  if (protocol === 'messages')
    return last.startsWith('event: message_stop')
      ? 'finished'
      : last.startsWith('event: error')
        ? 'refused'
        : 'broken';
  if (events.some((event) => event.startsWith('data: {"error"'))) return 'refused';
  return last === 'data: [DONE]' ? 'finished' : 'broken';
}
