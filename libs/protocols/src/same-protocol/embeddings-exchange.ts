import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { Exchange, ExchangeRequest, JsonReading } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { isRecord, parseJson } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { readChatUsage } from '../usage/chat-usage.ts';
import { fieldEdits } from './field-edits.ts';
import { withModel } from './with-model.ts';

/** embeddings -> embeddings. `encoding_format` and vectors pass as they are: clients decode base64 or take floats (behaviour 31). */
export function embeddingsExchange(request: ExchangeRequest): Exchange {
  const { ask } = request;
  const edits = fieldEdits({ ...request, outputLimit: null }, '');
  return {
    path: '/embeddings',
    requestBody: applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits)),
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
    calls: 0,
  };
}
