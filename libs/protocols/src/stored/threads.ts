import {
  outputTokensOf,
  promptTokensOf,
  type ReportedUsage,
  type ThreadSize,
} from '@tollgate/contracts';
import { threadUnsupported } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import type { Ask, PromptFacts, Speech } from '../exchange.ts';
import { nonEmpty, record } from '../json/json-guard.ts';

/** Describes a conversation that its provider keeps: a request opens one, or continues from the answer with that id. */
export type MessageThread =
  | { readonly type: 'create' }
  | { readonly type: 'continue'; readonly previousId: string };

type Threaded = Pick<Ask, 'protocol' | 'body'>;

/** Returns the thread that a request asks for; null where it asks for none. It throws `InvalidRequest`. */
export function threadOf(ask: Threaded): MessageThread | null {
  if (!asksForThread(ask)) return null;
  const { type, previous_message_id: previous } = record(ask.body['thread']);
  if (type === 'create') return { type };
  if (type !== 'continue')
    throw new InvalidRequest('thread.type: expected `create` or `continue`', {
      param: 'thread.type',
    });
  const previousId = nonEmpty(previous);
  if (previousId !== null) return { type, previousId };
  const param = 'thread.previous_message_id';
  throw new InvalidRequest(`${param}: Field required`, {
    param,
    code: 'missing_required_parameter',
  });
}

export function asksForThread({ protocol, body }: Threaded): boolean {
  return protocol === 'messages' && body['thread'] !== undefined && body['thread'] !== null;
}

/** Returns whether an upstream keeps threads. */
export function keepsThreads({ endpoints = [] }: Pick<Speech, 'endpoints'>): boolean {
  return endpoints.includes('threads');
}

/**
 * Throws `InvalidRequest` for a thread that this upstream does not keep, and for one whose next turns would have no bound, because they repeat
 * neither the provider tools that they may use nor the input of a compaction.
 */
export function refuseThread(
  ask: Threaded & Pick<Ask, 'serverTools'> & { prompt: Pick<PromptFacts, 'compactions'> },
  speech: Pick<Speech, 'endpoints'>,
): void {
  if (!asksForThread(ask)) return;
  if (!keepsThreads(speech)) throw threadUnsupported('thread', "by this model's upstream");
  const [tool] = ask.serverTools;
  const unbounded = tool
    ? tool.param.replace(/[[.].*$/, '')
    : (ask.prompt.compactions ?? 0) > 0
      ? 'context_management'
      : record(ask.body)['compaction'] != null
        ? 'compaction'
        : null;
  if (unbounded !== null) throw threadUnsupported(unbounded, 'here');
}

/** Bounds what the next turn reads of this one: a report above its bound is not believed, and a missing report counts as its bound. */
export function threadSize(
  reported: ReportedUsage | null,
  { bounds, isOver }: { bounds: ThreadSize; isOver: boolean },
): ThreadSize {
  const { promptTokens, outputTokens } = bounds;
  const hasPrompt = reported !== null && reported.unreported !== 'prompt';
  const hasOutput = isOver && reported !== null && reported.unreported !== 'output';
  return {
    promptTokens: hasPrompt ? Math.min(promptTokensOf(reported), promptTokens) : promptTokens,
    outputTokens: hasOutput ? Math.min(outputTokensOf(reported), outputTokens) : outputTokens,
  };
}
