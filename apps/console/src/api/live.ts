/** How parts of a page stay fresh without being asked: they ask again, and stop in a hidden tab. */
export const LIVE = { refetchInterval: 4_000, refetchIntervalInBackground: false } as const;
/** For what changes by a person's hand. */
export const SLOWLY_LIVE = { refetchInterval: 15_000, refetchIntervalInBackground: false } as const;
