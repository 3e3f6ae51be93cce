import type { Ask, ClientProtocol } from '../src/exchange.ts';
import { parseAsk } from '../src/ask/parse-ask.ts';

export const HELLO = [{ role: 'user', content: 'hi' }];

export function parse(protocol: ClientProtocol, body: unknown): Ask {
  return parseAsk(protocol, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
}
