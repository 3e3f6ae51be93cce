import { nonEmpty, record, type JsonRecord } from '../json/json-guard.ts';

/** Matches `gemini-2.5-flash`, `gemini-3-pro-preview`, `google/gemini-3.1-pro`. */
const VERSION = /gemini-(\d{1,2})(?:\.(\d{1,2}))?/i;
/** Is the smallest budget of a model that always thinks. */
const BUDGET_MIN = 128;
const BUDGET_MAX = 24_576;
const BUDGETS: Readonly<Record<string, number>> = { low: 2_048, medium: 8_192 };
const LOW_BUDGET_MAX = 4_096;

/** Asks for thinking in the words of the model's generation; returns nothing for a model that does not think: https://ai.google.dev/gemini-api/docs/thinking */
export function thinkingConfig(body: JsonRecord, model: string): JsonRecord {
  const { type, budget_tokens: given } = record(body['thinking']);
  const effort = nonEmpty(record(body['output_config'])['effort']);
  const version = versionOf(model);
  if (version < 2.05 || (type === undefined && effort === null)) return {};
  if (type === 'disabled')
    return version >= 3
      ? { thinkingConfig: { thinkingLevel: 'low' } }
      : { thinkingConfig: { thinkingBudget: /pro/i.test(model) ? BUDGET_MIN : 0 } };
  const budget =
    typeof given === 'number' ? given : effort === null ? null : (BUDGETS[effort] ?? BUDGET_MAX);
  if (budget === null) return { thinkingConfig: { includeThoughts: true } };
  return {
    thinkingConfig: {
      includeThoughts: true,
      ...(version >= 3
        ? { thinkingLevel: budget <= LOW_BUDGET_MAX ? 'low' : 'high' }
        : { thinkingBudget: Math.min(budget, BUDGET_MAX) }),
    },
  };
}

/** Returns true from the third generation on: https://ai.google.dev/gemini-api/docs/thought-signatures */
export function needsSignatures(model: string): boolean {
  return versionOf(model) >= 3;
}

/** Returns major plus hundredths of minor; 0 for a model of another name. */
function versionOf(model: string): number {
  const match = VERSION.exec(model);
  return match ? Number(match[1]) + Number(match[2] ?? 0) / 100 : 0;
}
