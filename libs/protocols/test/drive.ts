import { hasModelInPath, NO_USAGE, type UpstreamProtocol } from '@tollgate/contracts';
import { createExchange, parseAsk } from '../src/index.ts';
import type { ClientProtocol, Exchange, ExchangeRequest, StreamReader } from '../src/index.ts';

export const RID = '0193478e-7c00-7000-8000-0123456789ab';

const PATH_CALL = { model: 'm', isStream: true, isArray: false };

/** Makes an exchange for a request given as a value or as JSON text. */
export function exchangeOf(
  protocol: ClientProtocol,
  upstreamProtocol: UpstreamProtocol,
  body: object | string,
  overrides: Partial<ExchangeRequest> = {},
): Exchange {
  const raw = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return createExchange({
    ask: parseAsk(protocol, raw, hasModelInPath(protocol) ? { call: PATH_CALL } : {}),
    speech: { protocol: upstreamProtocol },
    upstreamModel: 'upstream-model',
    outputLimit: null,
    outputLimitField: 'max_tokens',
    clientHeaders: {},
    idSeed: RID,
    ...overrides,
  });
}

export interface Driven {
  text: string;
  reader: StreamReader;
  /** Is everything the sink received, joined. */
  generated: string;
}

/** Feeds an upstream's bytes cut into pieces of the given sizes (over and over); whole by default. */
export function drive(
  exchange: Exchange,
  upstream: Uint8Array | string,
  sizes: readonly number[] = [Number.MAX_SAFE_INTEGER],
): Driven {
  const bytes = Buffer.from(upstream);
  let generated = '';
  const reader = exchange.openStream({ output: (text) => void (generated += text) });
  const parts: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    parts.push(Buffer.from(reader.push(Buffer.from(bytes.subarray(at, at + size)))));
    at += size;
  }
  parts.push(reader.end(), reader.close(reader.usage ?? NO_USAGE));
  return { text: Buffer.concat(parts).toString('utf8'), reader, generated };
}

export interface WireEvent {
  name: string;
  data: string;
}

/** Events of an SSE text, read plainly and independently of the library's own framer. Comments are left out. */
export function wireEvents(text: string): WireEvent[] {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
  return blocks.flatMap((block) => {
    const lines = block.split('\n');
    const field = (name: string): string[] =>
      lines
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
    const data = field('data');
    return data.length === 0 ? [] : [{ name: field('event')[0] ?? '', data: data.join('\n') }];
  });
}

/** Test data is read loosely: a wrong guess shows as a failing expectation. */
export type Loose = ReturnType<typeof JSON.parse>;

/** Returns the JSON of every event but `[DONE]`. */
export function jsonEvents(text: string): Loose[] {
  return wireEvents(text)
    .filter(({ data }) => data.trim() !== '[DONE]')
    .map(({ data }): Loose => JSON.parse(data));
}
