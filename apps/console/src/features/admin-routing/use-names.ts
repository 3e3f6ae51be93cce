import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { catalogueQuery, type Model } from '../../api/catalogue.ts';
import { upstreamsQuery, type Upstream } from '../../api/upstreams.ts';

export interface Names {
  models: ReadonlyMap<number, Model>;
  upstreams: ReadonlyMap<number, Upstream>;
}

/** Routes name models and upstreams by id; pages name them by name. */
export function useNames(): Names {
  const { data: models } = useQuery(catalogueQuery);
  const { data: upstreams } = useQuery(upstreamsQuery);
  return useMemo(
    () => ({
      models: new Map((models?.data ?? []).map((model) => [model.id, model])),
      upstreams: new Map((upstreams?.data ?? []).map((upstream) => [upstream.id, upstream])),
    }),
    [models, upstreams],
  );
}
