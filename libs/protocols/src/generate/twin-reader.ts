import type { TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import type { StreamReader, UpstreamError } from '../exchange.ts';
import { bufferOf, parseJson, record, records, text, type JsonRecord } from '../json/json-guard.ts';
import { SseFramer } from '../sse/sse-framer.ts';
import { answerOf, callPart, finishReasonOf, thoughtsOf, type AnswerHead } from './answer-back.ts';
import type { StreamFormat } from './stream-format.ts';

const NONE = Buffer.alloc(0);

interface Call {
  id: unknown;
  name: string;
  args: string;
}

/** Reads the stream of the twin, as chat has it, and writes the pieces of Gemini. The last piece has the finish, the calls, which come whole, and the usage that is charged. */
export class TwinReader implements StreamReader {
  readonly #chat: StreamReader;
  readonly #head: AnswerHead;
  readonly #format: StreamFormat;
  readonly #framer = new SseFramer();
  readonly #calls = new Map<unknown, Call>();
  /** Signed thinking comes before the finish, with the text that was shown already. */
  #signed: JsonRecord[] = [];
  #finish: string | null = null;

  constructor(chat: StreamReader, { head, format }: { head: AnswerHead; format: StreamFormat }) {
    this.#chat = chat;
    this.#head = head;
    this.#format = format;
  }

  push(bytes: Uint8Array): Uint8Array {
    return this.#read(this.#chat.push(bytes));
  }

  end(): Uint8Array {
    return this.#read(this.#chat.end());
  }

  close(usage: TokenUsage): Uint8Array {
    const said = this.#read(this.#chat.close(usage));
    if (this.#chat.state !== 'finished') return said;
    return Buffer.concat([said, this.#last(finishReasonOf(this.#finish), usage)]);
  }

  finishEarly(usage: TokenUsage): Uint8Array {
    if (this.state !== 'running') return NONE;
    this.#chat.finishEarly(usage);
    return this.#last('MAX_TOKENS', usage);
  }

  fail(error: UpstreamError): Uint8Array {
    if (this.state !== 'running') return NONE;
    this.#chat.fail(error);
    return this.#failure(error);
  }

  keepAlive(): Uint8Array {
    return Buffer.from(this.#format.keepAlive);
  }

  get state(): StreamReader['state'] {
    return this.#chat.state;
  }

  get error(): UpstreamError | null {
    return this.#chat.error;
  }

  get hasContent(): boolean {
    return this.#chat.hasContent;
  }

  get hasFinish(): boolean {
    return this.#chat.hasFinish;
  }

  get usage(): StreamReader['usage'] {
    return this.#chat.usage;
  }

  get isUsageFinal(): boolean {
    return this.#chat.isUsageFinal;
  }

  #read(bytes: Uint8Array): Uint8Array {
    const chunk = bufferOf(bytes);
    let written = '';
    for (let at = 0; at < chunk.length; at = this.#framer.eventEnd) {
      const event = this.#framer.next(chunk, at);
      if (!event) break;
      if (event.data === null) written += this.#format.keepAlive;
      else if (!event.isDone) written += this.#piece(record(parseJson(event.data)));
    }
    const said = written === '' ? NONE : Buffer.from(written);
    const { error } = this.#chat;
    return error && bytes.length > 0 ? Buffer.concat([said, this.#failure(error)]) : said;
  }

  #piece(chunk: JsonRecord): string {
    const choice = records(chunk['choices'])[0];
    if (!choice) return '';
    const delta = record(choice['delta']);
    this.#finish = text(choice['finish_reason']) ?? this.#finish;
    for (const call of records(delta['tool_calls'])) this.#grow(call);
    const signed = thoughtsOf({ thinking_blocks: delta['thinking_blocks'] });
    this.#signed.push(...signed.map((thought) => ({ ...thought, text: '' })));
    const words = text(delta['content']) || text(delta['refusal']) || '';
    const parts = [
      ...thoughtsOf({ ...delta, thinking_blocks: undefined }),
      ...(words === '' ? [] : [{ text: words }]),
    ];
    return parts.length === 0 ? '' : this.#format.piece(answerOf(this.#head, { parts }));
  }

  #grow({ index, id, function: called }: JsonRecord): void {
    const { name, arguments: args } = record(called);
    const call = this.#calls.get(index) ?? { id, name: '', args: '' };
    call.name += text(name) ?? '';
    call.args += text(args) ?? '';
    this.#calls.set(index, call);
  }

  #last(finish: string, usage: TokenUsage): Buffer {
    const calls = [...this.#calls.values()].map(({ id, name, args }) =>
      callPart({ id, function: { name, arguments: args } }),
    );
    const parts = [...this.#signed, ...calls];
    const last = answerOf(this.#head, {
      parts: parts.length === 0 ? [{ text: '' }] : parts,
      finish,
      usage,
    });
    return Buffer.from(this.#format.piece(last) + this.#format.end());
  }

  #failure(error: UpstreamError): Buffer {
    const { responseId } = this.#head;
    const body = clientErrorBody('generate', upstreamClientError(error, responseId));
    return Buffer.from(this.#format.piece({ ...body }) + this.#format.end());
  }
}
