import { limitOf } from './plan.ts';
import { usageOf, type Dialect, type Exchange } from './answer.ts';

const CREATED = 1_767_225_600;

/** Writes chat completions as OpenAI streams them: the role first, usage only when requested, then [DONE]. */
export const chatDialect: Dialect = {
  json: (exchange, text) => ({
    id: idOf(exchange),
    object: 'chat.completion',
    created: CREATED,
    model: exchange.request.model,
    choices: [
      {
        index: 0,
        message: messageOf(exchange, text),
        logprobs: null,
        finish_reason: finishReason(exchange),
      },
    ],
    ...(exchange.plan.mode === 'no-usage' ? {} : { usage: chatUsage(exchange) }),
  }),
  start: (exchange) => chunk(exchange, { role: 'assistant', content: '' }),
  token: (exchange, word) => chunk(exchange, { content: word }),
  thinking: (exchange, text) => chunk(exchange, { reasoning_content: text }),
  toolCall: (exchange) => chunk(exchange, { tool_calls: [{ index: 0, ...toolCallOf(exchange) }] }),
  finish: (exchange) => {
    const last = chunk(exchange, {}, finishReason(exchange));
    const isUsageAsked =
      exchange.request.stream_options?.include_usage === true && exchange.plan.mode !== 'no-usage';
    return `${last}${isUsageAsked ? event({ ...head(exchange), choices: [], usage: chatUsage(exchange) }) : ''}data: [DONE]\n\n`;
  },
  error: (status, message) => ({
    error: {
      message,
      type: status === 429 ? 'rate_limit_error' : 'server_error',
      param: null,
      code: null,
    },
  }),
  errorEvent: (message) =>
    event({ error: { message, type: 'server_error', param: null, code: null } }),
};

function toolCallOf({ plan: { call }, entry }: Exchange): object {
  return {
    id: `call_${entry.rid.slice(-12)}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  };
}

function messageOf(exchange: Exchange, text: string): unknown {
  const { plan } = exchange;
  if (plan.mode === 'tools')
    return { role: 'assistant', content: text, refusal: null, tool_calls: [toolCallOf(exchange)] };
  if (plan.mode === 'thinking')
    return { role: 'assistant', content: text, refusal: null, reasoning_content: 'let me count' };
  return { role: 'assistant', content: text, refusal: null };
}

function finishReason({ plan, request, entry }: Exchange): string {
  if (plan.mode === 'tools') return 'tool_calls';
  const limit = limitOf(request);
  return limit !== null && entry.emitted >= limit ? 'length' : 'stop';
}

function chatUsage(exchange: Exchange): unknown {
  const { prompt, output, classes } = usageOf(exchange);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: classes?.cache_read_tokens ?? 0,
      ...(classes && {
        cache_write_tokens: classes.cache_write_tokens,
        audio_tokens: classes.audio_input_tokens,
        image_tokens: classes.image_input_tokens,
      }),
    },
    ...(classes && {
      completion_tokens_details: {
        reasoning_tokens: classes.reasoning_tokens,
        audio_tokens: classes.audio_output_tokens,
        image_tokens: classes.image_output_tokens,
      },
    }),
  };
}

function head(exchange: Exchange): Record<string, unknown> {
  return {
    id: idOf(exchange),
    object: 'chat.completion.chunk',
    created: CREATED,
    model: exchange.request.model,
  };
}

function chunk(exchange: Exchange, delta: unknown, finish: string | null = null): string {
  return event({
    ...head(exchange),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
}

function idOf({ entry }: Exchange): string {
  return `chatcmpl-${entry.rid.replaceAll('-', '').slice(-24)}`;
}

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
