import unhomoglyph from 'unhomoglyph';

/**
 * Returns the texts that look-alike names share: UTS #39 skeletons of the name as written and in lower case, because names are compared without case
 * (Latin `Ivan` looks like `lvan`, and Cyrillic `А` looks like Latin `a` only when both are lower case). The digit one and capital `I` are confusable
 * with `l`, so each also stands for a small `i`. Punctuation around a name does not count. https://www.unicode.org/reports/tr39/#Confusable_Detection
 */
export function skeletonsOf(name: string): string[] {
  const forms = [name, name.toLowerCase()].flatMap((form) => [form, form.replaceAll('1', 'i')]);
  const skeletons = forms.map((form) => skeleton(form).toLowerCase());
  return [...new Set(skeletons.flatMap((text) => [text, text.replaceAll(AROUND, '') || text]))];
}

/** Matches punctuation, symbols and spaces at either end. */
const AROUND = /^[\p{P}\p{S}\p{Z}]+|[\p{P}\p{S}\p{Z}]+$/gu;

function skeleton(text: string): string {
  return unhomoglyph(text.normalize('NFD')).normalize('NFD');
}
