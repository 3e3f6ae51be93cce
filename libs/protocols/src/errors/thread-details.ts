import { list, nonEmpty, record } from '../json/json-guard.ts';

/** After these details Anthropic's clients send the whole conversation again. */
export const THREAD_NOT_FOUND = { error_code: 'thread_not_found' } as const;

const THREAD_CODE = /^thread_[a-z_]{1,40}$/;
const FEATURE = /^\w{1,64}$/;

/**
 * Returns the details of a provider's refusal of a message thread, by which clients decide whether to send their conversation again; null for any
 * other error.
 */
export function threadDetails(details: unknown): { error_code: string } | null {
  const { error_code: code, unsupported } = record(details);
  const named = nonEmpty(code);
  if (named === null || !THREAD_CODE.test(named)) return null;
  const features = list(unsupported).filter(
    (feature) => typeof feature === 'string' && FEATURE.test(feature),
  );
  return { error_code: named, ...(features.length > 0 && { unsupported: features }) };
}
