import { usageOf, type Dialect, type Exchange } from './answer.ts';
import { chatDialect } from './chat-dialect.ts';
import { limitOf } from './plan.ts';
import { conversationId, newId, type Item } from './response-store.ts';

const CREATED = 1_767_225_600;

/** /v1/responses, as OpenAI streams it: every event has its number, and the last one carries the whole response. One dialect serves one request. */
export function createResponsesDialect(onEnded: (response: Item) => void): Dialect {
  const id = newId('resp');
  const output: Item[] = [];
  const message = newMessage();
  let sequence = 0;
  const event = (type: string, data: object): string => {
    sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence - 1, ...data })}\n\n`;
  };
  const place = (): object => ({
    item_id: message.id,
    output_index: output.length,
    content_index: 0,
  });
  const item = (whole: Item, begun: Item, between: () => string): string => {
    const output_index = output.length;
    output.push(whole);
    return [
      event('response.output_item.added', { output_index, item: begun }),
      between(),
      event('response.output_item.done', { output_index, item: whole }),
    ].join('');
  };
  const openMessage = (): string =>
    event('response.output_item.added', { output_index: output.length, item: message.begun }) +
    event('response.content_part.added', { ...place(), part: textPart('') });
  const closeMessage = (): string => {
    const part = textPart(message.text);
    const closing =
      event('response.output_text.done', { ...place(), text: message.text }) +
      event('response.content_part.done', { ...place(), part });
    const whole = message.whole(part);
    const done = event('response.output_item.done', { output_index: output.length, item: whole });
    output.push(whole);
    return closing + done;
  };
  const ended = (exchange: Exchange): Item => {
    const response = { ...responseOf(exchange, id), output: [...output], ...endOf(exchange) };
    onEnded(response);
    return response;
  };
  return {
    json: (exchange, text) => {
      if (exchange.plan.mode === 'thinking') output.push(reasoning());
      message.text = text;
      output.push(message.whole(textPart(text)));
      if (exchange.plan.mode === 'tools') output.push(callOf(exchange));
      return ended(exchange);
    },
    start: (exchange) => {
      const response = responseOf(exchange, id);
      return (
        event('response.created', { response }) +
        event('response.in_progress', { response }) +
        (exchange.plan.mode === 'thinking' ? '' : openMessage())
      );
    },
    token: (_, word) => {
      message.text += word;
      return event('response.output_text.delta', { ...place(), delta: word });
    },
    thinking: (_, text) => {
      const whole = reasoning();
      const at = { item_id: whole['id'], output_index: output.length, summary_index: 0 };
      const said = (): string =>
        event('response.reasoning_summary_text.delta', { ...at, delta: text });
      return item(whole, { ...whole, summary: [] }, said) + openMessage();
    },
    toolCall: (exchange) => {
      const closing = closeMessage();
      const whole = callOf(exchange);
      const at = { item_id: whole['id'], output_index: output.length };
      const { arguments: args } = whole;
      const said = (): string =>
        event('response.function_call_arguments.delta', { ...at, delta: args }) +
        event('response.function_call_arguments.done', { ...at, arguments: args });
      return closing + item(whole, { ...whole, arguments: '', status: 'in_progress' }, said);
    },
    finish: (exchange) => {
      const closing = exchange.plan.mode === 'tools' ? '' : closeMessage();
      const response = ended(exchange);
      return closing + event(`response.${String(response['status'])}`, { response });
    },
    error: chatDialect.error,
    errorEvent: (text) => event('error', { code: 'server_error', message: text, param: null }),
  };
}

function newMessage() {
  const id = newId('msg');
  const shape = { id, type: 'message', role: 'assistant' };
  return {
    id,
    text: '',
    begun: { ...shape, status: 'in_progress', content: [] },
    whole: (part: Item): Item => ({ ...shape, status: 'completed', content: [part] }),
  };
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
