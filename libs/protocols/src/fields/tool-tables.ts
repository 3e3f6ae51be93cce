import type { CallKey } from '@tollgate/contracts';

/** Lists the tool types that do not run at the provider, without dates and versions. Any other type counts as a provider's tool. */
export const CLIENT_TOOL_TYPES: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  // The client runs the following tools: only their definitions cost tokens.
  'apply_patch',
  'bash',
  'browser_toolset',
  'computer',
  'computer_toolset',
  'computer_use_preview',
  'local_shell',
  'memory',
  'text_editor',
  // The provider runs the following tools over definitions in the request: they cost nothing of their own.
  'tool_search',
  'tool_search_tool_bm25',
  'tool_search_tool_regex',
]);

/** Maps the fields that ask for server tools to the names by which these are priced. */
export const SERVER_TOOL_FIELDS: Readonly<Record<string, string>> = {
  code_execution: 'code_execution',
  code_interpreter: 'code_interpreter',
  connectors: 'connectors',
  data_sources: 'data_sources',
  enable_search: 'web_search',
  file_search: 'file_search',
  mcp_servers: 'mcp',
  plugins: 'plugins',
  search_parameters: 'web_search',
  web_fetch: 'web_fetch',
  web_search: 'web_search',
  web_search_options: 'web_search',
};

/** Maps provider tools that are charged by the call, named without version, to the class that counts the calls. */
export const CALL_CLASSES: Readonly<Record<string, CallKey>> = {
  enterprisewebsearch: 'searches',
  google_search: 'searches',
  google_search_retrieval: 'searches',
  googlesearch: 'searches',
  googlesearchretrieval: 'searches',
  web_search: 'searches',
  web_search_preview: 'searches',
};

/** Lists types of `tool_choice` that force or allow declared tools, beside the types of those tools. */
export const CHOICE_TYPES: ReadonlySet<string> = new Set([
  ...CLIENT_TOOL_TYPES,
  'allowed_tools',
  'any',
  'auto',
  'none',
  'required',
  'tool',
]);

/**
 * A provider's own tools run at most this many rounds where the request does not limit them:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview
 */
export const SERVER_TOOL_USES_MAX = 10;
