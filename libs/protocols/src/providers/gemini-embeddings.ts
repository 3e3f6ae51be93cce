import { NO_USAGE, promptTokensOf, type ReportedUsage } from '@tollgate/contracts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';
import { readJson } from '../answers/read-json.ts';
import { tokenCount } from '../answers/token-count.ts';
import { unsupported } from '../errors/unsupported.ts';
import type { Ask, Exchange, ExchangeRequest } from '../exchange.ts';
import type { EmbedInput } from '../generate-request/generate-body.ts';
import type { ProviderAnswers } from '../answers/provider-answers.ts';
import { isRecord, jsonBytes, list, record, records, type JsonRecord } from '../json/json-guard.ts';
import type { ProviderExchange } from './provider.ts';

/** Is one of Google's methods that make vectors: how it is asked, and where its answer has them. */
export interface VectorMethod {
  path(model: string): string;
  /** Limits the inputs of one request. */
  readonly inputsMax: number;
  body(inputs: readonly EmbedInput[], settings: { dimensions: unknown; model: string }): JsonRecord;
  /** Returns the vectors in the order of the inputs. */
  vectors(answer: JsonRecord): readonly unknown[];
  readUsage(answer: JsonRecord): ReportedUsage | null;
  /** Returns a reader of answers with that many vectors. */
  answersFor(count: number): Pick<ProviderAnswers, 'readWhole'>;
}

/** Carries embeddings by the method that the model has. It takes texts only: Google's models have tokens of their own. */
export function vectorsBy(methodOf: (model: string) => VectorMethod): ProviderExchange {
  return {
    create: (request) => vectorExchange(request, methodOf(request.upstreamModel)),
    isNative: false,
    check: (_, model, ask) => inputsOf(ask, methodOf(model)),
  };
}

function vectorExchange({ ask, upstreamModel }: ExchangeRequest, method: VectorMethod): Exchange {
  const { dimensions, encoding_format: format } = ask.body;
  const inputs = inputsOf(ask, method);
  const answers = method.answersFor(inputs.length);
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

/** Returns the inputs, with what a client of Gemini says they are for. It throws `InvalidRequest` for more than the method takes, and for tokens. */
export function inputsOf(
  { body: { input }, generate }: Ask,
  { inputsMax }: VectorMethod,
): readonly EmbedInput[] {
  const own = generate?.embed?.inputs;
  const inputs = own ?? (typeof input === 'string' ? [input] : list(input));
  if (inputs.length > inputsMax)
    throw unsupported(`more than ${inputsMax} inputs in a request`, own ? 'requests' : 'input');
  if (own) return own;
  return inputs.map((each, index) => {
    if (typeof each === 'string') return { text: each };
    throw unsupported('an input of tokens', Array.isArray(each) ? `input[${index}]` : 'input');
  });
}

export function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
}

/** The official clients ask for little-endian floats of 32 bits. */
function packed(vector: unknown): string {
  const bytes = Buffer.alloc(4 * list(vector).length);
  list(vector).forEach((value, index) => bytes.writeFloatLE(Number(value), 4 * index));
  return bytes.toString('base64');
}

function embedRequest({ text, ...purpose }: EmbedInput, dimensions: unknown): JsonRecord {
  return {
    content: { parts: [{ text }] },
    ...purpose,
    ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
  };
}

/** Vectors are no output: a report names the prompt alone. */
function readPrompt({ usageMetadata }: JsonRecord): ReportedUsage | null {
  return isRecord(usageMetadata)
    ? readGeminiUsage({ ...usageMetadata, candidatesTokenCount: 0 })
    : null;
}

/** Converts `x` to `models/x`. */
export function collectionName(model: string): string {
  return `models/${model.replace(/^models\//, '')}`;
}

function vectorMethod(method: Omit<VectorMethod, 'answersFor'>): VectorMethod {
  return {
    ...method,
    answersFor: (count) => ({
      readWhole: (answer) => {
        const vectors = method.vectors(answer);
        return vectors.length === count && vectors.every(isVector)
          ? { usage: method.readUsage(answer), outputText: '', calls: 0, callArguments: () => 0 }
          : null;
      },
    }),
  };
}

/** See https://ai.google.dev/api/embeddings#method:-models.batchembedcontents */
export function batchEmbedContents(path: (model: string) => string): VectorMethod {
  return vectorMethod({
    path,
    inputsMax: 100,
    body: (inputs, { dimensions, model }) => ({
      requests: inputs.map((input) => ({
        model: collectionName(model),
        ...embedRequest(input, dimensions),
      })),
    }),
    vectors: ({ embeddings }) => records(embeddings).map(({ values }) => values),
    readUsage: readPrompt,
  });
}

/** Makes one request for each text: https://cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings */
export function embedContent(path: (model: string) => string): VectorMethod {
  return vectorMethod({
    path,
    inputsMax: 1,
    body: ([input = { text: '' }], { dimensions }) => embedRequest(input, dimensions),
    vectors: ({ embedding }) => [record(embedding)['values']],
    readUsage: readPrompt,
  });
}

/** See https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api: it counts the tokens of each text. */
export function predictVectors(path: (model: string) => string): VectorMethod {
  return vectorMethod({
    path,
    inputsMax: 250,
    body: (inputs, { dimensions }) => ({
      instances: inputs.map(({ text, taskType, title }) => ({
        content: text,
        ...(taskType === undefined ? {} : { task_type: taskType }),
        ...(title === undefined ? {} : { title }),
      })),
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
  });
}
