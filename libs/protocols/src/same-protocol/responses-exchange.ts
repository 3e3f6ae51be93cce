import type {
  Ask,
  CountAsk,
  CountExchange,
  Exchange,
  ExchangeRequest,
  InvalidRequest,
  StoredIds,
} from '../exchange.ts';
import { declaredTools } from '../fields/declared-tools.ts';
import { fieldName } from '../fields/field-name.ts';
import { editPaths, withoutFields } from '../json/edit-paths.ts';
import { isRecord, nonEmpty, parseJson } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { layoutObject } from '../json/json-layout.ts';
import { applyPatches } from '../json/json-splice.ts';
import type { WholeAnswer } from '../answers/provider-answers.ts';
import { readJson } from '../answers/read-json.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { storedResponse } from '../responses/stored-response.ts';
import { openedIds } from '../stored/references.ts';
import { sealedIds } from '../stored/sealed-ids.ts';
import { unsupportedHere } from '../errors/unsupported.ts';
import { fieldEdits, modelEdit } from './field-edits.ts';
import { ResponsesStream } from './responses-stream.ts';

/** Carries responses to responses: the request's and the answer's own bytes, but for the closed list of docs/translation.md. */
export function responsesExchange(request: ExchangeRequest): Exchange {
  const { ask, ids, idSeed } = request;
  if (!ids) throw new Error('Ids of a provider must not leave the gateway as they are.');
  refuseUnserved(ask.body);
  return {
    path: ask.isCompaction ? '/responses/compact' : '/responses',
    requestBody: requestBytes(request, ids),
    requestHeaders: {},
    readJson: (body) =>
      readJson(body, { readWhole: wholeResponse }, () =>
        withSealedIds(body, { ids, model: ask.model }),
      ),
    openStream: (sink) => new EventStreamReader(new ResponsesStream({ ask, ids, idSeed, sink })),
  };
}

/** Makes a request for the tokens of an input; it is answered `{"object": "response.input_tokens", "input_tokens": N}`. */
export function responsesCount(
  ask: CountAsk,
  {
    upstreamModel,
    ids,
    dropped = [],
  }: Pick<ExchangeRequest, 'upstreamModel' | 'dropped'> & { ids: StoredIds },
): CountExchange {
  const edits = [modelEdit(upstreamModel), ...withoutFields(dropped), ...openedIds(ask, ids)];
  return {
    path: '/responses/input_tokens',
    requestBody: applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits)),
    requestHeaders: {},
  };
}

/** Throws `InvalidRequest` naming what no upstream may be asked for. */
export function refuseUnserved(body: Ask['body']): void {
  if (isRecord(body['prompt']))
    throw unsupportedHere(
      'prompt',
      'prompt',
      "a template of the provider's account may name a model and tools of its own; send instructions and input",
    );
  for (const { tool, path } of declaredTools(body))
    if (nonEmpty(tool['tunnel_id']) !== null)
      throw tunnelRefused(fieldName([...path, 'tunnel_id']));
}

function tunnelRefused(param: string): InvalidRequest {
  return unsupportedHere(
    param,
    param,
    "a tunnel of the provider's account leads into the operator's own network; send server_url",
  );
}

/** Returns the answer of an endpoint that stores, with its ids sealed and the client's name of the model; null for one that cannot be read. */
export function withSealedIds(
  body: Uint8Array,
  shown: { ids: StoredIds; model: string | null },
): Uint8Array | null {
  const answer = parseJson(body);
  const layout = layoutObject(body);
  if (!isRecord(answer) || !layout) return null;
  return applyPatches(body, editPaths(body, layout, sealedIds(answer, shown)));
}

function requestBytes(request: ExchangeRequest, ids: StoredIds): Uint8Array {
  const { ask } = request;
  const outputLimit = ask.isCompaction ? null : request.outputLimit;
  const edits = [
    ...fieldEdits({ ...request, outputLimit }, 'max_output_tokens'),
    ...openedIds(ask, ids),
  ];
  return applyPatches(ask.raw, editPaths(ask.raw, ask.layout, edits));
}

function wholeResponse(answer: JsonRecord): WholeAnswer | null {
  const stored = storedResponse(answer);
  return stored && { ...stored, unfinished: stored.isOver ? null : nonEmpty(answer['id']) };
}
