import type { ThreadSize, TokenUsage } from '@tollgate/contracts';
import { clientErrorBody, upstreamClientError } from '../errors/client-error.ts';
import { readInBandError, upstreamError } from '../errors/upstream-error.ts';
import type { StoredIds, StreamSink, UpstreamError } from '../exchange.ts';
import { isRecord, parseJson, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { editPaths } from '../json/edit-paths.ts';
import type { PathEdit } from '../json/edit-paths.ts';
import { layoutObject } from '../json/json-layout.ts';
import { applyPatches } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { namedEvent, PING_EVENT } from '../sse/sse-format.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { madeIdentity } from '../stream/made-identity.ts';
import { messageStart } from '../stream/message-start.ts';
import { StreamHandler } from '../stream/stream-handler.ts';
import { sealedMessage } from '../stored/sealed-ids.ts';
import { threadSize } from '../stored/threads.ts';
import { MessagesTap } from '../answers/anthropic/messages-tap.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';
import { messageEvents } from '../answers/anthropic/message-events.ts';

export interface MessagesStreamOptions {
  /** Is the name that the client asked for. */
  model: string;
  /** Is absent where nothing is stored. */
  ids?: StoredIds | undefined;
  /** Is `ExchangeRequest.bounds` of a message thread. */
  bounds: ThreadSize | null;
  idSeed: string;
  sink: StreamSink;
}

/** Carries messages to messages. Only message_start's model value, the id of a container and that of a thread's message change; unknown events, blocks and deltas pass (behaviour 7). */
export class MessagesStream extends StreamHandler {
  readonly keepAlive = PING_EVENT;
  private readonly options: MessagesStreamOptions;
  protected readonly tap: MessagesTap;
  /** Recorded answers of tools the provider runs hold a second message: bytes pass. */
  protected override readonly isReadAfterEnd = true;
  private hasStarted = false;
  private hasStopped = false;
  private openBlock: unknown = null;

  constructor(options: MessagesStreamOptions) {
    super();
    this.options = options;
    this.tap = new MessagesTap(options.sink);
  }

  eventsOfWhole(answer: unknown): string {
    return messageEvents(record(answer));
  }

  protected read(event: SseEvent, out: ByteOutput): void {
    if (event.data === null) return out.add(event.raw);
    if (event.isHollow) return this.hasStopped ? undefined : out.addText(PING_EVENT);
    const value = parseJson(event.data);
    // Some compatible upstreams add chat's end mark; this protocol has none (behaviour 16).
    if (!isRecord(value))
      return event.isDone ? undefined : this.fail(upstreamError('unreadable'), out);
    const error = readInBandError(value);
    if (error) return this.fail(error, out);
    this.tap.observe(value);
    if (value['type'] === 'message_stop') this.finish(out);
    if (this.state === 'failed') return;
    this.follow(value);
    out.add(edited(event.raw, this.edits(value)));
  }

  protected writeEnd(_usage: TokenUsage, out: ByteOutput): void {
    if (!this.hasStopped) out.addText(namedEvent({ type: 'message_stop' }));
  }

  protected writeFailure(error: UpstreamError, out: ByteOutput): void {
    out.addText(
      `event: error\ndata: ${JSON.stringify(clientErrorBody('messages', upstreamClientError(error, this.options.idSeed)))}\n\n`,
    );
  }

  protected writeCut(usage: TokenUsage, out: ByteOutput): void {
    const { model, idSeed } = this.options;
    if (!this.hasStarted)
      out.addText(namedEvent(messageStart({ model, ...madeIdentity('msg_', idSeed) })));
    if (this.openBlock !== null)
      out.addText(namedEvent({ type: 'content_block_stop', index: this.openBlock }));
    out.addText(
      namedEvent({
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens', stop_sequence: null },
        usage: toMessagesUsage(usage),
      }),
    );
    out.addText(namedEvent({ type: 'message_stop' }));
  }

  private edits({ type, message, delta }: JsonRecord): PathEdit[] {
    const { ids, bounds, model } = this.options;
    if (type === 'message_start') {
      // Its answer is still to come, and may be as long as its limit.
      const thread = bounds && { thread: threadSize(this.tap.usage, { bounds, isOver: false }) };
      return [
        { path: ['message', 'model'], text: JSON.stringify(model) },
        ...(ids ? sealedMessage(record(message), { ids, path: ['message'], ...thread }) : []),
      ];
    }
    const isEnd = type === 'message_delta' && ids;
    return isEnd ? sealedMessage(record(delta), { ids, path: ['delta'] }) : [];
  }

  private follow(event: JsonRecord): void {
    const type = event['type'];
    if (type === 'message_start') this.hasStarted = true;
    else if (type === 'message_stop') this.hasStopped = true;
    else if (type === 'content_block_start') this.openBlock = event['index'];
    else if (type === 'content_block_stop') this.openBlock = null;
  }
}

function edited(raw: Buffer, edits: readonly PathEdit[]): Uint8Array {
  const layout = edits.length > 0 ? layoutObject(raw, raw.indexOf(0x7b)) : null;
  return layout ? applyPatches(raw, editPaths(raw, layout, edits)) : raw;
}
