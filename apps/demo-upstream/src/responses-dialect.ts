import { usageOf, type Dialect, type Exchange } from './answer.ts';
import { chatDialect } from './chat-dialect.ts';
import { limitOf } from './plan.ts';
import { conversationId, newId, type Item } from './response-store.ts';

const CREATED = 1_767_225_600;

/** Writes /v1/responses as OpenAI streams it: every event has its number, and the last one contains the whole response. An instance serves one request. */
export class ResponsesDialect implements Dialect {
  readonly id = newId('resp');
  readonly #message = newId('msg');
  readonly #output: Item[] = [];
  readonly #onEnded: (response: Item) => void;
  #text = '';
  #sequence = 0;

  constructor(onEnded: (response: Item) => void) {
    this.#onEnded = onEnded;
  }

  json(exchange: Exchange, text: string): Item {
    if (exchange.plan.mode === 'thinking') this.#output.push(reasoning());
    this.#output.push(this.#messageWith(textPart(text)));
    if (exchange.plan.mode === 'tools') this.#output.push(callOf(exchange));
    return this.#ended(exchange);
  }

  start(exchange: Exchange): string {
    const response = responseOf(exchange, this.id);
    return (
      this.#event('response.created', { response }) +
      this.#event('response.in_progress', { response }) +
      (exchange.plan.mode === 'thinking' ? '' : this.#openMessage())
    );
  }

  token(_: Exchange, word: string): string {
    this.#text += word;
    return this.#event('response.output_text.delta', { ...this.#place, delta: word });
  }

  thinking(_: Exchange, text: string): string {
    const whole = reasoning();
    const at = { item_id: whole['id'], output_index: this.#output.length, summary_index: 0 };
    const said = (): string =>
      this.#event('response.reasoning_summary_text.delta', { ...at, delta: text });
    return this.#item(whole, { ...whole, summary: [] }, said) + this.#openMessage();
  }

  toolCall(exchange: Exchange): string {
    const closing = this.#closeMessage();
    const whole = callOf(exchange);
    const at = { item_id: whole['id'], output_index: this.#output.length };
    const { arguments: args } = whole;
    const said = (): string =>
      this.#event('response.function_call_arguments.delta', { ...at, delta: args }) +
      this.#event('response.function_call_arguments.done', { ...at, arguments: args });
    return closing + this.#item(whole, { ...whole, arguments: '', status: 'in_progress' }, said);
  }

  finish(exchange: Exchange): string {
    const closing = exchange.plan.mode === 'tools' ? '' : this.#closeMessage();
    const response = this.#ended(exchange);
    return closing + this.#event(`response.${String(response['status'])}`, { response });
  }

  error(status: number, message: string): unknown {
    return chatDialect.error(status, message);
  }

  errorEvent(message: string): string {
    return this.#event('error', { code: 'server_error', message, param: null });
  }

  get #place(): object {
    return { item_id: this.#message, output_index: this.#output.length, content_index: 0 };
  }

  #event(type: string, data: object): string {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`;
  }

  #item(whole: Item, begun: Item, between: () => string): string {
    const output_index = this.#output.length;
    this.#output.push(whole);
    return [
      this.#event('response.output_item.added', { output_index, item: begun }),
      between(),
      this.#event('response.output_item.done', { output_index, item: whole }),
    ].join('');
  }

  #openMessage(): string {
    const item = { ...this.#messageWith(textPart('')), status: 'in_progress', content: [] };
    return (
      this.#event('response.output_item.added', { output_index: this.#output.length, item }) +
      this.#event('response.content_part.added', { ...this.#place, part: textPart('') })
    );
  }

  #closeMessage(): string {
    const part = textPart(this.#text);
    const item = this.#messageWith(part);
    const closing = [
      this.#event('response.output_text.done', { ...this.#place, text: this.#text }),
      this.#event('response.content_part.done', { ...this.#place, part }),
      this.#event('response.output_item.done', { output_index: this.#output.length, item }),
    ].join('');
    this.#output.push(item);
    return closing;
  }

  #messageWith(part: Item): Item {
    const shape = { id: this.#message, type: 'message', role: 'assistant' };
    return { ...shape, status: 'completed', content: [part] };
  }

  #ended(exchange: Exchange): Item {
    const response = {
      ...responseOf(exchange, this.id),
      output: [...this.#output],
      ...endOf(exchange),
    };
    this.#onEnded(response);
    return response;
  }
}

function textPart(text: string): Item {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function reasoning(): Item {
  const summary = [{ type: 'summary_text', text: 'let me count' }];
  return { id: newId('rs'), type: 'reasoning', summary };
}

function callOf({ plan: { call }, entry }: Exchange): Item {
  return {
    id: newId('fc'),
    type: 'function_call',
    call_id: `call_${entry.rid.slice(-12)}`,
    name: call.name,
    arguments: JSON.stringify(call.input),
    status: 'completed',
  };
}

export function responseOf({ request }: Pick<Exchange, 'request'>, id: string): Item {
  const conversation = conversationId(request);
  return {
    id,
    object: 'response',
    created_at: CREATED,
    status: 'in_progress',
    background: request.background ?? false,
    error: null,
    incomplete_details: null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: request.model,
    output: [],
    previous_response_id: request.previous_response_id ?? null,
    ...(conversation !== null && { conversation: { id: conversation } }),
    store: request.store ?? true,
    usage: null,
  };
}

function endOf(exchange: Exchange): Item {
  const { request, entry, plan } = exchange;
  const limit = limitOf(request);
  const isCut = limit !== null && entry.emitted >= limit;
  return {
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    usage: plan.mode === 'no-usage' ? null : responsesUsage(usageOf(exchange)),
  };
}

export function responsesUsage({ prompt, output }: { prompt: number; output: number }): Item {
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + output,
  };
}
