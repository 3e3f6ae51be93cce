import type { CallKey } from '@tollgate/contracts';

/** Says who runs a tool of `tools[]`. A type that is not here is taken for a provider's; dates and versions behind the name are left out. */
export const CLIENT_TOOL_TYPES: ReadonlySet<string> = new Set([
  'function',
  'custom',
  'namespace',
  // Run by the client: only their definitions cost tokens.
  'apply_patch',
  'bash',
  'browser_toolset',
  'computer',
  'computer_toolset',
  'computer_use_preview',
  'local_shell',
  'memory',
  'text_editor',
  // Run by the provider, over definitions that are in the request: costs nothing of its own.
  'tool_search',
  'tool_search_tool_bm25',
  'tool_search_tool_regex',
]);

/** Server tools that are asked for by a field of their own -> the name they are priced by. */
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

/** Tools of providers that are charged by the call, by their names without versions -> the class that counts the calls. */
export const CALL_CLASSES: Readonly<Record<string, CallKey>> = {
  enterprisewebsearch: 'searches',
  google_search: 'searches',
  google_search_retrieval: 'searches',
  googlesearch: 'searches',
  googlesearchretrieval: 'searches',
  web_search: 'searches',
  web_search_preview: 'searches',
};

/** Types of `tool_choice` that force or allow what a request declares, beside those of its tools. */
export const CHOICE_TYPES: ReadonlySet<string> = new Set([
  ...CLIENT_TOOL_TYPES,
  'allowed_tools',
  'any',
  'auto',
  'none',
  'required',
  'tool',
]);

/** Rounds of a provider's own tools where the request does not limit them: https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview */
export const SERVER_TOOL_USES_MAX = 10;
