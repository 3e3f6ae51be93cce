import type { PromptFacts } from '@tollgate/protocols';
import type { Admitted } from '../admission/admission.ts';
import type { CloserEstimate } from '../request/closer-estimate.ts';
import type { Splice } from './splice.ts';
import { Tally } from './tally.ts';

/** Returns the tally of one attempt. An attempt that writes on is counted by its own request, and one that is asked for the whole answer again as any other. */
export function tallyOf(
  prompt: PromptFacts,
  {
    admitted: { plan, exactTextTokens },
    splice,
    closer,
  }: {
    admitted: Pick<Admitted, 'plan' | 'exactTextTokens'>;
    splice: Splice | null;
    closer: CloserEstimate | null;
  },
): Tally {
  if (!splice || splice.isWhole) return new Tally({ prompt, plan, exactTextTokens, closer });
  const { bounds, besideTextTokens } = plan;
  const longerBytes = splice.prompt.textBytes - prompt.textBytes;
  return new Tally({
    prompt: splice.prompt,
    plan: {
      besideTextTokens,
      bounds: {
        ...bounds,
        promptTokens: bounds.promptTokens + longerBytes,
        outputTokens: splice.outputTokens,
      },
    },
  });
}
