import type { CallCounts, CallKey } from '@tollgate/contracts';
import { record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { countOrNone, tokenCount } from './token-count.ts';

/** Holds an answer and its reported usage. */
interface Report {
  usage: JsonRecord;
  answer: JsonRecord;
}

/** Lists where providers report the calls of their own tools, by the class that counts them; the first present value counts. */
const PLACES: Readonly<Record<CallKey, readonly ((report: Report) => unknown)[]>> = {
  searches: [
    // Anthropic reports its web search here (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool), as do its relays on chat.
    ({ usage }) => record(usage['server_tool_use'])['web_search_requests'],
    ({ answer }) => record(record(answer['tool_usage'])['web_search'])['num_requests'],
    // See https://docs.x.ai/docs/guides/tools/overview
    ({ usage }) => record(usage['server_side_tool_usage_details'])['web_search_calls'],
    // See https://docs.perplexity.ai/getting-started/pricing
    ({ usage }) => usage['num_search_queries'],
    ({ answer }) => searchItems(answer['output']),
  ],
};
const ROWS = Object.entries(PLACES) as [CallKey, (typeof PLACES)[CallKey]][];

/** Returns the calls that an answer reports. A figure that is not a count is ignored. */
export function reportedCalls(report: Report): CallCounts {
  const calls: Partial<Record<CallKey, number>> = {};
  for (const [key, places] of ROWS)
    calls[key] = countOrNone(tokenCount(...places.map((place) => place(report))));
  return calls;
}

/** Counts the items of a response that searched; opening a page and reading it is not a search. */
function searchItems(output: unknown): number {
  return records(output).filter(
    ({ type, status, action }) =>
      type === 'web_search_call' &&
      status !== 'failed' &&
      (text(record(action)['type']) ?? 'search') === 'search',
  ).length;
}
