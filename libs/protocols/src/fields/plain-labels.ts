import { FIELD_TABLES } from './client-bodies.ts';

/**
 * Lists labels that a gateway reads as instructions: addresses and keys of the loggers that LiteLLM sets up for one request, its prices, and names
 * that are instructions at the top of a request, too. https://docs.litellm.ai/docs/proxy/dynamic_logging
 */
const INSTRUCTIONS: ReadonlySet<string> = new Set([
  ...Object.entries(FIELD_TABLES.chat).flatMap(([name, role]) =>
    role === 'routing' ? [name] : [],
  ),
  'litellm_disabled_callbacks',
  'mock_response',
  'turn_off_message_logging',
]);
const INSTRUCTION_PREFIX =
  /^(?:arize|aws|azure|gcs|helicone|humanloop|input_cost|langfuse|langsmith|litellm|lunary|output_cost|portkey|posthog|s3|vertex|wandb|weave)_/;

/** Returns false for a label on which some server would act. */
export function isPlainLabel(name: string, value: unknown): boolean {
  const folded = name.toLowerCase().replaceAll('-', '_');
  if (INSTRUCTIONS.has(folded) || INSTRUCTION_PREFIX.test(folded)) return false;
  return typeof value !== 'object' || value === null;
}
