/** One class of usage. Its `name` is the same in events, columns (`<name>_tokens`, or `<name>` where it counts calls), weights (`weight_<name>`), the journal, metrics and receipts. */
export interface TokenClassRow {
  readonly name: string;
  /** In `TokenUsage`. */
  readonly key: string;
  /** The unit that the class counts. Its weight is charged tokens for each. */
  readonly unit: 'token' | 'call';
  /** The side of the class: the upstream read these tokens, or generated them. */
  readonly side: 'prompt' | 'output';
  /** A charged class has a weight and shares no token with another charged class. An informative class counts tokens that its parent counts as well. */
  readonly isCharged: boolean;
  /** The parent of an informative class counts the same tokens. The parent of a charged class lends its weight while the class has none; without a parent that weight is 0. */
  readonly parent: string | null;
  /** Added after the first release: absent from events, journals and price versions that do not use it. Absent is a count of 0, or the parent's weight. */
  readonly isOptional: boolean;
}

/**
 * Every class of usage, once: the event schema, the journal, weights, charges, columns, roll-ups, statistics, metrics and receipts follow this table.
 * docs/design/metering.md#token-classes says how to add a class.
 */
export const TOKEN_CLASSES = [
  {
    name: 'input',
    key: 'input',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'cache_read',
    key: 'cacheRead',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'cache_write',
    key: 'cacheWrite',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'output',
    key: 'output',
    unit: 'token',
    side: 'output',
    isCharged: true,
    parent: null,
    isOptional: false,
  },
  {
    name: 'reasoning',
    key: 'reasoning',
    unit: 'token',
    side: 'output',
    isCharged: false,
    parent: 'output',
    isOptional: false,
  },
  // Writes that a cache keeps for an hour; `cache_write` has all others.
  {
    name: 'cache_write_1h',
    key: 'cacheWrite1h',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: 'cache_write',
    isOptional: true,
  },
  {
    name: 'audio_input',
    key: 'audioInput',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: 'input',
    isOptional: true,
  },
  {
    name: 'audio_output',
    key: 'audioOutput',
    unit: 'token',
    side: 'output',
    isCharged: true,
    parent: 'output',
    isOptional: true,
  },
  {
    name: 'image_input',
    key: 'imageInput',
    unit: 'token',
    side: 'prompt',
    isCharged: true,
    parent: 'input',
    isOptional: true,
  },
  {
    name: 'image_output',
    key: 'imageOutput',
    unit: 'token',
    side: 'output',
    isCharged: true,
    parent: 'output',
    isOptional: true,
  },
  // Searches of the web that the provider ran: they are a part of what it read.
  {
    name: 'searches',
    key: 'searches',
    unit: 'call',
    side: 'prompt',
    isCharged: true,
    parent: null,
    isOptional: true,
  },
] as const satisfies readonly TokenClassRow[];
