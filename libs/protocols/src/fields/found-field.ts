/**
 * Says what a field of a request decides.
 *
 * - model, stream: read by the gateway itself
 * - prompt: its text becomes prompt tokens
 * - predicted: text that is billed as output where the model does not use it
 * - limit: the most output tokens of each choice
 * - count: how many choices
 * - budget: a part of the output limit (thinking)
 * - reference: names input that is stored elsewhere, so that the request does not bound it
 * - tier: a class of service with prices of its own
 * - routing: sends the request to another model, provider or address
 * - storage: keeps the answer at the provider, from which no endpoint of the gateway reads it
 * - server_tools: tools that the provider runs
 * - envelope: an object whose members other gateways merge into the request
 * - structure: part of an item that the gateway reads, such as the type of a tool
 * - setting: changes neither tokens nor price
 */
export type FieldRole =
  | 'model'
  | 'stream'
  | 'prompt'
  | 'predicted'
  | 'limit'
  | 'count'
  | 'budget'
  | 'reference'
  | 'tier'
  | 'routing'
  | 'storage'
  | 'server_tools'
  | 'envelope'
  | 'structure'
  | 'setting';

/** Holds a field that the table names, as a request gives it; null counts as missing. */
export interface FoundField {
  path: readonly string[];
  role: FieldRole;
  value: unknown;
}

/** Names a field that does not reach the upstream. */
export type DroppedField = Pick<FoundField, 'path'>;

/** Describes a tool that the provider runs, as a request asks for it. */
export interface ServerTool {
  /** Is the tool's type without its date, for example `web_search`. */
  name: string;
  /** Is the path of the field, for example `tools[0].type`. */
  param: string;
  /** Is the number of rounds that the tool may run. */
  uses: number;
}

/** Describes a field inside a request that chooses a further model. */
export interface NestedModel {
  path: readonly string[];
  /** Is the path of the field, for example `tools[0].model`. */
  param: string;
  /** Is null when the value is not a name. */
  model: string | null;
}
