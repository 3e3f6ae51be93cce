import type { Query, QueryClient } from '@tanstack/react-query';

/** A page asks again at most so often, however much happens: what has waited longest comes first. */
const REFRESH_MS = 1_000;
/** Many events in a moment are one reason to look. */
const GATHER_MS = 300;

/** Names what became out of date: queries whose key begins with a topic; of one account, where the event names it. */
export interface Change {
  topics: readonly string[];
  userId?: number | undefined;
}

/** Asks again for what events make out of date: one query at a time, one a second, and only what is on screen. The rest is asked for when it is shown. */
export class Refreshes {
  readonly #queries: QueryClient;
  /** Holds hashes of queries, in the order in which they are asked again. */
  readonly #waiting = new Set<string>();
  #changes: Change[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #nextAt = 0;

  constructor(queries: QueryClient) {
    this.#queries = queries;
  }

  note(change: Change): void {
    this.#changes.push(change);
    this.#wake();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changes = [];
    this.#waiting.clear();
  }

  #wake(): void {
    const delay = Math.max(GATHER_MS, this.#nextAt - performance.now());
    this.#timer ??= setTimeout(() => this.#refresh(), delay);
  }

  #refresh(): void {
    this.#timer = undefined;
    // The page of a record that is being deleted may still be on screen, so the record is not asked for.
    if (this.#queries.isMutating() > 0) return this.#wake();
    this.#takeChanges();
    const query = this.#next();
    if (query) {
      this.#nextAt = performance.now() + REFRESH_MS;
      void this.#queries.refetchQueries({ queryKey: query.queryKey, exact: true });
    }
    if (this.#waiting.size > 0) this.#wake();
  }

  /** A query that waits already keeps its place. */
  #takeChanges(): void {
    for (const change of this.#changes)
      for (const query of this.#queries.getQueryCache().getAll()) {
        if (!isChanged(query, change)) continue;
        query.invalidate();
        if (query.isActive()) this.#waiting.add(query.queryHash);
      }
    this.#changes = [];
  }

  /** Returns the first query that is still on screen, and was not asked again meanwhile. */
  #next(): Query | undefined {
    for (const hash of this.#waiting) {
      this.#waiting.delete(hash);
      const query = this.#queries.getQueryCache().get(hash);
      if (query?.isActive() && query.state.isInvalidated) return query;
    }
    return undefined;
  }
}

function isChanged({ queryKey }: Query, { topics, userId }: Change): boolean {
  return topics.includes(String(queryKey[0])) && !isOfAnother(queryKey, userId);
}

/** Returns true when something happened to another account than the one that a question names: it stays answered. */
function isOfAnother(queryKey: readonly unknown[], userId: number | undefined): boolean {
  if (userId === undefined) return false;
  return queryKey.some((part) => {
    const named = typeof part === 'object' && part !== null && 'user_id' in part && part.user_id;
    return typeof named === 'number' && named !== userId;
  });
}
