import type { Exchange, ExchangeRequest, StreamSink } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { openaiAnswers } from '../answers/openai/answers.ts';
import { readJson } from '../answers/read-json.ts';
import { openedIds } from '../stored/references.ts';
import { sealedSounds } from '../stored/sealed-ids.ts';
import { ChatStream } from './chat-stream.ts';
import { fieldEdits, streamUsageEdits } from './field-edits.ts';
import { withModel } from '../json/with-model.ts';

/** Carries chat to chat: the request's and the answer's own bytes, but for the closed list of docs/translation.md. */
export function chatExchange(request: ExchangeRequest): Exchange {
  const { ask, ids, idSeed } = request;
  return {
    path: '/chat/completions',
    requestBody: chatRequest(request),
    requestHeaders: {},
    readJson: (body) =>
      readJson(body, openaiAnswers, (answer) =>
        withModel(body, ask.model, ids && sealedSounds(answer, { ids, member: 'message' })),
      ),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(
        new ChatStream({
          model: ask.model,
          wantsStreamUsage: ask.wantsStreamUsage,
          ids,
          idSeed,
          sink,
        }),
      ),
  };
}

function chatRequest(request: ExchangeRequest): Uint8Array {
  const { ask, ids, outputLimitField } = request;
  const edits = [
    ...fieldEdits(request, outputLimitField),
    ...streamUsageEdits(ask),
    ...(ids ? openedIds(ask, ids) : []),
  ];
  return applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits));
}
