import type { FetchQueryOptions, QueryKey } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import type { Me } from './api/session.ts';

export interface PageAddress {
  params: Readonly<Record<string, string>>;
  search: Readonly<Record<string, string>>;
  me: Me;
}

/** Asks a question ahead of the page that shows its answer. */
export type Ask = <Data, Key extends QueryKey>(
  query: FetchQueryOptions<Data, Error, Data, Key>,
) => void;

/** Asks what a page asks first, in the same words: a question in other words would be asked twice. */
export type Prefetch = (ask: Ask, address: PageAddress) => void;

/** Holds what a page's file exports. */
export interface PageModule {
  Page: ComponentType;
  /** Is called as soon as the page's link is pointed at. */
  prefetch?: Prefetch;
}
