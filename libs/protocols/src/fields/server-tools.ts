import { isRecord, list, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { CLIENT_TOOL_TYPES, SERVER_TOOL_FIELDS, SERVER_TOOL_USES_MAX } from './field-tables.ts';
import type { ServerTool } from './found-field.ts';

const VERSION = /(?:_\d+)+$/;

/** Each may add input that no byte of the request bounds, and costs what the provider asks for it. */
export function serverTools(body: JsonRecord): ServerTool[] {
  const listed = list(body['tools']).flatMap((item, at): ServerTool[] => {
    const { type, max_uses: max } = record(item);
    const name = typeof type === 'string' ? type.replace(VERSION, '') : null;
    if (name === null || CLIENT_TOOL_TYPES.has(name)) return [];
    const isLimited = Number.isSafeInteger(max) && Number(max) > 0;
    return [
      { name, param: `tools[${at}].type`, uses: isLimited ? Number(max) : SERVER_TOOL_USES_MAX },
    ];
  });
  const asked = Object.entries(SERVER_TOOL_FIELDS).filter(
    ([field]) => isRecord(body[field]) || list(body[field]).length > 0,
  );
  return [
    ...listed,
    ...asked.map(([param, name]) => ({ name, param, uses: SERVER_TOOL_USES_MAX })),
  ];
}
