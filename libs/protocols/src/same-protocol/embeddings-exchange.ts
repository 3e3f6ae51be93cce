import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading } from '../exchange.ts';
import { isRecord, parseJson } from '../json/json-guard.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import { readChatUsage } from '../usage/chat-usage.ts';
import { withModel } from './with-model.ts';

/** embeddings -> embeddings. `encoding_format` and vectors pass as they are: clients decode base64 or take floats (behaviour 31). */
export function embeddingsExchange({ ask, upstreamModel }: ExchangeRequest): Exchange {
  const edits = ask.model === upstreamModel ? {} : { model: JSON.stringify(upstreamModel) };
  return {
    path: '/embeddings',
    requestBody: applyPatches(ask.raw, editObject(ask.layout, edits)),
    requestHeaders: {},
    readJson: (body) => readEmbeddings(body, ask.model),
    openStream: () => {
      throw new Error('Embeddings are never streamed: parseAsk says so.');
    },
  };
}

function readEmbeddings(body: Uint8Array, model: string): JsonReading {
  const answer = parseJson(body);
  const error = readInBandError(answer);
  if (error) return { kind: 'error', error };
  if (!isRecord(answer) || !Array.isArray(answer['data']))
    return { kind: 'error', error: upstreamError('unreadable') };
  return {
    kind: 'answer',
    body: withModel(body, model),
    usage: readChatUsage(answer['usage']),
    outputText: '',
  };
}
