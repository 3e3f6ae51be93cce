import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client, dataOf, type Shape } from './client.ts';

export type SearchResult = Shape<'SearchResults'>['data'][number];

export const searchQuery = (q: string) =>
  queryOptions({
    queryKey: ['search', q],
    queryFn: async () => {
      const { data } = await dataOf(client.GET('/admin-api/search', { params: { query: { q } } }));
      return data;
    },
    placeholderData: keepPreviousData,
  });
