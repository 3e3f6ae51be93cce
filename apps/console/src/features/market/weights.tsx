import type { PriceTag } from '../../api/models.ts';
import { useWords, type Words } from '../../words/words.ts';

/** Weights in words: "output counts 4×". */
function weightsInWords(price: PriceTag, { market }: Words): string[] {
  const of = market.weightWords;
  const own = [
    { kind: of.input, weight: price.weight_input },
    { kind: of.output, weight: price.weight_output },
    { kind: of.cacheRead, weight: price.weight_cache_read },
    { kind: of.cacheWrite, weight: price.weight_cache_write },
  ].filter(({ weight }) => weight !== '1');
  // Null: they count as the class they are part of.
  const set = [
    { kind: of.cacheWrite1h, weight: price.weight_cache_write_1h },
    { kind: of.audioInput, weight: price.weight_audio_input },
    { kind: of.audioOutput, weight: price.weight_audio_output },
  ].flatMap(({ kind, weight }) => (weight === null ? [] : [{ kind, weight }]));
  const lines = [...own, ...set];
  return lines.length === 0 ? [of.plain] : lines.map(({ kind, weight }) => of.line(kind, weight));
}

export function Weights({ price }: { price: PriceTag }) {
  const words = useWords();
  return <span className="text-text-2">{weightsInWords(price, words).join(' · ')}</span>;
}
