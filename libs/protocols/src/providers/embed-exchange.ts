import { promptTokensOf, NO_USAGE } from '@tollgate/contracts';
import { readJson } from '../answers/read-json.ts';
import { upstreamError } from '../errors/upstream-error.ts';
import { unsupported } from '../errors/unsupported.ts';
import type { Ask, Exchange, ExchangeRequest, JsonReading } from '../exchange.ts';
import type { EmbedCall } from '../generate-request/generate-body.ts';
import { editPaths, type PathEdit } from '../json/edit-paths.ts';
import { bufferOf, jsonBytes, parseJson, record, records } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { collectionName, inputsOf, isVector, type VectorMethod } from './gemini-embeddings.ts';
import type { ProviderExchange } from './provider.ts';

/** Carries `embedContent` and `batchEmbedContents` to an upstream that has neither, by its exchange of embeddings. */
export function embedThrough(vectors: ProviderExchange): ProviderExchange {
  return {
    isNative: false,
    create: (request) => {
      const exchange = vectors.create({ ...request, ask: asEmbeddings(request.ask) });
      const { embed } = origin(request.ask);
      return { ...exchange, readJson: (body) => wholeOf(exchange.readJson(body), embed) };
    },
    check: (body, upstreamModel, ask) => {
      const member = origin(ask).native[0];
      if (member !== undefined) throw unsupported(member, member);
      vectors.check?.(body, upstreamModel, asEmbeddings(ask));
    },
  };
}

/** Does the same before Google's models: what a text is for is theirs to read. `methodOf` returns the method of the client where the model has it, and then the bytes are the client's own. */
export function embedByGoogle(
  vectors: ProviderExchange,
  methodOf: (model: string, call: EmbedCall) => VectorMethod | null,
): ProviderExchange {
  const through = embedThrough(vectors);
  const ownMethod = (model: string, ask: Ask): VectorMethod | null =>
    methodOf(model, origin(ask).embed);
  return {
    isNative: true,
    create: (request) => {
      const method = ownMethod(request.upstreamModel, request.ask);
      return method ? nativeExchange(request, method) : through.create(request);
    },
    check: (body, upstreamModel, ask) => {
      const method = ownMethod(upstreamModel, ask);
      if (method) return void inputsOf(ask, method);
      const length = origin(ask).native.find((member) => member.endsWith('ality'));
      if (length !== undefined) throw unsupported(length, length);
      vectors.check?.(body, upstreamModel, asEmbeddings(ask));
    },
  };
}

function nativeExchange(request: ExchangeRequest, method: VectorMethod): Exchange {
  const { raw, layout, embed } = origin(request.ask);
  const answers = method.answersFor(embed.inputs.length);
  return {
    path: method.path(request.upstreamModel),
    requestBody: applyPatches(raw, editPaths(raw, layout, modelEdits(request))),
    requestHeaders: {},
    readJson: (body) => readJson(body, answers, () => bufferOf(body)),
    openStream: () => {
      throw new Error('Vectors are never streamed: parseAsk says so.');
    },
  };
}

/** Each request of a batch names the model; a lone one may. */
function modelEdits({ ask, upstreamModel }: ExchangeRequest): PathEdit[] {
  const { embed, body } = origin(ask);
  const text = JSON.stringify(collectionName(upstreamModel));
  if (embed.isBatch)
    return embed.inputs.map((_, at) => ({ path: ['requests', `${at}`, 'model'], text }));
  return 'model' in body ? [{ path: ['model'], text }] : [];
}

/** Writes the vectors of embeddings as Gemini answers them. */
function wholeOf(reading: JsonReading, { isBatch, inputs }: EmbedCall): JsonReading {
  if (reading.kind === 'error') return reading;
  const vectors = records(record(parseJson(reading.body))['data']).map(
    ({ embedding }) => embedding,
  );
  if (vectors.length !== inputs.length || !vectors.every(isVector))
    return { kind: 'error', error: upstreamError('unreadable') };
  const embeddings = vectors.map((values) => ({ values }));
  const usageMetadata = { promptTokenCount: promptTokensOf(reading.usage ?? NO_USAGE) };
  const [embedding] = embeddings;
  const answer = isBatch ? { embeddings, usageMetadata } : { embedding, usageMetadata };
  return { ...reading, body: jsonBytes(answer) };
}

function asEmbeddings(ask: Ask): Ask {
  return { ...ask, protocol: 'embeddings' };
}

function origin({ generate }: Ask): NonNullable<Ask['generate']> & { embed: EmbedCall } {
  if (!generate?.embed) throw new Error('a request for vectors has its own body');
  return { ...generate, embed: generate.embed };
}
