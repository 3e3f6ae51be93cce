import {
  greaterReport,
  isSideReported,
  promptTokensOf,
  type ReportedUsage,
} from '@tollgate/contracts';
import type { StreamSink } from '../../exchange.ts';
import { record, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import type { StreamTap } from '../../stream/stream-handler.ts';
import { knownOrOther } from '../../usage/other-text.ts';
import { mergeMessagesUsage, readMessagesUsage } from './messages-usage.ts';

/** Reads along a messages stream: usage, generated text, whether it finished. Changes nothing. */
export class MessagesTap implements StreamTap {
  usage: ReportedUsage | null = null;
  hasContent = false;
  /** Is true once the stream has given a stop reason. */
  hasFinish = false;
  private hasLastUsage = false;
  private merged: JsonRecord = {};
  private readonly sink: StreamSink;

  constructor(sink: StreamSink) {
    this.sink = sink;
  }

  observe(event: JsonRecord): void {
    const type = event['type'];
    if (type === 'message_start') this.start(record(event['message'])['usage']);
    else if (type === 'message_delta') {
      this.merge(event['usage']);
      const last = readMessagesUsage(event['usage']);
      this.hasLastUsage ||= last !== null && isSideReported(last, 'output');
      if (typeof record(event['delta'])['stop_reason'] === 'string') this.hasFinish = true;
    } else if (type === 'content_block_start') {
      const block = record(event['content_block']);
      if (block['type'] === 'tool_use') this.sink.call?.();
      this.generated(blockStartText(block), block['type'] !== 'thinking');
    } else if (type === 'content_block_delta') this.readDelta(record(event['delta']));
  }

  /** message_start's output figure is that of its beginning, however the stream ended. */
  isUsageFinal(): boolean {
    return this.hasLastUsage;
  }

  /** A further message of the stream begins its own count, where it has one. */
  private start(usage: unknown): void {
    const first = readMessagesUsage(usage);
    if (first && promptTokensOf(first) > 0) {
      this.merged = {};
      this.usage = null;
    }
    this.merge(usage);
  }

  private merge(usage: unknown): void {
    this.merged = mergeMessagesUsage(this.merged, usage);
    // Figures are cumulative: one that falls has not been true before or now, and what was reported counts.
    this.usage = greaterReport(this.usage, readMessagesUsage(this.merged));
  }

  private readDelta(delta: JsonRecord): void {
    const shown = text(delta['text']) ?? text(delta['partial_json']) ?? '';
    const all = deltaText(delta);
    this.generated(all, all === shown);
  }

  private generated(generatedText: string, isShown: boolean): void {
    if (generatedText === '') return;
    this.hasContent = true;
    this.sink.output(generatedText, isShown);
  }
}

/** A tool's name is generated; a server tool's result is input. */
function blockStartText(block: JsonRecord): string {
  const type = text(block['type']) ?? '';
  if (type.endsWith('tool_use')) return (text(block['name']) ?? '') + wholeInput(block);
  return type === 'text'
    ? (text(block['text']) ?? '')
    : type === 'thinking'
      ? (text(block['thinking']) ?? '')
      : '';
}

/** Programmatic tool calling has all of a call's input in its start. */
function wholeInput(block: JsonRecord): string {
  const input = record(block['input']);
  return Object.keys(input).length === 0 ? '' : JSON.stringify(input);
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json']);

function deltaText(delta: JsonRecord): string {
  const known = text(delta['text']) ?? text(delta['thinking']) ?? text(delta['partial_json']) ?? '';
  return knownOrOther(known, delta, KNOWN_MEMBERS);
}
