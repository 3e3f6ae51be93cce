import type { PriceTag } from '../../api/models.ts';
import { useWords, type Words } from '../../words/words.ts';

/** Weights in words: "output counts 4×". */
function weightsInWords(price: PriceTag, { market }: Words): string[] {
  const { plain, line, input, output, cacheRead, cacheWrite } = market.weightWords;
  const lines = [
    { kind: input, weight: price.weight_input },
    { kind: output, weight: price.weight_output },
    { kind: cacheRead, weight: price.weight_cache_read },
    { kind: cacheWrite, weight: price.weight_cache_write },
  ].filter(({ weight }) => weight !== '1');
  return lines.length === 0 ? [plain] : lines.map(({ kind, weight }) => line(kind, weight));
}

export function Weights({ price }: { price: PriceTag }) {
  const words = useWords();
  return <span className="text-text-2">{weightsInWords(price, words).join(' · ')}</span>;
}
