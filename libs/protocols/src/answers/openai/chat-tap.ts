import { greaterReport, type ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { isRecord, nonEmpty, record, records, wordOf } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { readChatUsage } from './chat-usage.ts';
import { generatedParts } from './chat-text.ts';

/** Reads along a chat stream: usage, generated text, whether it finished. Changes nothing. */
export class ChatTap implements StreamTap {
  usage: ReportedUsage | null = null;
  /** Is the last usage object as the upstream wrote it. */
  rawUsage: JsonRecord | null = null;
  hasContent = false;
  hasFinish = false;
  private readonly sink: StreamSink;
  /** Calls so far, by choice and index. */
  private readonly calls = new Set<string>();

  constructor(sink: StreamSink) {
    this.sink = sink;
  }

  observe(chunk: JsonRecord): void {
    const usage = chatStreamUsage(chunk);
    if (usage !== null) {
      // Usage is cumulative wherever it is repeated (Perplexity): the greatest one counts, never the sum (behaviour 10).
      this.rawUsage = usage;
      this.usage = greaterReport(this.usage, readChatUsage(usage, chunk));
    }
    for (const choice of records(chunk['choices'])) {
      const delta = record(choice['delta']);
      this.countCalls(choice['index'], delta);
      const { thinking, shown, other } = generatedParts(delta);
      this.generated(thinking, false);
      this.generated(shown, true);
      this.generated(other, false);
      if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '')
        this.hasFinish = true;
    }
  }

  /** A call begins with a name; some upstreams repeat it. */
  private countCalls(choice: unknown, delta: JsonRecord): void {
    for (const call of records(delta['tool_calls'])) {
      const key = `${wordOf(choice)}/${wordOf(call['index'] ?? call['id'])}`;
      if (nonEmpty(record(call['function'])['name']) === null || this.calls.has(key)) continue;
      this.calls.add(key);
      this.sink.call?.();
    }
  }

  /** Takes generated text that was found without parsing its chunk. */
  generated(text: string, isShown: boolean): void {
    if (text === '') return;
    this.hasContent = true;
    this.sink.output(text, isShown);
  }

  isUsageFinal(hasEnded: boolean): boolean {
    return this.usage !== null && (this.hasFinish || hasEnded);
  }
}

/** Finds usage at the top level, in Groq's `x_groq.usage`, or in Moonshot's on the choice. */
function chatStreamUsage(chunk: JsonRecord): JsonRecord | null {
  if (isRecord(chunk['usage'])) return chunk['usage'];
  const groq = record(chunk['x_groq'])['usage'];
  if (isRecord(groq)) return groq;
  const onChoice = records(chunk['choices']).find((choice) => isRecord(choice['usage']));
  return onChoice === undefined ? null : record(onChoice['usage']);
}
