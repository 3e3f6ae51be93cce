import type { Exchange, ExchangeRequest, StreamSink } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { openaiAnswers } from '../providers/openai/answers.ts';
import { readJson } from '../providers/read-json.ts';
import { ChatStream } from './chat-stream.ts';
import { fieldEdits, streamUsageEdits } from './field-edits.ts';
import { withModel } from './with-model.ts';

/** chat -> chat: the request's and the answer's own bytes, but for the closed list of docs/translation.md. */
export function chatExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  return {
    path: '/chat/completions',
    requestBody: chatRequest(request),
    requestHeaders: {},
    readJson: (body) => readJson(body, openaiAnswers, () => withModel(body, ask.model)),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(
        new ChatStream({ model: ask.model, wantsStreamUsage: ask.wantsStreamUsage, idSeed, sink }),
      ),
  };
}

function chatRequest(request: ExchangeRequest): Uint8Array {
  const { ask, outputLimitField } = request;
  const edits = [...fieldEdits(request, outputLimitField), ...streamUsageEdits(ask)];
  return applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits));
}
