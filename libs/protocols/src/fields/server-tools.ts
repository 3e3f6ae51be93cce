import { isRecord, list, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { declaredTools } from './declared-tools.ts';
import { CLIENT_TOOL_TYPES, SERVER_TOOL_FIELDS, SERVER_TOOL_USES_MAX } from './field-tables.ts';
import { fieldName } from './field-name.ts';
import type { ServerTool } from './found-field.ts';

const VERSION = /(?:_\d+)+$/;
/** A toolset names a server of `mcp_servers`, and is bought with it. */
const PRICED_AS: Readonly<Record<string, string>> = { mcp_toolset: 'mcp' };

/** Each may add input that no byte of the request bounds, and costs what the provider asks for it. */
export function serverTools(body: JsonRecord): ServerTool[] {
  const declared = declaredTools(body).flatMap(({ tool, path }): ServerTool[] => {
    const { type, max_uses: max } = tool;
    const name = typeof type === 'string' ? type.replace(VERSION, '') : null;
    if (name === null || CLIENT_TOOL_TYPES.has(name) || isLocalShell(name, tool)) return [];
    const isLimited = Number.isSafeInteger(max) && Number(max) > 0;
    return [
      {
        name: PRICED_AS[name] ?? name,
        param: fieldName([...path, 'type']),
        uses: isLimited ? Number(max) : SERVER_TOOL_USES_MAX,
      },
    ];
  });
  const asked = Object.entries(SERVER_TOOL_FIELDS).filter(
    ([field]) => isRecord(body[field]) || list(body[field]).length > 0,
  );
  return [
    ...declared,
    ...asked.map(([param, name]) => ({ name, param, uses: SERVER_TOOL_USES_MAX })),
  ];
}

/** The client runs its commands; without that word the provider does. */
function isLocalShell(name: string, { environment }: JsonRecord): boolean {
  return name === 'shell' && record(environment)['type'] === 'local';
}
