/** Keeps parts of a page fresh: they ask again by themselves, and stop in a hidden tab. */
export const LIVE = { refetchInterval: 4_000, refetchIntervalInBackground: false } as const;
/** Refreshes what changes by a person's hand. */
export const SLOWLY_LIVE = { refetchInterval: 15_000, refetchIntervalInBackground: false } as const;

/** An answer this old is shown without asking again; a page that opens after its link was pointed at finds answers younger than that. */
export const FRESH_MS = 5_000;
