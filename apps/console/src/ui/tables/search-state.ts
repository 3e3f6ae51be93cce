import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import {
  catch as fallBack,
  coerce,
  enum as oneOf,
  int,
  iso,
  literal,
  object,
  optional as mayBeAbsent,
  positive,
  regex,
  string,
  type output,
  type ZodMiniType,
} from 'zod/mini';
import type { Search } from '../../search.ts';

/** Holds what pages need of zod, named one by one: the whole of it would weigh as much as a page. */
export const z = { coerce, enum: oneOf, int, iso, literal, object, positive, regex, string };
export type SearchOf<Schema> = output<Schema>;

/** Describes a field of an address that may be absent; what is not understood counts as absent. */
export function optional<Schema extends ZodMiniType>(schema: Schema) {
  return fallBack(mayBeAbsent(schema), undefined);
}

/** Returns a field that has this value where the address names none, or one that is not understood. */
export function withDefault<Schema extends ZodMiniType>(schema: Schema, value: output<Schema>) {
  return fallBack(schema, value as never);
}

/** Is the page of a list, from 1. */
export const pageNumber = withDefault(z.coerce.number().check(z.int(), z.positive()), 1);

/**
 * Reads the address by a schema whose every field has a fallback (`optional`, `withDefault`), and returns a function that changes some of it.
 * Filters, range, sort, page and open tab live here, so that a copied address shows another person the same view.
 */
export function useSearchState<Schema extends ZodMiniType>(
  schema: Schema,
): [output<Schema>, (patch: Search) => void] {
  const raw: unknown = useSearch({ strict: false });
  const navigate = useNavigate();
  const state = useMemo(() => schema.parse(raw), [schema, raw]);
  const change = useCallback(
    (patch: Search): void =>
      void navigate({
        to: '.',
        // A changed question begins with the first part of its answer.
        search: (old: object) => clean({ ...old, part: undefined, ...patch }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  return [state, change];
}

function clean(search: Search): Search {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ''),
  );
}
