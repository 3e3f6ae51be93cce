import type { ReportedClasses } from './every-class.ts';
import { usageOf, type Dialect, type Exchange } from './answer.ts';
import type { RecordEntry } from './record.ts';

/** Writes messages as Anthropic streams them: six named events, a ping, cumulative usage in message_delta. */
export const messagesDialect: Dialect = {
  json: (exchange, text) => ({
    ...message(exchange),
    content: contentOf(exchange, text),
    stop_reason: stopReason(exchange),
    usage: exchange.plan.mode === 'no-usage' ? {} : messagesUsage(exchange),
  }),
  start: (exchange) =>
    event('message_start', {
      message: {
        ...message(exchange),
        content: [],
        stop_reason: null,
        usage: startUsage(exchange),
      },
    }) + (exchange.plan.mode === 'thinking' ? '' : openText(exchange)),
  token: (exchange, word) =>
    event('content_block_delta', {
      index: textIndex(exchange),
      delta: { type: 'text_delta', text: word },
    }),
  thinking: (exchange, text) =>
    block(0, { type: 'thinking', thinking: '', signature: '' }, [
      { type: 'thinking_delta', thinking: text },
      { type: 'signature_delta', signature: THINKING.signature },
    ]) + openText(exchange),
  toolCall: (exchange) =>
    event('content_block_stop', { index: textIndex(exchange) }) +
    block(textIndex(exchange) + 1, { ...toolUseOf(exchange), input: {} }, [
      { type: 'input_json_delta', partial_json: JSON.stringify(exchange.plan.call.input) },
    ]),
  finish: (exchange) =>
    (exchange.plan.mode === 'tools'
      ? ''
      : event('content_block_stop', { index: textIndex(exchange) })) +
    event('message_delta', {
      delta: { stop_reason: stopReason(exchange), stop_sequence: null },
      usage: endUsage(exchange),
    }) +
    event('message_stop', {}),
  error: (status, text) => ({
    type: 'error',
    error: {
      type: status === 529 ? 'overloaded_error' : status === 429 ? 'rate_limit_error' : 'api_error',
      message: text,
    },
    request_id: null,
  }),
  errorEvent: (text) => event('error', { error: { type: 'api_error', message: text } }),
};

const THINKING = { type: 'thinking', thinking: 'let me count', signature: 'ZGVtby1zaWduYXR1cmU=' };

/** Returns the blocks of a whole answer. */
export function contentOf(exchange: Pick<Exchange, 'plan' | 'entry'>, text: string): object[] {
  return [
    ...(exchange.plan.mode === 'thinking' ? [THINKING] : []),
    { type: 'text', text },
    ...(exchange.plan.mode === 'tools' ? [toolUseOf(exchange)] : []),
  ];
}

export function messageId({ rid }: RecordEntry): string {
  return `msg_${rid.replaceAll('-', '').slice(-24)}`;
}

function toolUseOf({ plan: { call }, entry }: Pick<Exchange, 'plan' | 'entry'>): object {
  return { type: 'tool_use', id: `toolu_${entry.rid.slice(-12)}`, ...call };
}

function openText(exchange: Exchange): string {
  return (
    event('content_block_start', {
      index: textIndex(exchange),
      content_block: { type: 'text', text: '' },
    }) + 'event: ping\ndata: {"type": "ping"}\n\n'
  );
}

function textIndex({ plan }: Exchange): number {
  return plan.mode === 'thinking' ? 1 : 0;
}

function block(index: number, start: unknown, deltas: unknown[]): string {
  return (
    event('content_block_start', { index, content_block: start }) +
    deltas.map((delta) => event('content_block_delta', { index, delta })).join('') +
    event('content_block_stop', { index })
  );
}

function message({ request, entry }: Exchange): Record<string, unknown> {
  return {
    id: messageId(entry),
    type: 'message',
    role: 'assistant',
    model: request.model,
    stop_sequence: null,
  };
}

function stopReason({ plan, request, entry }: Exchange): string {
  if (plan.mode === 'tools') return 'tool_use';
  return request.max_tokens != null && entry.emitted >= request.max_tokens
    ? 'max_tokens'
    : 'end_turn';
}

function messagesUsage(exchange: Exchange): Record<string, unknown> {
  const { prompt, output, classes } = usageOf(exchange);
  if (classes) return everyClassUsage(classes);
  return {
    input_tokens: prompt,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
  };
}

function everyClassUsage(classes: ReportedClasses): Record<string, unknown> {
  const { cache_write_tokens: short = 0, cache_write_1h_tokens: hour = 0 } = classes;
  return {
    input_tokens: classes.input_tokens,
    cache_creation_input_tokens: short + hour,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: hour },
    cache_read_input_tokens: classes.cache_read_tokens,
    output_tokens: classes.output_tokens,
    output_tokens_details: { thinking_tokens: classes.reasoning_tokens },
  };
}

function startUsage(exchange: Exchange): unknown {
  return exchange.plan.mode === 'no-usage' ? {} : { ...messagesUsage(exchange), output_tokens: 1 };
}

function endUsage(exchange: Exchange): unknown {
  if (exchange.plan.mode === 'no-usage') return {};
  const { output, classes } = usageOf(exchange);
  const thinking = classes && { thinking_tokens: classes.reasoning_tokens };
  return { output_tokens: output, ...(thinking && { output_tokens_details: thinking }) };
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
}
