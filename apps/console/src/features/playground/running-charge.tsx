import { useQuery } from '@tanstack/react-query';
import { chargePreviewQuery } from '../../api/previews.ts';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import type { TurnTokens } from './use-conversation.ts';

/** The charge is asked for once for so many tokens, not for each. */
const STEP = 50;

/** Shows tokens and charge of an answer while it streams. */
export function RunningCharge({ modelId, tokens }: { modelId: number; tokens: TurnTokens }) {
  const { words, locale } = useSpeech();
  const { playground } = words;
  const { data } = useQuery(
    chargePreviewQuery({
      model_id: modelId,
      input_tokens: tokens.input,
      output_tokens: Math.ceil(tokens.output / STEP) * STEP,
    }),
  );
  return (
    <p className="flex flex-wrap gap-x-3 text-table text-text-3">
      <span className="tabular">
        {playground.soFar(formatCount(tokens.input, locale), formatCount(tokens.output, locale))}
      </span>
      {data && (
        <span className="tabular">
          {playground.chargeSoFar(formatCount(data.charged_tokens, locale))}
        </span>
      )}
    </p>
  );
}
