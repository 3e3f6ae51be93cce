import { nonEmpty, record, type JsonRecord } from '../json/json-guard.ts';

/** Returns whether the name does not show the model: an ARN of an inference profile, of provisioned throughput or of an imported model. */
export function isOpaque(model: string): boolean {
  return model.startsWith('arn:') && !/[/.](?:amazon|anthropic|openai|meta|mistral)\./.test(model);
}

/** See https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html */
const EFFORT_MAX = { low: 2_048, medium: 8_192 };

/** Returns fields that Converse leaves to the model's family: top-k sampling and thinking. An unknown family gets none of them. */
export function furtherFields(body: JsonRecord, model: string): JsonRecord {
  const fields = fieldsOf(body, model);
  return Object.keys(fields).length === 0 ? {} : { additionalModelRequestFields: fields };
}

function fieldsOf(body: JsonRecord, model: string): JsonRecord {
  const { top_k: topK } = body;
  const isNova = /\bamazon\.nova\b/.test(model);
  const effort = effortOf(body);
  return {
    ...(isNova && typeof topK === 'number' ? { inferenceConfig: { topK } } : {}),
    ...(isNova && /nova-2/.test(model) && effort !== null
      ? { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
      : {}),
    ...(/\bopenai\.gpt-oss\b/.test(model) && effort !== null ? { reasoning_effort: effort } : {}),
  };
}

/** Returns the effort that is requested, or that a budget corresponds to; null where no thinking is requested. */
function effortOf(body: JsonRecord): string | null {
  const { type, budget_tokens: budget } = record(body['thinking']);
  if (type === 'disabled') return null;
  const effort = nonEmpty(record(body['output_config'])['effort']);
  if (effort !== null) return effort === 'low' || effort === 'medium' ? effort : 'high';
  if (typeof budget !== 'number') return type === undefined ? null : 'medium';
  return budget <= EFFORT_MAX.low ? 'low' : budget <= EFFORT_MAX.medium ? 'medium' : 'high';
}
