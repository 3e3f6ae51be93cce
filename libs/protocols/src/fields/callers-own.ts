import type { ClientProtocol } from '../exchange.ts';
import { FIELD_TABLES } from './client-bodies.ts';

/**
 * Lists the places where a request of any protocol holds its caller's data: members there may have any name. `[]` stands for every item of an array.
 * Every other object of a request is searched for the name of a model, at any depth, because some server may act on it.
 */
export const CALLERS_OWN: readonly string[] = [
  // The first fields hold the prompt's text, with the arguments and results of calls.
  'messages',
  'system',
  'input',
  'items',
  'instructions',
  'prompt',
  'suffix',
  'documents',
  'prediction',
  // The next fields hold labels, and variables of the template.
  'metadata',
  'client_metadata',
  'tags',
  'logit_bias',
  'chat_template_kwargs',
  // The next fields hold schemas and grammars.
  'functions[].parameters',
  'functions[].input_schema',
  'response_format.schema',
  'response_format.value',
  'response_format.json_schema.schema',
  'response_format.structures[].schema',
  'text.format.schema',
  'output_config.format.schema',
  'output_format.schema',
  'response_schema',
  'format',
  'guided_json',
  'json_schema',
  'structured_outputs.json',
  'grammar.value',
];

/** Lists such places within a tool. In a tool that the provider runs, `parameters` are instructions, and only its headers are the caller's. */
export const CALLERS_OWN_OF_TOOL: readonly string[] = [
  'headers',
  'parameters',
  'input_schema',
  'output_schema',
  'input_examples',
  'annotations',
  'function.parameters',
  'function.input_schema',
  'function.output_schema',
];
export const CALLERS_OWN_OF_PROVIDERS_TOOL: readonly string[] = ['headers'];

/** Holds the places of a table, arranged for reading an object from its root. */
export interface OwnPlaces {
  /** Is true when the value is the caller's own. */
  isOwn: boolean;
  members: Map<string, OwnPlaces>;
  items: OwnPlaces | null;
}

export function ownPlaces(paths: readonly string[]): OwnPlaces {
  const root = noPlaces();
  for (const path of paths) {
    let node = root;
    for (const step of path.split('.')) {
      const name = step.replace('[]', '');
      let member = node.members.get(name);
      if (!member) node.members.set(name, (member = noPlaces()));
      node = step.endsWith('[]') ? (member.items ??= noPlaces()) : member;
    }
    node.isOwn = true;
  }
  return root;
}

/** Returns fields that never pass unchanged and need no search: at the top, and in the envelopes that other gateways merge into it. */
export function neverSearched(protocol: ClientProtocol): string[] {
  const table = Object.entries(FIELD_TABLES[protocol]);
  const ofRole = (role: string): string[] =>
    table.flatMap(([name, own]) => (own === role && !name.includes('.') ? [name] : []));
  const routing = ofRole('routing');
  return [
    'model',
    ...routing,
    ...ofRole('envelope').flatMap((name) => routing.map((inner) => `${name}.${inner}`)),
  ];
}

function noPlaces(): OwnPlaces {
  return { isOwn: false, members: new Map(), items: null };
}
