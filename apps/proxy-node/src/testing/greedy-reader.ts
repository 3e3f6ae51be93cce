/**
 * Reads a request as servers do that mean to produce as much as it allows. It is written from the servers' side, without the gateway's own tables:
 * a name that only these readers know is a name that the tables lack.
 */
export type Members = readonly (readonly [name: string, value: unknown])[];

export interface Reading {
  /** Limits the output tokens of one choice; Infinity without a limit. */
  limit: number;
  choices: number;
}

export interface ReaderStyle {
  name: string;
  /** Chooses the member that counts if several have one name. */
  duplicates: 'first' | 'last';
  /** Is true for a reader that ignores case in names, as Go's encoding/json does. */
  ignoresCase: boolean;
  /** Lists names of the output limit; of several, the largest counts. */
  limits: readonly string[];
  counts: readonly string[];
  /** Names parts of the output that are granted beside the limit. */
  budgets: readonly string[];
  /** Names objects whose members go over those of the request. */
  envelopes: readonly string[];
}

const OPENAI = {
  limits: ['max_tokens', 'max_completion_tokens'],
  counts: ['n'],
  budgets: ['thinking.budget_tokens', 'reasoning.max_tokens', 'thinking_budget'],
  envelopes: [],
};
const ANTHROPIC = {
  limits: ['max_tokens'],
  counts: [],
  budgets: ['thinking.budget_tokens'],
  envelopes: [],
};
/** Is a gateway that takes the words of all vendors. */
const EVERYTHING = {
  limits: [
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'maxOutputTokens',
    'max_new_tokens',
    'max_tokens_to_sample',
    'n_predict',
    'num_predict',
    'options.num_predict',
    'parameters.max_new_tokens',
    'generationConfig.maxOutputTokens',
    'generation_config.max_output_tokens',
    'inferenceConfig.maxTokens',
  ],
  counts: [
    'n',
    'best_of',
    'candidate_count',
    'candidateCount',
    'generationConfig.candidateCount',
    'n_cmpl',
  ],
  budgets: [
    'thinking.budget_tokens',
    'reasoning.max_tokens',
    'thinking_budget',
    'thinking_token_budget',
    'extra_body.google.thinking_config.thinking_budget',
  ],
  envelopes: ['extra_body', 'extra_params', 'model_kwargs'],
};

export const READERS: Readonly<
  Record<'openai' | 'anthropic' | 'responses', readonly ReaderStyle[]>
> = {
  responses: styles('responses', {
    limits: ['max_output_tokens'],
    counts: [],
    budgets: ['reasoning.max_tokens'],
    envelopes: OPENAI.envelopes,
  }),
  openai: styles('openai', OPENAI),
  anthropic: styles('anthropic', ANTHROPIC),
};

function styles(
  name: string,
  own: Pick<ReaderStyle, 'limits' | 'counts' | 'budgets' | 'envelopes'>,
): ReaderStyle[] {
  return (['first', 'last'] as const).flatMap((duplicates) =>
    [false, true].flatMap((ignoresCase) => [
      {
        name: `${name}, ${duplicates}, ${ignoresCase ? 'any case' : 'exact'}`,
        duplicates,
        ignoresCase,
        ...own,
      },
      {
        name: `every vendor, ${duplicates}, ${ignoresCase ? 'any case' : 'exact'}`,
        duplicates,
        ignoresCase,
        ...EVERYTHING,
      },
    ]),
  );
}

/** Returns the most that the server would produce. */
export function readGreedily(body: Members, style: ReaderStyle): Reading {
  const merged = style.envelopes.reduce<Members>((members, name) => {
    const inner = find(members, name.split('.'), style);
    return isMembers(inner)
      ? [...members.filter(([own]) => !has(inner, own, style)), ...inner]
      : members;
  }, body);
  const counts = numbersAt(merged, style.counts, style);
  const limits = numbersAt(merged, style.limits, style);
  const limit = limits.length === 0 ? Infinity : Math.max(...limits);
  const budgets = numbersAt(merged, style.budgets, style);
  return {
    limit: Math.max(limit, ...budgets),
    choices: counts.reduce((product, count) => product * Math.max(1, count), 1),
  };
}

/** Returns the value at a path, as this server reads it. */
export function find(
  members: Members,
  [name = '', ...rest]: readonly string[],
  style: ReaderStyle,
): unknown {
  const found = members.filter(([own]) => isNamed(own, name, style));
  const value = (style.duplicates === 'first' ? found[0] : found.at(-1))?.[1];
  if (rest.length === 0) return value;
  return isMembers(value) ? find(value, rest, style) : undefined;
}

function numbersAt(members: Members, paths: readonly string[], style: ReaderStyle): number[] {
  return paths.flatMap((path) => {
    const value = find(members, path.split('.'), style);
    // Lenient readers take numbers out of texts.
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && number > 0 ? [number] : [];
  });
}

function has(members: Members, name: string, style: ReaderStyle): boolean {
  return members.some(([own]) => isNamed(own, name, style));
}

function isNamed(own: string, name: string, { ignoresCase }: ReaderStyle): boolean {
  return ignoresCase ? simpleFold(own) === simpleFold(name) : own === name;
}

/** See https://pkg.go.dev/unicode#SimpleFold: of the letters of our names, K and S have a third form each. */
function simpleFold(name: string): string {
  return name.toLowerCase().replaceAll('\u212a', 'k').replaceAll('\u017f', 's');
}

/** Holds the members of an object, distinguished from the items of an array by their class. */
class MemberList extends Array<readonly [string, unknown]> {}

export function isMembers(value: unknown): value is Members {
  return value instanceof MemberList;
}

/** Parses JSON text with every member of every object, in order, also those of one name. */
export function parseMembers(text: string): unknown {
  const parser = new MemberParser(text);
  return parser.value();
}

/** Parses as much as is needed of text that JSON.parse has taken. */
class MemberParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    JSON.parse(text);
    this.#text = text;
  }

  value(): unknown {
    const first = this.#peek();
    if (first === '{') return this.#object();
    if (first === '[') return this.#array();
    return this.#scalar();
  }

  #object(): Members {
    const members = new MemberList();
    this.#at += 1;
    while (this.#peek() !== '}') {
      if (this.#peek() === ',') this.#at += 1;
      this.#peek();
      const name = String(this.#scalar());
      this.#peek();
      this.#at += 1;
      members.push([name, this.value()]);
    }
    this.#at += 1;
    return members;
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#peek() !== ']') {
      if (this.#peek() === ',') this.#at += 1;
      items.push(this.value());
    }
    this.#at += 1;
    return items;
  }

  #scalar(): unknown {
    const [token = ''] =
      /^(?:"(?:[^"\\]|\\.)*"|[^,\]}\s:]+)/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += token.length;
    return JSON.parse(token);
  }

  #peek(): string {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
    return this.#text.charAt(this.#at);
  }
}
