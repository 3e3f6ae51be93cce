import { NO_USAGE } from '@tollgate/contracts';
import { geminiAnswers } from '../answers/gemini/answers.ts';
import { readJson } from '../answers/read-json.ts';
import { readChatUsage } from '../answers/openai/chat-usage.ts';
import { unsupported } from '../errors/unsupported.ts';
import type {
  Ask,
  CountAsk,
  CountExchange,
  Exchange,
  ExchangeRequest,
  JsonReading,
} from '../exchange.ts';
import { editPaths, type PathEdit } from '../json/edit-paths.ts';
import {
  bufferOf,
  jsonBytes,
  numberOf,
  parseJson,
  record,
  records,
  text,
  type JsonRecord,
} from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { geminiPath } from '../messages-to-gemini/exchange.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { answerOf, finishReasonOf, partsOfMessage, type AnswerHead } from './answer-back.ts';
import { spellingOf } from '../generate-request/members.ts';
import { NativeStream, withModelVersion } from './native-stream.ts';
import { limitPath } from '../generate-request/request.ts';
import { streamFormat } from './stream-format.ts';
import { TwinReader } from './twin-reader.ts';

/** Is described at `ProviderExchange`. */
interface Generate {
  readonly create: (request: ExchangeRequest) => Exchange;
  readonly isNative: boolean;
  readonly check?: (body: Ask['body'], upstreamModel: string, ask: Ask) => unknown;
}

/** Carries Gemini to Gemini: the request's and the answer's own bytes, but for the limit and the name of the model. `path` appends to the upstream's base URL. */
export function nativeGenerate(path: (model: string, isStream: boolean) => string): Generate {
  return {
    isNative: true,
    create: (request) => {
      const { ask, upstreamModel } = request;
      const { raw, layout } = origin(ask);
      const head = headOf(request);
      return {
        path: path(upstreamModel, ask.isStream),
        requestBody: applyPatches(raw, editPaths(raw, layout, limitEdits(request))),
        requestHeaders: {},
        readJson: (body) =>
          readJson(body, geminiAnswers, () => withModelVersion(bufferOf(body), head.modelVersion)),
        openStream: (sink, framer) =>
          new EventStreamReader(
            new NativeStream({ head, isArray: origin(ask).isArray, sink }),
            framer,
          ),
      };
    },
  };
}

/** Carries Gemini to an upstream of another protocol, by that upstream's exchange of chat. */
export function generateThroughChat(chat: Pick<Generate, 'create' | 'check'>): Generate {
  return {
    isNative: false,
    create: (request) =>
      throughChat(request, chat.create({ ...request, ask: chatAsk(request.ask) })),
    check: (body, upstreamModel, ask) => {
      refuseNative(ask);
      chat.check?.(body, upstreamModel, ask);
    },
  };
}

/** Throws `InvalidRequest` naming the first member that only Gemini has. */
function refuseNative({ generate }: Ask): void {
  const member = generate?.native[0];
  if (member !== undefined) throw unsupported(member, member);
}

function throughChat(request: ExchangeRequest, chat: Exchange): Exchange {
  const head = headOf(request);
  const { isArray } = origin(request.ask);
  return {
    ...chat,
    readJson: (body) => wholeOf(chat.readJson(body), head),
    openStream: (sink, framer) =>
      new TwinReader(chat.openStream(sink, framer), { head, format: streamFormat(isArray) }),
  };
}

/** Converts a completion to an answer of Gemini. */
function wholeOf(reading: JsonReading, head: AnswerHead): JsonReading {
  if (reading.kind === 'error') return reading;
  const completion = record(parseJson(reading.body));
  const choice = records(completion['choices'])[0] ?? {};
  const answer = answerOf(head, {
    parts: partsOfMessage(record(choice['message'])),
    finish: finishReasonOf(text(choice['finish_reason'])),
    usage: readChatUsage(completion['usage'], completion) ?? NO_USAGE,
  });
  return { ...reading, body: jsonBytes(answer) };
}

function chatAsk(ask: Ask): Ask {
  const { generate: _, ...chat } = ask;
  return { ...chat, protocol: 'chat' };
}

function headOf({ ask, idSeed }: ExchangeRequest): AnswerHead {
  return { modelVersion: ask.model, responseId: madeIdentity('', idSeed).id };
}

function origin({ generate }: Ask): NonNullable<Ask['generate']> {
  if (!generate) throw new Error('a request of Gemini has its own body');
  return generate;
}

/** The granted limit goes over one that asks for more, and into a request that states none. A budget of thoughts stays below it. */
function limitEdits({ ask, outputLimit }: ExchangeRequest): PathEdit[] {
  if (outputLimit === null) return [];
  const { body } = origin(ask);
  const stated = limitPath(body);
  if (stated) {
    const [config, limit] = stated;
    const asked = numberOf(record(body[config])[limit]);
    return [
      ...(asked > outputLimit ? [{ path: stated, text: String(outputLimit) }] : []),
      ...budgetEdits(body, config, outputLimit),
    ];
  }
  const config = spellingOf(body, 'generationConfig');
  if (config === null)
    return [{ path: ['generationConfig'], text: JSON.stringify({ maxOutputTokens: outputLimit }) }];
  return [
    { path: [config, 'maxOutputTokens'], text: String(outputLimit) },
    ...budgetEdits(body, config, outputLimit),
  ];
}

function budgetEdits(body: JsonRecord, config: string, outputLimit: number): PathEdit[] {
  const settings = record(body[config]);
  const thinking = spellingOf(settings, 'thinkingConfig');
  if (thinking === null) return [];
  const budget = spellingOf(record(settings[thinking]), 'thinkingBudget');
  const most = Math.max(1, outputLimit - 1);
  return budget !== null && numberOf(record(settings[thinking])[budget]) > most
    ? [{ path: [config, thinking, budget], text: String(most) }]
    : [];
}

/** Counts at an upstream of Google AI: https://ai.google.dev/api/tokens */
export function generateCount(
  { generate }: Pick<CountAsk, 'generate'>,
  { upstreamModel }: Pick<ExchangeRequest, 'upstreamModel'>,
): CountExchange {
  const { generationConfig: _, safetySettings: __, ...body } = generate?.body ?? {};
  const model = `models/${upstreamModel.replace(/^models\//, '')}`;
  return {
    path: geminiPath(upstreamModel, 'countTokens'),
    requestBody: jsonBytes({ generateContentRequest: { ...body, model } }),
    requestHeaders: {},
  };
}
