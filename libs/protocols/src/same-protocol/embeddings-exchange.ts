import type { ReportedUsage } from '@tollgate/contracts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { readChatUsage } from '../answers/openai/chat-usage.ts';
import { readJson } from '../answers/read-json.ts';
import { fieldEdits } from './field-edits.ts';
import { withModel } from '../json/with-model.ts';

/** Carries embeddings to embeddings. `encoding_format` and vectors pass as they are: clients decode base64 or take floats (behaviour 31). */
export function embeddingsExchange(request: ExchangeRequest): Exchange {
  const { ask } = request;
  const edits = fieldEdits({ ...request, outputLimit: null }, '');
  return {
    path: '/embeddings',
    requestBody: applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits)),
    requestHeaders: {},
    readJson: (body) => readJson(body, VECTORS, () => withModel(body, ask.model)),
    openStream: () => {
      throw new Error('Embeddings are never streamed: parseAsk says so.');
    },
  };
}

const VECTORS = {
  readWhole: ({ data, usage }: JsonRecord) =>
    Array.isArray(data)
      ? { usage: readVectorUsage(usage), outputText: '', calls: 0, callArguments: () => 0 }
      : null,
};

/** Vectors are no output: a report that does not name any is whole, and its total is the prompt. */
function readVectorUsage(usage: unknown): ReportedUsage | null {
  return isRecord(usage)
    ? readChatUsage({ ...usage, completion_tokens: usage['completion_tokens'] ?? 0 })
    : null;
}
