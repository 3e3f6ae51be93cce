import { NO_USAGE, promptTokensOf, type ReportedUsage } from '@tollgate/contracts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';
import { readJson } from '../answers/read-json.ts';
import { tokenCount } from '../answers/token-count.ts';
import { unsupported } from '../errors/unsupported.ts';
import type { Exchange, ExchangeRequest } from '../exchange.ts';
import { isRecord, jsonBytes, list, record, records, type JsonRecord } from '../json/json-guard.ts';
import type { ProviderExchange } from './provider.ts';

/** One of Google's methods that make vectors: how it is asked, and where its answer has them. */
export interface VectorMethod {
  path(model: string): string;
  /** The most inputs of one request. */
  readonly inputsMax: number;
  body(inputs: readonly string[], settings: { dimensions: unknown; model: string }): JsonRecord;
  /** The vectors in the order of the inputs. */
  vectors(answer: JsonRecord): readonly unknown[];
  readUsage(answer: JsonRecord): ReportedUsage | null;
}

/** embeddings -> the method that the model has. Texts only: Google's models have tokens of their own. */
export function vectorsBy(methodOf: (model: string) => VectorMethod): ProviderExchange {
  return {
    create: (request) => vectorExchange(request, methodOf(request.upstreamModel)),
    isNative: false,
    check: (body, model) => inputsOf(body, methodOf(model)),
  };
}

function vectorExchange({ ask, upstreamModel }: ExchangeRequest, method: VectorMethod): Exchange {
  const { dimensions, encoding_format: format } = ask.body;
  const inputs = inputsOf(ask.body, method);
  const answers = {
    readWhole: (answer: JsonRecord) => {
      const vectors = method.vectors(answer);
      return vectors.length === inputs.length && vectors.every(isVector)
        ? { usage: method.readUsage(answer), outputText: '', calls: 0, callArguments: () => 0 }
        : null;
    },
  };
  return {
    path: method.path(upstreamModel),
    requestBody: jsonBytes(method.body(inputs, { dimensions, model: upstreamModel })),
    requestHeaders: {},
    readJson: (bytes) =>
      readJson(bytes, answers, (answer, usage) => {
        const tokens = promptTokensOf(usage ?? NO_USAGE);
        return jsonBytes({
          object: 'list',
          data: method.vectors(answer).map((vector, index) => ({
            object: 'embedding',
            index,
            embedding: format === 'base64' ? packed(vector) : vector,
          })),
          model: ask.model,
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        });
      }),
    openStream: () => {
      throw new Error('Embeddings are never streamed: parseAsk says so.');
    },
  };
}

function inputsOf(body: JsonRecord, { inputsMax }: VectorMethod): string[] {
  const { input } = body;
  const inputs = typeof input === 'string' ? [input] : list(input);
  if (inputs.length > inputsMax)
    throw unsupported(`more than ${inputsMax} inputs in a request`, 'input');
  return inputs.map((each, index) => {
    if (typeof each === 'string') return each;
    throw unsupported('an input of tokens', Array.isArray(each) ? `input[${index}]` : 'input');
  });
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
}

/** The official clients ask for little-endian floats of 32 bits. */
function packed(vector: unknown): string {
  const bytes = Buffer.alloc(4 * list(vector).length);
  list(vector).forEach((value, index) => bytes.writeFloatLE(Number(value), 4 * index));
  return bytes.toString('base64');
}

function embedRequest(text: string, dimensions: unknown): JsonRecord {
  return {
    content: { parts: [{ text }] },
    ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
  };
}

/** Vectors are no output: a report names the prompt alone. */
function readPrompt({ usageMetadata }: JsonRecord): ReportedUsage | null {
  return isRecord(usageMetadata)
    ? readGeminiUsage({ ...usageMetadata, candidatesTokenCount: 0 })
    : null;
}

/** https://ai.google.dev/api/embeddings#method:-models.batchembedcontents */
export function batchEmbedContents(path: (model: string) => string): VectorMethod {
  return {
    path,
    inputsMax: 100,
    body: (inputs, { dimensions, model }) => ({
      requests: inputs.map((text) => ({
        model: `models/${model.replace(/^models\//, '')}`,
        ...embedRequest(text, dimensions),
      })),
    }),
    vectors: ({ embeddings }) => records(embeddings).map(({ values }) => values),
    readUsage: readPrompt,
  };
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings: one text a request. */
export function embedContent(path: (model: string) => string): VectorMethod {
  return {
    path,
    inputsMax: 1,
    body: ([text = ''], { dimensions }) => embedRequest(text, dimensions),
    vectors: ({ embedding }) => [record(embedding)['values']],
    readUsage: readPrompt,
  };
}

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api: it counts the tokens of each text. */
export function predictVectors(path: (model: string) => string): VectorMethod {
  return {
    path,
    inputsMax: 250,
    body: (inputs, { dimensions }) => ({
      instances: inputs.map((content) => ({ content })),
      ...(dimensions === undefined ? {} : { parameters: { outputDimensionality: dimensions } }),
    }),
    vectors: ({ predictions }) =>
      records(predictions).map(({ embeddings }) => record(embeddings)['values']),
    readUsage: ({ predictions }) => {
      const counts = records(predictions).map(({ embeddings }) =>
        tokenCount(record(record(embeddings)['statistics'])['token_count']),
      );
      return counts.length > 0 && counts.every((count) => typeof count === 'number')
        ? { ...NO_USAGE, input: counts.reduce((sum, count) => sum + count, 0) }
        : null;
    },
  };
}
