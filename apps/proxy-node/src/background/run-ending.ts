import {
  NO_USAGE,
  outputTokensOf,
  promptTokensOf,
  usageOf,
  type Outcome,
} from '@tollgate/contracts';
import type { PromptFacts, StoredResponse } from '@tollgate/protocols';
import type { BackgroundRun } from '../journal/open-hold.ts';
import { NOTHING_COUNTED, Tally, type Counted } from '../pipeline/tally.ts';
import type { HoldHandle } from '../usage/usage-recorder.ts';

/** What the gateway ends a run for. */
export type EndedBy = Extract<
  Outcome,
  'access_revoked' | 'balance_exhausted' | 'node_stopped' | 'upstream_interrupted'
>;

/** The request is gone; of its prompt the count is left. */
const NO_PROMPT: PromptFacts = {
  textBytes: 0,
  messageCount: 0,
  imageCount: 0,
  unboundedInputs: 0,
  serverToolUses: 0,
  otherBytes: 0,
  predictedBytes: 0,
  text: () => '',
};

/** How a run has ended and what it is charged. `response`: as its upstream has it at the end; null where the upstream has it no more, or does not say. */
export async function endingOfRun(
  { bounds }: Pick<BackgroundRun, 'bounds'>,
  {
    response,
    endedBy,
    handle,
  }: {
    response: StoredResponse | null;
    endedBy: EndedBy | null;
    handle: Pick<HoldHandle, 'counted'>;
  },
): Promise<{ outcome: Outcome; counted: Counted }> {
  const soFar = handle.counted();
  const output = Math.max(outputTokensOf(soFar), outputTokensOf(response?.usage ?? NO_USAGE));
  const hasOutput = output > 0 || (response?.outputText ?? '') !== '';
  const outcome = outcomeOf(response, { endedBy, hasOutput });
  if (outcome === 'upstream_failed') return { outcome, counted: NOTHING_COUNTED };
  if (!response)
    return { outcome, counted: { ...NOTHING_COUNTED, usage: soFar, basis: 'estimated' } };
  const tally = new Tally({
    prompt: NO_PROMPT,
    plan: { bounds, besideTextTokens: 0 },
    exactTextTokens: promptTokensOf(soFar),
  });
  tally.calledInAll(response);
  tally.output(response.outputText);
  const counted = await tally.atEnd({ usage: response.usage, isFinal: true });
  if (counted.basis === 'reported') return { outcome, counted };
  const usage = usageOf(({ key }) => Math.max(counted.usage[key], soFar[key]));
  return { outcome, counted: { ...counted, usage } };
}

function outcomeOf(
  response: StoredResponse | null,
  { endedBy, hasOutput }: { endedBy: EndedBy | null; hasOutput: boolean },
): Outcome {
  const failed = hasOutput ? 'upstream_interrupted' : 'upstream_failed';
  switch (response?.status) {
    case undefined:
      return endedBy === null || endedBy === 'upstream_interrupted' ? failed : endedBy;
    case 'failed':
      return failed;
    case 'cancelled':
      return endedBy ?? 'client_closed';
    default:
      return 'completed';
  }
}
