import unhomoglyph from 'unhomoglyph';

/**
 * Texts that two names share when they look alike: UTS #39 skeletons of the name as it is written, and in small letters, because names are compared without case
 * (Latin `Ivan` looks like `lvan`, and Cyrillic `А` like Latin `a` only once both are small). A digit one is confusable with `l`, as a capital `I` is, so it stands
 * for a small `i` too; punctuation around a name is left out. https://www.unicode.org/reports/tr39/#Confusable_Detection
 */
export function skeletonsOf(name: string): string[] {
  const forms = [name, name.toLowerCase()].flatMap((form) => [form, form.replaceAll('1', 'i')]);
  const skeletons = forms.map((form) => skeleton(form).toLowerCase());
  return [...new Set(skeletons.flatMap((text) => [text, text.replaceAll(AROUND, '') || text]))];
}

/** Punctuation, symbols and spaces at either end. */
const AROUND = /^[\p{P}\p{S}\p{Z}]+|[\p{P}\p{S}\p{Z}]+$/gu;

function skeleton(text: string): string {
  return unhomoglyph(text.normalize('NFD')).normalize('NFD');
}
