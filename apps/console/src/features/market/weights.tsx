import type { PriceTag } from '../../api/models.ts';
import { CHARGED_CLASSES, weightOf } from '../../api/tables.ts';
import { formatCount } from '../../ui/format.ts';
import { useSpeech, type Speech, type Words } from '../../words/words.ts';

/** Says weights in words: "output counts 4×"; nothing of a class that counts as its parent does. A longer prompt has weights of its own, and a dearer service multiplies them. */
function weightsInWords(price: PriceTag, { words, locale }: Speech): string[] {
  const of = words.market.weightWords;
  return [
    ...classesInWords(price, words),
    ...tiersInWords(price.tiers, { words, locale }),
    ...Object.entries(price.multipliers).map(([service, times]) => of.multiplied(service, times)),
  ];
}

function classesInWords(
  weights: PriceTag | PriceTag['tiers'][number]['weights'],
  { market, tables }: Words,
): string[] {
  const of = market.weightWords;
  const lines = CHARGED_CLASSES.flatMap(({ name, unit, is_optional: isOptional }) => {
    const weight = weights[weightOf(name)] ?? null;
    return weight === null || (weight === '1' && !isOptional)
      ? []
      : [(unit === 'call' ? of.each : of.line)(tables.classes[name], weight)];
  });
  return lines.length === 0 ? [of.plain] : lines;
}

/** Returns one text for each tier: from which length of the prompt, and what counts how. */
export function tiersInWords(
  tiers: PriceTag['tiers'],
  { words, locale }: Pick<Speech, 'words' | 'locale'>,
): string[] {
  return tiers.map(({ above_prompt_tokens: above, weights }) =>
    words.market.weightWords.above(
      formatCount(above, locale),
      classesInWords(weights, words).join(', '),
    ),
  );
}

export function Weights({ price }: { price: PriceTag }) {
  return <span className="text-text-2">{weightsInWords(price, useSpeech()).join(' · ')}</span>;
}
