import { isRecord, list, nonEmpty, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { TRANSLATED_HEADERS } from '../translation/anthropic-headers.ts';

/** Describes the request by which a provider lists its models. */
export interface ModelList {
  /** Is appended to the upstream's base_url. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the names in a JSON answer, as routes take them. */
  names(answer: unknown): string[];
}

/** See https://platform.openai.com/docs/api-reference/models/list; Together answers the list without an envelope. */
export const OPENAI_MODELS: ModelList = {
  path: '/models',
  headers: {},
  names: (answer) => namesIn(isRecord(answer) ? answer['data'] : list(answer), 'id'),
};

/** See https://platform.claude.com/docs/en/api/models-list */
export const ANTHROPIC_MODELS: ModelList = {
  path: '/models?limit=1000',
  headers: TRANSLATED_HEADERS,
  names: (answer) => namesIn(record(answer)['data'], 'id'),
};

/** See https://ai.google.dev/api/models#method:-models.list; routes take a name without its collection. */
export const GEMINI_MODELS: ModelList = {
  path: '/models?pageSize=1000',
  headers: {},
  names: (answer) =>
    namesIn(record(answer)['models'], 'name').map((name) => name.replace(/^models\//, '')),
};

function namesIn(rows: unknown, field: string): string[] {
  return records(rows).flatMap((row: JsonRecord) => nonEmpty(row[field]) ?? []);
}
