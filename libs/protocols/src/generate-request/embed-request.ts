import { unsupportedHere } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { textPartsOf } from './contents.ts';
import type { EmbedCall, EmbedInput } from './generate-body.ts';
import { EMBED_BATCH, EMBED_REQUEST } from './fields.ts';
import { inside, membersOf, type NativeMembers } from './members.ts';
import type { PathCall, Twin } from './request.ts';

/** Describes a request for vectors as one of embeddings. */
export interface EmbedTwin extends Omit<Twin, 'outputLimit'> {
  readonly embed: EmbedCall;
}

/** Converts a body of `embedContent`, or of `batchEmbedContents`: https://ai.google.dev/api/embeddings. Throws `InvalidRequest` naming the field. */
export function embedTwinOf(
  request: JsonRecord,
  { model, named = model, isBatch = false }: Pick<PathCall, 'model' | 'named' | 'isBatch'>,
): EmbedTwin {
  const native: string[] = [];
  const read = isBatch
    ? requestsOf(request, native).map((each, at) => oneOf(each, { at, named, native }))
    : [oneOf(request, { at: null, named, native })];
  const dimensions = read[0]?.dimensions;
  // Vectors of one request of embeddings have one length.
  const other = read.findIndex((each) => each.dimensions !== dimensions);
  if (other > 0) native.push(`requests[${other}].outputDimensionality`);
  const body = {
    model,
    input: read.map(({ input: { text } }) => text),
    encoding_format: 'float',
    ...(dimensions === undefined ? {} : { dimensions }),
  };
  return { body, native, embed: { isBatch, named, inputs: read.map(({ input }) => input) } };
}

interface ReadInput {
  readonly input: EmbedInput;
  readonly dimensions: unknown;
}

function requestsOf(body: JsonRecord, native: NativeMembers): readonly unknown[] {
  const { requests } = membersOf(body, EMBED_BATCH, { param: '', native });
  if (Array.isArray(requests) && requests.length > 0) return requests;
  throw missing('requests');
}

interface Place {
  /** Is the position in a batch. */
  readonly at: number | null;
  readonly named: string;
  readonly native: NativeMembers;
}

function oneOf(value: unknown, { at, named, native }: Place): ReadInput {
  const param = at === null ? '' : `requests[${at}]`;
  const {
    content,
    model,
    outputDimensionality: dimensions,
    taskType,
    title,
  } = membersOf(value, EMBED_REQUEST, { param, native });
  refuseOtherModel(model, { named, param: inside(param, 'model') });
  const here = inside(param, 'content');
  if (content === undefined) throw missing(here);
  refuseNoLength(dimensions, inside(param, 'outputDimensionality'));
  const input = {
    text: textOf(content, { param: here, native }),
    ...(taskType === undefined ? {} : { taskType }),
    ...(title === undefined ? {} : { title }),
  };
  return { input, dimensions };
}

/** The parts of a content make one vector together. Only texts are bounded by their bytes. */
function textOf(
  content: unknown,
  { param, native }: { param: string; native: NativeMembers },
): string {
  const text = textPartsOf(content, {
    param,
    native,
    refusal: (here) => unsupportedHere('a part without text', here, 'only texts are embedded'),
  }).join('\n');
  if (text === '') throw missing(`${param}.parts`);
  return text;
}

/** The model is the one of the path, with or without its collection. */
function refuseOtherModel(
  model: unknown,
  { named, param }: { named: string; param: string },
): void {
  if (model === undefined || model === named || model === `models/${named}`) return;
  throw new InvalidRequest(`${param}: Expected "models/${named}", the model of the path`, {
    param,
  });
}

function refuseNoLength(value: unknown, param: string): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new InvalidRequest(`${param}: Expected an integer`, { param, code: 'invalid_type' });
  if (value < 1)
    throw new InvalidRequest(`${param}: at least 1`, { param, code: 'integer_below_min_value' });
}

function missing(param: string): InvalidRequest {
  return new InvalidRequest(`${param}: Field required`, {
    param,
    code: 'missing_required_parameter',
  });
}
