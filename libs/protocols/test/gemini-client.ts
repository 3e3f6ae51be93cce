import type { UpstreamProtocol } from '@tollgate/contracts';
import { createExchange, parseAsk } from '../src/index.ts';
import type { Ask, Exchange, ExchangeRequest } from '../src/index.ts';
import { RID, type Loose } from './drive.ts';

export const HI = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
const CALL = { model: 'alias', isStream: false, isArray: false };
export const STREAM = { ...CALL, isStream: true };
export const ask = (body: object | string, call = CALL): Ask =>
  parseAsk('generate', Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), {
    call,
  });
export const embedAsk = (body: object | string, isBatch: boolean): Ask =>
  parseAsk('embed', Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), {
    call: { ...CALL, isBatch },
  });
export const exchange = (
  protocol: UpstreamProtocol,
  asked: Ask,
  overrides: Partial<ExchangeRequest> = {},
): Exchange =>
  createExchange({
    ask: asked,
    speech: { protocol },
    upstreamModel: 'their-model',
    outputLimit: null,
    outputLimitField: 'max_completion_tokens',
    clientHeaders: {},
    idSeed: RID,
    ...overrides,
  });
export const sent = (...args: Parameters<typeof exchange>): Loose =>
  JSON.parse(Buffer.from(exchange(...args).requestBody).toString());
