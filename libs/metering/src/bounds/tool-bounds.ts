/** Bounds the plain tokens that a vendor's tool adds to a prompt, beside its definition in the request. */
export interface ToolBound {
  /** Is the tool's name without its version. */
  tool: string;
  tokens: number;
  source: string;
  /** Is the date on which the source was read. */
  asOf: string;
}

const CLAUDE = 'https://platform.claude.com/docs/en/agents-and-tools/tool-use';

/** Vendors publish few of these figures and change them with each version, so documented and recorded ones are rounded up. */
export const TOOL_BOUNDS: readonly ToolBound[] = [
  // The definition has 735 tokens and the system prompt 466 to 499.
  { tool: 'computer', tokens: 1_300, source: `${CLAUDE}/computer-use-tool`, asOf: '2026-11' },
  { tool: 'computer_toolset', tokens: 2_600, source: 'twice computer', asOf: '2026-11' },
  { tool: 'browser_toolset', tokens: 2_600, source: 'twice computer', asOf: '2026-11' },
  { tool: 'bash', tokens: 350, source: `${CLAUDE}/bash-tool: 245`, asOf: '2026-11' },
  { tool: 'text_editor', tokens: 900, source: `${CLAUDE}/text-editor-tool: 700`, asOf: '2026-11' },
  // A prompt of few words with this tool was reported as 1,577 tokens, including the tool prompt of the family.
  { tool: 'memory', tokens: 2_000, source: `recorded; ${CLAUDE}/memory-tool`, asOf: '2026-11' },
  // A prompt of few words with this tool was reported as 1,595 tokens.
  {
    tool: 'tool_search',
    tokens: 2_000,
    source: `recorded; ${CLAUDE}/tool-search-tool`,
    asOf: '2026-11',
  },
  { tool: 'tool_search_tool_bm25', tokens: 2_000, source: 'as tool_search', asOf: '2026-11' },
  { tool: 'tool_search_tool_regex', tokens: 2_000, source: 'as tool_search', asOf: '2026-11' },
  {
    tool: 'web_search',
    tokens: 2_600,
    source: `recorded; ${CLAUDE}/web-search-tool`,
    asOf: '2026-11',
  },
  { tool: 'web_fetch', tokens: 2_600, source: 'as web_search', asOf: '2026-11' },
  {
    tool: 'code_execution',
    tokens: 3_000,
    source: `recorded; ${CLAUDE}/code-execution-tool`,
    asOf: '2026-11',
  },
  // OpenAI publishes no figures. Each of its client tools has one action, or those of a computer.
  { tool: 'apply_patch', tokens: 1_300, source: 'as computer', asOf: '2026-11' },
  { tool: 'computer_use_preview', tokens: 1_300, source: 'as computer', asOf: '2026-11' },
  { tool: 'local_shell', tokens: 1_300, source: 'as computer', asOf: '2026-11' },
  { tool: 'shell', tokens: 1_300, source: 'as computer', asOf: '2026-11' },
];

const TOKENS = new Map(TOOL_BOUNDS.map(({ tool, tokens }) => [tool, tokens]));
/** Bounds a tool that is not in the table. */
const LARGEST = Math.max(...TOKENS.values());

/** Returns the tokens that these vendor tools add together, by their names without versions. Each unknown tool counts as the largest known one. */
export function toolTokens(tools: readonly string[]): number {
  return tools.reduce((sum, tool) => sum + (TOKENS.get(tool) ?? LARGEST), 0);
}
