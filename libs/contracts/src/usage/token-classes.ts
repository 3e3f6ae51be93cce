/**
 * Describes one class of usage. Its `name` is the same in events, columns (`<name>_tokens`, or `<name>` where it counts calls), weights
 * (`weight_<name>`), the journal, metrics and receipts.
 */
export interface TokenClassRow {
  readonly name: string;
  /** Is the key in `TokenUsage`. */
  readonly key: string;
  /** Is the unit that the class counts. Its weight is the charged tokens per unit. */
  readonly unit: 'token' | 'call';
  /** Is the side of the class: the upstream read these tokens, or generated them. */
  readonly side: 'prompt' | 'output';
  /** A charged class has a weight and shares no token with another charged class. An informative class counts tokens that its parent also counts. */
  readonly isCharged: boolean;
  /**
   * The parent of an informative class counts the same tokens. The parent of a charged class provides its weight while the class has none; without a
   * parent that weight is 0.
   */
  readonly parent: string | null;
  /** Is true for a class that events, journals and price versions omit when they do not use it. An absent count is 0, and an absent weight is the parent's. */
  readonly isOptional: boolean;
}

/**
 * Lists every class of usage. The event schema, the journal, weights, charges, columns, roll-ups, statistics, metrics and receipts follow this table.
 * docs/design/metering.md#token-classes explains how to add a class.
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
  // Counts writes that a cache keeps for an hour; `cache_write` counts all others.
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
  // Counts web searches that the provider ran; they are a part of what it read.
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
