import type { PriceTag } from '../../api/models.ts';
import { CHARGED_CLASSES, weightOf } from '../../api/tables.ts';
import { useWords, type Words } from '../../words/words.ts';

/** Weights in words: "output counts 4×"; nothing of a class that counts as its parent does. A dearer service multiplies them. */
function weightsInWords(price: PriceTag, { market, tables }: Words): string[] {
  const of = market.weightWords;
  const lines = CHARGED_CLASSES.flatMap(({ name, unit, is_optional: isOptional }) => {
    const weight = price[weightOf(name)];
    return weight === null || (weight === '1' && !isOptional)
      ? []
      : [(unit === 'call' ? of.each : of.line)(tables.classes[name], weight)];
  });
  for (const [service, times] of Object.entries(price.multipliers))
    lines.push(of.multiplied(service, times));
  return lines.length === 0 ? [of.plain] : lines;
}

export function Weights({ price }: { price: PriceTag }) {
  const words = useWords();
  return <span className="text-text-2">{weightsInWords(price, words).join(' · ')}</span>;
}
