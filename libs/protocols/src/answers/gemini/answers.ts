import { isRecord, record } from '../../json/json-guard.ts';
import { dataEvent } from '../../sse/sse-format.ts';
import { argumentCount } from '../../usage/argument-count.ts';
import type { ProviderAnswers } from '../provider-answers.ts';
import { finishOf, partsOf, partText } from './gemini-parts.ts';
import { GeminiTap } from './gemini-tap.ts';
import { readGeminiUsage } from './gemini-usage.ts';

/** Holds words of `google.rpc.ErrorInfo` and of `status`: a wrong key is a 400 like any wrong request. */
export const GEMINI_ERROR_WORDS = {
  API_KEY_INVALID: 'auth',
  API_KEY_SERVICE_BLOCKED: 'auth',
  CONSUMER_INVALID: 'auth',
} as const;

export const geminiAnswers: ProviderAnswers = {
  openTap: (sink) => new GeminiTap(sink),
  readWhole: (answer) => {
    if (!Array.isArray(answer['candidates']) && finishOf(answer) === null) return null;
    const parts = partsOf(answer);
    const calls = parts.map(({ functionCall }) => functionCall).filter(isRecord);
    return {
      usage: readGeminiUsage(answer['usageMetadata']),
      outputText: parts.map(partText).join(''),
      calls: calls.length,
      callArguments: () => argumentCount(calls.map((call) => record(call)['args'])),
    };
  },
  eventsOfWhole: dataEvent,
  // A stream ends with its connection.
  isEnd: () => false,
  isEndedByDone: false,
  errorWords: GEMINI_ERROR_WORDS,
};
