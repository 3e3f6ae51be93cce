import { greaterReport, type ReportedUsage } from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { isRecord, numberOf, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { readChatUsage } from './chat-usage.ts';

/** Observes a stream of legacy completions: usage, generated text, and whether it finished. Changes nothing. */
export class CompletionsTap implements StreamTap {
  usage: ReportedUsage | null = null;
  hasContent = false;
  hasFinish = false;
  private readonly sink: StreamSink;
  private readonly echoOf: (choice: number) => string;
  /** Maps each choice to the part of the echoed prompt that is still to come. */
  private readonly echoLeft = new Map<number, string>();

  constructor(sink: StreamSink, echoOf: (choice: number) => string) {
    this.sink = sink;
    this.echoOf = echoOf;
  }

  observe(chunk: JsonRecord): void {
    if (isRecord(chunk['usage']))
      this.usage = greaterReport(this.usage, readChatUsage(chunk['usage'], chunk));
    for (const choice of records(chunk['choices'])) {
      const words = text(choice['text']) ?? '';
      if (words !== '') this.hasContent = true;
      const generated = this.withoutEcho(numberOf(choice['index'] ?? 0), words);
      if (generated !== '') this.sink.output(generated, true);
      if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '')
        this.hasFinish = true;
    }
  }

  isUsageFinal(hasEnded: boolean): boolean {
    return this.usage !== null && (this.hasFinish || hasEnded);
  }

  private withoutEcho(choice: number, words: string): string {
    const left = this.echoLeft.get(choice) ?? this.echoOf(choice);
    const repeated = words.startsWith(left)
      ? left.length
      : left.startsWith(words)
        ? words.length
        : 0;
    // Text other than the prompt ends the echo.
    this.echoLeft.set(choice, repeated === 0 && words !== '' ? '' : left.slice(repeated));
    return words.slice(repeated);
  }
}
