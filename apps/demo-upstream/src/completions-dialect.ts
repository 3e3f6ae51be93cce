import { usageOf, type Dialect, type Exchange } from './answer.ts';
import { chatDialect } from './chat-dialect.ts';
import { limitOf } from './plan.ts';
import { textOf } from './text-of.ts';

/** Writes legacy completions: texts without roles, several prompts in one request, `[DONE]` at the end of a stream. */
export const completionsDialect: Dialect = {
  json: (exchange, text) => ({
    ...head(exchange),
    choices: indexes(exchange).map((index) =>
      choice(index, echoOf(exchange, index) + text, finishReason(exchange)),
    ),
    ...(exchange.plan.mode === 'no-usage' ? {} : { usage: completionUsage(exchange) }),
  }),
  start: (exchange) =>
    exchange.request.echo === true
      ? indexes(exchange)
          .map((index) => chunk(exchange, [choice(index, echoOf(exchange, index))]))
          .join('')
      : '',
  token: (exchange, word) =>
    indexes(exchange)
      .map((index) => chunk(exchange, [choice(index, word)]))
      .join(''),
  thinking: () => '',
  toolCall: () => '',
  finish: (exchange) => {
    const isUsageAsked =
      exchange.request.stream_options?.include_usage === true && exchange.plan.mode !== 'no-usage';
    const last = chunk(
      exchange,
      indexes(exchange).map((index) => choice(index, '', finishReason(exchange))),
    );
    const usage = isUsageAsked
      ? event({ ...head(exchange), choices: [], usage: completionUsage(exchange) })
      : '';
    return `${last}${usage}data: [DONE]\n\n`;
  },
  error: (status, message) => chatDialect.error(status, message),
  errorEvent: (message) => chatDialect.errorEvent(message),
};

/** `best_of` generates more answers than are shown. */
function indexes({ request: { prompt, n } }: Exchange): number[] {
  return [...Array(promptsOf(prompt).length * (n ?? 1)).keys()];
}

function promptsOf(prompt: unknown): unknown[] {
  const isOne = !Array.isArray(prompt) || prompt.every((item) => typeof item === 'number');
  return isOne ? [prompt] : prompt;
}

function echoOf({ request: { prompt, echo, n } }: Exchange, index: number): string {
  return echo === true ? textOf(promptsOf(prompt)[Math.floor(index / (n ?? 1))]) : '';
}

function choice(index: number, text: string, finish: string | null = null): object {
  return { text, index, logprobs: null, finish_reason: finish };
}

function finishReason({ request, entry }: Exchange): string {
  const limit = limitOf(request);
  return limit !== null && entry.emitted >= limit ? 'length' : 'stop';
}

function completionUsage(exchange: Exchange): unknown {
  const { prompt, output } = usageOf(exchange);
  return { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output };
}

function head({ request, entry }: Exchange): Record<string, unknown> {
  return {
    id: `cmpl-${entry.rid.replaceAll('-', '').slice(-24)}`,
    object: 'text_completion',
    created: 1_767_225_600,
    model: request.model,
  };
}

function chunk(exchange: Exchange, choices: object[]): string {
  const { stream_options: options } = exchange.request;
  return event({ ...head(exchange), choices, ...(options?.include_usage && { usage: null }) });
}

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
