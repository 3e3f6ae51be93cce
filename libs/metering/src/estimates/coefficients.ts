/** Describes how the models of a family turn text into tokens, compared with o200k. All figures are tokens, or tokens per token of o200k. */
export interface EstimateFamily {
  name: string;
  pattern: RegExp;
  /** Holds the coefficients of a prompt, in order: base, message, text, tool prompt, tool, definitions, call in the history, names and arguments of calls. */
  prompt: readonly [number, number, number, number, number, number, number, number];
  /** Holds the coefficients of an answer, in order: base, text, call, argument. */
  output: readonly [number, number, number, number];
  image: 'area' | 'tiles' | 'patches' | 'blocks';
  /** Counts the tokens per page of a document. */
  page: number;
}

/** Applies to names without recordings: o200k, and what a template commonly adds. */
export const NEUTRAL: EstimateFamily = {
  name: 'other',
  pattern: /(?:)/,
  prompt: [3, 4, 1, 60, 20, 1, 15, 1],
  output: [0, 1, 0, 0],
  image: 'area',
  page: 1_500,
};

/** `npm run bench -- estimates` fits these to one half of the recordings; docs/design/estimates.md has the errors on the other half. */
export const ESTIMATE_FAMILIES: readonly EstimateFamily[] = [
  {
    // Their tokenizer counts 1.0 to 1.35 times the tokens of earlier models
    // (https://platform.claude.com/docs/en/about-claude/models/migration-guide).
    name: 'claude 4.7',
    pattern: /claude-(?:opus-(?:4[-.][7-9]|[5-9])|(?:sonnet|haiku)-[5-9]|fable|mythos)/i,
    prompt: [28.77, 5.51, 1.2, 457.12, 27.06, 1.78, 28.74, 1.21],
    output: [10.17, 1.3, 20.18, 12.59],
    image: 'area',
    page: 2_500,
  },
  {
    name: 'claude',
    pattern: /claude/i,
    prompt: [28.77, 5.51, 1.04, 457.12, 27.06, 1.55, 28.74, 1.05],
    output: [10.17, 1.11, 20.18, 12.59],
    image: 'area',
    page: 2_500,
  },
  {
    name: 'gpt-oss',
    pattern: /gpt-oss/i,
    prompt: [62.23, 5.09, 0.95, 20.24, 6.63, 0.57, 18.91, 1.05],
    output: [7.56, 0.99, 10.73, 3.66],
    image: 'tiles',
    page: 1_500,
  },
  {
    name: 'openai',
    pattern: /(?:^|[/.])(?:gpt-|o\d|chatgpt-)/i,
    prompt: [3, 4, 1, 60, 20, 1, 15, 1],
    output: [0, 1, 0, 0],
    image: 'tiles',
    page: 1_500,
  },
  {
    name: 'mistral',
    pattern: /mistral|ministral|pixtral|voxtral|magistral|codestral|devstral/i,
    prompt: [12.84, 4.1, 1, 26.99, 19.41, 0.97, 15.77, 1],
    output: [7.24, 1.02, 0.9, 0.29],
    image: 'patches',
    page: 1_500,
  },
  {
    name: 'deepseek',
    pattern: /deepseek/i,
    prompt: [1.88, 2.3, 0.97, 205.34, 22.58, 1.07, 15, 1],
    output: [-0.21, 1.03, 17.52, 0],
    image: 'area',
    page: 1_500,
  },
  {
    name: 'qwen',
    pattern: /qwen|qwq/i,
    prompt: [2.92, 5.04, 1.02, 148.61, 21.58, 0.6, -4.44, 0.88],
    output: [6.08, 1.02, 13.56, -0.17],
    image: 'patches',
    page: 1_500,
  },
  {
    name: 'grok',
    pattern: /grok/i,
    prompt: [-3.63, 3.88, 0.97, 125.82, 21.17, 1.02, 17.63, 1.01],
    output: [0.23, 0.98, 11.97, 0],
    image: 'blocks',
    page: 1_500,
  },
  {
    name: 'sonar',
    pattern: /sonar/i,
    prompt: [0, 4, 1, 60, 20, 1, 15, 1],
    output: [-0.07, 1, 0, 0],
    image: 'area',
    page: 1_500,
  },
];
