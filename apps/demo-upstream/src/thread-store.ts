import type { DemoRequest } from './plan.ts';

/** Holds a conversation as the provider stores it under the id of its last answer. */
interface Held {
  readonly system: unknown;
  readonly tools: unknown;
  readonly messages: DemoRequest['messages'];
  isContinued: boolean;
}

/** Describes a refusal with the details on which Anthropic's clients act. */
export interface ThreadRefusal {
  readonly status: 400 | 404;
  readonly code: string;
}

export function isThreadRefusal(asked: DemoRequest | ThreadRefusal): asked is ThreadRefusal {
  return 'code' in asked && 'status' in asked && !('messages' in asked);
}

export function refusalOf({ status, code }: ThreadRefusal): object {
  const type = status === 404 ? 'not_found_error' : 'invalid_request_error';
  return { type: 'error', error: { type, message: code, details: { error_code: code } } };
}

const HELD_MAX = 10_000;

/** Stores the provider's message threads: what each turn adds, and what its model reads. */
export class ThreadStore {
  readonly #held = new Map<string, Held>();

  /** Returns the whole conversation of a turn; a request without a thread unchanged. */
  wholeOf(request: DemoRequest): DemoRequest | ThreadRefusal {
    const { thread } = request;
    if (thread?.type !== 'continue') return request;
    const held = this.#held.get(thread.previous_message_id ?? '');
    if (!held) return { status: 404, code: 'thread_not_found' };
    if (held.isContinued) return { status: 400, code: 'thread_already_continued' };
    if (request.system !== undefined || request.tools !== undefined)
      return { status: 400, code: 'thread_fingerprint_mismatch' };
    held.isContinued = true;
    const { system, tools, messages } = held;
    return {
      ...request,
      system,
      tools,
      messages: [...messages, ...request.messages],
    } as DemoRequest;
  }

  /** Keeps an answered turn. */
  keep(id: string, { thread, system, tools, messages }: DemoRequest, content: unknown): void {
    if (!thread) return;
    const [oldest] = this.#held.keys();
    if (this.#held.size >= HELD_MAX && oldest !== undefined) this.#held.delete(oldest);
    const answered = [...messages, { role: 'assistant', content }];
    this.#held.set(id, { system, tools, messages: answered, isContinued: false });
  }
}
