import {
  fixed,
  GEMINI_CROPS,
  GROK_BLOCKS,
  largestOf,
  patches,
  PIXTRAL_PATCHES,
  QWEN_PATCHES,
  tiles,
  visualTokens,
  type ImageBound,
} from './image-bounds.ts';

/** Bounds the plain tokens that the providers of a family add to the text of a prompt. */
export interface PromptBound {
  family: string;
  /** Matches the upstream model's name; the first row that matches applies. */
  pattern: RegExp;
  /** Counts once per prompt: the template, and the provider's own text before it. */
  template: number;
  /** Counts once per prompt with tools. */
  toolPrompt: number;
  images: ImageBound;
  source: string;
  /** Is the date on which the source was read. */
  asOf: string;
}

const CLAUDE_TOOLS = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview';
const CLAUDE_VISION = 'https://platform.claude.com/docs/en/build-with-claude/vision';
const OPENAI_VISION = 'https://platform.openai.com/docs/guides/images-vision';

/** OpenAI's own template has 3 tokens per prompt and 4 per message; with tools, recorded prompts have up to 90 more. */
const OPENAI = { template: 32, toolPrompt: 160, asOf: '2026-11' } as const;

/**
 * A provider's report of a prompt is charged up to this bound, and a hold covers it. A true report above it costs the installation and raises
 * `usage_doubted`; the remedy is a row here, or a larger figure. Templates are those of recorded prompts, rounded up.
 */
export const PROMPT_BOUNDS: readonly PromptBound[] = [
  {
    family: 'claude',
    pattern: /claude-(?:3|instant|v?2|(?:opus|sonnet|haiku)-(?:3|4)(?:$|@|-20|[-.][0-6](?!\d)))/i,
    template: 64,
    toolPrompt: 850,
    images: visualTokens(1_600),
    source: `${CLAUDE_VISION}, ${CLAUDE_TOOLS}`,
    asOf: '2026-11',
  },
  {
    family: 'claude of high resolution',
    pattern: /claude/i,
    template: 64,
    toolPrompt: 850,
    images: visualTokens(4_784),
    source: `${CLAUDE_VISION}, ${CLAUDE_TOOLS}`,
    asOf: '2026-11',
  },
  {
    family: 'gpt-oss',
    pattern: /gpt-oss/i,
    template: 128,
    toolPrompt: 160,
    images: tiles(85, 170),
    source: 'https://cookbook.openai.com/articles/openai-harmony',
    asOf: '2026-11',
  },
  {
    family: 'gpt-4o-mini',
    pattern: /gpt-4o-mini/i,
    ...OPENAI,
    images: tiles(2_833, 5_667),
    source: OPENAI_VISION,
  },
  {
    family: 'gpt mini',
    pattern: /gpt-(?:4\.1|5(?:\.\d+)?)-mini/i,
    ...OPENAI,
    images: patches(1_536, 1.62),
    source: OPENAI_VISION,
  },
  {
    family: 'gpt nano',
    pattern: /gpt-(?:4\.1|5(?:\.\d+)?)-nano/i,
    ...OPENAI,
    images: patches(1_536, 2.46),
    source: OPENAI_VISION,
  },
  {
    family: 'gpt-5 and later',
    pattern: /(?:^|[/.])gpt-[5-9]/i,
    ...OPENAI,
    images: largestOf([tiles(70, 140), patches(10_000, 1, 2_500)]),
    source: OPENAI_VISION,
  },
  {
    family: 'gpt-4 and earlier',
    pattern: /(?:^|[/.])(?:gpt-|o\d|chatgpt-|computer-use|text-embedding-)/i,
    ...OPENAI,
    images: largestOf([tiles(85, 170), patches(1_536, 1.72)]),
    source: OPENAI_VISION,
  },
  {
    family: 'gemini 2',
    pattern: /gemini-(?:1|2|pro|flash)/i,
    template: 32,
    toolPrompt: 160,
    images: GEMINI_CROPS,
    source: 'https://ai.google.dev/gemini-api/docs/tokens',
    asOf: '2026-11',
  },
  {
    family: 'gemini',
    pattern: /gemini/i,
    template: 32,
    toolPrompt: 160,
    images: largestOf([fixed(2_240), GEMINI_CROPS]),
    source: 'https://ai.google.dev/gemini-api/docs/media-resolution',
    asOf: '2026-11',
  },
  {
    family: 'mistral',
    pattern: /mistral|ministral|pixtral|voxtral|magistral|codestral|devstral/i,
    template: 64,
    toolPrompt: 96,
    images: PIXTRAL_PATCHES,
    source: 'https://docs.mistral.ai/capabilities/vision',
    asOf: '2026-11',
  },
  {
    family: 'deepseek',
    pattern: /deepseek/i,
    template: 32,
    toolPrompt: 400,
    images: fixed(1_600),
    source: 'recorded',
    asOf: '2026-11',
  },
  {
    family: 'qwen',
    pattern: /qwen|qwq/i,
    template: 64,
    toolPrompt: 300,
    images: QWEN_PATCHES,
    source: 'https://help.aliyun.com/zh/model-studio/vision',
    asOf: '2026-11',
  },
  {
    family: 'grok',
    pattern: /grok/i,
    // The provider puts its own tokens before each prompt without stating their number; up to 515 are recorded.
    template: 1_000,
    toolPrompt: 300,
    images: GROK_BLOCKS,
    source: 'https://docs.x.ai/docs/key-information/consumption-and-rate-limits',
    asOf: '2026-11',
  },
  {
    family: 'sonar',
    pattern: /sonar/i,
    template: 32,
    toolPrompt: 160,
    images: visualTokens(1_600),
    source: 'https://docs.perplexity.ai/guides/image-guide',
    asOf: '2026-11',
  },
];

/** A model with an unknown name may be any of the known models. */
export const UNKNOWN_BOUND: PromptBound = largestBound(PROMPT_BOUNDS, 'unknown');

/** Returns the bound of a prompt that any of these upstream models may read; the largest known one where a name is unknown or none is given. */
export function promptBoundOf(upstreamModels: readonly string[]): PromptBound {
  const [first, ...others] = upstreamModels;
  const row = first === undefined ? UNKNOWN_BOUND : rowOf(first);
  if (others.every((name) => rowOf(name) === row)) return row;
  return largestBound([...new Set(upstreamModels.map(rowOf))], 'several');
}

/** Routes have few names, and every request looks up those of its own. */
const rows = new Map<string, PromptBound>();
const ROWS_KEPT_MAX = 10_000;

function rowOf(upstreamModel: string): PromptBound {
  const kept = rows.get(upstreamModel);
  if (kept) return kept;
  if (rows.size >= ROWS_KEPT_MAX) rows.clear();
  const row = PROMPT_BOUNDS.find(({ pattern }) => pattern.test(upstreamModel)) ?? UNKNOWN_BOUND;
  rows.set(upstreamModel, row);
  return row;
}

function largestBound(rows: readonly PromptBound[], family: string): PromptBound {
  return {
    family,
    pattern: /(?:)/,
    template: Math.max(...rows.map(({ template }) => template)),
    toolPrompt: Math.max(...rows.map(({ toolPrompt }) => toolPrompt)),
    images: largestOf(rows.map(({ images }) => images)),
    source: rows.map(({ family: of }) => of).join(', '),
    asOf: '',
  };
}
