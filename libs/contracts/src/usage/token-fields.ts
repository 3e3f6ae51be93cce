import { TOKEN_CLASSES, type TokenClassRow } from './token-classes.ts';

type Row = (typeof TOKEN_CLASSES)[number];
type ChargedRow = Extract<Row, { isCharged: true }>;
export type TokenClass = Row['name'];
export type ChargedClass = ChargedRow['name'];
/** Names the field of an event, a usage row or an answer. */
type FieldOf<R extends Row> = R extends { unit: 'call' } ? R['name'] : `${R['name']}_tokens`;
export type TokenField = FieldOf<Row>;
export type ChargedTokenField = FieldOf<ChargedRow>;
/** Names classes that count calls, by their keys in `TokenUsage`. */
export type CallKey = Extract<ChargedRow, { unit: 'call' }>['key'];
/** Holds the number of calls by class; an absent class has none. */
export type CallCounts = Readonly<Partial<Record<CallKey, number>>>;
/** Names a field of a price version. */
export type WeightField = `weight_${ChargedClass}`;

/** Names the fields that every price version has, including the weights of parents. */
export type OwnWeightField = `weight_${Extract<ChargedRow, { isOptional: false }>['name']}`;

type PerRow<R extends Row, Own, Optional> = R['isOptional'] extends true ? Optional : Own;
type PerTokenField<Rows extends Row, Own, Optional> = {
  [R in Rows as FieldOf<R>]: PerRow<R, Own, Optional>;
};
type PerWeightField<Own, Optional> = {
  [R in ChargedRow as `weight_${R['name']}`]: PerRow<R, Own, Optional>;
};

const ROWS: readonly (TokenClassRow & { name: TokenClass })[] = TOKEN_CLASSES;
export const TOKEN_FIELDS: readonly TokenField[] = ROWS.map(tokenField);
export const CHARGED_ROWS = ROWS.filter((row) => row.isCharged).map((row) => ({
  ...row,
  field: tokenField(row),
})) as readonly (TokenClassRow & {
  name: ChargedClass;
  parent: ChargedClass | null;
  field: ChargedTokenField;
})[];
export const CHARGED_CLASSES = CHARGED_ROWS.map(({ name }) => name);
export const CHARGED_TOKEN_FIELDS = CHARGED_ROWS.map(tokenField) as ChargedTokenField[];
export const WEIGHT_FIELDS = CHARGED_ROWS.map(weightField);

/** Returns one field `<name>_tokens`, or `<name>` for calls, for each class in the table's order; `optional` is used for classes that may be absent. */
export function tokenFields<Own, Optional = Own>(
  own: Own,
  optional: Own | Optional = own,
): PerTokenField<Row, Own, Optional> {
  return fieldsOf(ROWS, tokenField, (row) => (row.isOptional ? optional : own)) as never;
}

/** Returns the `tokenFields` of charged classes only. */
export function chargedTokenFields<Own, Optional = Own>(
  own: Own,
  optional: Own | Optional = own,
): PerTokenField<ChargedRow, Own, Optional> {
  return fieldsOf(CHARGED_ROWS, tokenField, (row) => (row.isOptional ? optional : own)) as never;
}

/** Returns one field `weight_<name>` for each charged class; `optional` is used where the parent's weight may apply. */
export function weightFields<Own, Optional = Own>(
  own: Own,
  optional: Own | Optional = own,
): PerWeightField<Own, Optional> {
  return fieldsOf(CHARGED_ROWS, weightField, (row) => (row.isOptional ? optional : own)) as never;
}

/** Maps each of these fields of a row, an answer or a query. */
export function mapFields<Source, Field extends keyof Source & string, To>(
  fields: readonly Field[],
  from: Source,
  map: (value: Source[Field], field: Field) => To,
): Record<Field, To> {
  return Object.fromEntries(fields.map((field) => [field, map(from[field], field)])) as Record<
    Field,
    To
  >;
}

/** Maps each of the weights that are set. */
export function mapSetWeights<From, To>(
  weights: Readonly<Partial<Record<WeightField, From | null | undefined>>>,
  map: (weight: From, field: WeightField) => To,
): PerWeightField<To, To | undefined> {
  const set = WEIGHT_FIELDS.flatMap((field) => {
    const weight = weights[field];
    return weight === undefined || weight === null ? [] : [[field, map(weight, field)]];
  });
  return Object.fromEntries(set);
}

function fieldsOf<Value>(
  rows: readonly TokenClassRow[],
  nameOf: (row: TokenClassRow) => string,
  valueOf: (row: TokenClassRow) => Value,
): Record<string, Value> {
  return Object.fromEntries(rows.map((row) => [nameOf(row), valueOf(row)]));
}

/** Returns the field of a class in events, usage rows and answers. */
export function tokenField({ name, unit }: Pick<TokenClassRow, 'name' | 'unit'>): TokenField {
  return (unit === 'call' ? name : `${name}_tokens`) as TokenField;
}

function weightField({ name }: TokenClassRow): WeightField {
  return `weight_${name as ChargedClass}`;
}
