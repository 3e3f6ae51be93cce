import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { EventLog } from './event-log.ts';
import type { DemoRequest } from './plan.ts';
import { readLine } from './record.ts';

export type Item = Readonly<Record<string, unknown>>;

export interface StoredResponse {
  response: Item;
  /** Is the whole input of the response, including everything before it. */
  input: readonly Item[];
  /** Only a background response has events. */
  events?: EventLog;
}

/** Stores responses and conversations as a provider does. With a file, a killed provider still has the responses that had ended; the others have failed. */
export class ResponseStore {
  readonly #responses = new Map<string, StoredResponse>();
  readonly #conversations = new Map<string, Item[]>();
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
    if (!file || !existsSync(file)) return;
    for (const stored of readFileSync(file, 'utf8')
      .split('\n')
      .flatMap(readLine<StoredResponse>))
      this.#responses.set(String(stored.response['id']), interrupted(stored));
  }

  keep(stored: StoredResponse): void {
    this.#responses.set(String(stored.response['id']), stored);
    const { response, input } = stored;
    if (this.#file) appendFileSync(this.#file, `${JSON.stringify({ response, input })}\n`);
  }

  get(id: string): StoredResponse | undefined {
    return this.#responses.get(id);
  }

  delete(id: string): boolean {
    return this.#responses.delete(id);
  }

  createConversation(items: readonly Item[]): string {
    const id = newId('conv');
    this.#conversations.set(id, [...items]);
    return id;
  }

  conversation(id: string): Item[] | undefined {
    return this.#conversations.get(id);
  }

  deleteConversation(id: string): boolean {
    return this.#conversations.delete(id);
  }

  /** Returns what a request continues; null when it names an object that is not stored. */
  contextOf(request: DemoRequest): readonly Item[] | null {
    const conversation = conversationId(request);
    if (conversation !== null) return this.#conversations.get(conversation) ?? null;
    const { previous_response_id: previous } = request;
    if (previous == null) return [];
    const before = this.#responses.get(previous);
    if (!before) return null;
    const { output } = before.response;
    return [...before.input, ...(Array.isArray(output) ? (output as Item[]) : [])];
  }
}

function interrupted(stored: StoredResponse): StoredResponse {
  const { response } = stored;
  const isOver = response['status'] !== 'queued' && response['status'] !== 'in_progress';
  const error = { code: 'server_error', message: 'the provider was stopped' };
  return isOver ? stored : { ...stored, response: { ...response, status: 'failed', error } };
}

export function conversationId({ conversation }: DemoRequest): string | null {
  return (typeof conversation === 'string' ? conversation : conversation?.id) ?? null;
}

export function newId(kind: string): string {
  return `${kind}_${randomBytes(12).toString('hex')}`;
}

/** Returns the input of a request as items with ids. */
export function inputItems({ input }: DemoRequest): Item[] {
  const items: unknown[] =
    typeof input === 'string'
      ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
      : Array.isArray(input)
        ? input
        : [];
  return items.map((item) => ({ type: 'message', id: newId('msg'), ...(item as Item) }));
}

/** Converts items to the messages from which a plan is made; results of tools have the role `tool`. */
export function messagesOf(items: readonly Item[]): DemoRequest['messages'] {
  return items.map((item) =>
    String(item['type']).endsWith('_output')
      ? { role: 'tool', content: item['output'] }
      : { role: String(item['role'] ?? 'assistant'), content: item['content'] ?? '' },
  );
}
