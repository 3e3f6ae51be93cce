import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { ClaudeModel } from '../translation/claude-model.ts';
import type { Turn } from './conversation.ts';

/** Is Anthropic's smallest budget. */
const BUDGET_MIN = 1_024;
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: BUDGET_MIN,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_000,
};
const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

export interface ThinkingChoice {
  thinking?: JsonRecord;
  effort?: string;
}

/**
 * Converts reasoning_effort to the fields of the model's generation (docs/translation.md#requests-chat-to-messages;
 * https://platform.claude.com/docs/en/build-with-claude/effort).
 */
export function thinkingChoice(
  effort: unknown,
  facts: { model: ClaudeModel; maxTokens: number; turns: readonly Turn[]; toolChoice: unknown },
): ThinkingChoice {
  if (typeof effort !== 'string' || facts.model.thinking === 'none') return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const named = Object.hasOwn(EFFORTS, effort) ? EFFORTS[effort] : undefined;
  if (named === undefined) return {};
  const isForced =
    isRecord(facts.toolChoice) &&
    (facts.toolChoice['type'] === 'any' || facts.toolChoice['type'] === 'tool');
  if (facts.model.thinking === 'adaptive')
    return isForced ? { effort: named } : { thinking: { type: 'adaptive' }, effort: named };
  const budget = Math.min(BUDGETS[effort] ?? BUDGET_MIN, facts.maxTokens - 1);
  // Forced tools exclude thinking, and older models require the signed thinking of the running tool turn, which a client may have dropped.
  if (isForced || budget < BUDGET_MIN || isInsideUnsignedToolTurn(facts.turns)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

function isInsideUnsignedToolTurn(turns: readonly Turn[]): boolean {
  const isAnswering =
    turns.at(-1)?.content.some((block) => block['type'] === 'tool_result') ?? false;
  const asked = turns.findLast(({ role }) => role === 'assistant')?.content[0]?.['type'];
  return isAnswering && asked !== 'thinking' && asked !== 'redacted_thinking';
}
