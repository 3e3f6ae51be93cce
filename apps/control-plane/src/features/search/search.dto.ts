import { z } from 'zod';
import { trimmedText } from '../../platform/http/text-field.ts';

export const searchQuery = z.strictObject({
  q: trimmedText(200).describe('Part of a name, a key prefix, an id, or a request id'),
});
export type SearchQuery = z.output<typeof searchQuery>;

const SEARCH_KINDS = ['user', 'model', 'key', 'upstream', 'node', 'request'] as const;
export const searchResultsSchema = z
  .object({
    data: z.array(
      z.object({
        kind: z.enum(SEARCH_KINDS),
        id: z.string(),
        title: z.string(),
        detail: z.string().describe('A state, an owner or a prefix, to tell namesakes apart'),
      }),
    ),
  })
  .meta({ id: 'SearchResults' });
export type SearchResults = z.output<typeof searchResultsSchema>;
