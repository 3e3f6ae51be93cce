import { createHmac } from 'node:crypto';
import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import type { ExchangeRequest, StreamSink } from '../../src/exchange.ts';
import { jsonBytes, record, text, type JsonRecord } from '../../src/json/json-guard.ts';
import type { ProviderAnswers } from '../../src/answers/provider-answers.ts';
import {
  keyOf,
  type Provider,
  type Signing,
  type UnsignedRequest,
} from '../../src/providers/provider.ts';
import { readJson } from '../../src/answers/read-json.ts';
import { tokenCount, UNREADABLE } from '../../src/answers/token-count.ts';
import { COMMENT_EVENT, dataEvent, DONE_EVENT } from '../../src/sse/sse-format.ts';
import { SseEvent, type EventFramer } from '../../src/sse/sse-framer.ts';
import { EventStreamReader } from '../../src/stream/event-stream-reader.ts';
import type { StreamTap } from '../../src/stream/stream-handler.ts';
import { TranslatedStream } from '../../src/translation/translated-stream.ts';

/** Is a made-up protocol of which no word is OpenAI's or Anthropic's: its usage, tap, end mark, errors, headers, paths, signature and framing. It serves chat clients. */
export const echo: Provider = {
  sign,
  exchanges: { chat: { create: chatExchange, isNative: false } },
  probe: () => null,
  models: null,
  readUsage,
  errorWords: { engine_tired: 'overloaded', said_too_much: 'context_overflow' },
};

const answers: ProviderAnswers = {
  openTap: (sink) => new EchoTap(sink),
  readWhole: (answer) =>
    typeof answer['reply'] === 'string'
      ? { usage: readUsage(answer), outputText: answer['reply'], calls: 0, callArguments: () => 0 }
      : null,
  eventsOfWhole: (answer) => dataEvent({ ...answer, over: true }),
  isEnd: (event) => event['over'] === true,
  isEndedByDone: false,
  ...(echo.errorWords && { errorWords: echo.errorWords }),
};

function chatExchange({ ask, upstreamModel, idSeed }: ExchangeRequest) {
  const choice = (more: object) => ({ model: ask.model, choices: [{ index: 0, ...more }] });
  const translation = {
    initial: null,
    step: (_: null, event: JsonRecord) => [null, [choice({ delta: deltaOf(event) })]] as const,
    finish: () => [choice({ delta: {}, finish_reason: 'stop' })],
    failure: (_: null, body: JsonRecord) => body,
    format: dataEvent,
    trailer: DONE_EVENT,
    keepAlive: COMMENT_EVENT,
  };
  return {
    path: `/engines/${encodeURIComponent(upstreamModel)}/say`,
    requestBody: jsonBytes({ engine: upstreamModel, said: ask.prompt.text() }),
    requestHeaders: { 'x-echo-version': '1' },
    readJson: (body: Uint8Array) =>
      readJson(body, answers, ({ reply }) =>
        jsonBytes(choice({ message: { role: 'assistant', content: reply } })),
      ),
    openStream: (sink: StreamSink) =>
      new EventStreamReader(
        new TranslatedStream({ protocol: 'chat', answers, translation, idSeed, sink }),
        new LengthFramer(),
      ),
  };
}

/** Signs what is sent with a key of the day: it needs the method, the path, the body and the clock, and takes a moment. */
async function sign(
  { method, path, body }: UnsignedRequest,
  signing: Signing,
): Promise<Record<string, string>> {
  const day = new Date(signing.nowMs).toISOString().slice(0, 10);
  const key = createHmac('sha256', keyOf(signing)).update(day).digest();
  const mac = createHmac('sha256', key)
    .update(`${method} ${path}\n`)
    .update(body ?? '');
  return { 'x-echo-day': day, 'x-echo-mac': mac.digest('hex') };
}

/** Each event is the number of its bytes, in four bytes, and its JSON. */
class LengthFramer implements EventFramer {
  hasFailed = false;
  eventEnd = 0;
  #pending = Buffer.alloc(0);

  get isBetweenEvents(): boolean {
    return this.#pending.length === 0;
  }

  next(chunk: Buffer, start: number): SseEvent | null {
    const bytes = Buffer.concat([this.#pending, chunk.subarray(start)]);
    const end = bytes.length < 4 ? Number.POSITIVE_INFINITY : 4 + bytes.readUInt32BE();
    if (end > bytes.length) {
      this.#pending = bytes;
      return null;
    }
    this.eventEnd = start + end - this.#pending.length;
    this.#pending = Buffer.alloc(0);
    return new SseEvent(Buffer.from(`data: ${bytes.toString('utf8', 4, end)}\n\n`));
  }

  end(): null {
    return null;
  }
}

function deltaOf(event: JsonRecord): object {
  return { role: 'assistant', content: text(event['reply']) ?? '' };
}

class EchoTap implements StreamTap {
  usage: TokenUsage | null = null;
  hasContent = false;
  hasFinish = false;
  readonly #sink: StreamSink;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  observe(event: JsonRecord): void {
    this.usage = readUsage(event) ?? this.usage;
    this.hasFinish ||= event['over'] === true;
    const reply = text(event['reply']) ?? '';
    this.hasContent ||= reply !== '';
    this.#sink.output(reply, true);
  }

  isUsageFinal(): boolean {
    return this.usage !== null;
  }
}

function readUsage(answer: JsonRecord): TokenUsage | null {
  if (answer['words'] === undefined) return null;
  const { read, made } = record(answer['words']);
  const input = tokenCount(read);
  const output = tokenCount(made);
  if (input === UNREADABLE || output === UNREADABLE) return null;
  return { ...NO_USAGE, input: input ?? 0, output: output ?? 0 };
}
