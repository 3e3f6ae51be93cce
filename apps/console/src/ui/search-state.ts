import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { z } from 'zod/mini';
import type { Search } from '../search.ts';

/**
 * What the address says, read by a schema whose every field has a fallback (`z.catch`), and a function that changes some of it.
 * Filters, range, sort, page and open tab live here, so that a copied address shows another person the same view.
 */
export function useSearchState<Schema extends z.ZodMiniType<unknown, unknown>>(
  schema: Schema,
): [z.output<Schema>, (patch: Search) => void] {
  const raw: unknown = useSearch({ strict: false });
  const navigate = useNavigate();
  const state = useMemo(() => schema.parse(raw), [schema, raw]);
  const change = (patch: Search): void =>
    void navigate({
      to: '.',
      search: (old: object) => clean({ ...old, ...patch }),
      replace: true,
      resetScroll: false,
    });
  return [state, change];
}

function clean(search: Search): Search {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ''),
  );
}
