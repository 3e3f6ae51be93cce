/** One class of tokens. Its `name` is the same in events, columns (`<name>_tokens`), weights (`weight_<name>`), the journal, metrics and receipts. */
export interface TokenClassRow {
  readonly name: string;
  /** In `TokenUsage`. */
  readonly key: string;
  /** The side of the class: the upstream read these tokens, or generated them. */
  readonly side: 'prompt' | 'output';
  /** A charged class has a weight and shares no token with another charged class. An informative class counts tokens that its parent counts as well. */
  readonly isCharged: boolean;
  /** The parent of an informative class counts the same tokens. The parent of a charged class lends its weight while the class has none. */
  readonly parent: string | null;
  /** Added after the first release: absent from events, journals and price versions that do not use it. Absent is 0 tokens, or the parent's weight. */
  readonly isOptional: boolean;
}

/**
 * Every class of tokens, once: the event schema, the journal, weights, charges, columns, roll-ups, statistics, metrics and receipts follow this table.
 * docs/design/metering.md#token-classes says how to add a class.
 */
export const TOKEN_CLASSES = [
  {
    name: 'input',
    key: 'input',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'cache_read',
    key: 'cacheRead',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'cache_write',
    key: 'cacheWrite',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'output',
    key: 'output',
    side: 'output',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'reasoning',
    key: 'reasoning',
    side: 'output',
    isCharged: false,
    parent: 'output',
    isOptional: false,
  },
  // Writes that a cache keeps for an hour; `cache_write` has all others.
  {
    name: 'cache_write_1h',
    key: 'cacheWrite1h',
    side: 'prompt',
    isCharged: true,
    parent: 'cache_write',
    isOptional: true,
  },
  {
    name: 'audio_input',
    key: 'audioInput',
    side: 'prompt',
    isCharged: true,
    parent: 'input',
    isOptional: true,
  },
  {
    name: 'audio_output',
    key: 'audioOutput',
    side: 'output',
    isCharged: true,
    parent: 'output',
    isOptional: true,
  },
] as const satisfies readonly TokenClassRow[];
